"""A rule that looks for its signs first finds all that it would find without them."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import pytest

import secom_core.text
from secom_core.text.repairs import CORRECTED
from secom_core.text.wording import Signed, folded_case, wording

NEW = sys.version_info >= (3, 11)
op: Any = importlib.import_module("re._constants" if NEW else "sre_constants")
parser: Any = importlib.import_module("re._parser" if NEW else "sre_parse")

MOST = 40
"""How many characters a class has at most that is tried one after the other."""

GAP = "Ѫ"
"""Stands for anything, within a word too."""

Rest = Callable[[str], bool]


def rules() -> list[Signed]:
    names = [f"secom_core.text.{each.name}" for each in pkgutil.iter_modules(secom_core.text.__path__)]
    alone = list(chain.from_iterable(vars(importlib.import_module(name)).values() for name in names))
    within = (each.values() if isinstance(each, dict) else each for each in alone if isinstance(each, dict | tuple))
    held = chain(alone, *within)
    return list(dict.fromkeys(each for each in held if type(each) is Signed))


def always_signed(rule: Signed) -> bool:
    """Whether a sign stands in whatever a rule finds, by what its expression is made of."""
    return _walk(list(parser.parse(rule.compiled.pattern, rule.compiled.flags)), "", rule.signs, lambda _: False)


def _walk(items: Sequence[Any], run: str, signs: tuple[str, ...], rest: Rest) -> bool:
    run = re.sub(r"\W+", " ", run)
    if any(sign in run for sign in signs):
        return True
    if not items:
        return rest(run)
    (kind, value), others = items[0], items[1:]

    def on(run: str) -> bool:
        return _walk(others, run, signs, rest)

    if kind is op.LITERAL:
        return on(run + folded_case(chr(value)))
    if kind is op.AT:
        return on(f"{run} " if value is op.AT_BOUNDARY else run)
    if kind is op.IN:
        return _of_class(value, run, on)
    if kind is op.SUBPATTERN:
        return _walk(list(value[-1]), run, signs, on)
    if kind is op.BRANCH:
        return all(_walk(list(each), run, signs, on) for each in value[1])
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        least, most, what = value
        if (least, most) == (0, 1):
            return on(run) and _walk(list(what), run, signs, on)
        blank = list(what) == [(op.IN, [(op.CATEGORY, op.CATEGORY_SPACE)])]
        if blank:
            return on(f"{run} ") and (least > 0 or on(run))
        return on(GAP) or (least > 0 and _walk(list(what), run, signs, lambda _: False))
    if kind in (op.ASSERT, op.ASSERT_NOT):
        return on(run)
    return on(GAP)


def _of_class(members: list[Any], run: str, on: Rest) -> bool:
    if members[0][0] is op.NEGATE:
        return on(GAP)
    letters: list[str] = []
    for kind, value in members:
        if kind is op.LITERAL:
            letters.append(chr(value))
        elif kind is op.RANGE and value[1] - value[0] < MOST:
            letters += map(chr, range(value[0], value[1] + 1))
        elif kind is op.CATEGORY and value is op.CATEGORY_SPACE:
            letters.append(" ")
        elif kind is op.CATEGORY and value is op.CATEGORY_DIGIT:
            letters += "0123456789\u0665\uff15"
        else:
            return on(GAP)
    return all(on(run + folded_case(letter)) for letter in letters)


def test_whatever_a_rule_finds_holds_one_of_its_signs() -> None:
    found = rules()
    assert len(found) >= 22
    assert [rule.compiled.pattern[:80] for rule in found if not always_signed(rule)] == []


@pytest.mark.parametrize(
    ("phrases", "anywhere", "signed", "is_always"),
    [
        ("I (?:said|told you)", "", " said| told", True),
        ("I (?:said|told you|meant)", "", " said| told", False),
        ("(?:un)?said", "", " said", False),
        ("no \\d", "", " no 0| no 1| no 2| no 3| no 4| no 5| no 6| no 7| no 8| no 9", False),
        ("not (?:an? )?\\d", "", " not ", True),
        ("cannot", "", " not ", False),
        ("(?:was|isn't) wrong", "", "'t wrong| was ", True),
        ("", "\u5f00\u59cb.{0,5}\u8bf4", "\u958b\u59cb", True),
        ("", "\\w*called", " called", False),
    ],
)
def test_signs_that_may_be_missing_are_seen(phrases: str, anywhere: str, signed: str, is_always: bool) -> None:
    rule: Any = wording(phrases, anywhere=anywhere, signed=signed)
    assert always_signed(rule) == is_always


def test_a_rule_is_compiled_for_a_text_with_a_sign_only() -> None:
    rule: Any = wording("I (?:said|told you) wrong", signed=" wrong")
    assert rule.search("I said so, and was wronged by it") is None
    assert rule.search("I said wrong things")[0] == "I said wrong"
    assert rule.search("I said\nWRONG things", 0, 9) is None
    assert rule.sub(lambda _: "-", "What I TOLD  you wrong.") == "What -."
    quiet: Any = wording("(?:broken", signed=" broken")
    assert quiet.search("I was quiet") is None
    with pytest.raises(re.error):
        quiet.search("It was broken")


@pytest.mark.parametrize(
    "text",
    [
        "N\u2019T 3 SORRY",
        "no \uff15",
        "et\u0307no 5",
        "a\u0345misspoke",
        "it is \u0130stanbul, I MI\u017fSPOKE",
        "\u932f\u4e86\u662f5",
        "no\u00a0 5",
    ],
)
def test_signs_stand_in_a_text_however_it_is_written(text: str) -> None:
    rule: Any = CORRECTED
    assert (rule.search(text) is None) == (rule.compiled.search(text) is None)
