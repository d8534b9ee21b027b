"""Every table of the papers, by what ``--table`` calls it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .other_tables import OTHERS
from .secom_tables import SECOM
from .table import Table

__all__ = ["TABLES", "Table"]

TABLES: Final[Mapping[str, Table]] = {**SECOM, **OTHERS}
