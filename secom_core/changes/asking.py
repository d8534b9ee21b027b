"""What a language model is asked about a session's changes, and what it says; nothing of that is checked here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from ..errors import BadReply, CutOff
from ..llm.flow import Prompt
from ..llm.prompt_texts import PromptTexts
from ..llm.quoting import quoted, shortened, unquoted
from ..llm.records import Records, blocks_of, holds_nothing, records_in
from ..llm.replies import CUT_OFF, checked_length, exchange_numbers, words_of
from ..llm.reply import cut_off
from ..llm.schemas import NUMBER, TEXT, one_of, records_of
from ..text.patterns import regex
from .records import KINDS, UNRELATED
from .showing import Line

_TEXTS: Final = PromptTexts(__package__, "records_prompt.txt")
_TAG: Final = "changes"
_WORDS: Final = {
    "about": ("about", "attribute", "topic", "subject"),
    "old_value": ("old_value", "before", "was", "earlier_value", "previous_value"),
    "new_value": ("new_value", "after", "is", "value", "current_value"),
    "kind": ("kind", "type", "relation"),
    "from": ("from", "valid_from", "since"),
    "until": ("until", "valid_until", "to"),
}
"""The keys that each word of a record may stand under, the one that is asked for first."""
_NEW: Final = ("new", "new_line", "newer", "later", "line")
_OLD: Final = ("old", "old_line", "older", "earlier", "earlier_line")
_KINDS: Final = (*sorted(KINDS), UNRELATED)
_SPELLINGS: Final = {"change": "changed", "correct": "corrected", "end": "ended", "confirm": "confirmed"}
_SCHEMA: Final = records_of(
    _TAG,
    new=NUMBER,
    old=NUMBER,
    about=TEXT,
    old_value=TEXT,
    new_value=TEXT,
    kind=one_of(*_KINDS),
    **{"from": TEXT, "until": TEXT},
)
_NOTHING: Final = regex(r"(?:\{[^{}\[\]]{0,60}:\s*)?\[\s*\](?:\s*\})?|\W*(?:none|no records?|no changes)?\W*", re.I)
_MOST: Final = 200
"""How many records of a reply are read."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a model says of two lines, by their numbers; nothing of it is known to be so.

    Args:
        new: the number of the later one.
        old: the number of the earlier one.
        kind: what became of it.
        about: what both speak of.
        old_value: what the earlier one says of it.
        new_value: what the later one says of it.
        valid_from: from when on.
        valid_until: until when.
    """

    new: int
    old: int
    kind: str
    about: str = ""
    old_value: str = ""
    new_value: str = ""
    valid_from: str = ""
    valid_until: str = ""


def records_prompt(
    lines: Sequence[Line],
    first: int,
    suspected: Sequence[tuple[int, int]] = (),
    *,
    tokens: int,
    complaint: str | None = None,
) -> Prompt:
    """Ask which lines say what became of what was said before.

    Args:
        lines: the earlier lines, then the new ones; numbered from 1 in their order.
        first: how many of them are earlier ones.
        suspected: the numbers of a later and an earlier line that the rules have linked.
        tokens: how many tokens of a line are shown.
        complaint: what was wrong with an earlier reply.
    """
    shown = [_shown(number, line, tokens) for number, line in enumerate(lines, start=1)]
    pairs = ", ".join(f"{new} with {old}" for new, old in suspected)
    text = _TEXTS.part(
        "task",
        earlier="\n".join(shown[:first]) or "(nothing)",
        new="\n".join(shown[first:]),
        first=first + 1,
        last=len(lines),
        suspected=_TEXTS.part("suspected", pairs=pairs) if pairs else "",
    )
    return _TEXTS.prompt(text, "changes", complaint=complaint, max_tokens=2_000, schema=_SCHEMA)


def _shown(number: int, line: Line, tokens: int) -> str:
    day = f"{line.at:%Y-%m-%d} " if line.at else ""
    who = quoted(" ".join(line.label.split()))
    return f"[{number}] {day}{who}: {shortened(quoted(' '.join(line.shown.split())), tokens)}"


def read_records(reply: str) -> list[Told]:
    """The records in a reply, in order; what is no record is passed over where there is one.

    What is repaired is said in `secom_core.llm.records`: braces, quotes, commas, names of keys; a list of numbers
    stands for a record each.

    Raises:
        BadReply: there is no record, and no empty block.
        CutOff: the reply was cut off; what is whole of it is its ``kept``.
    """
    found = _found_in(reply)
    told = [each for record in found.records[:_MOST] for each in _told(record)]
    if cut_off(reply):
        raise CutOff(CUT_OFF, reply, told)
    if not told and (found.broken or found.records or not holds_nothing(reply, _TAG, _NOTHING)):
        wrong = found.broken[0] if found.broken else "no record with the numbers of two lines"
        raise BadReply(f"there is no record that can be read: {wrong}", reply)
    return told


def _found_in(reply: str) -> Records:
    for block in blocks_of(checked_length(reply), _TAG):
        found = records_in(block, _is_record)
        if found.records or found.broken:
            return found
    return Records()


def _is_record(record: Mapping[str, Any]) -> bool:
    return _under(record, _NEW) is not None and _under(record, _OLD) is not None


def _told(record: Mapping[str, Any]) -> Iterator[Told]:
    try:
        new, old = (exchange_numbers(_bare(_under(record, keys)), keys[0]) for keys in (_NEW, _OLD))
    except ValueError:
        return
    said = {name: _text(_under(record, keys)) for name, keys in _WORDS.items()}
    kind = said["kind"].casefold()
    words = said["about"], said["old_value"], said["new_value"], said["from"], said["until"]
    for later, earlier in product(sorted(new), sorted(old)):
        yield Told(later, earlier, _SPELLINGS.get(kind.removesuffix("s"), kind), *words)


def _bare(given: Any) -> Any:
    """The numbers of lines without the word."""
    return re.sub(r"\blines?\b", "", given, flags=re.I) if isinstance(given, str) else given


def _text(given: Any) -> str:
    return " ".join(unquoted(str(given)).split()) if isinstance(given, str | int | float) else ""


def _under(record: Mapping[str, Any], keys: Sequence[str]) -> Any:
    plain = {"_".join(words_of(key)): key for key in record}
    return next((record[plain[key]] for key in keys if key in plain), None)
