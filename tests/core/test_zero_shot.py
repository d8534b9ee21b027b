"""A language model segments; whatever it says or does, no turn is lost."""

from __future__ import annotations

import asyncio
import re
import threading
import warnings
from collections.abc import Sequence
from contextvars import ContextVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secom_core.conversation import Message, Turn, as_turns
from secom_core.errors import ContextTooLong, DegradedWarning, InvalidInput, ModelError
from secom_core.llm.flow import Prompt, arun, run
from secom_core.memory import Segment, check_partition
from secom_core.protocols import Segmenter
from secom_core.segmenters import FixedSize, LexicalSegmenter, WholeSession, ZeroShotSegmenter
from secom_core.segmenters.zero_shot_prompt import as_jsonl
from secom_core.testing import Answer, Fault, ScriptedModel, ScriptedRequest
from secom_core.text.terms import count_tokens

TURNS = as_turns(["The trip to Rome", "The hotel in Rome", "My cat is ill", "The vet saw my cat", "Goodbye"])
SEGMENTS = [Segment(0, 2), Segment(2, 4), Segment(4, 5)]


def written(segments: Sequence[Segment]) -> str:
    return f"<segmentation>\n{as_jsonl(segments)}\n</segmentation>"


GOOD = written(SEGMENTS)


def over(
    script: object, fallback: Segmenter | None = None, **options: object
) -> tuple[ZeroShotSegmenter, ScriptedModel]:
    model = ScriptedModel(script)
    return ZeroShotSegmenter(model, fallback=fallback or WholeSession(), **options), model


def cut_sync(segmenter: ZeroShotSegmenter, turns: Sequence[Turn]) -> list[Segment]:
    return segmenter.segment(turns)


async def acut(segmenter: ZeroShotSegmenter, turns: Sequence[Turn] = TURNS) -> list[Segment]:
    return await arun(segmenter.procedure(turns), segmenter.model)


def cut_async(segmenter: ZeroShotSegmenter, turns: Sequence[Turn]) -> list[Segment]:
    return asyncio.run(acut(segmenter, turns))


both = pytest.mark.parametrize("cut", [cut_sync, cut_async])


def test_it_is_a_segmenter():
    assert isinstance(over("x")[0], Segmenter)


@both
def test_one_call_segments_a_session(cut):
    segmenter, model = over([GOOD])
    assert cut(segmenter, TURNS) == SEGMENTS
    (request,) = model.requests
    assert request.purpose == "segment"
    for number, turn in enumerate(TURNS):
        assert f"[Exchange {number}]: {turn.text}" in request.text


@both
def test_nothing_to_decide_asks_nothing(cut):
    segmenter, model = over([])
    assert cut(segmenter, []) == []
    assert cut(segmenter, TURNS[:1]) == [Segment(0, 1)]
    assert model.requests == ()


@both
@pytest.mark.parametrize("first", ["prose", Answer(""), written(SEGMENTS[:2]), written([Segment(0, 50)])])
def test_a_bad_reply_is_asked_for_once_more_with_what_was_wrong(cut, first):
    segmenter, model = over([first, GOOD])
    assert cut(segmenter, TURNS) == SEGMENTS
    once, twice = (request.text for request in model.requests)
    assert twice.startswith(once)
    assert "could not be used: " in twice[len(once) :]


def test_the_complaint_names_the_place():
    segmenter, model = over([written([Segment(0, 2), Segment(3, 5)]), GOOD])
    segmenter.segment(TURNS)
    assert "the exchanges from 2 to 2 are in no segment" in model.requests[1].text


@both
def test_after_two_bad_replies_the_fallback_takes_over_and_says_why(cut):
    segmenter, model = over(["prose", "I cannot help with that."], FixedSize(2))
    with pytest.warns(DegradedWarning, match="did not segment 5 turns, FixedSize did instead: there is no segment"):
        assert cut(segmenter, TURNS) == [Segment(0, 2), Segment(2, 4), Segment(4, 5)]
    assert len(model.requests) == 2


@both
def test_a_model_that_gives_no_answer_is_not_asked_again(cut):
    segmenter, model = over(Fault(status=503), FixedSize(3))
    with pytest.warns(DegradedWarning, match="scripted HTTP status 503"):
        assert cut(segmenter, TURNS) == [Segment(0, 3), Segment(3, 5)]
    assert len(model.requests) == 1


