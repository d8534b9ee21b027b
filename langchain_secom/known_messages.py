"""Matching of an agent's thread with what the bank stores: threads are resent, summarised and edited."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from secom_core.bank import MemoryBank
from secom_core.citations import read_citations
from secom_core.conversation import Message, Scope, Turn
from secom_core.text.kept import KEPT, Kept
from secom_core.text.tool_texts import is_of_memory

from .convert import Tools, in_brief, text_of, to_message, to_messages, without_calls, without_recalled
from .messages import is_summary, is_users, place_of, stable_id
from .notices import is_notice
from .readings import Readings
from .streaming import SHOWN, bare

_ANY_NUMBERS: Final = range(100)
"""What markers may cite where nothing says what was shown."""

_without_citations: Final[Kept[str, str]] = Kept(
    lambda text: read_citations(text, _ANY_NUMBERS, markers="strip").text, characters=KEPT
)

_Key = tuple[str, tuple[str, str]]
"""What a message is known by (`_role_and_text`), after the latest text of the other side."""

MEMORY_TOOLS: Final = frozenset({"search_memory", "read_memory", "manage_memory", "mark_memory"})
"""How the tools of a memory are called (`langchain_secom.tools`), unless an application names them."""

TAIL: Final = 64
"""How many of a session's latest turns are read to tell which messages are stored."""


@dataclass(frozen=True)
class SeenMessages:
    """The messages of a turn so far, so that a summary which replaces some of them takes none from memory.

    Args:
        messages: the turn's messages when the model was called last.
        replaced: those that summaries have replaced.
        summaries: the ids of the summaries seen by then.
    """

    messages: tuple[BaseMessage, ...] = ()
    replaced: tuple[BaseMessage, ...] = ()
    summaries: frozenset[str | None] = frozenset()

    def updated(self, thread: Sequence[BaseMessage], question_id: str | None) -> SeenMessages:
        """The messages seen once the model is called again.

        A message that left the thread without a new summary was deleted, and is not kept.

        Args:
            thread: the thread's messages.
            question_id: the id of the message that began the turn.
        """
        present = {message.id for message in thread}
        summaries = frozenset(message.id for message in thread if is_summary(message))
        gone = tuple(message for message in self.messages if message.id not in present)
        replaced = (*self.replaced, *gone) if summaries - self.summaries else self.replaced
        if any(message.id == question_id for message in replaced):
            return SeenMessages(tuple(thread), replaced, summaries)
        start = next((place for place, message in enumerate(thread) if message.id == question_id), len(thread))
        return SeenMessages(tuple(thread[start:]), replaced, summaries)

    def with_replaced(self, thread: Sequence[BaseMessage]) -> list[BaseMessage]:
        """The thread's messages, preceded by those of the turn that summaries have replaced."""
        present = {message.id for message in thread}
        return [*(message for message in self.replaced if message.id not in present), *thread]


@dataclass(frozen=True)
class ThreadOptions:
    """How a thread's messages are read.

    Args:
        tools: whether tool calls and their results are kept, a line each.
        markers: whether answers may hold citations, which are not remembered.
        readings: what was made of the messages in this turn before; nothing is kept unless given.
    """

    tools: Tools
    markers: bool
    readings: Readings | None = None

    def named(self, session: str, message: Message) -> str:
        """The message's stable id."""
        return self.readings.stable_id(session, message) if self.readings is not None else stable_id(session, message)


def _no_times(ids: Collection[str]) -> Mapping[str, datetime]:
    return {}


