"""What a model replied when it was asked for a memory, or which statements of the old one no longer hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..errors import BadReply
from ..llm.quoting import unquoted, without_thoughts
from ..llm.reply import Reply, cut_off
from ..text.patterns import regex
from ..text.terms import latin_language_of, terms
from .statements import is_tag, says_nothing, statements

_TAG: Final = regex(r"<\s*(/?)\s*(?:updated_|new_)?memory\b[^<>]*>", re.IGNORECASE)
_FENCE: Final = regex(r"^[ \t]*(?:```|~~~)[^\n]*$", re.MULTILINE)
_END: Final = regex("[.!?…。！？][\"'”’»)\\]*_]*")
_NUMBERED: Final = regex(r"^\W*(\d{1,3})\W+(\S.*)$", re.MULTILINE)
_MOST_CHARACTERS: Final = 200_000  # of a reply that is read at all


@dataclass(frozen=True, slots=True)
class WrittenMemory:
    """A memory as a model wrote it.

    Args:
        statements: its sentences, each under its heading; none where the model says that there is nothing to change.
        whole: whether it goes on to its end; else the last sentence that was begun is left out.
    """

    statements: tuple[str, ...]
    whole: bool = True


def read_summary(reply: str, *, tagged: bool = True) -> WrittenMemory:
    """The memory in a reply.

    Thoughts, code fences, bullets, numbers, headings, prose before and after, and a missing closing tag are put up
    with. Of several memories the last one counts, as a model may repeat the old one first. A sentence that it writes
    again and again counts once.

    Args:
        reply: what the model said.
        tagged: whether the memory has to stand in tags; what goes on with a reply that was cut off need not.

    Raises:
        BadReply: where there is no memory in it, or one without words; nothing at all between two tags is ``none``.
    """
    if len(reply) > _MOST_CHARACTERS:
        raise BadReply(f"the reply has {len(reply)} characters", reply)
    block, closed = _block(without_thoughts(reply))
    if block is None and tagged and not says_nothing(_unfenced(without_thoughts(reply), closed=False)):
        broken = ", it was cut off before one" if cut_off(reply) else ""
        raise BadReply(f"there is no <memory> in the reply{broken}", reply)
    text = _unfenced(block if block is not None else without_thoughts(reply), closed)
    found, whole = statements(text), closed or not _breaks_off(reply, text)
    if not whole and not _ends(text):
        found = found[:-1]
    found = [each for each in found if not is_tag(each)]
    says_none = says_nothing(text) or (closed and not text)
    if not found and not says_none:
        what = "the reply was cut off in its first sentence" if not whole else "the memory in the reply is empty"
        raise BadReply(what, reply)
    return WrittenMemory(tuple(dict.fromkeys(found)), whole)


def _block(text: str) -> tuple[str | None, bool]:
    """What stands between the tags that count, and whether it is closed; nothing where there is no tag."""
    tags = list(_TAG.finditer(text))
    if len(tags) > 1 and len(tags) % 2 == 0 and not any(tag[1] for tag in tags):
        # An opening tag in the place of the closing one.
        return text[tags[-2].end() : tags[-1].start()], True
    places = [place for place, tag in enumerate(tags) if not tag[1]]
    found = [(tags[place], tags[place + 1] if place + 1 < len(tags) else None) for place in places]
    blocks = [(text[tag.end() : end.start() if end else None], end is not None and bool(end[1])) for tag, end in found]
    return next((each for each in reversed(blocks) if _counts(each)), blocks[-1] if blocks else (None, False))


def _counts(block: tuple[str, bool]) -> bool:
    """Whether a memory was written there; a tag that is only mentioned has prose behind it on its line."""
    text, closed = block
    return bool(text.strip()) and (closed or text[:1] in "\r\n" or text.lstrip()[:1] in "-*•`#")


def _unfenced(block: str, closed: bool) -> str:
    """The block without the fences inside it, and without what stands behind a fence where no tag closes it."""
    begins = _FENCE.match(block.lstrip("\r\n"))
    inside = block.lstrip("\r\n")[begins.end() :] if begins else block
    if begins or not closed:
        inside = _FENCE.split(inside)[0]
    return unquoted(_FENCE.sub("", inside)).strip()


def _breaks_off(reply: str, text: str) -> bool:
    """Whether an unclosed memory is cut off; where nobody says, whether its last sentence alone has no end."""
    if isinstance(reply, Reply):
        return cut_off(reply)
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    ends = [_ends(line) for line in lines]
    return len(ends) > 1 and not ends[-1] and all(ends[:-1])


def _ends(text: str) -> bool:
    return _END.search(text.rstrip()[-3:]) is not None


def read_superseded(reply: str, lost: Sequence[str], sources: str) -> list[int]:
    """The places of the old statements that no longer hold, by the words that took their place.

    A number counts only with words of the session or of the new memory that the old statement has not: a model that
    names all of them, or repeats them, has shown nothing.

    Args:
        reply: a line for each such statement: its number from 1, and what says so.
        lost: the old statements.
        sources: the session and the new memory.
    """
    language = latin_language_of(sources)
    known = set(terms(sources, language=language))
    old = [set(terms(each, language=language)) for each in lost]
    named = ((int(number) - 1, words) for number, words in _NUMBERED.findall(without_thoughts(reply)))
    said = [(place, set(terms(words, language=language))) for place, words in named if place in range(len(lost))]
    return sorted({place for place, words in said if words - old[place] and 2 * len(words & known) > len(words)})
