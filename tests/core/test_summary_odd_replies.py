"""Nothing is lost quietly: replies that break off, wrap, have headings or say ``none``; folds that fail; no model."""

from __future__ import annotations

import asyncio
import itertools
import time
import warnings
from collections.abc import Sequence

import pytest

from secom_core.bank import MemoryBank
from secom_core.conversation import Message, Turn, group_messages
from secom_core.errors import DegradedWarning, ModelUnavailable
from secom_core.llm.flow import Prompt
from secom_core.summaries import Summarizer
from secom_core.summaries.extraction import extracted
from secom_core.summaries.statements import says_nothing, statements
from secom_core.testing import Answer, ScriptedModel, ScriptedRequest
from secom_core.text.terms import count_tokens

ANN = ("acme", "ann")
TURNS = group_messages(
    [
        Message("I moved to Ghent with my cat Miso."),
        Message("I keep bees in Bruges, 12 hives.", role="assistant"),
        Message("My sister Clara paints."),
    ]
)
SMALL_TALK = group_messages([Message("Good morning!"), Message("Hello! Lovely weather.", role="assistant")])
FIFTEEN = "\n".join(f"The user owns the violin number {n} of Cremona." for n in range(15))


def by_sync(model: ScriptedModel, turns: Sequence[Turn] = TURNS, previous: str = "", **limits: int) -> list[str]:
    return Summarizer(model, **limits).update(turns, previous).splitlines()


def by_async(model: ScriptedModel, turns: Sequence[Turn] = TURNS, previous: str = "", **limits: int) -> list[str]:
    return asyncio.run(Summarizer(model, **limits).aupdate(turns, previous)).splitlines()


both = pytest.mark.parametrize("update", [by_sync, by_async])


def cut(text: str) -> Answer:
    return Answer(text, finish_reason="length")


# -- a reply that was cut off -----------------------------------------------------------------------------------------


@both
def test_a_reply_that_was_cut_off_goes_on_where_it_broke_off(update) -> None:
    first = cut("<memory>\nThe user lives in Ghent.\nThe user has a cat called Mi")
    model = ScriptedModel(
        [first, cut("<memory>\nThe user has a cat called Miso.\nThe sis"), "The sister Clara paints."]
    )
    assert update(model) == ["The user lives in Ghent.", "The user has a cat called Miso.", "The sister Clara paints."]
    assert "The user has a cat called Mi" not in model.requests[1].text, "what is not whole is written anew"
    assert "The user lives in Ghent.\n</memory>" in model.requests[1].text


@both
def test_a_reply_that_never_ends_replaces_nothing_for_good(update) -> None:
    """A summary of 15 sentences was replaced by `The user has a cat called Mi`."""
    model = ScriptedModel(cut("<memory>\nThe user lives in Ghent.\nThe user has a cat called Mi"))
    with pytest.warns(DegradedWarning, match="cut off after 1 sentences and did not go on") as told:
        found = update(model, previous=FIFTEEN)
    assert sum(each.category is DegradedWarning for each in told) == 1
    assert found[:16] == [*FIFTEEN.splitlines(), "The user lives in Ghent."]
    assert not any(line.endswith("Mi") for line in found)
    assert any("Clara" in line for line in found), "what the session tells beyond the cut"


class Plain:
    """A model whose replies say nothing of their end."""

    def complete(self, prompt: Prompt) -> str:
        return (
            "none" if "broke off" in prompt.text else "<memory>\nThe user lives in Ghent.\nThe user has a cat called Mi"
        )


def test_a_reply_of_tags_alone_is_not_asked_to_go_on() -> None:
    """As SmolLM2-135M went on and on after it had copied the empty memory of the prompt."""
    tags = cut("<memory>\nnone\n</memory>\n\n<session>\n<memory>\n" + "<remarks>\n" * 40 + "<remar")
    more = cut("<remarks>\n&lt;remarks&gt;\n</remarks>\n\n" * 20)
    model = ScriptedModel({"broke off": more, "": tags})

    with pytest.warns(DegradedWarning, match="did not summarise 2 turns"):
        assert "I moved to Ghent with my cat Miso." in "\n".join(by_sync(model))
    assert len(model.requests) == 2, "asked twice, and not to go on"


def test_where_nobody_says_so_a_last_sentence_without_an_end_is_cut_off() -> None:
    assert Summarizer(Plain()).update(TURNS).splitlines() == ["The user lives in Ghent."]


