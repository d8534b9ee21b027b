"""The parsers under the fuzzer's targets: a short run of mutations, what longer runs have found, and slow shapes."""

from __future__ import annotations

import random
import time

import pytest

from benchmarks.fuzzing import SEEDS, Target, mutated, slow_shapes, targets, tried
from secom_core.errors import SecomError

TARGETS = targets()
LENGTH = 20_000
FOUND = {
    "import": [
        SEEDS["import"][0].replace('"epoch": 0', '"epoch": 1e999'),
        SEEDS["import"][0].replace('"metadata": {"deep": [1, null]}', '"metadata": [["a", 1]]'),
        "[]",
        "7",
        '{"kind": "header"}',
    ],
    "messages": [
        '[{"role":"user","content":' + "[" * 900 + "]" * 900 + "}]",
        '[{"role":"user","content":"x","at":1e999}]',
    ],
    "transcript": ["Ann" + " " * 5000 + "Bob: x", "\n".join(f"## Session 2\nAnn: {n}" for n in range(500))],
    "topic update": ["Merge(0, a\nb\n" * 3, "Merge(0, (a)\n))", "Merge(0, a) b) c"],
    "block": [
        "2024-05-04 Sat",
        "# How things came about, oldest first:",
        "  \t## Summary of the earlier sessions:",
        "<\u200b/memories>",
        "→ (Cause) 2024-05-04 Sat x",
        "memories>\nx\n</",
        "[0000000001] x",
    ],
}
"""Texts that once broke a target's contract, or come close to those."""


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_whatever_is_read_gives_a_result_or_an_error_of_the_project(name):
    target, draw = TARGETS[name], random.Random(name)
    for _ in range(20 if name == "bank import" else 300):
        text = mutated(target.seeds, draw, target.longest)
        assert tried(target, text) is None, f"{text!r}"


@pytest.mark.parametrize("name", FOUND)
def test_what_fuzzing_found_stays_mended(name):
    for text in FOUND[name]:
        assert tried(TARGETS[name], text) is None, f"{text!r}"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TARGETS if name != "bank import"])
def test_no_shape_takes_a_parser_time_that_grows_with_its_square(name):
    """A text takes half a second, and its square would half a minute; on a slow machine half of it is tried as well."""
    for shape, text in slow_shapes(LENGTH).items():
        took = seconds_of(name, text)
        assert took < 8, shape
        assert took < 2.5 or took < 3.5 * seconds_of(name, slow_shapes(LENGTH // 2)[shape]), shape


def seconds_of(name: str, text: str) -> float:
    began = time.thread_time()
    assert tried(TARGETS[name], text) is None, text[:40]
    return time.thread_time() - began


def test_the_seeds_are_understood():
    """A fuzzer that begins with texts nobody reads looks at nothing but the first check."""
    read = {name: sum(_understood(target, text) for text in target.seeds) for name, target in TARGETS.items()}
    assert {name for name, count in read.items() if not count} <= {"teafarm", "judgement"}


def _understood(target: Target, text: str) -> bool:
    try:
        target.run(text)
    except SecomError:
        return False
    return True