def new_messages(
    bank: MemoryBank,
    scope: Scope,
    session: str,
    thread: Sequence[BaseMessage],
    *,
    question_id: str | None,
    options: ThreadOptions,
    ended: Collection[str] | None = None,
    mine: Collection[str] = (),
    others: Collection[str] = (),
    returned: Callable[[Collection[str]], Collection[str]] = set,
    times: Callable[[Collection[str]], Mapping[str, datetime]] = _no_times,
) -> list[Message]:
    """The messages of a thread that the bank does not hold yet, in order, with stable ids.

    A message of the turn at hand is new unless its id is stored: who says "yes" again says it twice. Of those before
    it, all are known up to the last whose id is stored or, where a caller resends the history under new ids, whose
    text is. Where the thread holds the stored message too, under its id, the text before it has to be the same as well:
    one answer may be given to several questions. What the user said before a stored message of the turn was forgotten,
    and stays so where an older checkpoint brings it back: stored now, it would take the answer of that message.

    Args:
        bank: where stored messages are looked up.
        scope: whose memory it is.
        session: the conversation.
        thread: the thread's messages.
        question_id: the id of the message that began the turn.
        options: how the thread is read.
        ended: as for `named_messages`.
        mine: the ids of those that this memory took in, in order; what it does not hold any more was forgotten, and
            stays so, unless the thread had left it behind.
        others: the places of those that another's memory took in.
        returned: gives those of some ids whose messages the thread had left behind.
        times: gives, by the ids that messages have in the thread, when they were said, if that is known. It is asked
            for those before the question that say no time of their own.
    """
    messages = _converted(thread, session, options, ended)
    question = _question(messages, question_id)
    start = _turn_start(messages, question)
    named = _named(messages, session, options)
    stored = [message for turn in bank.turns(scope, session, last=TAIL) for message in turn.messages]
    ids, own_ids = {message.id for message in stored}, {message.id for message in named}
    # What is stored may be redacted. Where the thread holds all of it under its ids, its own words do.
    words = named if ids <= own_ids else bank.storage.as_kept(named)
    here = {message.id: message for message in words}
    told = list(zip(stored, _with_what_was_before(here.get(each.id, each) for each in stored), strict=True))
    resent = {known_by for message, (_, known_by) in told if message.id not in here}
    # A page may show a tool's result that is the answer as the model's words, and send it back so.
    resent |= {("assistant", each.text.strip()) for each in stored if each.role == "tool" and each.id not in here}
    again = {key for message, key in told if message.id in here}
    keys = zip(named[:start], _with_what_was_before(words[:start]), strict=True)
    known = [place for place, is_known in enumerate(_are_known(keys, ids, resent, again, ended)) if is_known]
    held = [place for place in range(start, len(named)) if named[place].id in ids]
    first = start if held else known[-1] + 1 if known else 0
    alone = _answers_to_deleted(named, mine)
    earlier_ones = (message for message in named[first:start] if place_of(str(message.id)) not in alone)
    new = [*earlier_ones, *_still_new(named[start:], ids)]
    gone = {str(message.id) for message in new}.intersection(mine)
    gone -= set(returned(gone)) if gone else set()
    gone |= _answers_to(gone, named[:start])
    new = [message for message in new if message.id not in gone and place_of(str(message.id)) not in others]
    earlier = zip(named[:question], messages[:question], strict=True)
    own = {each.id: message.id for each, message in earlier if message.id and message.at is None}
    return _dated(new, {str(each.id): str(own[each.id]) for each in new if each.id in own}, times)


def _are_known(
    keys: Iterable[tuple[Message, _Key]],
    ids: Collection[str | None],
    resent: Collection[tuple[str, str]],
    again: Collection[_Key],
    ended: Collection[str | None] | None,
) -> Iterator[bool]:
    """Whether each message of earlier turns is stored: under its id, or as another whose words a caller sent again.

    An agent may say the same word for word, such as before a call that waits for approval. So what it answered in a run
    that has not ended, to a message that is stored, was not said before, unless it stands there twice.
    """
    is_open, given = False, set[_Key]()
    for message, key in keys:
        is_stored = message.id in ids
        if message.role == "user":
            is_open, given = is_stored and ended is not None and message.id not in ended, set()
        elif is_stored:
            given.add(key)
        is_new = is_open and message.role != "user" and key not in given
        yield is_stored or key[1] in resent or (key in again and not is_new)