def test_a_whole_reply_may_leave_its_tag_open() -> None:
    model = ScriptedModel(["<memory>\nThe user lives in Ghent\nThe user has a cat called Miso"])
    assert by_sync(model) == ["The user lives in Ghent", "The user has a cat called Miso"]
    closed = cut("<memory>\nThe user lives in Ghent.\n</memory>\nI hope that th")
    assert by_sync(ScriptedModel([closed])) == ["The user lives in Ghent."], "only prose behind it is cut off"


def test_a_reply_cut_off_before_the_memory_is_asked_for_again_with_the_cause() -> None:
    model = ScriptedModel([cut("<think>Let me see. The user"), "<memory>The user lives in Ghent.</memory>"])
    assert by_sync(model) == ["The user lives in Ghent."]
    assert "it was cut off before one" in model.requests[1].text


# -- what stands around and inside ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        "<memory>\n```\nThe user lives in Ghent.\n```\n</memory>",
        "<memory>\n```text\nThe user lives in Ghent.\n```\nI kept it short.\n</memory>",
        "```xml\n<memory>\nThe user lives in Ghent.\n</memory>\n```",
        "<memory>\nThe user lives in Ghent.\n</memory>\nI wrote the <memory> as you asked. Anything else?",
        "<memory>\nThe user lives in Ghent.\n<memory>\nI hope this helps.",
        "Here is the <memory> you want:\n<memory>\nThe user lives in Ghent.\n</memory>",
        "<memory>\nThe user lived in Bruges.\n</memory>\n<updated_memory>\n**Facts:**\n- The user lives in Ghent.\n"
        "</updated_memory>",
        "<think>A <memory> of Ghent?</think><memory>\nUpdated memory:\n\n1. The user lives in Ghent.\n</memory>",
    ],
)
def test_the_memory_is_found_in(reply: str) -> None:
    assert by_sync(ScriptedModel([reply])) == ["The user lives in Ghent."]


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        (
            "User:\n- Lives in Ghent.\n- Has a cat\n\nAssistant:\n- Lives in Bruges.\n\nBoth like Clara.",
            ["User: Lives in Ghent.", "User: Has a cat", "Assistant: Lives in Bruges.", "Both like Clara."],
        ),
        (
            "## User\n### Home\n- Ghent\n## Assistant\n**Home:**\n- Bruges\n- The user likes Miso",
            ["User, Home: Ghent", "Assistant, Home: Bruges", "The user likes Miso"],
        ),
        ("1. User:\n- Ghent\n2. Assistant:\n- None\n- Bees", ["User: Ghent", "Assistant: Bees"]),
        ("- User:\n  - Ghent\n- Assistant:\n  - Bruges", ["User: Ghent", "Assistant: Bruges"]),
        (
            "User: - Lives in Ghent - Owns a cat\nAssistant: Lives in Bruges. Keeps bees.",
            ["User: Lives in Ghent", "User: Owns a cat", "Assistant: Lives in Bruges.", "Assistant: Keeps bees."],
        ),
        (
            "User:\nLives in Ghent.\nAssistant:\nLives in Bruges.",
            ["User: Lives in Ghent.", "Assistant: Lives in Bruges."],
        ),
        ("The user's plans: Ghent\n**The user paints.**", ["The user's plans: Ghent", "The user paints."]),
    ],
)
def test_whom_a_fact_is_about_survives_its_heading(written: str, wanted: list[str]) -> None:
    assert by_sync(ScriptedModel([f"<memory>\n{written}\n</memory>"])) == wanted
    assert statements("\n".join(wanted)) == wanted, "reading what was read changes nothing"


def test_what_is_the_assistants_does_not_hold_what_was_the_users() -> None:
    swapped = "<memory>\nThe assistant lives in Ghent with the cat Miso.\n</memory>"
    found = by_sync(ScriptedModel([swapped, "none"]), previous="The user lives in Ghent with the cat Miso.")
    assert found[0] == "The user lives in Ghent with the cat Miso."