def test_a_bug_in_the_model_is_not_hidden():
    def broken(request: ScriptedRequest) -> str:
        raise KeyError("bug")

    with pytest.raises(KeyError, match="bug"):
        over(broken)[0].segment(TURNS)


def test_a_fallback_that_loses_turns_is_caught():
    class Lossy:
        def segment(self, turns: Sequence[Turn]) -> list[Segment]:
            return [Segment(0, 1)]

    with pytest.warns(DegradedWarning), pytest.raises(InvalidInput, match="segments end at turn 1"):
        over(Fault(), Lossy())[0].segment(TURNS)


def test_guidance_and_examples_reach_the_model():
    segmenter, model = over([GOOD, "yes"], guidance="Pets are one topic.", examples=["An example."])
    segmenter.segment(TURNS)
    segmenter.joins(TURNS[:2], TURNS[2])
    assert "Pets are one topic." in model.requests[0].text
    assert "An example." in model.requests[0].text
    assert "Pets are one topic." in model.requests[1].text


@pytest.mark.parametrize("options", [{"max_turns": 1}, {"max_tokens": 99}])
def test_a_window_without_room_is_refused(options):
    with pytest.raises(InvalidInput, match="max_turns must be 2 or more and max_tokens 100 or more"):
        over("x", **options)


# -- windows


def exchanges(text: str) -> list[str]:
    """What a model sees of the conversation, in order."""
    body = text[text.rindex("<conversation>") : text.rindex("</conversation>")]
    return re.findall(r"\[Exchange \d+\]: (.*)", body)


def by_topic(request: ScriptedRequest) -> str:
    """A model that segments rightly what it is shown: a topic is the first word."""
    topics = [line.split()[0] for line in exchanges(request.text)]
    starts = [place for place in range(len(topics)) if place == 0 or topics[place] != topics[place - 1]]
    return written([Segment(a, b) for a, b in zip(starts, [*starts[1:], len(topics)], strict=True)])


def session_of(lengths: Sequence[int], words: int = 2) -> tuple[tuple[Turn, ...], list[Segment]]:
    texts = [f"topic{k} " + f"turn{k}x{i} " * words for k, length in enumerate(lengths) for i in range(length)]
    stops = [sum(lengths[: place + 1]) for place in range(len(lengths))]
    return as_turns(texts), [Segment(stop - length, stop) for stop, length in zip(stops, lengths, strict=True)]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 25), min_size=1, max_size=12),
    max_turns=st.integers(2, 30),
    max_tokens=st.integers(100, 2000),
    words=st.integers(0, 60),
)
def test_a_right_model_is_right_over_windows_of_any_size(lengths, max_turns, max_tokens, words):
    turns, segments = session_of(lengths, words)
    segmenter, model = over(by_topic, max_turns=max_turns, max_tokens=max_tokens)
    assert segmenter.segment(turns) == segments
    assert all(len(exchanges(request.text)) <= max(2, max_turns) for request in model.requests)
    assert len(model.requests) <= len(turns)


def test_a_window_begins_with_the_segment_that_was_left_open():
    turns, segments = session_of([3, 4, 5])
    segmenter, model = over(by_topic, max_turns=8)
    assert segmenter.segment(turns) == segments
    first, second = (exchanges(request.text) for request in model.requests)
    assert first[0].startswith("topic0")
    assert second[0] == turns[7].text.strip()


def test_a_segment_longer_than_a_window_is_one_segment():
    turns, segments = session_of([50, 2])
    assert over(by_topic, max_turns=6)[0].segment(turns) == segments


def test_long_windows_read_no_turn_more_than_three_times():
    turns, _ = session_of([7] * 60)
    segmenter, model = over(by_topic, max_turns=40)
    segmenter.segment(turns)
    assert sum(len(exchanges(request.text)) for request in model.requests) < 3 * len(turns)


def test_a_huge_turn_is_shown_in_part_and_kept_whole():
    turns = as_turns(["short", "word " * 100_000, "short again"])
    segmenter, model = over(lambda request: written([Segment(0, 3)]), max_tokens=1000)
    assert segmenter.segment(turns) == [Segment(0, 3)]
    assert len(model.requests[0].text) < 5000


