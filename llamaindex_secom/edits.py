"""What a new history says was edited away, and what is forgotten for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import dropwhile, takewhile

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from secom_core.bank import MemoryBank
from secom_core.conversation import Message, Scope, Turn
from secom_core.errors import DuplicateId, shorten

from .answers import is_answer, without_any_marker
from .convert import own_words, text_of
from .known_messages import Words, words_of
from .window import WindowEntry


def edited_away(old: Words, new: Words, *, same_system: bool = True) -> set[int]:
    """Which messages of a chat were edited away, regenerated or taken back, by their places in ``old``.

    That is what a new history says by beginning as the old one did, and going on otherwise: with nothing, or with
    another message of the same role. In the middle, as many messages of the same roles have taken the place of others,
    or an exchange is left out. Where the two share no words of the user but a greeting alone, the history goes on
    otherwise only if it has nothing else of the old one, and the old one says the greeting once; else it was cut short.
    A message with an id is edited where its text is another one. A history that begins otherwise, or as the old one
    goes on later, was cut short, and nothing is edited away but by the ids. What the new history still has is never
    edited away.

    Args:
        old: what is remembered of the chat as it is.
        new: the same of the chat as it is handed over.
        same_system: whether it has the system messages of the old one. With others, which may sum up what was said, a
            history that ends sooner takes nothing back.
    """
    by_id = {message.id: message for _, message in new if message.id is not None}
    edited = {place for place, each in old if each.id in by_id and words_of(by_id[each.id]) != words_of(each)}
    if _is_cut(old, new):
        return edited
    was, now, begins_alike = _without_cut(old, new)
    before = _alike(was, now)
    after = _alike(was[before:][::-1], now[before:][::-1])
    gone, come = was[before : len(was) - after], now[before : len(now) - after]
    same = was[:before]
    begins_alike = begins_alike or "user" in _roles(same) or _greets(same, was[before:], now[before:])
    if _is_edit(_roles(gone), _roles(come), begins_alike=begins_alike, goes_on=after > 0, same_system=same_system):
        edited |= {place for place, _ in gone} - _still_there(gone, come)
    return edited


def _without_cut(old: Words, new: Words) -> tuple[Words, Words, bool]:
    """Both from the first message on that they share by its id, where they begin otherwise; whether it is so edited."""
    places = {message.id: place for place, (_, message) in enumerate(old) if message.id is not None}
    shared = [(place, places[each.id]) for place, (_, each) in enumerate(new) if each.id and each.id in places]
    if not shared or _alike(old, new):
        return old, new, False
    first, held = shared[0]
    return old[held:], new[first:], _alike(old[held:], new[first:]) < len(new) - first


def _is_edit(gone: Sequence[str], come: Sequence[str], *, begins_alike: bool, goes_on: bool, same_system: bool) -> bool:
    if not come:
        return begins_alike and (goes_on or same_system)
    return gone == come if goes_on else begins_alike and gone[:1] == come[:1]


def _is_cut(old: Words, new: Words) -> bool:
    """Whether a history is more like what stands further on in the old one than like its beginning, which was cut off.

    What users say again and again, such as "Next", stands in both places.
    """
    said, now, alike = _keys(old), _keys(new), _alike(old, new)
    places = range(1, len(said) - alike) if 0 < alike < len(now) else ()
    return any(said[place : place + alike + 1] == now[: alike + 1] for place in places)


def _greets(same: Words, was: Words, now: Words) -> bool:
    """Whether both begin with a greeting, and share nothing else: an answer that is said twice may be the later one."""
    said = set(_keys(was))
    return (
        bool(same) and all(role == "assistant" for role in _roles(same)) and said.isdisjoint(_keys(same) + _keys(now))
    )


def _keys(words: Words) -> list[tuple[str, str]]:
    return [words_of(message) for _, message in words]


def _still_there(gone: Words, come: Words) -> set[int]:
    blocks = SequenceMatcher(None, _keys(gone), _keys(come), autojunk=False).get_matching_blocks()
    return {gone[block.a + step][0] for block in blocks for step in range(block.size)}


def _alike(one: Words, other: Words) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: words_of(pair[0][1]) == words_of(pair[1][1]), pairs))


def _roles(words: Words) -> list[str]:
    return [message.role for _, message in words]


# -- what agents say beside their calls of tools ----------------------------------------------------------------------


def without_beside(old: Words, new: Words, messages: Sequence[ChatMessage]) -> list[tuple[int, Message]]:
    """The chat without words beside a call of a tool that a history leaves out: front ends hand over answers alone.

    Args:
        old: what is remembered of the chat as it is.
        new: the same of the chat as it is handed over.
        messages: the chat as it is.
    """
    given = set(_keys(new))
    return [
        (place, each)
        for place, each in old
        if each.role != "assistant" or is_answer(messages[place]) or words_of(each) in given
    ]


def with_their_steps(gone: Collection[str], turns: Sequence[Turn], said: Collection[str | None]) -> set[str]:
    """The ids of what was edited away, and of what was said beside calls for it: behind a question, before an answer.

    Args:
        gone: the ids of what was edited away.
        turns: the turns from the first one of these on.
        said: the ids of all that the chat has but for what was said beside calls.
    """
    found = set(gone)
    for turn in turns:
        is_asked, is_answered = turn.messages[0].id not in gone, True
        for each in reversed(turn.messages):
            if each.role == "user" or each.id in said:
                is_answered = each.id not in gone
            elif not (is_asked and is_answered):
                found.add(str(each.id))
    return found


def in_their_places(
    again: Mapping[str, Message], names: Mapping[int, str], said: Sequence[ChatMessage], *, last: Collection[str]
) -> dict[int, list[Message]]:
    """By the place of an entry, what was said before it and is no entry; what follows the last one is behind it.

    A question that follows it is also behind its new answer.

    Args:
        again: by id and in order, what is to be remembered anew.
        names: by the places of entries, the ids of what they say.
        said: what all entries say.
        last: the ids of what is behind all entries.
    """
    places = {name: place for place, name in names.items()}
    before: dict[int, list[Message]] = {}
    waiting: list[Message] = []
    end = 0
    for name, message in again.items():
        if name in last:
            continue
        if name in places:
            before[places[name]], waiting, end = waiting, [], places[name] + 1
        else:
            waiting.append(message)
    begun = list(takewhile(lambda each: each.role != "user", waiting))
    asked = next((place for place in range(end, len(said)) if said[place].role == MessageRole.USER), len(said))
    before[end] = [*before.get(end, ()), *begun]
    before[asked] = [*before.get(asked, ()), *waiting[len(begun) :]]
    if last:
        before[len(said)] = [*before.get(len(said), ()), *(again[name] for name in again if name in last)]
    return before


# -- what is attached -------------------------------------------------------------------------------------------------


def with_kept_attachments(entries: list[WindowEntry], old: Sequence[WindowEntry]) -> list[WindowEntry]:
    """The entries of a history, each with what is attached to it in the chat: many pages hand over the words alone.

    A history that gives back anything that was attached leaves out the rest on purpose.

    Args:
        entries: what is handed over.
        old: the chat.
    """
    if not any(_has_attachments(each.message) for each in old):
        return entries
    said, now = ([_said(each.message) for each in chat] for chat in (old, entries))
    alike = SequenceMatcher(None, said, now, autojunk=False).get_matching_blocks()
    pairs = [(old[each.a + step].message, each.b + step) for each in alike for step in range(each.size)]
    kept = {place: message.blocks for message, place in pairs if _has_attachments(message)}
    if any(_has_attachments(entries[place].message) for place in kept):
        return entries
    changed = list(entries)
    for place, blocks in kept.items():
        message = entries[place].message.model_copy(update={"blocks": blocks})
        changed[place] = entries[place].model_copy(update={"message": message})
    return changed


def _said(chat: ChatMessage) -> tuple[str, str]:
    return chat.role, _on_one_line(own_words(chat))


def _has_attachments(chat: ChatMessage) -> bool:
    return own_words(chat) != text_of(chat)


# -- markers of citations ---------------------------------------------------------------------------------------------


def with_kept_markers(
    entries: Sequence[WindowEntry],
    old: Sequence[WindowEntry],
    words: Callable[[Sequence[WindowEntry]], Words],
    session: Callable[[], Sequence[Turn]],
) -> list[WindowEntry]:
    """The entries of a history, each answer with the markers that are kept of it.

    A page gives an answer back with all its markers. Those of numbers that were not shown are kept, as they may be no
    citations.

    Args:
        entries: what is handed over.
        old: the chat.
        words: what is remembered of entries, by place.
        session: gives the turns of the session; called only for answers with markers that the chat does not have.
    """
    exact = {message.text for _, message in words(old)}
    marked = {place: message for place, message in words(entries) if message.text not in exact}
    plain = {place: _unmarked(message) for place, message in marked.items() if message.role == "assistant"}
    marked = {place: marked[place] for place, text in plain.items() if text != _on_one_line(marked[place].text)}
    kept = {_unmarked(message): old[place].message.blocks for place, message in words(old)} if marked else {}
    if any(plain[place] not in kept for place in marked):
        said = [message for turn in session() for message in turn.messages if message.role == "assistant"]
        kept = {_unmarked(each): ChatMessage(role=each.role, content=each.text).blocks for each in said} | kept
    changed = list(entries)
    for place in marked:
        if plain[place] in kept:
            answer = entries[place].message.model_copy(update={"blocks": kept[plain[place]]})
            changed[place] = entries[place].model_copy(update={"message": answer})
    return changed


def _unmarked(message: Message) -> str:
    return _on_one_line(text_of(without_any_marker(ChatMessage(role=message.role, content=message.text))))


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


# -- what is forgotten ------------------------------------------------------------------------------------------------


def turns_from(bank: MemoryBank, scope: Scope, session: str, names: Collection[str]) -> list[Turn]:
    """The turns of a session from the first one on that holds one of these messages; none where no turn does.

    Raises:
        StoreError: the store failed.
    """
    turns = bank.turns(scope, session)
    return list(dropwhile(lambda turn: set(names).isdisjoint(each.id for each in turn.messages), turns))


def check_ids(bank: MemoryBank, scope: Scope, given: Sequence[Message], *, gone: Collection[str]) -> None:
    """Refuse messages with the id of another one of the scope, but for those that are to be forgotten.

    Args:
        bank: where the others are.
        scope: whose memory it is.
        given: the messages, redacted as the bank does.
        gone: the ids of those that are to be forgotten.

    Raises:
        DuplicateId: with the id and what the other message says.
        StoreError: the store failed.
    """
    said = {message.id: (message.role, message.text) for message in given if message.id is not None}
    for turn in bank.turns(scope) if said else ():
        for each in turn.messages:
            if each.id in said and each.id not in gone and said[each.id] != (each.role, each.text):
                raise DuplicateId(
                    f"id {each.id!r} already belongs to another message of this scope, which says "
                    f"{shorten(each.text)}; give the new one an id of its own, or none"
                )