# -- none -------------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    "none", ["none", "None.", "(none)", "- No new information.", "unchanged", "Nothing to add", "无"]
)
def test_none_is_a_right_answer_to_small_talk(update, none: str) -> None:
    model = ScriptedModel([f"<memory>\n{none}\n</memory>"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert update(model, SMALL_TALK, FIFTEEN) == FIFTEEN.splitlines()
    assert len(model.requests) == 1


@pytest.mark.parametrize("said", ["none", FIFTEEN, FIFTEEN.partition("\n")[0]])
def test_none_or_the_old_memory_after_a_session_that_tells_something_is_asked_about_and_not_believed(said: str) -> None:
    model = ScriptedModel(f"<memory>\n{said}\n</memory>")
    with pytest.warns(DegradedWarning, match="empty or unchanged, but the session has news$"):
        found = by_sync(model, previous=FIFTEEN)
    assert len(model.requests) == 2
    assert any("Miso" in line for line in found)
    held = (
        "The user moved to Ghent with the cat Miso.\nThe sister Clara paints.\nThe assistant keeps 12 hives in Bruges."
    )
    assert by_sync(ScriptedModel(["<memory>none</memory>"]), previous=held) == held.splitlines(), "it holds all of it"


def test_a_first_session_of_small_talk_makes_no_version_and_is_not_asked_about_again() -> None:
    model = ScriptedModel("<memory>none</memory>")
    with MemoryBank.open(model=model, summaries=True) as bank:
        bank.remember(ANN, [message for turn in SMALL_TALK for message in turn.messages], session="s1", close=True)
        assert bank.summaries.latest(ANN) is None
        assert bank.derive(ANN) == 0
    assert len(model.requests) == 1


def test_a_word_that_begins_like_none_says_something() -> None:
    assert not any(map(says_nothing, ["Nothing scares Ann.", "No cats.", "None of them eats fish.", "Nadia sings."]))


# -- folds ------------------------------------------------------------------------------------------------------------

LONG = [f"My friend Number{n} lives in Town{n}, beside the mill of the baker." for n in range(12)]


class Folding:
    """A model that adds what the session says to the memory, and gives no answer while it is ``down`` at a word."""

    def __init__(self, down: str = "") -> None:
        self.down, self.asked = down, list[str]()

    def complete(self, prompt: Prompt) -> str:
        if prompt.purpose != "summary":
            return "none"
        old, _, session = prompt.text.rpartition("<session")
        said = [line.split(": ", 1)[1] for line in session.splitlines() if ": My" in line]
        self.asked.append("\n".join(said))
        if self.down and self.down in session:
            raise ModelUnavailable("it is down")
        memory = old.rpartition("<memory>\n")[2].split("\n</memory>")[0]
        return "<memory>\n" + "\n".join([*(memory.splitlines() if memory != "none" else []), *said]) + "\n</memory>"


def test_folds_before_one_that_fails_stand() -> None:
    model = Folding(down="Town7,")
    with pytest.warns(DegradedWarning, match="it is down"):
        found = Summarizer(model, max_tokens=100).update(group_messages(map(Message, LONG))).splitlines()
    assert len(model.asked) > 1
    assert found[:3] == LONG[:3], "as the model wrote them"
    assert all(any(f"Town{n}," in line for line in found) for n in range(12)), "the rest by extraction"


@pytest.mark.slow
@pytest.mark.usefixtures("each_store")
def test_a_session_is_taken_up_at_the_fold_that_failed(tmp_path) -> None:
    model = Folding(down="Town7,")
    with MemoryBank.open(tmp_path / "m.db", summaries=Summarizer(model, max_tokens=100)) as bank:
        with pytest.warns(DegradedWarning, match="it is down"):
            bank.remember(ANN, [Message(text) for text in LONG], session="s1", close=True)
        first = bank.summaries.latest(ANN)
        assert first.provisional
        assert all(any(f"Town{n}," in line for line in first.sentences) for n in range(12))
        done = [text for asked in model.asked[:-1] for text in asked.splitlines()]
        assert len(first.session_turn_ids) == len(done) > 0, "it rests on what the model took in"
    model.down = ""
    model.asked.clear()
    with MemoryBank.open(tmp_path / "m.db", summaries=Summarizer(model, max_tokens=100)) as bank:
        bank.remember(ANN, [Message("My boat is called Nadir.")], session="s2", close=True)
        assert [each.provisional for each in bank.summaries.versions(ANN)] == [False, False]
        assert "\n".join(model.asked) == "\n".join([*LONG[len(done) :], "My boat is called Nadir."])
        assert bank.summaries.versions(ANN)[0].sentences == tuple(LONG)


def test_a_fold_that_the_model_never_gets_right_keeps_its_extract_once_the_second_attempt_fails_there() -> None:
    def reply(request: ScriptedRequest) -> str:
        folding = Folding()
        return (
            "I will not."
            if "Town7," in request.text.rpartition("<session")[2]
            else folding.complete(Prompt(request.text, purpose=request.purpose))
        )

    with MemoryBank.open(summaries=Summarizer(ScriptedModel(reply), max_tokens=100)) as bank:
        with pytest.warns(DegradedWarning, match="no <memory> in the reply"):
            bank.remember(ANN, [Message(text) for text in LONG], session="s1", close=True)
        with pytest.warns(DegradedWarning, match="no <memory> in the reply"):
            bank.derive(ANN)
        latest = bank.summaries.latest(ANN)
        assert not latest.provisional
        assert len(latest.session_turn_ids) == 12
        assert bank.derive(ANN) == 0
        assert "Town11," in latest.text


@pytest.mark.slow
@pytest.mark.usefixtures("each_store")
def test_an_open_session_is_folded_in_part_and_its_close_takes_in_the_rest(tmp_path) -> None:
    model = Folding()
    with MemoryBank.open(tmp_path / "m.db", summaries=Summarizer(model)) as bank:
        bank.remember(ANN, [Message(text, id=f"t{n}") for n, text in enumerate(LONG)], session="s1")
        assert bank.summaries.fold(ANN, "s1", "t4")
        assert not bank.summaries.fold(ANN, "s1", "t3"), "these are in it"
        assert not bank.summaries.fold(ANN, "s1", "nobody")
        latest = bank.summaries.latest(ANN)
        assert (latest.sentences, latest.session_turn_ids) == (tuple(LONG[:5]), ("t0", "t1", "t2", "t3", "t4"))
        assert not latest.provisional
        bank.close_session(ANN, "s1")
        assert model.asked == ["\n".join(LONG[:5]), "\n".join(LONG[5:])]
        assert bank.summaries.latest(ANN).sentences == tuple(LONG)
        bank.forget(ANN, turn_ids=["t2"])
        assert bank.summaries.latest(ANN) is None


def test_a_fold_of_an_open_session_stands_though_it_goes_on_and_falls_though_a_turn_is_forgotten() -> None:
    calls = itertools.count()
    with MemoryBank.open(summaries=True) as bank:

        def meanwhile(request: ScriptedRequest) -> str:
            doing()
            return f"<memory>\nMy friend Number{(n := next(calls))} lives in Town{n}.\n</memory>"

        layer = bank.summaries
        layer._summarizer = Summarizer(ScriptedModel(meanwhile))
        bank.remember(ANN, [Message(text, id=f"t{n}") for n, text in enumerate(LONG[:4])], session="s1")
        doing = lambda: bank.remember(ANN, [Message("And more.")], session="s1")  # noqa: E731
        assert layer.fold(ANN, "s1", "t0")
        doing = lambda: bank.forget(ANN, turn_ids=["t1"])  # noqa: E731
        assert not layer.fold(ANN, "s1", "t2")
        assert layer.latest(ANN) is None


def test_a_fold_takes_nothing_away_that_was_taken_in_after_it() -> None:
    with MemoryBank.open(summaries=Summarizer(Folding()), idle_after=False) as bank:
        bank.remember(ANN, [Message(text, id=f"t{n}") for n, text in enumerate(LONG[:4])], session="s1")
        assert bank.summaries.fold(ANN, "s1", "t0")
        bank.remember(ANN, [Message("My boat is called Nadir.")], session="s2", close=True)
        assert not bank.summaries.fold(ANN, "s1", "t2")
        assert bank.summaries.latest(ANN).sentences == (LONG[0], "My boat is called Nadir.")
        bank.close_session(ANN, "s1")
        assert bank.summaries.latest(ANN).sentences == (*LONG[:4], "My boat is called Nadir.")


# -- no model ---------------------------------------------------------------------------------------------------------


def test_the_fallback_keeps_both_speakers_and_the_recent_as_well_as_the_old() -> None:
    summary = ""
    for number in range(8):
        said = [
            Message(f"I visited Town{number} and I bought {thing} for {number}0 euros.") for thing in ("tea", "jam")
        ]
        said += [Message(f"How lovely. I keep {number + 2} parrots from Isle{number} myself.", role="assistant")]
        said += [Message(f"Well, that is that and so it goes on {word}.") for word in ("here", "there", "everywhere")]
        summary = "\n".join(extracted(group_messages(said), summary, 20, tokens=1000, counter=count_tokens))
    assert len(summary.splitlines()) <= 20
    held = [{who for who in ("user", "assistant") if f"{who}: " in line} for line in summary.splitlines()]
    assert all(len(each) == 1 for each in held), "each line says whose it is"
    assert "How lovely" not in summary
    assert all(f"Town{n} " in summary for n in (0, 7)), "the oldest and the latest"
    assert sum("Isle" in line for line in summary.splitlines()) >= 4


@pytest.mark.slow
def test_a_message_of_many_spaces_does_not_hold_up_the_next_summary() -> None:
    with MemoryBank.open(summaries=True) as bank:
        bank.remember(ANN, [Message("I live in Ghent," + " " * 40_000 + "above a bakery.")], session="1", close=True)
        began = time.perf_counter()
        bank.remember(ANN, [Message("My rent is 960 euros.")], session="2", close=True)
        assert time.perf_counter() - began < 1.5
        assert "Ghent" in bank.summaries.latest(ANN).text
