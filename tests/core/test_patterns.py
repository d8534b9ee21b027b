"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import copy
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import secom_core
from secom_core.text import patterns
from secom_core.text.patterns import regex

ROOT = Path(secom_core.__file__).parent
USING = [
    ".".join(file.relative_to(ROOT.parent).with_suffix("").parts)
    for file in sorted(ROOT.rglob("*.py"))
    if re.search(r"import.*\b(regex|wording)$", file.read_text(encoding="utf-8"), re.M)
]


def held(value: Any) -> list[Any]:
    """The expressions of a value, and of the collections in it."""
    if isinstance(value, patterns.Later):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return [each for part in parts for each in held(part)]


def test_it_does_what_a_pattern_does() -> None:
    later, usual = regex(r"(\d+)-(?P<last>\d+)", re.I), re.compile(r"(\d+)-(?P<last>\d+)", re.I)
    assert later.sub("x", "a 1-2 b 3-4") == usual.sub("x", "a 1-2 b 3-4") == "a x b x"
    assert later.findall("1-2 3-4") == usual.findall("1-2 3-4")
    assert (later.pattern, later.flags, dict(later.groupindex)) == (usual.pattern, usual.flags, {"last": 2})
    found = copy.deepcopy(later).fullmatch("12-34")
    assert found is not None
    assert found["last"] == "34"


def test_it_is_compiled_when_it_is_used() -> None:
    broken = regex("(")
    with pytest.raises(re.error, match="missing \\)"):
        broken.search("")


@pytest.mark.parametrize("name", USING)
def test_every_one_can_be_compiled(name: str) -> None:
    found = [each for value in vars(import_module(name)).values() for each in held(value)]
    assert all(isinstance(each.pattern, str) for each in found)


def test_the_walk_sees_them() -> None:
    assert {"secom_core.text.terms", "secom_core.text.intents", "secom_core.llm.marks"} <= set(USING)
    assert held(vars(import_module("secom_core.text.dates"))["_CALENDAR"])