def test_one_bad_window_falls_back_alone():
    turns, segments = session_of([5, 5, 5, 5])

    def fails_in_the_second(request: ScriptedRequest) -> str:
        return "prose" if "turn1x0" in exchanges(request.text)[0] else by_topic(request)

    segmenter, _ = over(fails_in_the_second, WholeSession(), max_turns=8)
    with pytest.warns(DegradedWarning, match="did not segment 8 turns") as caught:
        assert segmenter.segment(turns) == segments
    assert sum(each.category is DegradedWarning for each in caught) == 1


def test_a_model_that_says_nothing_usable_three_times_in_a_row_leaves_the_rest_to_the_fallback():
    def script(request: ScriptedRequest) -> str:
        refused = "I cannot help with that."
        return refused if asked_about(request)[0] >= 20 else written([Segment(0, 5), Segment(5, 10)])

    def asked_about(request: ScriptedRequest) -> list[int]:
        return [int(number) for number in re.findall(r"about thing (\d+)", request.text)]

    turns = as_turns([f"All about thing {number}" for number in range(90)])
    segmenter, model = over(script, FixedSize(45), max_turns=10)
    with pytest.warns(DegradedWarning, match="there is no segment in the reply") as told:
        found = segmenter.segment(turns)
    assert [re.findall(r"\d+", str(each.message)) for each in told] == [["10"], ["10"], ["60"]]
    check_partition(found, 90)
    assert found[-1] == Segment(75, 90)  # of the rest at once, and not in windows
    refused = [asked_about(request)[0] for request in model.requests if asked_about(request)[0] >= 20]
    assert len(refused) == 6  # each window was asked about twice


def test_a_model_that_goes_away_leaves_the_rest_to_the_fallback():
    turns, segments = session_of([4] * 10)
    replies = iter([by_topic, by_topic])

    def goes_away(request: ScriptedRequest) -> str | Fault:
        reply = next(replies, None)
        return reply(request) if reply else Fault()

    segmenter, model = over(goes_away, FixedSize(4), max_turns=8)
    with pytest.warns(DegradedWarning) as caught:
        assert segmenter.segment(turns) == segments
    assert (len(caught), len(model.requests)) == (1, 3)


def test_progress_is_shown_where_asked_for(capsys):
    turns, _ = session_of([4] * 10)
    over(by_topic, max_turns=8)[0].segment(turns)
    assert capsys.readouterr().err == ""
    over(by_topic, max_turns=8, progress=True)[0].segment(turns)
    assert "40/40" in capsys.readouterr().err


# -- replies that are good only in part, and prompts that are too long


