"""What a language model says to have changed: one question a session, checked against the words."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from secom_core import MemoryBank
from secom_core.changes.asking import Told, read_records
from secom_core.changes.grounding import grounded
from secom_core.changes.showing import Line
from secom_core.conversation import Message
from secom_core.errors import BadReply, ContextTooLong, CutOff, DegradedWarning, InvalidInput, ModelUnavailable
from secom_core.llm.flow import Prompt
from secom_core.llm.reply import Reply
from secom_core.models import OpenAIModel
from secom_core.testing import Answer, ScriptedModel, ScriptedRequest, ScriptedServer

ANN = ("acme", "ann")
MAY = datetime(2025, 5, 3, 12, tzinfo=timezone.utc)
LATER = MAY + timedelta(days=31)
LONG = "Teachers teach, and lessons are learned. " * 60
OLD, NEW = "My piano teacher is Mr. Osei.", "Piano is with Ms. Ivanova, since June."
LESSON = (OLD, NEW)
"""Without a word that says that anything is so now: no rule links them."""
RENT = ("Our rent is 900 euros a month.", "The rent went up to 960 euros.")
"""The rules link these."""
_LINE = re.compile(r"^\[(\d+)\] [\d-]* ?[^:]*: (.*)$", re.M)
Record = dict[str, Any]


def lines(request: ScriptedRequest) -> dict[str, int]:
    """The numbers of the lines that were shown, by their words."""
    return {text: int(number) for number, text in _LINE.findall(request.text)}


def record(newer: str = NEW, older: str = OLD, **other: Any) -> Callable[[ScriptedRequest], str]:
    """A reply with one record about two lines, found by their words; without one where they are not shown."""

    def reply(request: ScriptedRequest) -> str:
        numbers = lines(request)
        if not {newer, older} <= numbers.keys():
            return block()
        said: Record = {
            "new": numbers[newer],
            "old": numbers[older],
            "about": "piano",
            "old_value": "Mr. Osei",
            "new_value": "Ms. Ivanova",
            "kind": "changed",
            "from": "since June",
            "until": "",
        }
        return block(said | other)

    return reply


def block(*records: Record) -> str:
    return "\n".join(["<changes>", *map(json.dumps, records), "</changes>"])


def opened(script: Any, path: Path | str = ":memory:") -> MemoryBank:
    model = ScriptedModel(script) if not hasattr(script, "complete") else script
    return MemoryBank.open(str(path), changes="model", model=model)


def tell(bank: MemoryBank, *said: str, first: int = 0, scope: tuple[str, ...] = ANN) -> None:
    """Each in a session of its own, a month after the one before."""
    for place, text in enumerate(said, start=first):
        messages = [Message(text, id=f"u{place}"), Message(LONG, "assistant", id=f"a{place}")]
        bank.remember(scope, messages, session=f"s{place}", at=MAY + timedelta(days=30 * place), close=True)


def pairs(bank: MemoryBank) -> list[tuple[str, str, str, str]]:
    return [(each.older, each.newer, each.kind, each.by) for each in bank.changes(ANN)]


def told_once(script: Any, *said: str) -> list[tuple[str, str, str, str]]:
    with opened(script) as bank:
        tell(bank, *(said or LESSON))
        return pairs(bank)


def test_the_rules_alone_do_not_see_it() -> None:
    with MemoryBank.open(changes=True) as bank:
        tell(bank, *LESSON)
        assert bank.changes(ANN) == []


def test_a_model_says_what_changed_with_its_values_and_since_when() -> None:
    with opened(record()) as bank:
        tell(bank, *LESSON)
        [found] = bank.changes(ANN)
    assert (found.older, found.newer, found.kind, found.by) == ("u0", "u1", "changed", "model")
    assert (found.attribute, found.old_value, found.new_value) == ("piano", "Mr. Osei", "Ms. Ivanova")
    assert (found.valid_from, found.valid_until) == ("since June", "")
    assert (OLD[slice(*found.older_span[1:])], NEW[slice(*found.newer_span[1:])]) == (OLD, NEW)


def test_a_model_is_needed() -> None:
    with pytest.raises(InvalidInput, match='changes="model" needs the language model'):
        MemoryBank.open(changes="model")
    with pytest.raises(InvalidInput, match="changes is one of True, False, 'model', got 'rules'"):
        MemoryBank.open(changes="rules")  # type: ignore[arg-type]


# -- what is asked ----------------------------------------------------------------------------------------------------


def test_one_question_a_session_by_a_server() -> None:
    with ScriptedServer(block()) as server:
        model = OpenAIModel("m", base_url=server.base_url, api_key="k")
        with MemoryBank.open(changes="model", model=model) as bank:
            tell(bank, OLD)
            assert len(server.requests) == 0, "nothing was said before"
            for place in range(1, 5):
                messages = [("user", f"My piano teacher came at {place}, and the piano {each}.") for each in "abcdefgh"]
                bank.remember(ANN, messages, session=f"s{place}", at=MAY + timedelta(days=place), close=True)
                assert len(server.requests) == place
            bank.recall(ANN, "Who teaches piano?", token_budget=300)
            bank.derive(ANN)
            assert len(server.requests) == 4
            assert bank.layers.cost.calls == 4
            assert bank.layers.cost.tokens_in > 4 * 300


def test_nothing_is_asked_where_nothing_can_have_changed() -> None:
    model = ScriptedModel(block())
    with opened(model) as bank:
        tell(bank, OLD, "The tulips are out.", "Has the piano arrived?")
        assert model.requests == ()


def test_what_is_asked_holds_what_people_say_and_not_what_assistants_answer() -> None:
    model = ScriptedModel(block())
    with opened(model) as bank:
        tell(bank, *LESSON)
    [request] = model.requests
    assert list(lines(request)) == [OLD, NEW]
    assert "lessons are learned" not in request.prompt


@pytest.mark.long
@pytest.mark.slow
def test_a_question_about_a_long_session_stays_within_its_bounds() -> None:
    model = ScriptedModel(block())
    with opened(model) as bank:
        for day in range(4):
            said = [
                ("user", f"My piano lesson {day}.{each} was long. " + "It was about scales. " * 40)
                for each in range(80)
            ]
            bank.remember(ANN, said, session=f"s{day}", at=MAY + timedelta(days=day), close=True)
    assert 1 <= len(model.requests) <= 4
    assert max(len(lines(each)) for each in model.requests) <= 84
    assert max(len(each.prompt) for each in model.requests) < 84 * 200 * 5


def test_other_scopes_are_not_shown() -> None:
    model = ScriptedModel(block())
    with opened(model) as bank:
        tell(bank, OLD, scope=("acme", "bob"))
        tell(bank, NEW, first=1)
        assert model.requests == ()
        assert bank.changes(ANN) == []


# -- what is believed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lie",
    [
        {"new": 99},
        {"old": 99},
        {"old": 0},
        {"new": 1, "old": 2},
        {"new": 1, "old": 1},
        {"old_value": "Mrs. Kowalski"},
        {"new_value": "Mr. Brandt"},
        {"new_value": ""},
        {"new_value": "Mr. Osei"},
        {"old_value": ""},
        {"old_value": "Ms. Ivanova", "new_value": "Mr. Osei"},
        {"kind": "forgotten"},
        {"kind": "unrelated"},
        {"old_value": "x" * 5_000},
    ],
    ids=str,
)
def test_a_lie_is_not_believed(lie: Record) -> None:
    with pytest.warns(DegradedWarning, match="named 1 changes in a session whose words support none of them"):
        assert told_once(record(**lie)) == []


def test_what_is_right_beside_a_lie_is_kept() -> None:
    def reply(request: ScriptedRequest) -> str:
        true = json.loads(record()(request).splitlines()[1])
        return block(true | {"new_value": "Mr. Brandt"}, true, true | {"kind": "ended"})

    assert told_once(reply) == [("u0", "u1", "changed", "model")]


def test_words_that_the_two_lines_do_not_say_are_not_kept() -> None:
    with opened(record(about="the secret of Bob", until="next Christmas", **{"from": "1999"})) as bank:
        tell(bank, *LESSON)
        [found] = bank.changes(ANN)
    assert (found.attribute, found.valid_from, found.valid_until) == ("", "", "")


def test_words_that_no_database_holds_are_kept_all_the_same() -> None:
    odd = "Ms. Iva\ud800nova \U0001f3b9"
    said = {"new": 2, "old": 1, "kind": "changed", "old_value": "Mr. Osei", "new_value": odd}
    with opened(block(said)) as bank:
        tell(bank, OLD, f"Piano is with {odd}, since June.")
        [found] = bank.changes(ANN)
    assert found.new_value == odd


@pytest.mark.parametrize(
    ("older", "newer", "values"),
    [
        ("My piano teacher is Mr. Osei.", "My cousin's piano teacher is Ms. Ivanova.", ("Mr. Osei", "Ms. Ivanova")),
        ("My sister's piano teacher is Mr. Osei.", "I have piano with Ms. Ivanova.", ("Mr. Osei", "Ms. Ivanova")),
        (
            "My piano teacher is Mr. Osei.",
            "The piano is loud. I bought tulips. The tea was Assam.",
            ("Mr. Osei", "Assam"),
        ),
    ],
    ids=["of a cousin", "of oneself", "of something else"],
)
def test_a_pair_about_others_or_other_things_is_not_believed(older: str, newer: str, values: tuple[str, str]) -> None:
    both = "My piano and my tulips."
    model = ScriptedModel(record(newer, older, old_value=values[0], new_value=values[1]))
    with opened(model) as bank:
        tell(bank, older, both)
        with pytest.warns(DegradedWarning, match="whose words support none of them"):
            tell(bank, newer, first=2)
        assert pairs(bank) == []
    assert {older, newer} <= lines(model.requests[-1]).keys()


def test_who_speaks_of_oneself_is_not_followed_by_another() -> None:
    def chat(name: str) -> list[tuple[str, str, str, str]]:
        with opened({"": record("I have piano with Ms. Ivanova.")}) as bank:
            for place, (who, said) in enumerate((("Ann", OLD), (name, "I have piano with Ms. Ivanova."))):
                at = MAY + timedelta(days=place)
                bank.remember(ANN, [Message(said, "user", who, f"u{place}")], session=f"s{place}", at=at, close=True)
            return pairs(bank)

    assert chat("Ann") == [("u0", "u1", "changed", "model")]
    with pytest.warns(DegradedWarning, match="whose words support none of them"):
        assert chat("Ben") == []


def test_a_wrong_number_is_put_right_where_one_other_line_has_the_words() -> None:
    bees = "The piano has four hives of bees on it."

    with opened(record(older=bees)) as bank:
        tell(bank, OLD, bees, NEW)
        assert pairs(bank) == [("u0", "u2", "changed", "model")]


def test_what_was_said_later_is_not_older_whatever_its_number() -> None:
    """A session that came in late, with dates before the others."""
    with opened({"": record(OLD, NEW, old_value="Ms. Ivanova", new_value="Mr. Osei")}) as bank:
        bank.remember(ANN, [Message(NEW, id="u1")], session="s1", at=MAY, close=True)
        bank.remember(ANN, [Message(OLD, id="u0")], session="s0", at=MAY - timedelta(days=9), close=True)
        assert pairs(bank) == []


def test_a_line_of_a_later_day_is_not_older() -> None:
    def line(turn: int, text: str, day: int) -> Line:
        return Line(1, turn, 0, "", "user", MAY + timedelta(days=day), text, text)

    told = [Told(2, 1, "changed", "piano", "Mr. Osei", "Ms. Ivanova")]
    for day, believed in ((5, 1), (0, 1), (-5, 0)):
        assert len(grounded(told, [line(0, OLD, 0), line(1, NEW, day)], 1, ())) == believed


# -- together with the rules ------------------------------------------------------------------------------------------


def test_the_rules_links_stay_where_the_model_says_nothing_of_them() -> None:
    assert told_once(block(), *RENT) == [("u0", "u1", "changed", "rules")]


def test_of_a_pair_that_the_rules_have_linked_the_model_has_the_word() -> None:
    said = record(RENT[1], RENT[0], about="rent", old_value="900 euros", new_value="960 euros", kind="corrected")
    assert told_once(said, *RENT) == [("u0", "u1", "corrected", "model")]


def test_a_model_may_say_that_the_rules_were_wrong() -> None:
    model = ScriptedModel(record(RENT[1], RENT[0], about="", old_value="", new_value="", kind="unrelated"))
    with opened(model) as bank:
        tell(bank, *RENT)
        assert "may be wrong: 2 with 1." in model.requests[0].text
        assert pairs(bank) == []
        recalled = bank.recall(ANN, "What is the rent?", token_budget=500)
        assert all(not hit.replaced for hit in recalled.hits)


# -- replies ----------------------------------------------------------------------------------------------------------


def test_of_a_reply_that_was_cut_off_what_is_whole_is_used_without_another_question() -> None:
    model = ScriptedModel(
        lambda request: Answer(
            record()(request).removesuffix("\n</changes>") + '\n{"new": 2, "old": 1, "about": "pia',
            finish_reason="length",
        )
    )
    with opened(model) as bank:
        with pytest.warns(DegradedWarning, match="used as far as it is whole"):
            tell(bank, *LESSON)
        assert pairs(bank) == [("u0", "u1", "changed", "model")]
    assert len(model.requests) == 1


def test_a_reply_that_cannot_be_read_is_asked_for_once_more() -> None:
    replies = iter(["I am glad that you like the piano!"])
    model = ScriptedModel(lambda request: next(replies, None) or record()(request))
    with opened(model) as bank:
        tell(bank, *LESSON)
        assert pairs(bank) == [("u0", "u1", "changed", "model")]
    assert len(model.requests) == 2
    assert "An earlier reply could not be used" in model.requests[1].text


@pytest.mark.parametrize(
    "reply",
    [
        '```json\n[{"new": 2, "old": 1, "kind": "changed", "old_value": "a", "new_value": "b"}]\n```',
        '{"changes": [{"new": "2", "old": "[1]", "kind": "Changed", "old_value": "a", "new_value": "b"}]}',
        "<changes>\n{'newLine': 'line 2', 'oldLine': 'line 1', 'type': 'changes', 'was': 'a', 'is': 'b',}\n</changes>",
        '<think>{"new": 9}</think>{"new": 2, "old": 1, "kind": "change", "before": "a", "after": "b"}',
    ],
)
def test_records_are_read_in_whatever_form_they_come(reply: str) -> None:
    [told] = read_records(reply)
    assert (told.new, told.old, told.kind, told.old_value, told.new_value) == (2, 1, "changed", "a", "b")


@pytest.mark.parametrize("reply", ["<changes>\n</changes>", "<changes></changes>", "[]", '{"changes": []}', "None."])
def test_a_reply_may_say_that_there_is_nothing(reply: str) -> None:
    assert read_records(reply) == []


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "How nice!",
        '<changes>{"new": "two", "old": "one"}</changes>',
        '{"old": 1}',
        "<think>\nThe rent is another one.\n</think>\n",
        "<think>\nThe rent is another one.",
    ],
)
def test_a_reply_without_a_record_is_refused(reply: str) -> None:
    with pytest.raises(BadReply):
        read_records(reply)


def test_a_reply_that_was_cut_off_says_what_is_whole() -> None:
    with pytest.raises(CutOff) as caught:
        read_records(Reply('<changes>\n{"new": 2, "old": 1}\n{"new": 3, "ol', cut_off=True))
    assert [(each.new, each.old) for each in caught.value.kept] == [(2, 1)]  # type: ignore[attr-defined]


# -- a model that fails -----------------------------------------------------------------------------------------------


class Sometimes:
    """A model that is away until it is back."""

    def __init__(self, script: Any) -> None:
        self.scripted, self.is_away, self.asked = ScriptedModel(script), True, 0

    def complete(self, prompt: Prompt) -> str:
        self.asked += 1
        if self.is_away:
            raise ModelUnavailable("gone fishing")
        return self.scripted.complete(prompt)


def test_where_the_model_is_away_the_rules_links_stand_and_it_is_asked_again_later() -> None:
    model = Sometimes(record())
    with opened(model) as bank:
        with pytest.warns(DegradedWarning, match="the links that the rules found are kept: gone fishing"):
            tell(bank, RENT[0], f"{RENT[1]}")
        assert pairs(bank) == [("u0", "u1", "changed", "rules")]
        with pytest.warns(DegradedWarning, match="gone fishing"):
            tell(bank, *LESSON, first=2)
        model.is_away = False
        bank.derive(ANN)
        assert ("u2", "u3", "changed", "model") in pairs(bank)
        asked = model.asked
        bank.derive(ANN)
        assert model.asked == asked, "it has answered"


def test_two_replies_that_cannot_be_read_leave_the_rules_links() -> None:
    model = ScriptedModel("How nice!")
    with opened(model) as bank:
        with pytest.warns(
            DegradedWarning, match="the links that the rules found are kept: there is no record that can be read"
        ):
            tell(bank, *RENT)
        assert pairs(bank) == [("u0", "u1", "changed", "rules")]
        bank.derive(ANN)
    assert len(model.requests) == 2, "a bad reply is not asked for again and again"


def test_a_question_that_is_too_long_for_the_model_is_asked_with_shorter_lines() -> None:
    older = f"My piano teacher is Mr. Osei. {'He likes scales and arpeggios. ' * 60}"
    newer = f"The piano lessons are over. {'We had such a good time together. ' * 60}"
    lengths: list[int] = []

    def reply(request: ScriptedRequest) -> str:
        lengths.append(len(request.prompt))
        return block({"new": 2, "old": 1, "about": "piano", "kind": "ended", "old_value": "Mr. Osei", "new_value": ""})

    class Small:
        def complete(self, prompt: Prompt) -> str:
            if len(prompt.text) > 3_400:
                raise ContextTooLong("maximum context length")
            return scripted.complete(prompt)

    scripted = ScriptedModel(reply)
    with opened(Small()) as bank:
        tell(bank, older, newer)
        assert pairs(bank) == [("u0", "u1", "ended", "model")]
    assert len(lengths) == 1


# -- what follows from it ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [500, 1000])
def test_a_recall_marks_what_holds_no_more(budget: int) -> None:
    with opened(record()) as bank:
        tell(bank, *LESSON)
        found = bank.recall(ANN, "Who is the piano teacher?", token_budget=budget)
        number = next(hit.number for hit in found.hits if "u1" in hit.turn_ids)
        assert f'("{OLD}" replaced on 2025-06-02 by [{number}])' in found.text
        assert found.tokens <= budget
        without = bank.recall(ANN, "Who is the piano teacher?", token_budget=budget, history=False)
        assert "Osei" not in without.text
        assert "Ms. Ivanova" in without.text


def test_a_chain_leads_to_what_holds_in_the_end() -> None:
    third = "Piano has been with Mr. Abara for a while."
    script = {third: record(third, NEW, old_value="Ms. Ivanova", new_value="Mr. Abara"), "": record()}
    with opened(script) as bank:
        tell(bank, *LESSON, third)
        found = bank.recall(ANN, "Who is the piano teacher?", token_budget=500)
    marks = {one.older: one.newer for hit in found.hits for known in hit.replaced.values() for one in known}
    assert marks == {"u0": "u2", "u1": "u2"}


@pytest.mark.parametrize("gone", ["u0", "u1"])
def test_it_is_forgotten_with_either_of_its_turns(tmp_path: Path, gone: str) -> None:
    path = tmp_path / "memory.db"
    with opened({"out of tune": block(), "": record()}, path) as bank:
        tell(bank, *LESSON)
        for session, text in (("s0", "It rains."), ("s1", "The piano is out of tune.")):
            bank.remember(ANN, [("user", text)], session=session, at=LATER, close=True)
        assert len(bank.changes(ANN)) == 1
        bank.forget(ANN, turn_ids=[gone])
        assert bank.changes(ANN) == []
        with sqlite3.connect(path) as raw:
            assert raw.execute("SELECT * FROM change_records").fetchall() == []


def test_what_is_forgotten_while_the_model_is_asked_is_not_written() -> None:
    def reply(request: ScriptedRequest) -> str:
        bank.forget(ANN, turn_ids=["u0"])
        return record()(request)

    with opened(reply) as bank:
        tell(bank, *LESSON)
        assert bank.changes(ANN) == []
        exported = "\n".join(bank.storage.export(ANN))
    assert "Osei" not in exported


def test_a_session_that_goes_on_is_asked_about_what_is_new() -> None:
    model = ScriptedModel({"out of tune": block(), "": record()})
    with opened(model) as bank:
        tell(bank, *LESSON)
        bank.remember(ANN, [Message("The piano is out of tune.", id="u9")], session="s1", at=LATER, close=True)
        assert list(lines(model.requests[-1]))[-1] == "The piano is out of tune."
        assert pairs(bank) == [("u0", "u1", "changed", "model")]


def test_it_is_there_after_a_restart_and_made_again_by_rebuild(tmp_path: Path) -> None:
    with opened(record(), tmp_path / "memory.db") as bank:
        tell(bank, *LESSON)
        before = bank.changes(ANN)
    model = ScriptedModel(record())
    with opened(model, tmp_path / "memory.db") as bank:
        assert bank.changes(ANN) == before
        assert model.requests == ()
        bank.rebuild(ANN)
        assert bank.changes(ANN) == before
        assert len(model.requests) == 1
    with MemoryBank.open(str(tmp_path / "memory.db"), changes=True) as rules:
        assert rules.changes(ANN) == before
        found = rules.recall(ANN, "Who is the piano teacher?", token_budget=500)
        assert "replaced on 2025-06-02" in found.text


def test_it_leaves_and_enters_and_moves(tmp_path: Path) -> None:
    with opened(record(), tmp_path / "memory.db") as bank:
        tell(bank, *LESSON)
        lines_out = list(bank.storage.export(ANN))
        assert any('"Ms. Ivanova"' in line and '"validity"' in line for line in lines_out)
        with opened(record()) as other:
            other.storage.import_(lines_out)
            assert other.changes(ANN) == bank.changes(ANN)
        with MemoryBank.open(str(tmp_path / "other.db"), changes=True) as moved:
            bank.storage.move_to(moved.storage)
            assert [(each.by, each.new_value) for each in moved.changes(ANN)] == [("model", "Ms. Ivanova")]


def test_a_mark_by_hand_counts_before_it() -> None:
    with opened(record()) as bank:
        tell(bank, *LESSON)
        bank.corrections.retract(ANN, "u0")
        found = bank.recall(ANN, "Who is the piano teacher?", token_budget=500)
        kinds = {one.kind for hit in found.hits for known in hit.replaced.values() for one in known}
    assert kinds == {"retracted"}


def test_rubbish_in_its_rows_is_set_aside(tmp_path: Path) -> None:
    with opened(record(), tmp_path / "memory.db") as bank:
        tell(bank, *LESSON)
    with sqlite3.connect(tmp_path / "memory.db") as raw:
        raw.execute("UPDATE change_records SET kind = 'melted'")
    with opened(record(), tmp_path / "memory.db") as bank:
        with pytest.warns(DegradedWarning, match="1 of 1 rows of the table 'change_records'"):
            assert bank.changes(ANN) == []
        bank.check(ANN, repair=True)
        assert pairs(bank) == [("u0", "u1", "changed", "model")]
