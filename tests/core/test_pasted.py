"""What a program wrote, in texts that somebody pasted it into, and what layers make of such texts without a model."""

from __future__ import annotations

import time

import pytest

from secom_core import MemoryBank
from secom_core.conversation import Message, group_messages
from secom_core.drafts.extraction import segment_drafts
from secom_core.memory import Memory
from secom_core.summaries import Summarizer
from secom_core.text.pasted import without_pasted

TRACE = """Traceback (most recent call last):
  File "/srv/till/app/money.py", line 41, in to_cents
    return int(amount.quantize(CENT))
decimal.InvalidOperation: quantize result has too many digits
"""
LOG = """2026-03-01T10:00:00.120+00:00 INFO  [till-3] load receipt id=3fa1c2 took=502ms peer=10.2.3.4:51000
2026-03-01 10:00:01,004 ERROR till.charge: card declined code=502
[10:00:02] WARN retry in 3s
"""


@pytest.mark.parametrize(
    "pasted",
    [
        TRACE.rpartition("decimal")[0],
        LOG,
        "    at Till.charge (/srv/till/charge.ts:12:7)\n    at async main (/srv/till/index.ts:3:1)\n",
        "\tat com.acme.Till.charge(Till.java:12)\n",
        "diff --git a/till.py b/till.py\nindex 3fa1c2d..9b2e4f1 100644\n@@ -1 +1 @@\n-    cents = 1\n+    cents = 2\n",
        "def to_cents(amount):\n    return amount * 100\n",
        "SELECT id, total FROM receipts WHERE total > 100;\n",
        '{"level": "error", "msg": "card declined"}\n',
        "export const rate = 0.21;\nfunction tax(sum) {\n  return sum * rate;\n}\n",
        "$ kubectl get pods -n till\n",
        "```\nanything at all\n```\n",
    ],
    ids=["trace", "log", "node", "java", "diff", "python", "sql", "json", "script", "shell", "fences"],
)
def test_what_a_program_wrote_is_taken_out_of_what_a_person_wrote(pasted: str) -> None:
    before, after = "The till went down on Tuesday.", "It began after the deploy (the second one)."
    assert without_pasted(f"{before}\n\n{pasted}\n{after}").split() == f"{before} {after}".split()


@pytest.mark.parametrize(
    "said",
    [
        "Ten past: 10:05 was the train, and the error was mine (sorry!)",
        "I need:\n  - milk;\n  - bread;\n  - eggs (twelve)\n",
        "We import oranges from Spain; the class is full.\nat home (again)",
        "Dear Ann,\n    I write to you from Ghent.\n    Yours, Ilse",
        "我们上午10:05出发（坐火车）；\n  到了再说。",
        "",
    ],
)
def test_what_a_person_wrote_stays_as_it_is(said: str) -> None:
    assert without_pasted(said) == said


def test_the_message_of_an_error_stays() -> None:
    assert without_pasted(f"On staging:\n{TRACE}") == "On staging:\n" + TRACE.splitlines(keepends=True)[-1]


@pytest.mark.parametrize("pasted", [TRACE, LOG, f"```\n{LOG}```\n"], ids=["trace", "log", "between fences"])
@pytest.mark.parametrize("by_speaker", [False, True], ids=["event", "topic"])
def test_an_event_and_a_topic_are_of_what_was_said_and_no_line_of_a_log(pasted: str, by_speaker: bool) -> None:
    said = Message(f"The till at the harbour shop charges some cards twice since Tuesday.\n\n{pasted}", "user")
    turns = group_messages([said, Message("Then the charge is not idempotent.", "assistant")], "s")
    [draft] = segment_drafts([Memory("s#0-1", "", turns)], by_speaker=by_speaker)
    error = f" {TRACE.splitlines()[-1]}" if pasted == TRACE else ""
    assert draft.text == f"user: The till at the harbour shop charges some cards twice since Tuesday.{error}"


def test_of_nothing_but_code_the_event_is_of_the_code() -> None:
    turns = group_messages([Message("def to_cents(amount):\n    return amount * 100", "user")], "s")
    [draft] = segment_drafts([Memory("s#0-1", "", turns)])
    assert draft.text == "user: def to_cents(amount): return amount * 100"


def test_a_summary_without_a_model_has_no_line_of_a_log_or_a_trace() -> None:
    told = Message(f"My till is at the harbour of Ostend.\n{LOG}{TRACE}", "user")
    assert Summarizer().update(group_messages([told])).splitlines() == [
        "user: My till is at the harbour of Ostend.",
        "user: decimal.InvalidOperation: quantize result has too many digits",
    ]


@pytest.mark.parametrize("unit", ["1", "a", "{}", " (", "let a"])
def test_a_line_without_end_takes_the_layers_no_time_that_grows_with_its_square(unit: str) -> None:
    """Eight times the line: a square would take sixty times as long."""
    assert seconds_of_layers(unit, 40_000) < 16 * seconds_of_layers(unit, 5_000) + 0.3


def seconds_of_layers(unit: str, length: int) -> float:
    """How long the layers take for a line that repeats the unit."""
    line = f"let {unit * (length // len(unit))}"
    with MemoryBank.open(summaries=True, timelines=True, topics=True, changes=True) as bank:
        bank.remember(("ann",), [("user", "Hello, I moved."), ("assistant", "OK.")], session="first", close=True)
        began = time.thread_time()
        bank.remember(("ann",), [("user", line), ("assistant", "I see.")], session="s", close=True)
        return time.thread_time() - began