@both
def test_a_reply_that_is_cut_off_is_kept_as_far_as_it_is_whole_and_asked_on_from_there(cut):
    turns, segments = session_of([3, 4, 5, 2])

    def cut_off_at_first(request: ScriptedRequest) -> Answer | str:
        whole = by_topic(request)
        shown = exchanges(request.text)
        return Answer(whole[: whole.rindex('"end')], finish_reason="length") if len(shown) == 14 else whole

    segmenter, model = over(cut_off_at_first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cut(segmenter, turns) == segments
    first, second = (exchanges(request.text) for request in model.requests)
    assert (len(first), len(second)) == (14, 2), "what was whole is not asked for again"


def test_a_reply_that_is_cut_off_before_anything_is_whole_is_asked_for_in_halves():
    turns, segments = session_of([4] * 8)

    def short_winded(request: ScriptedRequest) -> Answer | str:
        long = len(exchanges(request.text)) > 16
        return Answer('<segmentation>\n{"segment_id"', finish_reason="length") if long else by_topic(request)

    segmenter, model = over(short_winded)
    assert segmenter.segment(turns) == segments
    assert max(len(exchanges(request.text)) for request in model.requests[1:]) <= 16


@both
def test_the_good_beginning_of_two_bad_replies_is_kept(cut):
    turns, segments = session_of([3, 4, 5, 2])
    gap = written([*segments[:3], Segment(13, 14)])
    replies = iter([gap, gap])

    def bad_at_first(request: ScriptedRequest) -> str:
        return next(replies, None) or by_topic(request)

    segmenter, model = over(bad_at_first, WholeSession())
    with pytest.warns(DegradedWarning, match="as far as it could be read.*from 12 to 12 are in no segment"):
        assert cut(segmenter, turns) == segments
    assert [len(exchanges(request.text)) for request in model.requests] == [14, 14, 2]


class SmallModel:
    """Takes prompts of some tokens and refuses longer ones, as endpoints do."""

    def __init__(self, most: int) -> None:
        self.most, self.shown = most, list[int]()

    def complete(self, prompt: Prompt) -> str:
        tokens = count_tokens(prompt.text)
        self.shown.append(tokens)
        if tokens > self.most:
            raise ContextTooLong(f"this model's maximum context length is {self.most} tokens")
        return by_topic(ScriptedRequest({"messages": [{"role": "user", "content": prompt.text}]}))


def test_a_prompt_that_is_too_long_is_asked_in_halves_and_the_size_is_remembered():
    turns, segments = session_of([5] * 40, words=30)
    model = SmallModel(3000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ZeroShotSegmenter(model, fallback=WholeSession()).segment(turns) == segments
        refused = sum(size > model.most for size in model.shown)
        assert ZeroShotSegmenter(model, fallback=WholeSession()).segment(turns) == segments
    assert refused >= 1
    assert sum(size > model.most for size in model.shown) == refused, "it is found out once"


# -- any reply


scraps = st.sampled_from(
    [
        "<segmentation>",
        "</segmentation>",
        "<think>",
        "</think>",
        "```json",
        "[",
        "]",
        ",",
        "null",
        "I'm sorry, but I can't do that.",
        '{"start_exchange_number": 0, "end_exch',
        '{"start_exchange_number": 0, "end_exchange_number": 4, "num_exchanges": 5}',
        '{"start_exchange_number": 0, "end_exchange_number": 1, "num_exchanges": 2}',
        '{"start_exchange_number": 2, "end_exchange_number": 4}',
        '{"start_exchange_number": 1, "end_exchange_number": 5}',
        '{"start_exchange_number": "٢", "end_exchange_number": "4"}',
        '{"start_exchange_number": 0, "end_exchange_number": 1e9}',
        '{"start_exchange_number": NaN, "end_exchange_number": -1}',
        '{"start_exchange_number": 4, "end_exchange_number": 0, "num_exchanges": -3}',
    ]
)
replies = st.one_of(
    st.text(max_size=60),
    st.lists(scraps, max_size=7).map("\n".join),
    st.sampled_from([Fault(), Fault(status=500), Answer(None), GOOD, "yes", "no", "x" * 100_000]),
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(first=replies, second=replies, turns=st.integers(0, 9))
def test_no_reply_loses_a_turn(first, second, turns):
    session = as_turns(["a topic", "another"] * 5)[:turns]
    outcomes = []
    for cut in (cut_sync, cut_async):
        segmenter, _ = over([first, second, *["prose"] * 20], FixedSize(2))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            outcomes.append((cut(segmenter, session), [str(warning.message) for warning in caught]))
        check_partition(outcomes[-1][0], turns)
    assert outcomes[0] == outcomes[1]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(replies, min_size=40, max_size=40), st.integers(2, 9))
def test_no_reply_loses_a_turn_over_windows(script, max_turns):
    session, _ = session_of([3] * 6)
    segmenter, _ = over(script + ["prose"] * 40, LexicalSegmenter(), max_turns=max_turns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegradedWarning)
        check_partition(segmenter.segment(session), len(session))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(), max_size=12))
def test_any_text_can_be_asked_about(texts):
    turns = [Turn((Message(text),), "s", place) for place, text in enumerate(texts)]
    shown = []

    def one_segment(request: ScriptedRequest) -> str:
        shown.append(request.text)
        return written([Segment(0, len(turns))])

    assert over(one_segment)[0].segment(turns) == ([Segment(0, len(turns))] if turns else [])
    for text in shown:
        assert len(exchanges(text)) == len(turns)


# -- one new turn


def join_sync(segmenter: ZeroShotSegmenter, tail: Sequence[Turn], turn: Turn) -> bool:
    return segmenter.joins(tail, turn)


def join_async(segmenter: ZeroShotSegmenter, tail: Sequence[Turn], turn: Turn) -> bool:
    return asyncio.run(arun(segmenter.join_procedure(tail, turn), segmenter.model))


