"""A reranker between search and packing: it orders, it is counted, and where it fails nothing else does."""

from __future__ import annotations

import asyncio
import contextvars
import math
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cross_encoders import cross_encoder, with_cross_encoders
from embedders import HashingEmbedder

from secom_core import AsyncMemoryBank, MemoryBank
from secom_core.bank.judging import checked_scores
from secom_core.citations import RerankerOptions
from secom_core.context.packing import PackTurns
from secom_core.conversation import Message
from secom_core.errors import BadReply, DegradedWarning, InvalidInput, ModelUnavailable, StaleIndex
from secom_core.memory import Recall
from secom_core.processes.timed_calls import LateAnswer, TimedCalls
from secom_core.ranking.reranking import Reranking
from secom_core.ranking.returned import Returned, scores_of
from secom_core.text.terms import count_tokens
from secom_core.topics import TopicOptions

SCOPE, TEAM = ("acme", "alice"), ("acme", "team")
QUERY = "What does the garden at home need?"
PLANTS = ("roses", "lilies", "tulips", "peonies", "violets", "daisies", "asters", "poppies")
WANTED = "poppies"


class Wants:
    """Wants the texts with a word, and keeps what it was asked."""

    def __init__(self, word: str = WANTED) -> None:
        self.word = word
        self.asked: list[tuple[str, list[str]]] = []

    def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((query, list(texts)))
        return [float(self.word in text) for text in texts]


def fill(bank: MemoryBank, scope: tuple[str, str] = SCOPE, plants: Sequence[str] = PLANTS) -> None:
    for number, plant in enumerate(plants):
        more = " and time" * number
        at = datetime(2025, 3, 1 + number, tzinfo=timezone.utc)
        said = Message(f"The garden at home needs {plant}{more}.", "user", id=f"{scope[1]}-{number}", at=at)
        bank.remember(scope, [said], session=f"s{number}", close=True)
    called = Message("My dentist called about the bill.", "user", id=f"{scope[1]}-dentist", at=at)
    bank.remember(scope, [called], session="dentist", close=True)


def opened(reranker: Any = None, **parts: Any) -> MemoryBank:
    bank = MemoryBank.open(reranker=reranker, packer=PackTurns(thrift=0.0), **parts)
    fill(bank)
    return bank


def first(recall: Recall) -> str:
    return recall.ranked[0].text


def same(one: Recall, other: Recall) -> bool:
    return (one.hits, one.text, one.tokens, one.confidence) == (other.hits, other.text, other.tokens, other.confidence)


@pytest.fixture(scope="module")
def plain() -> Iterator[MemoryBank]:
    with opened() as bank:
        yield bank


def test_what_the_reranker_wants_comes_first_and_the_others_keep_their_order(plain: MemoryBank) -> None:
    before = plain.recall(SCOPE, QUERY)
    assert WANTED not in first(before), "else the test says nothing"

    with opened(Reranking(Wants(), weight=1)) as bank:
        after = bank.recall(SCOPE, QUERY)

    assert WANTED in first(after)
    others = [[hit.text for hit in each.ranked if WANTED not in hit.text] for each in (before, after)]
    assert others[0] == others[1]
    assert sorted(hit.score for hit in before.hits) == sorted(hit.score for hit in after.hits)
    assert after.confidence == before.confidence


def test_it_decides_what_a_small_budget_shows(plain: MemoryBank) -> None:
    budget = 75
    assert WANTED not in plain.recall(SCOPE, QUERY, token_budget=budget).text

    with opened(Reranking(Wants(), weight=1)) as bank:
        recall = bank.recall(SCOPE, QUERY, token_budget=budget)
        alone = bank.recall(SCOPE, QUERY, k=1)

    assert WANTED in recall.text
    assert recall.tokens <= budget
    assert [WANTED in hit.text for hit in alone.hits] == [True]


def test_of_one_that_it_lifts_a_sentence_is_shown_where_there_is_no_room_for_more() -> None:
    with MemoryBank.open(reranker=Reranking(Wants("zebra"), weight=1), packer=PackTurns(thrift=0.0)) as bank:
        for number in range(14):
            bank.remember(SCOPE, [("user", f"The garden at home does need {number} roses.")], session=f"s{number}")
        rest = "Nothing that was said on that day had to do with any of this, as everybody there could tell. " * 4
        bank.remember(SCOPE, [("user", f"{rest}The garden has a zebra. {rest}")], session="long")
        recall = bank.recall(SCOPE, QUERY, token_budget=60)

    assert "zebra" in recall.text
    assert recall.tokens <= 60


