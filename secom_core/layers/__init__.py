"""The seam of layers: whatever is made of a scope and kept beside its turns, such as timelines, topics or a summary.

A layer is one class. Its class methods work on any store, also where no bank was opened with the layer: deleting,
exporting, moving. Its instance methods are for a bank that was opened with it: making, searching, listing. The bank,
the command, the report and the archive go through this seam and name no layer. `register` makes one known to them;
``MemoryBank.open(layers=[…])`` opens a bank with it.
"""

from __future__ import annotations

from .layer import (
    ClosedSession,
    Found,
    Layer,
    LayerContext,
    LayerFactory,
    Listing,
    Ranker,
    Ranking,
    Request,
    Units,
    VectorsOf,
)
from .registry import (
    announce,
    is_of_others,
    layer_names,
    names_taking_part,
    register,
    registered,
    saying_what_holds,
    tables_of_others,
    unregister,
)

__all__ = [
    "ClosedSession",
    "Found",
    "Layer",
    "LayerContext",
    "LayerFactory",
    "Listing",
    "Ranker",
    "Ranking",
    "Request",
    "Units",
    "VectorsOf",
    "announce",
    "is_of_others",
    "layer_names",
    "names_taking_part",
    "register",
    "registered",
    "saying_what_holds",
    "tables_of_others",
    "unregister",
]