asked_both_ways = pytest.mark.parametrize("join", [join_sync, join_async])


@asked_both_ways
@pytest.mark.parametrize(("reply", "joined"), [("yes", True), ("No.", False), ("<think>no?</think>Yes", True)])
def test_a_new_turn_joins_or_opens(join, reply, joined):
    segmenter, model = over([reply])
    assert join(segmenter, TURNS[:2], TURNS[2]) is joined
    (request,) = model.requests
    assert request.purpose == "join"
    assert "[Exchange 1]: The hotel in Rome\n\n[New exchange]: My cat is ill" in request.text


@asked_both_ways
def test_an_unclear_answer_is_asked_for_once_more(join):
    segmenter, model = over(["maybe", "yes"])
    assert join(segmenter, TURNS[:2], TURNS[2]) is True
    assert "neither yes nor no" in model.requests[1].text


@asked_both_ways
@pytest.mark.parametrize("script", [["maybe", "perhaps"], [Fault()], [Answer(None), "hm"]])
@pytest.mark.parametrize(("fallback", "joined"), [(WholeSession(), True), (FixedSize(2), False)])
def test_without_an_answer_the_fallback_decides_with_a_warning(join, script, fallback, joined):
    segmenter, _ = over(script, fallback)
    with pytest.warns(DegradedWarning, match=type(fallback).__name__):
        assert join(segmenter, TURNS[:2], TURNS[2]) is joined


@asked_both_ways
def test_nothing_is_joined_by_the_first_turn(join):
    segmenter, model = over([])
    assert join(segmenter, [], TURNS[0]) is False
    assert model.requests == ()


def test_a_long_segment_is_asked_about_by_its_end():
    tail, _ = session_of([5000])
    segmenter, model = over(["yes"])
    assert segmenter.joins(tail, TURNS[0])
    shown = exchanges(model.requests[0].text)
    assert shown[-1] == tail[-1].text.strip()
    assert len(shown) == 50


# -- models of one kind


class OnlySync:
    def complete(self, prompt: Prompt) -> str:
        return GOOD


class OnlyAsync:
    async def acomplete(self, prompt: Prompt) -> str:
        return GOOD


async def test_a_sync_model_serves_async_callers_and_the_reverse_says_so():
    assert await acut(ZeroShotSegmenter(OnlySync(), fallback=WholeSession())) == SEGMENTS
    asynchronous = ZeroShotSegmenter(OnlyAsync(), fallback=WholeSession())
    assert await acut(asynchronous) == SEGMENTS
    with pytest.raises(InvalidInput, match="OnlyAsync has no complete"):
        asynchronous.segment(TURNS)


ASKER: ContextVar[str] = ContextVar("asker")


class Watched:
    """A local segmenter that says where it ran, and for whom."""

    def __init__(self) -> None:
        self.ran: list[tuple[int, str]] = []

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        self.ran.append((threading.get_ident(), ASKER.get()))
        return WholeSession().segment(turns)


async def test_the_fallback_does_not_hold_up_the_event_loop_and_keeps_the_context():
    ASKER.set("ann")
    local = Watched()
    segmenter = ZeroShotSegmenter(ScriptedModel(Fault()), fallback=local)
    with pytest.warns(DegradedWarning):
        assert await acut(segmenter) == [Segment(0, 5)]
    with pytest.warns(DegradedWarning):
        assert await arun(segmenter.join_procedure(TURNS[:1], TURNS[1]), segmenter.model)
    assert [asker for _, asker in local.ran] == ["ann", "ann"]
    assert threading.get_ident() not in {thread for thread, _ in local.ran}


@pytest.mark.parametrize("script", [["prose", "prose"], Fault()])
def test_strictly_there_is_no_fallback(script):
    segmenter, model = over(script)
    with pytest.raises(ModelError):
        run(segmenter.procedure(TURNS, strict=True), model)


def test_the_procedure_can_be_tested_with_plain_replies():
    procedure = over([])[0].procedure(TURNS)
    asked = next(procedure)
    assert asked.purpose == "segment"
    with pytest.raises(StopIteration) as done:
        procedure.send(GOOD)
    assert done.value.value == SEGMENTS


def test_the_procedure_takes_another_model():
    assert run(over([])[0].procedure(TURNS), ScriptedModel([GOOD])) == SEGMENTS