def handed_on(bank: MemoryBank, scope: Scope, session: str, named: Sequence[Message]) -> set[str]:
    """The ids of answers that a node of a graph hands on as messages of a user who is called as the agent is.

    Args:
        bank: where the answers are stored.
        scope: whose memory it is.
        session: the conversation.
        named: the thread's messages under the ids by which the bank knows them.
    """
    if not any(message.role == "user" and message.speaker for message in named):
        return set()
    words, own_ids = bank.storage.as_kept(named), {message.id for message in named}
    here = set(map(_role_and_text, words))
    stored = [message for turn in bank.turns(scope, session, last=TAIL) for message in turn.messages]
    known = ((each, _role_and_text(each)) for each in stored if each.role == "assistant" and each.id not in own_ids)
    said = {(each.speaker, known_by[1]) for each, known_by in known if known_by not in here}
    named_as = ((each, (None, each.speaker)) for each in words if each.role == "user" and each.speaker)
    return {str(each.id) for each, by in named_as if not said.isdisjoint((who, each.text.strip()) for who in by)}


def _answers_to(gone: Collection[str], earlier: Iterable[Message]) -> set[str]:
    """The ids of what was answered to messages of the user that were forgotten, by whomever."""
    answers, is_gone = set[str](), False
    for message in earlier:
        if message.role == "user":
            is_gone = message.id in gone
        elif is_gone:
            answers.add(str(message.id))
    return answers


def _answers_to_deleted(named: Iterable[Message], mine: Iterable[str]) -> set[str]:
    """The places of messages whose question is no longer in the thread, though it was when the last run ended.

    Stored now, they would join the question before it.
    """
    by_user = {place_of(str(message.id)): message.role == "user" for message in named}
    alone, is_asked = set[str](), True
    for place in map(place_of, mine):
        if place not in by_user:
            is_asked = False
        elif by_user[place]:
            is_asked = True
        elif not is_asked:
            alone.add(place)
    return alone


def _dated(
    new: list[Message], late: Mapping[str, str], times: Callable[[Collection[str]], Mapping[str, datetime]]
) -> list[Message]:
    """The messages, those of earlier runs with the times when they were said, as far as these are known."""
    said = times(set(late.values())) if late else {}
    return [replace(each, at=said.get(late.get(str(each.id), ""), each.at)) for each in new] if said else new


def _still_new(turn: Sequence[Message], ids: Collection[str | None]) -> Iterator[Message]:
    """What is not stored of a turn, without what the user said before something stored that the user said."""
    asked = [place for place, message in enumerate(turn) if message.role == "user" and message.id in ids]
    last = asked[-1] if asked else -1
    for place, message in enumerate(turn):
        if message.id not in ids and (message.role != "user" or place > last):
            yield message


def ids_in_prompt(
    bank: MemoryBank, scope: Scope, session: str, thread: Sequence[BaseMessage], options: ThreadOptions
) -> set[str]:
    """The ids of stored turns that the thread shows the model anyway, so that they need not be recalled."""
    messages = _converted(thread, session, options)
    ids = {options.named(session, message) for message in messages}
    others = [turn for turn in bank.turns(scope, session, last=TAIL) if turn.id not in ids]
    texts = set(map(_role_and_text, bank.storage.as_kept(messages))) if others else set()
    return ids | {turn.id for turn in others if _is_among(turn, texts)}


def _converted(
    thread: Sequence[BaseMessage], session: str, options: ThreadOptions, ended: Collection[str] | None = None
) -> list[Message]:
    kept = _said_once(_without_memory_tools(thread), partial(_has_ended, session, ended))
    bare = map(_without_markers, kept) if options.markers else kept
    convert = options.readings.message if options.readings is not None else to_message
    return to_messages(bare, tools=options.tools, convert=convert)


def _said_once(thread: Iterable[BaseMessage], has_ended: Callable[[HumanMessage], bool]) -> Iterator[BaseMessage]:
    """The messages without those in which a user says again, word for word, what failed to get an answer.

    A tool's result is an answer where the run ended with it, and else what a failed run had come to.
    """
    waiting: HumanMessage | None = None
    for message in thread:
        if is_users(message):
            if waiting is not None and text_of(message) == text_of(waiting):
                continue
            waiting = message
        elif waiting is not None and _answers(message, waiting, has_ended):
            waiting = None
        yield message


def _answers(message: BaseMessage, asked: HumanMessage, has_ended: Callable[[HumanMessage], bool]) -> bool:
    if isinstance(message, ToolMessage):
        return has_ended(asked)
    return isinstance(message, AIMessage) and not message.tool_calls and not is_notice(message)