def test_it_sees_the_words_that_are_shown_and_the_query_once_a_recall() -> None:
    wants = Wants()
    with opened(wants) as bank:
        recall = bank.recall(SCOPE, QUERY)

    [(query, texts)] = wants.asked
    assert query == QUERY
    assert "user: The garden at home needs roses." in texts
    assert all(text in recall.text for text in texts)
    beside = [*SCOPE, *(turn.id for turn in recall.turns), *(turn.session for turn in recall.turns), "2025"]
    assert not [each for each in beside if each in " ".join(texts)], "words and speakers alone"


def test_what_holds_whatever_is_asked_is_not_judged() -> None:
    wants, asked = Wants(), ("user", "Please always answer in French from now on.")
    with opened(wants) as bank:
        bank.remember(SCOPE, [asked, ("assistant", "Of course, with pleasure.")], session="wish")
        recall = bank.recall(SCOPE, QUERY)

    [kind] = [hit.kind for hit in recall.hits if "French" in hit.text]
    assert kind == "standing", "else the test says nothing"
    assert not any("French" in text for text in wants.asked[0][1])


def test_long_turns_are_judged_by_their_passages() -> None:
    wants = Wants("zebra")
    reply = "\n\n".join(f"Paragraph {n} on the garden. " + f"It needs thing {n} and care. " * 12 for n in range(12))
    with MemoryBank.open(reranker=Reranking(wants, weight=1)) as bank:
        said = [("user", "Tell me all."), ("assistant", f"{reply}\n\nIn the garden there is a zebra at home.")]
        bank.remember(SCOPE, said, session="s", close=True)
        recall = bank.recall(SCOPE, QUERY, token_budget=300)

    [(_, texts)] = wants.asked
    assert len(texts) > 3
    assert all(len(text) < len(reply) / 2 for text in texts)
    assert all(text.startswith(("assistant: ", "user: ")) for text in texts)
    assert "zebra" in recall.text


def test_a_follow_up_is_judged_with_what_it_cannot_be_read_without() -> None:
    wants = Wants()
    with opened(wants) as bank:
        bank.recall(SCOPE, "And what does it need?", context=[("user", "Tell me of the garden at home.")])

    [(query, _)] = wants.asked
    assert query.startswith("And what does it need?")
    assert "garden at home" in query


def test_only_the_first_are_judged_and_the_rest_stay_below(plain: MemoryBank) -> None:
    before = [hit.text for hit in plain.recall(SCOPE, QUERY).ranked]
    wants = Wants("garden")
    turned = Reranking(lambda query, texts: [*map(float, range(len(wants(query, texts))))], first=3, weight=1)
    with opened(turned) as bank:
        after = [hit.text for hit in bank.recall(SCOPE, QUERY).ranked]

    [(_, texts)] = wants.asked
    assert len(texts) == 3
    assert after[:3] == before[:3][::-1]
    assert after[3:] == before[3:]


def test_by_half_a_weight_both_count() -> None:
    options = Reranking(Wants(), weight=0.5)

    assert options.order([3.0, 2.0, 1.0], [0.0, 0.0, 0.0]) == [0, 1, 2]
    assert options.order([3.0, 2.9, 1.0], [0.0, 1.0, 0.0]) == [1, 0, 2]
    assert options.order([3.0, 2.0, 1.0], [1.0, 2.0, 3.0]) == [0, 1, 2], "they come out even"
    assert Reranking(Wants(), weight=1).order([3.0, 2.0, 1.0], [1.0, 2.0, 3.0]) == [2, 1, 0]
    assert options.order([1.0, 1.0], [1e308, -1e308]) == [0, 1]
    assert options.order([1.0, 1.0], [-1e308, 1e308]) == [1, 0]
    assert options.order([1.0, 1.0], [0.0, 5e-324]) in ([0, 1], [1, 0])


