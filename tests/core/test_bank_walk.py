"""Any order of calls on a bank, from two handles, beside a plain list of what was said: nothing is lost, nothing stays.

`walks` makes it longer.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from embedders import HashingEmbedder
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from walks import walks

from secom_core import MemoryBank, Message
from secom_core.conversation import Scope, Turn

BEGIN = datetime(2025, 1, 6, 9, tzinfo=timezone.utc)
KEYWORD = re.compile(r"kw\d+q")
SUBJECTS = [
    "The rent of the flat is {} euros from {} on.",
    "Mein Bruder {} wohnt seit {} in Gent.",
    "我的{}过敏，医生说{}。",
    "Please always answer with {} and never with {}.",
    "def {}(x):\n    return x + {}\n",
    "Remind me of the {} when we meet {} again, will you?",
    "No, I meant {}, not {}.",
]
LONG = "This line of the reply says a little more about the matter, as replies do. "
_walks = count()


class Walk(RuleBasedStateMachine):
    """A bank and a plain list: by scope and session what was said, in order."""

    place: Path | str
    embedder: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.stack, self.numbers, self.now = ExitStack(), count(1), BEGIN
        name = f"walk{next(_walks)}"
        self.scopes: list[Scope] = [(name, "ann"), (name, "bob")]
        self.said: dict[Scope, dict[str, list[str]]] = {scope: {} for scope in self.scopes}
        self.marked: set[str] = set()
        self.banks = [self.opened(), self.opened()]

    def opened(self) -> MemoryBank:
        return self.stack.enter_context(MemoryBank.open(self.place, embedder=self.embedder))

    # -- what the list says ---------------------------------------------------------------------------------------

    def words(self, scope: Scope) -> set[str]:
        return {word for texts in self.said[scope].values() for text in texts for word in KEYWORD.findall(text)}

    def drop(self, scope: Scope, turns: list[Turn]) -> None:
        for turn in turns:
            for message in turn.messages:
                self.said[scope][turn.session].remove(message.text)
            if not self.said[scope][turn.session]:
                del self.said[scope][turn.session]

    def text(self, draw: Any, long: bool) -> str:
        words = [f"kw{next(self.numbers)}q" for _ in range(2)]
        text = draw(st.sampled_from(SUBJECTS), label="subject").format(*words)
        return f"{LONG * 12}{text} {LONG * 9}" if long else text

    def turn_of(self, data: Any, bank: MemoryBank, scope: Scope) -> Turn | None:
        turns = bank.turns(scope)
        return turns[data.draw(st.integers(0, len(turns) - 1), label="turn")] if turns else None

    # -- calls ----------------------------------------------------------------------------------------------------

    which = st.integers(0, 1)

    @rule(bank=which, scope=which, data=st.data(), later=st.booleans(), close=st.booleans(), long=st.booleans())
    def remember(self, bank: int, scope: int, data: Any, later: bool, close: bool, long: bool) -> None:
        named, session = self.scopes[scope], data.draw(st.sampled_from(["s1", "s2", "s3", "s4"]), label="session")
        self.now += timedelta(minutes=data.draw(st.sampled_from([1, 7, 60 * 26]), label="minutes"))
        roles = data.draw(st.sampled_from(["u", "ua", "a", "uaua"]), label="roles")
        said = [
            Message(self.text(data.draw, long and role == "a"), "user" if role == "u" else "assistant", at=self.now)
            for role in roles
        ]
        done = self.banks[bank].remember(named, said, session=session, later=later, close=close)
        assert done.new == len(said)
        self.said[named].setdefault(session, []).extend(message.text for message in said)
        self.same(named)

    @rule(bank=which, scope=which, data=st.data())
    def forget_turn(self, bank: int, scope: int, data: Any) -> None:
        named = self.scopes[scope]
        if (turn := self.turn_of(data, self.banks[bank], named)) is not None:
            assert self.banks[bank].forget(named, turn_ids=[turn.id]) == 1
            self.drop(named, [turn])
        self.same(named)

    @rule(bank=which, scope=which, data=st.data())
    def forget_session(self, bank: int, scope: int, data: Any) -> None:
        named = self.scopes[scope]
        if sessions := sorted(self.said[named]):
            session = data.draw(st.sampled_from(sessions), label="session")
            turns = self.banks[bank].turns(named, session)
            assert self.banks[bank].forget(named, session=session) == len(turns)
            self.drop(named, turns)
        self.same(named)

    @rule(bank=which, scope=which, data=st.data())
    def forget_before(self, bank: int, scope: int, data: Any) -> None:
        named = self.scopes[scope]
        if (turn := self.turn_of(data, self.banks[bank], named)) is not None:
            assert turn.at is not None
            older = [each for each in self.banks[bank].turns(named) if each.at is not None and each.at < turn.at]
            assert self.banks[bank].forget(named, before=turn.at) == len(older)
            self.drop(named, older)
        self.same(named)

    @rule(bank=which, scope=which, data=st.data())
    def correct(self, bank: int, scope: int, data: Any) -> None:
        named = self.scopes[scope]
        if (turn := self.turn_of(data, self.banks[bank], named)) is not None:
            text = self.text(data.draw, False)
            newer = self.banks[bank].correct(named, turn, text)
            [made] = self.banks[bank].turns(named, turn_ids=[str(newer)])
            assert made.messages[0].text == text
            self.said[named].setdefault(made.session, []).append(text)
            self.marked |= {turn.id, made.id}
        self.same(named)

    @rule(bank=which, scope=which, data=st.data())
    def retract(self, bank: int, scope: int, data: Any) -> None:
        named = self.scopes[scope]
        if (turn := self.turn_of(data, self.banks[bank], named)) is not None:
            self.banks[bank].corrections.retract(named, turn)
            self.marked.add(turn.id)
            words = set(KEYWORD.findall(turn.content))
            shown = self.banks[1 - bank].recall(named, " ".join(words), token_budget=400, history=False).text
            assert not words & set(KEYWORD.findall(shown))
        self.same(named)

    @rule(bank=which, scope=which, data=st.data())
    def undo(self, bank: int, scope: int, data: Any) -> None:
        named = self.scopes[scope]
        marks = [each.turn_id for each in self.banks[bank].corrections.marks(named) if each.kind != "pinned"]
        if marks:
            self.banks[bank].corrections.undo(named, data.draw(st.sampled_from(marks), label="mark"))
        self.same(named)

    @rule(bank=which, scope=which, data=st.data(), pins=st.booleans())
    def pin(self, bank: int, scope: int, data: Any, pins: bool) -> None:
        named = self.scopes[scope]
        if (turn := self.turn_of(data, self.banks[bank], named)) is not None:
            corrections = self.banks[bank].corrections
            (corrections.pin if pins else corrections.unpin)(named, turn)
            pinned = {each.turn_id for each in self.banks[1 - bank].corrections.marks(named) if each.kind == "pinned"}
            assert (turn.id in pinned) == pins

    @rule(bank=which, scope=which, data=st.data(), whole=st.booleans())
    def expire(self, bank: int, scope: int, data: Any, whole: bool) -> None:
        named, present = self.scopes[scope], datetime.now(timezone.utc)
        if (turn := self.turn_of(data, self.banks[bank], named)) is not None:
            what: dict[str, Any] = {"session": turn.session} if whole else {"turn_ids": [turn.id]}
            gone = self.with_corrections(named, self.banks[bank].turns(named, turn.session) if whole else [turn])
            self.banks[bank].lifetimes.set(named, present + timedelta(days=1), **what)
            self.same(named)
            assert self.banks[1 - bank].lifetimes.end_expired(present + timedelta(days=2)) == len(gone)
            self.drop(named, gone)
        self.same(named)

    @rule(bank=which, scope=which)
    def close_session(self, bank: int, scope: int) -> None:
        self.banks[bank].close_session(self.scopes[scope], "s1")

    @rule(bank=which, scope=which)
    def rebuild(self, bank: int, scope: int) -> None:
        named = self.scopes[scope]
        # What was settled when a session ended stays so when it goes on, until all of it is cut anew.
        self.banks[bank].rebuild(named)
        before = self.shown(self.banks[bank], named)
        self.banks[1 - bank].rebuild(named)
        assert self.shown(self.banks[bank], named) == before
        self.same(named)

    @rule(bank=which)
    def reopen(self, bank: int) -> None:
        before = [self.shown(self.banks[bank], scope) for scope in self.scopes]
        self.banks[bank].close()
        self.banks[bank] = self.opened()
        assert [self.shown(self.banks[bank], scope) for scope in self.scopes] == before

    @rule(bank=which, scope=which, data=st.data(), budget=st.sampled_from([120, 400, 4000]))
    def recall(self, bank: int, scope: int, data: Any, budget: int) -> None:
        named = self.scopes[scope]
        turn = self.turn_of(data, self.banks[bank], named)
        query = "What was it?" if turn is None else " ".join(KEYWORD.findall(turn.content)[:2])
        recall = self.banks[bank].recall(named, query, token_budget=budget)
        assert recall.tokens <= budget
        assert set(KEYWORD.findall(recall.text)) <= self.words(named)
        if turn is not None and turn.id not in self.marked:
            assert turn.id in {one for hit in recall.hits for one in hit.turn_ids}
        if turn is None:
            assert recall.text == ""

    @rule(scope=which)
    @precondition(lambda self: any(self.said[scope] for scope in self.scopes))
    def check(self, scope: int) -> None:
        self.banks[0].derive(self.scopes[scope])
        assert self.banks[0].check(self.scopes[scope]) == ()

    @rule(scope=which)
    def export(self, scope: int) -> None:
        named = self.scopes[scope]
        if not self.said[named]:
            return
        lines = list(self.banks[0].storage.export(named))
        with MemoryBank.open() as other:
            other.storage.import_(lines)
            assert [*map(str, other.turns(named))] == [*map(str, self.banks[1].turns(named))]
            assert other.corrections.marks(named) == self.banks[1].corrections.marks(named)

    def with_corrections(self, scope: Scope, turns: list[Turn]) -> list[Turn]:
        """The turns and what corrects them, which ends with them."""
        newer = {each.turn_id: each.newer for each in self.banks[0].corrections.marks(scope) if each.newer}
        names = [turn.id for turn in turns]
        for name in names:
            if newer.get(name, name) not in names:
                names.append(newer[name])
        return self.banks[0].turns(scope, turn_ids=names)

    # -- what must hold -------------------------------------------------------------------------------------------

    def shown(self, bank: MemoryBank, scope: Scope) -> str:
        return bank.recall(scope, "Which rent, which allergy?", token_budget=600).text

    def same(self, scope: Scope) -> None:
        for bank in self.banks:
            of_sessions = {session: bank.turns(scope, session) for session in bank.sessions(scope)}
            assert [turn for turns in of_sessions.values() for turn in turns] == bank.turns(scope)
            found = {name: [one.text for turn in turns for one in turn.messages] for name, turns in of_sessions.items()}
            assert found == self.said[scope]

    def teardown(self) -> None:
        self.stack.close()


@pytest.mark.parametrize("embedder", [None, HashingEmbedder(64)], ids=["words", "vectors"])
@pytest.mark.slow
def test_any_order_of_calls_loses_nothing_and_leaves_nothing(place: Path | str, embedder: Any) -> None:
    walk = type("Walk", (Walk,), {"place": place, "embedder": embedder})
    run_state_machine_as_test(walk, settings=walks(8, 40))