def _has_ended(session: str, ended: Collection[str] | None, asked: HumanMessage) -> bool:
    """Whether the run that a message began has ended; a thread that is sent whole has failed nowhere."""
    return ended is None or stable_id(session, to_message(asked)) in ended


def named_messages(
    thread: Sequence[BaseMessage], session: str, options: ThreadOptions, ended: Collection[str] | None = None
) -> list[Message]:
    """A thread's messages under the ids by which the bank knows them.

    Args:
        thread: the thread's messages.
        session: the conversation.
        options: how the thread is read.
        ended: the ids of its messages when its last run ended; nothing where it is sent whole.
    """
    return _named(_converted(thread, session, options, ended), session, options)


def ids_of_messages(
    thread: Sequence[BaseMessage], session: str, options: ThreadOptions, ended: Collection[str] | None = None
) -> list[str]:
    """The ids of `named_messages`, which takes the same."""
    return [options.named(session, message) for message in _converted(thread, session, options, ended)]


def _named(messages: Iterable[Message], session: str, options: ThreadOptions) -> list[Message]:
    # As dataclasses.replace, which takes twice as long.
    return [
        Message(each.text, each.role, each.speaker, options.named(session, each), each.at, each.metadata)
        for each in messages
    ]


def _without_memory_tools(thread: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages without calls of a memory's tools: their results are memories, which nobody said.

    Of a call that has no result, as a run broke off, the tool's name tells that it is one.
    """
    results = [each for each in thread if isinstance(each, ToolMessage)]
    found = [each for each in results if _is_of_memory(each)]
    ours, given = {each.tool_call_id for each in found}, {each.tool_call_id for each in results}
    made = (call for each in thread if isinstance(each, AIMessage) for call in each.tool_calls)
    ours |= {str(call["id"]) for call in made if call["name"] in MEMORY_TOOLS and call["id"] not in given}
    said = set(map(id, found))
    return [without_calls(message, ours) for message in thread if id(message) not in said]


def _is_of_memory(result: ToolMessage) -> bool:
    """Whether a result is of a tool of this memory, or of one over MCP, as its words tell."""
    if result.additional_kwargs.get("lc_source") == "secom":
        return True
    text = text_of(result)
    own = without_recalled(text)
    return len(own) < len(text) or is_of_memory(own)


def ids_shown(turns: Iterable[Turn], shown: Sequence[BaseMessage]) -> list[str]:
    """The ids of those turns all of whose messages are among the messages that a prompt shows."""
    texts = set(map(_role_and_text, to_messages(shown)))
    return [turn.id for turn in turns if _is_among(turn, texts)]


def _is_among(turn: Turn, texts: set[tuple[str, str]]) -> bool:
    return all(_role_and_text(message) in texts for message in turn.messages)


def _role_and_text(message: Message) -> tuple[str, str]:
    """What a message is known by: an application may send an answer back with markers, a result without its note."""
    text = in_brief(message)
    return message.role, (_without_citations(text) if message.role == "assistant" else text).strip()


def _with_what_was_before(messages: Iterable[Message]) -> Iterator[_Key]:
    """What each message is known by."""
    latest = {True: "", False: ""}
    for message in messages:
        known_by, by_user = _role_and_text(message), message.role == "user"
        yield latest[not by_user], known_by
        latest[by_user] = known_by[1]


def _question(messages: Sequence[Message], question_id: str | None) -> int:
    """Where the question of the turn at hand stands: the user's last message, unless one has its id."""
    users = [place for place, message in enumerate(messages) if message.role == "user"]
    return next((place for place in users if messages[place].id == question_id), users[-1] if users else 0)


def _turn_start(messages: Sequence[Message], start: int) -> int:
    """Where the turn at hand begins: at its question, or at the user's messages right before that."""
    while start and messages[start - 1].role == "user":
        start -= 1
    return start


def _without_markers(message: BaseMessage) -> BaseMessage:
    """An answer without the markers that cite what was in its prompt."""
    if not isinstance(message, AIMessage):
        return message
    return bare(message, message.response_metadata.get(SHOWN, ()))
