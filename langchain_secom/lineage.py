"""What a thread has left behind of what the bank remembers of it.

An answer is made anew, a message is edited or deleted, a run goes on from an earlier checkpoint: the thread then no
longer holds what was said, and the bank still does. Messages that a framework takes out of a thread while the agent
works, such as for a summary, are not left behind: they were said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Final, Literal

from secom_core.bank import MemoryBank
from secom_core.bank.answers import ANSWER_WAITS_S
from secom_core.conversation import OF_CORRECTIONS, Message, Scope, Turn
from secom_core.corrections import Mark
from secom_core.errors import InvalidInput
from secom_core.stores.database import waiting_at_most

from .known_messages import TAIL
from .messages import CONVERSATION, place_of
from .open_turns import open_turns
from .scopes import ScopePart

Retracted = Literal["forget", "mark"]
"""What becomes of messages that a thread left behind: forgotten, or kept in a session of their own, and marked."""

RETRACTED: Final = "retracted"

_NO_TIME: Final = datetime.min.replace(tzinfo=timezone.utc)


@dataclass(frozen=True)
class Lineage:
    """A thread as it stands when a run begins, or goes on.

    Args:
        messages: its messages, under the ids by which the bank knows them.
        before: the ids of those that it held when its last run ended, if that is known.
        summed_up: whether a summary stands for earlier messages.
        branches: gives those of some ids whose messages were said in another branch, as checkpoints tell.
        only_branches: the same, without those that the line of the current checkpoint held earlier.
        whole: gives the ids of all messages of the thread, if another graph may have handed only some of them, or
            changed ones, to the agent.
    """

    messages: Sequence[Message]
    before: Collection[str] = ()
    summed_up: bool = False
    branches: Callable[[Collection[str]], Collection[str]] = set
    only_branches: Callable[[Collection[str]], Collection[str]] = set
    whole: Callable[[], Collection[str]] | None = None

    @property
    def ids(self) -> dict[str, Message]:
        """Its messages by their ids."""
        return {str(message.id): message for message in self.messages}

    @property
    def taken_out(self) -> set[str]:
        """The ids of what was deleted, or got other words, since the last run ended."""
        return set(self.before) - set(self.ids)

    def left_behind(self, stored: Sequence[Turn]) -> set[str]:
        """The ids of stored messages that the thread holds no more.

        These are the messages that got other words, or were taken out of the thread since its last run ended; and
        those after the last one that both hold, in whatever words, which were said in another branch: another
        checkpoint of the thread holds them. What no checkpoint holds was said elsewhere, such as to another agent, or
        the checkpoints were lost.

        Args:
            stored: the session's turns, or its latest, in the order in which they were said.
        """
        order = [str(message.id) for turn in stored for message in turn.messages]
        here, places = self.ids, set(map(place_of, self.ids))
        shared = [number for number, each in enumerate(order) if place_of(each) in places]
        if not shared and not self.summed_up:
            if not self.before:
                return set(self.branches(order))
            shared = [number for number, each in enumerate(order) if each in self.before]
            if not shared:  # what both held was forgotten, and what is stored may have been taken out since
                return set(self.only_branches(order))
        edited = {order[number] for number in shared if order[number] not in here}
        branch = set(order[shared[-1] + 1 :] if shared else [])
        gone = (self.taken_out & set(order)) | self._edited_in_thread(edited)
        return gone | set(self.branches(branch - gone))

    def _edited_in_thread(self, edited: set[str]) -> set[str]:
        """Those that got other words in the thread, and not only on their way to the agent."""
        if not edited or self.whole is None:
            return edited
        whole = set(self.whole())
        return {each for each in edited - whole if place_of(each) in set(map(place_of, whole))}

    def is_followed(self, latest: Turn) -> bool:
        """Whether the latest stored turn tells, beside what is known of the last run, that nothing was left behind."""
        return bool(self.before) and not self.taken_out and all(each.id in self.ids for each in latest.messages)


def follow(bank: MemoryBank, scope: Scope, session: str, lineage: Lineage, how: Retracted) -> int:
    """Have the bank follow a thread: what it left behind is retracted.

    Args:
        bank: where the thread's messages are remembered.
        scope: whose memory it is.
        session: the conversation.
        lineage: the thread.
        how: what becomes of what is retracted.

    Returns:
        How many messages were retracted.
    """
    # Somebody waits for the run; where another program has the tables to itself, reading waits for it too.
    with waiting_at_most(ANSWER_WAITS_S):
        latest = bank.turns(scope, session, last=1)
    ids = lineage.ids
    if not latest or lineage.is_followed(latest[-1]):
        return 0
    stored = bank.turns(scope, session, last=TAIL)
    held = {message.id for turn in stored for message in turn.messages}
    if held.isdisjoint(ids) or not held >= lineage.taken_out:
        stored = bank.turns(scope, session)
    # An edited turn is stored anew, behind those that came after it.
    stored = sorted(stored, key=lambda turn: turn.at or _NO_TIME)
    left = lineage.left_behind(stored)
    _retract(bank, scope, session, stored, left, lineage, how)
    return len(left)


def retract_thread(bank: MemoryBank, scope: Scope, thread_id: ScopePart, how: Retracted) -> int:
    """Retract all that is remembered of a thread, and of what sub-agents did in it.

    Args:
        bank: where the thread's messages are remembered.
        scope: whose memory it is.
        thread_id: the conversation's name.
        how: what becomes of what is retracted; ``"forget"`` takes what was marked earlier, too.

    Returns:
        How many turns were retracted.

    Raises:
        InvalidInput: there is no name.
    """
    if thread_id in (None, ""):
        raise InvalidInput(f"retracting a thread needs its name, the thread_id of its runs, got {thread_id!r}")
    session = str(thread_id)
    open_turns(bank).forget(scope, session)
    # A thread of another name may begin with this one's name and a slash, too.
    own = re.compile(rf"{re.escape(session)}(/{CONVERSATION})?(?P<marked>/{RETRACTED})?({OF_CORRECTIONS})?")
    gone = 0
    for name in bank.sessions(scope):
        found = own.fullmatch(name)
        if found is None or (how == "mark" and found["marked"]):
            continue
        turns = bank.turns(scope, name)
        if how == "mark":
            _mark(bank, scope, session, [message for turn in turns for message in turn.messages])
        gone += bank.forget(scope, session=name)
    return gone


def marked_session(session: str) -> str:
    """The session in which retracted messages of a conversation are kept."""
    return f"{session}/{RETRACTED}"


def _retract(
    bank: MemoryBank,
    scope: Scope,
    session: str,
    stored: Sequence[Turn],
    left: Collection[str],
    lineage: Lineage,
    how: Retracted,
) -> None:
    changed = [turn for turn in stored if any(message.id in left for message in turn.messages)]
    if not changed:
        return
    if how == "mark":
        _mark(bank, scope, session, [each for turn in changed for each in turn.messages if each.id in left])
    places = {place_of(str(message.id)): message for message in lineage.messages}
    # Answers join the turn that is stored last, and it tells what the thread holds: it stays the thread's latest.
    staying = [turn for turn in stored if turn not in changed or _kept(turn, left, places)]
    again = [*changed, *(turn for turn in staying[-1:] if turn not in changed)]
    ids = {turn.id for turn in again}
    marks = [mark for mark in bank.corrections.marks(scope) if mark.turn_id in ids]
    # What is forgotten cannot be stored again before, as its ids are the same.
    bank.forget(scope, turn_ids=list(ids))
    if kept := [message for turn in again for message in _kept(turn, left, places)]:
        bank.remember(scope, kept, session=session, later=True)
    _mark_again(bank, scope, marks, left, places)


def _mark_again(
    bank: MemoryBank, scope: Scope, marks: Sequence[Mark], left: Collection[str], places: Mapping[str, Message]
) -> None:
    """Keep what was said by hand of turns; of one that got other words, that it is pinned: the new words hold."""
    bank.corrections.restore(scope, [mark for mark in marks if mark.turn_id not in left])
    for mark in marks:
        edited = places.get(place_of(mark.turn_id)) if mark.turn_id in left else None
        if edited is None:
            continue
        if mark.kind == "pinned":
            bank.corrections.restore(scope, [replace(mark, turn_id=str(edited.id))])
        elif mark.newer is not None:
            bank.corrections.retract(scope, mark.newer)


def _kept(turn: Turn, left: Collection[str], places: Mapping[str, Message]) -> list[Message]:
    """The turn as the thread has it now; nothing where the message is gone that began it."""
    now: list[Message] = []
    for message in turn.messages:
        other = places.get(place_of(str(message.id))) if message.id in left else message
        if other is not None:
            now.append(replace(other, at=message.at))
        elif not now:
            return []
    return now


def _mark(bank: MemoryBank, scope: Scope, session: str, messages: Sequence[Message]) -> None:
    """Keep messages under ids of their own, as their own may come again, and taken back from the first moment on."""
    kept = [replace(message, id=f"{message.id}-{RETRACTED}") for message in messages]
    bank.corrections.keep_retracted(scope, kept, marked_session(session))