@pytest.mark.parametrize("budget", [100, 500, 2000, None])
def test_without_one_and_with_one_that_has_no_opinion_everything_is_as_it_was(
    plain: MemoryBank, budget: int | None
) -> None:
    with opened(lambda query, texts: [0.5] * len(texts)) as bank:
        for options in ({}, {"only_relevant": True}, {"where": {"role": "user"}}, {"also": [TEAM]}):
            before = plain.recall(SCOPE, QUERY, token_budget=budget, **options)
            after = bank.recall(SCOPE, QUERY, token_budget=budget, **options)
            for each, hit in zip(after.hits, before.hits, strict=True):
                assert replace(each, signals=hit.signals) == hit
            assert (before.text, before.confidence) == (after.text, after.confidence)
    recall = plain.recall(SCOPE, QUERY)
    assert (recall.work.rerank_calls, recall.work.rerank_texts, recall.work.rerank_tokens) == (0, 0, 0)
    assert "rerank" not in recall.work.stages
    assert all("reranker" not in hit.signals for hit in recall.hits)


def test_what_it_costs_is_counted() -> None:
    wants = Wants()
    with opened(wants) as bank:
        work = bank.recall(SCOPE, QUERY).work
        bank.recall(SCOPE, QUERY)
        nothing = bank.recall(("acme", "nobody"), QUERY).work
        sums = bank.health().work["recall"]

    _, texts = wants.asked[0]
    tokens = sum(count_tokens(QUERY) + count_tokens(text) for text in texts)
    assert (work.rerank_calls, work.rerank_texts, work.rerank_tokens) == (1, len(texts), tokens)
    assert work.stages["rerank"] > 0
    assert work.calls == 0, "language models are counted apart"
    assert (nothing.rerank_calls, nothing.rerank_texts) == (0, 0)
    assert (sums.rerank_calls, sums.rerank_texts, sums.rerank_tokens) == (2, 2 * len(texts), 2 * tokens)


def test_its_own_score_stands_among_the_signals() -> None:
    with opened(Wants()) as bank:
        hits = bank.recall(SCOPE, QUERY).hits

    assert [hit.signals["reranker"] for hit in hits if WANTED in hit.text] == [1.0]
    assert {hit.signals["reranker"] for hit in hits if "reranker" in hit.signals} == {0.0, 1.0}


def _raises(query: str, texts: Sequence[str]) -> list[float]:
    raise ValueError("the model is on fire")


async def _araises(query: str, texts: Sequence[str]) -> list[float]:
    raise ConnectionError("nobody listens")


async def _alate(query: str, texts: Sequence[str]) -> list[float]:
    await asyncio.sleep(30)
    return [1.0] * len(texts)


def _late(query: str, texts: Sequence[str]) -> list[float]:
    time.sleep(1.5)
    return [1.0] * len(texts)


def _gives(make: Callable[[int], Any]) -> Callable[[str, Sequence[str]], Any]:
    return lambda query, texts: make(len(texts))


