"""Which messages a recall may find: conditions on what is known of them beside their words, as plain data.

A filter is a mapping. Each name stands for a field, all of which have to pass::

    {"role": "user"}
    {"session": {"in": ["monday", "tuesday"]}, "at": {"ge": "2025-01-01", "lt": "2025-02-01"}}
    {"or": [{"metadata.project": "harbour"}, {"not": {"metadata.project": {"exists": True}}}]}

The fields are ``role``, ``speaker``, ``session``, ``at``, when a message was said, and ``metadata.KEY``; dots in KEY
lead into mappings, unless the metadata has a key that is written so. A field has a value, or operators that all have to
hold: ``eq``, ``in``, ``lt``, ``le``, ``gt``, ``ge``, ``exists``, and ``has`` for a list in metadata that holds a value.
``and`` and ``or`` take a list of filters, ``not`` takes one. The role ``human`` is the same as ``user``, and ``ai`` the
same as ``assistant``. Who has no name is shown under the role, and is a ``speaker`` of this name too.

Values compare with their own kind only: texts, numbers, truth values, ``None``. What a message does not have fails
every condition but ``exists: False``, and so passes every ``not`` around one. A moment is a datetime or its ISO form; a
day without a time stands for all of it: ``le`` takes it in, and ``gt`` does not. Days, and times without an offset, are
those of the bank's ``timezone``, or of UTC.
"""

from __future__ import annotations

from .conditions import FIELDS, METADATA, MISSING, OPERATORS, Condition, Joined, Mask
from .reading import checked_filter, read_filter

__all__ = [
    "FIELDS",
    "METADATA",
    "MISSING",
    "OPERATORS",
    "Condition",
    "Joined",
    "Mask",
    "checked_filter",
    "read_filter",
]