FAILURES: dict[str, tuple[Any, str]] = {
    "raises": (_raises, "the reranker raised ValueError: the model is on fire"),
    "raises when awaited": (_araises, "the reranker raised ConnectionError: nobody listens"),
    "a model's own error": (
        lambda query, texts: (_ for _ in ()).throw(ModelUnavailable("status 503")),
        "without it: status 503",
    ),
    "late": (_late, "the reranker gave no answer within 0.2 s"),
    "late when awaited": (_alate, "the reranker gave no answer within 0.2 s"),
    "too few": (_gives(lambda n: [1.0] * (n - 1)), "one a text, and gave the shape"),
    "too many": (_gives(lambda n: [1.0] * (n + 1)), "one a text, and gave the shape"),
    "one for all": (_gives(lambda n: 1.0), "the reranker raised TypeError"),
    "nothing": (_gives(lambda n: None), "the reranker raised TypeError"),
    "several a text": (_gives(lambda n: np.ones((n, 2))), "one a text, and gave the shape"),
    "ragged": (_gives(lambda n: [[1.0], *[[1.0, 2.0]] * (n - 1)]), "the reranker raised ValueError"),
    "no numbers": (_gives(lambda n: ["0.5"] * n), "gave what is no number"),
    "nothing of one": (_gives(lambda n: [None, *[1.0] * (n - 1)]), "gave what is no number"),
    "complex": (_gives(lambda n: [1j] * n), "gave what is no number"),
    "a text": (_gives(lambda n: "1" * n), "gave the shape"),
    "a mapping": (_gives(lambda n: dict.fromkeys(range(n), 1.0)), "gave the shape"),
    "nan": (_gives(lambda n: [math.nan, *[1.0] * (n - 1)]), "gave what is not finite"),
    "inf": (_gives(lambda n: [math.inf, *[1.0] * (n - 1)]), "gave what is not finite"),
    "too large": (_gives(lambda n: [10**400, *[1.0] * (n - 1)]), "gave what is no number"),
    "wants other arguments": (dict.fromkeys(()).copy, "the reranker raised TypeError"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_one_that_fails_costs_a_warning_that_names_the_cause_and_nothing_else(plain: MemoryBank, name: str) -> None:
    reranker, cause = FAILURES[name]
    options = Reranking(reranker, timeout=0.2 if "late" in name else 30)
    with opened(options) as bank, pytest.warns(DegradedWarning) as warned:
        recall = bank.recall(SCOPE, QUERY)

    [warning] = warned
    assert "reranking failed, so the order is the one without it" in str(warning.message)
    assert cause in str(warning.message)
    assert warning.filename == __file__, "it points at who called"
    assert same(recall, plain.recall(SCOPE, QUERY))
    assert recall.work.rerank_calls == 1, "what failed is counted too"


@pytest.mark.parametrize(
    "make",
    [
        lambda scores: tuple(scores),
        lambda scores: iter(scores),
        lambda scores: np.array(scores, dtype=np.float32),
        lambda scores: [np.float64(score) for score in scores],
        lambda scores: [int(score) for score in scores],
        lambda scores: [bool(score) for score in scores],
    ],
)
def test_numbers_come_in_many_forms(make: Callable[[list[float]], Any]) -> None:
    wants = Wants()
    with (
        opened(Reranking(lambda query, texts: make(wants(query, texts)), weight=1)) as bank,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        assert WANTED in first(bank.recall(SCOPE, QUERY))


def test_scores_are_checked() -> None:
    assert checked_scores([1, 2.5, True], 3) == [1.0, 2.5, 1.0]
    with pytest.raises(BadReply, match=r"give 2 numbers, one a text, and gave the shape \(3,\)"):
        checked_scores([1, 2, 3], 2)


def test_a_coroutine_function_is_awaited_in_sync_and_async_callers_always_in_one_loop() -> None:
    loops = set()
    wants = Wants()

    async def reranker(query: str, texts: Sequence[str]) -> list[float]:
        loops.add(id(asyncio.get_running_loop()))
        await asyncio.sleep(0)
        return wants(query, texts)

    with opened(Reranking(reranker, weight=1)) as bank:
        assert WANTED in first(bank.recall(SCOPE, QUERY))

        async def within() -> tuple[Recall, Recall]:
            # A call that blocks its own loop, as in a notebook, and one that does not.
            return bank.recall(SCOPE, QUERY), await AsyncMemoryBank(bank).recall(SCOPE, QUERY)

        assert all(WANTED in first(each) for each in asyncio.run(within()))
    assert len(wants.asked) == 3
    assert len(loops) == 1


def test_the_event_loop_goes_on_while_it_judges() -> None:
    def slow(query: str, texts: Sequence[str]) -> list[float]:
        time.sleep(0.4)
        return [1.0] * len(texts)

    async def beats(bank: AsyncMemoryBank) -> int:
        recall = asyncio.ensure_future(bank.recall(SCOPE, QUERY))
        count = 0
        while not recall.done():
            await asyncio.sleep(0.01)
            count += 1
        await recall
        return count

    with opened(slow) as bank:
        assert asyncio.run(beats(AsyncMemoryBank(bank))) > 15


def test_it_sees_the_callers_context_variables() -> None:
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")
    seen = []

    def judge(query: str, texts: Sequence[str]) -> list[float]:
        seen.append(tenant.get())
        return [1.0] * len(texts)

    async def ajudge(query: str, texts: Sequence[str]) -> list[float]:
        return judge(query, texts)

    tenant.set("acme")
    for each in (judge, ajudge):
        with opened(each) as bank:
            bank.recall(SCOPE, QUERY)
    assert seen == ["acme", "acme"]


def test_others_write_and_recall_and_forget_while_it_judges() -> None:
    asked, go = threading.Event(), threading.Event()

    def waits(query: str, texts: Sequence[str]) -> list[float]:
        if not asked.is_set():
            asked.set()
            go.wait(120)
        return [float(WANTED in text) for text in texts]

    with opened(Reranking(waits, weight=1)) as bank:
        found: list[Recall] = []
        thread = threading.Thread(target=lambda: found.append(bank.recall(SCOPE, QUERY)))
        thread.start()
        assert asked.wait(20)
        # None of these waits for the judge, who waits for them.
        bank.remember(SCOPE, [("user", "The garden at home needs a gate.")], session="new")
        assert "a gate" in bank.recall(SCOPE, QUERY).text
        assert bank.forget(SCOPE, session=f"s{PLANTS.index('roses')}") == 1
        go.set()
        thread.join(20)

    [recall] = found
    assert WANTED in next(hit.text for hit in recall.ranked if "reranker" in hit.signals)
    assert "roses" not in recall.text, "it was forgotten meanwhile"
    assert "a gate" in recall.text


def test_a_recall_that_reads_its_index_again_does_not_ask_again() -> None:
    class Stale(PackTurns):
        tried = 0

        def pack(self, *arguments: Any, **options: Any) -> Any:
            self.tried += 1
            if self.tried == 1:
                raise StaleIndex("as though another process had written a newer one", damaged=False)
            return super().pack(*arguments, **options)

    wants, packer = Wants(), Stale(thrift=0.0)
    with MemoryBank.open(reranker=Reranking(wants, weight=1), packer=packer) as bank:
        fill(bank)
        recall = bank.recall(SCOPE, QUERY)

    assert packer.tried == 2
    assert len(wants.asked) == 1
    assert WANTED in first(recall)


_FORKS = """
import asyncio, os, sys, threading
from secom_core.processes.timed_calls import LateAnswer, TimedCalls

async def answers():
    await asyncio.sleep(0)
    return 7

timed, never = TimedCalls("test"), threading.Event()
assert timed.call(answers, timeout=20) == 7
for _ in range(4):
    try:
        timed.call(never.wait, timeout=0.01)
    except LateAnswer:
        pass
child = os.fork()
if not child:
    os._exit(0 if timed.call(answers, timeout=20) == 7 else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that forks")
def test_a_child_of_a_fork_asks_and_a_call_that_hangs_keeps_no_process_alive() -> None:
    # Since 3.12, Python itself warns that a process with threads forks.
    expected = ["-W", "ignore:This process:DeprecationWarning"]
    command = [sys.executable, *expected, "-c", _FORKS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_scope_that_is_forgotten_while_it_judges_gives_nothing() -> None:
    def forgets(query: str, texts: Sequence[str]) -> list[float]:
        bank.forget(SCOPE)
        return [1.0] * len(texts)

    with opened(forgets) as bank:
        assert bank.recall(SCOPE, QUERY).hits == ()


def test_a_late_one_is_not_asked_again_and_again_and_a_late_coroutine_is_cancelled() -> None:
    calls, go, cancelled = [], threading.Event(), threading.Event()

    def hangs() -> None:
        calls.append(1)
        go.wait(120)

    timed = TimedCalls("test")
    for _ in range(4):
        with pytest.raises(LateAnswer, match=r"within 0\.02 s"):
            timed.call(hangs, timeout=0.02)
    with pytest.raises(LateAnswer, match="was not asked, as 4 earlier calls have not come back"):
        timed.call(hangs, timeout=0.02)
    assert len(calls) == 4
    go.set()
    deadline = time.monotonic() + 60
    while timed._late and time.monotonic() < deadline:
        time.sleep(0.01)
    assert timed.call(lambda: 7, timeout=5) == 7

    async def waits() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(LateAnswer):
        timed.call(waits, timeout=0.02)
    assert cancelled.wait(10)


def test_a_filter_holds_for_what_it_sees_and_turns_in_the_prompt_are_not_shown_to_it() -> None:
    wants = Wants()
    with opened(Reranking(wants, weight=1)) as bank:
        fill(bank, TEAM, ["the team's ferns"])
        bank.recall(SCOPE, QUERY, where={"session": {"in": ["s0", "s1", "s2"]}})
        in_prompt = [bank.turns(SCOPE, f"s{number}")[0].id for number in (0, 1)]
        bank.recall(SCOPE, QUERY, exclude=in_prompt)

    (_, filtered), (_, rest) = wants.asked
    assert [plant for plant in PLANTS if plant in " ".join(filtered)] == list(PLANTS[:3])
    assert not any(plant in " ".join(rest) for plant in PLANTS[:2])
    assert not any("ferns" in text for _, texts in wants.asked for text in texts), "a scope is a wall"


def test_several_scopes_are_judged_together_in_one_call() -> None:
    wants = Wants("ferns")
    with opened(Reranking(wants, weight=1)) as bank:
        fill(bank, TEAM, ["moss", "ferns"])
        recall = bank.recall(SCOPE, QUERY, also=[TEAM])
        small = bank.recall(SCOPE, QUERY, also=[TEAM], k=1)

    assert len(wants.asked) == 2
    assert any("ferns" in text for text in wants.asked[0][1])
    assert any("roses" in text for text in wants.asked[0][1])
    assert "ferns" in first(recall)
    assert recall.ranked[0].scope == TEAM
    assert [("ferns" in hit.text, hit.scope) for hit in small.hits] == [(True, TEAM)]


def test_what_is_too_faint_may_be_lifted_by_it() -> None:
    with opened(Reranking(Wants("dentist"), weight=1, first=50)) as bank:
        bank.remember(SCOPE, [("user", "The dentist needs a garden.")], session="odd", close=True)
        assert "dentist" in first(bank.recall(SCOPE, QUERY, only_relevant=True))


def test_what_was_corrected_stays_marked_before_what_it_replaced() -> None:
    with opened(Reranking(Wants("roses"), weight=1)) as bank:
        turn = bank.turns(SCOPE, "s0")[0]
        bank.correct(SCOPE, turn, "The garden at home needs no flowers.")
        recall = bank.recall(SCOPE, QUERY)
        now = bank.recall(SCOPE, QUERY, history=False)

    assert "(replaced on" in recall.text
    assert "no flowers" in recall.text
    assert "needs roses." not in now.text
    assert "no flowers" in now.text


def test_citations_are_learned_from_with_it() -> None:
    options = RerankerOptions(top=3, batch=1)
    with opened(Reranking(Wants(), weight=1), embedder=HashingEmbedder(), citations=options) as bank:
        for _ in range(2):
            recall = bank.recall(SCOPE, QUERY)
            assert len(recall.hits) == 3
            lesson = bank.citations.reward(SCOPE, QUERY, recall.impression, [1])
            assert lesson.kind == "taught"
    with opened(Reranking(Wants(), weight=1), citations=True) as bank:
        recall = bank.recall(SCOPE, QUERY)
        scores = dict(zip(recall.impression.memory_ids, recall.impression.scores, strict=True))
        best = max(scores, key=lambda each: scores[each])
        assert best == recall.ranked[0].memory.id
        assert bank.citations.reward(SCOPE, QUERY, recall.impression, [1]).kind == "recorded"


def test_topics_are_packed_by_what_it_says() -> None:
    wants = Wants()
    with opened(Reranking(wants, weight=1), topics=TopicOptions(recall_without_model=True)) as bank:
        bank.derive(SCOPE)
        recall = bank.recall(SCOPE, QUERY, layers=["topics"])

    assert recall.hits
    assert len(wants.asked) == 1


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: {"reranker": "bge-reranker"}, r"reranker is a function of a query and texts .*got 'bge-reranker'"),
        (lambda: {"reranker": Wants}, "got the class Wants; make one with secom_core.models.SentenceTransformerRe"),
        (lambda: {"reranker": 7}, "got 7"),
        (lambda: {"reranker": Reranking("bge")}, "got 'bge'; make one with .*LangChainReranker"),  # type: ignore[arg-type]
        (
            lambda: {"reranker": Reranking(Wants(), first=1)},
            "first is how many candidates are judged, from 2 on, got 1",
        ),
        (lambda: {"reranker": Reranking(Wants(), first=True)}, "got True"),
        (lambda: {"reranker": Reranking(Wants(), weight=0)}, "up to 1, got 0; to rank without a reranker, leave it"),
        (lambda: {"reranker": Reranking(Wants(), weight=1.5)}, "got 1.5"),
        (lambda: {"reranker": Reranking(Wants(), weight=math.nan)}, "got nan"),
        (lambda: {"reranker": Reranking(Wants(), timeout=0)}, "timeout is a finite number of seconds above 0, got 0"),
        (lambda: {"reranker": Reranking(Wants(), timeout=math.inf)}, "got inf"),
        (lambda: {"reranker": Reranking(Wants(), timeout="5")}, "got '5'"),  # type: ignore[arg-type]
    ],
)
def test_misuse_is_refused_when_the_bank_is_opened(
    make: Callable[[], dict[str, Any]], wanted: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match=wanted):
        MemoryBank.open(tmp_path / "m.db", **make())
    assert not list(tmp_path.iterdir()), "nothing was opened"


def test_what_a_framework_gives_back_becomes_scores() -> None:
    assert scores_of([Returned(1, 0.9), Returned(0, 0.4)], 2) == [0.4, 0.9]
    assert scores_of([Returned(2, 3.0), Returned(0, 1.0)], 3) == [1.0, -1.0, 3.0], "what was left out is below"
    assert scores_of([Returned(1, None), Returned(0, None)], 3) == [1.0, 2.0, 0.0]
    assert scores_of([Returned(1, 0.1), Returned(0, 0.9)], 2) == [1.0, 2.0], "scores that belie the order are distances"
    assert scores_of([Returned(1, math.nan), Returned(0, "x")], 2) == [1.0, 2.0]
    assert scores_of([Returned(0, 2.0), Returned(0, 1.0)], 1) == [2.0]
    assert scores_of([], 2) == [0.0, 0.0]


@with_cross_encoders
def test_a_cross_encoder_of_sentence_transformers_judges(tmp_path: Path, plain: MemoryBank) -> None:
    from sentence_transformers import CrossEncoder

    from secom_core.models import SentenceTransformerReranker

    folder = cross_encoder(tmp_path / "model", [QUERY, *PLANTS])
    reranker = SentenceTransformerReranker(folder, device="cpu")
    with opened(Reranking(reranker, weight=1)) as bank, warnings.catch_warnings():
        warnings.simplefilter("error", DegradedWarning)
        recall = bank.recall(SCOPE, QUERY)

    texts = [f"user: {hit.turns[0].messages[0].text}" for hit in recall.ranked if "reranker" in hit.signals]
    expected = CrossEncoder(str(folder), device="cpu").predict([(QUERY, text) for text in texts])
    shown = [hit.signals["reranker"] for hit in recall.ranked if "reranker" in hit.signals]
    assert shown == pytest.approx(expected.tolist(), abs=1e-5)
    assert shown == sorted(shown, reverse=True)
    assert len(set(shown)) > 3
    assert [hit.text for hit in recall.ranked] != [hit.text for hit in plain.recall(SCOPE, QUERY).ranked]
    assert reranker("a query", []) == []


@with_cross_encoders
def test_a_cross_encoder_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    from secom_core.models import SentenceTransformerReranker

    with pytest.raises(BadReply, match="take a cross-encoder with one label"):
        SentenceTransformerReranker(cross_encoder(tmp_path / "three", [QUERY], labels=3), device="cpu")("a", ["b", "c"])
    with pytest.raises(InvalidInput, match="batch_size is at least 1, got 0"):
        SentenceTransformerReranker(tmp_path, batch_size=0)
    absent = SentenceTransformerReranker(tmp_path / "nothing-here", device="cpu")
    with opened(absent) as bank, pytest.warns(DegradedWarning, match="the cross-encoder .*cannot be loaded"):
        assert bank.recall(SCOPE, QUERY).hits


def test_a_recall_in_which_it_is_not_asked_counts_no_call() -> None:
    held = threading.Event()

    def hangs(query: str, texts: Sequence[str]) -> list[float]:
        held.wait(30)
        return [0.0] * len(texts)

    try:
        with opened(Reranking(hangs, timeout=0.05)) as bank, pytest.warns(DegradedWarning, match="reranking failed"):
            calls = [bank.recall(SCOPE, QUERY).work.rerank_calls for _ in range(5)]
    finally:
        held.set()
    assert calls == [1, 1, 1, 1, 0]
