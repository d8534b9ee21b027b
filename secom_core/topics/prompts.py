"""What a session says about one speaker, and where that belongs (RMM section 5, appendix D.1)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ..errors import BadReply, CutOff
from ..llm.flow import Prompt
from ..llm.prompt_texts import PromptTexts
from ..llm.quoting import quoted, unquoted, without_thoughts
from ..llm.records import records_in
from ..llm.replies import CUT_OFF, RecordForm, Texts
from ..llm.reply import cut_off
from ..llm.schemas import NUMBER, NUMBERS, TEXT, one_of, records_of
from ..llm.windows import dated
from ..text.patterns import regex
from ..text.terms import count_tokens

_TEXTS: Final = PromptTexts(__package__, "extraction_prompt.txt")
_UPDATE: Final = PromptTexts(__package__, "extraction_prompt.txt", "update_prompt.txt")
_SUMMARY: Final = RecordForm(
    name="a summary",
    tag="extracted_memories",
    text_keys=("summary", "memory", "text", "topic", "trait"),
    number_keys=("reference", "references", "exchanges", "turns", "turn_ids", "exchange", "turn"),
    size="one or two sentences",
    max_tokens=160,
)
_SCHEMA: Final = records_of("extracted_memories", summary=TEXT, reference=NUMBERS)
_UPDATE_SCHEMA: Final = records_of("actions", action=one_of("Add", "Merge"), number=NUMBER, text=TEXT)
_NOTHING: Final = regex(r"\bno[_ ]traits?\b|\[\s*\]", re.I)
_NO_VALUE: Final = regex(r'\[\]|\[?"\s*no[_ ]traits?\s*"\]?', re.I)
_LONGEST_MERGED: Final = 400
_MOST_CHARACTERS: Final = 200_000


# -- extraction -------------------------------------------------------------------------------------------------------


def topics_prompt(
    texts: Sequence[str], *, speaker: str, days: Sequence[str] = (), language: str = "", complaint: str | None = None
) -> Prompt:
    """Ask what a conversation says about one speaker (D.1.1).

    Where it says nothing, an empty list is asked for. The paper's ``NO_TRAIT``, which is read too, is what a small
    model replies whatever was said.

    Args:
        texts: its exchanges, quoted, in order.
        speaker: who it is asked about; empty where nobody is named.
        days: the days that begin with them, for "yesterday" and "next week" (`secom_core.llm.windows.days_of`).
        language: what it is in, where that is not English (`secom_core.drafts.language`).
        complaint: what was wrong with an earlier reply.
    """
    when, exchanges = dated(texts, days)
    name = _one_line(speaker) or "whoever speaks"
    text = _TEXTS.part(
        "task",
        speaker=name,
        count=len(texts),
        last=len(texts) - 1,
        date=when,
        exchanges=exchanges,
    )
    text += _TEXTS.part("language", language=language) if language else ""
    return _TEXTS.prompt(text, "topics", complaint=complaint, schema=_SCHEMA)


def read_topics(reply: str, count: int) -> Texts:
    """The summaries in a reply, each with the numbers of its exchanges, in rising order.

    An empty list and ``NO_TRAIT`` are none. What is repaired is said in `secom_core.llm.records` and
    `secom_core.llm.replies`.

    Args:
        reply: the model's reply.
        count: how many exchanges there are.

    Raises:
        BadReply: with what is wrong, in words for the model: nothing at all, a summary without words, of more than a
            few sentences, or without references, or a reference to an exchange that does not exist; the good
            summaries are its ``kept``.
        CutOff: the reply was cut off; likewise.
    """
    found = _SUMMARY.found_in(reply)
    if not (found.records or found.broken or cut_off(reply)) and not _NOTHING.search(without_thoughts(reply)):
        raise BadReply("there is no summary in the reply, and no empty list", reply)
    said = [each for each in found.records if not _says_nothing(each)]
    return _SUMMARY.read(replace(found, records=said), count, reply)


def _says_nothing(record: Mapping[str, Any]) -> bool:
    """``{"extracted_memories": []}``, or ``NO_TRAIT`` in place of the list or of a summary."""
    text = _SUMMARY.text(record)
    values = list(record.values()) if text is None else [text]
    return len(values) == 1 and _NO_VALUE.fullmatch(json.dumps(values[0])) is not None


def _one_line(text: str) -> str:
    return quoted(" ".join(text.split()))


# -- update -----------------------------------------------------------------------------------------------------------


# An action begins a line, after a bullet, a number or "Action:", or follows another on the same line.
_ACTION: Final = regex(
    r"(?:^(?:[^\w\n]*|[ \t]*\d+[.)][ \t]*|[^\n(（]{0,30}[:：][ \t]*)|(?<=[)）])[ \t]*[;,.，。；]?[ \t]*)"
    r"(?:(?P<add>add)\s*(?=[(（]|\W*$)|merge\s*[(（])",
    re.I | re.M,
)
_NO_ACTION: Final = regex(r"[\"']actions[\"']\s*:\s*\[\s*\]")
_ONE: Final = r"-?\d{1,9}(?:\.0)?(?![\d.])"
_AND: Final = rf"(?:\s{{0,9}}&\s{{0,9}}|\s{{1,9}}and\s{{1,9}}){_ONE}"
_LIST: Final = (
    rf"[\"'[(（]{{1,2}}\s{{0,9}}{_ONE}(?:\s{{0,9}}[,;，；、]\s{{0,9}}{_ONE}|{_AND}){{1,20}}\s{{0,9}}[\"'\])）]{{1,2}}"
)
_INDEX: Final = regex(
    rf"\s{{0,99}}(?:(?:index(?:es)?|indices|numbers?)\s{{0,9}}[=:]\s{{0,9}})?"
    rf"(?P<numbers>{_LIST}|[\"'[(（]?{_ONE}[\"'\])）]?|{_ONE}(?:{_AND}){{1,20}})"
    r"\s{0,9}(?:[,:;，：；、](?P<space>\s{0,99})|(?=[)）]))",
    re.I,
)
_DIGITS: Final = regex(r"(-?\d+)(?:\.0)?")
_LARGEST: Final = 99  # of a number after the first that may be a note's; a text may begin with "1984,"
# Up to the last bracket of a line that ends with one, else to the one that closes what was opened before the text.
_TEXT: Final = regex(
    r"(?:.*\n)*?(?:.*(?=[)）][\s`*.;,。；，]*$)|(?:[^()（）\n]|\([^()\n]*\)|（[^（）\n]*）)*(?=[)）]))", re.M
)
_NAMED: Final = regex(r"\A(?:merged[_.]?summary|text|summary)\s*[=:]\s*", re.I)
# "Ann" and "Bob" is no quotation as a whole.
_QUOTATION: Final = regex(r"""(["'])((?:\\.|(?!\1)[^\\])*)\1|“([^“]*)”|‘([^‘]*)’|«([^«]*)»""")


def update_prompt(
    known: Sequence[str], new: str, *, speaker: str, language: str = "", complaint: str | None = None
) -> Prompt:
    """Ask how a new summary goes into the ones that are most similar to it.

    Args:
        known: the summaries of the speaker's topics, in the order of their numbers.
        new: the new summary.
        speaker: whose they are; empty where nobody is named.
        language: what the new summary is in, where that is not English.
        complaint: what was wrong with an earlier reply.
    """
    notes = "\n".join(f"[{number}] {_one_line(text)}" for number, text in enumerate(known))
    name = _one_line(speaker) or "the speaker"
    text = _UPDATE.part("task", speaker=name, notes=notes, new=_one_line(new))
    text += _UPDATE.part("language_of_merged", language=language) if language else ""
    return _UPDATE.prompt(text, "topic-update", complaint=complaint, schema=_UPDATE_SCHEMA)


def read_update(reply: str, count: int) -> dict[int, str]:
    """The actions in a reply: for each topic that the new summary goes into, by its number, its summary from then on.

    Empty for ``Add()``, or a list of no actions: the new summary becomes a topic of its own. Beside a merge ``Add()``
    adds nothing: the summary has found its place. Repaired are thoughts, code fences, bullets, prose around the
    actions, several on one line, named arguments, full-width brackets and commas, and quotes around the text; brackets,
    commas and quotes inside it stay. Two texts for one topic become one. A merge that names several topics, such as
    ``Merge(0, 2, text)`` or ``Merge([0, 2], text)``, is one into each.

    Args:
        reply: the model's reply.
        count: how many topics were shown.

    Raises:
        BadReply: with what is wrong, in words for the model: no action, an index that was not shown, no text or one
            that does not end; the good merges are its ``kept``.
        CutOff: the reply was cut off; likewise.
    """
    answer = without_thoughts(reply[:_MOST_CHARACTERS])
    rows = [_outcome(merge, count, reply) for merge in _merges(answer, reply)]
    merged: dict[int, dict[str, None]] = {}
    for indices, text in (row for row in rows if not isinstance(row, BadReply)):
        for index in indices:
            merged.setdefault(index, {})[text] = None
    kept = {index: " ".join(texts) for index, texts in merged.items()}
    if cut_off(reply):
        raise CutOff(CUT_OFF, reply, kept)
    for row in rows:
        if isinstance(row, BadReply):
            raise BadReply(row.reason, reply, kept)
    return kept


def says_add(reply: str) -> bool:
    """Whether ``Add()`` is among the actions in a reply."""
    answer = without_thoughts(reply[:_MOST_CHARACTERS])
    if records := records_in(answer, lambda record: isinstance(record.get("action"), str)).records:
        return any(record["action"].strip().casefold() == "add" for record in records)
    return any(action["add"] for action in _ACTION.finditer(answer))


def _merges(answer: str, reply: str) -> Iterator[str]:
    """What stands behind ``Merge(`` in each action, the closing bracket included; of JSON objects, as if it did."""
    records = records_in(answer, lambda record: "action" in record).records
    if said := [record for record in records if isinstance(record.get("action"), str)]:
        yield from (_as_arguments(record) for record in said if record["action"].strip().casefold() == "merge")
        return
    actions = list(_ACTION.finditer(answer))
    if not actions and (cut_off(reply) or _NO_ACTION.search(answer)):
        return
    if not actions:
        raise BadReply("there is neither Add() nor Merge(number, text) in the reply", reply)
    ends = [*(action.start() for action in actions[1:]), len(answer)]
    yield from (answer[action.end() : end] for action, end in zip(actions, ends, strict=True) if not action["add"])


_NUMBER_KEYS: Final = ("number", "numbers", "index", "indices", "note", "notes", "topic", "topics")


def _as_arguments(record: Mapping[str, Any]) -> str:
    number = next((record[key] for key in _NUMBER_KEYS if key in record), "")
    text = next((record[key] for key in ("text", "summary", "merged_summary", "note") if key in record), "")
    return f"{_listed(number)}, text={text})"


def _listed(number: Any) -> str:
    return (
        str([_listed(each) for each in number]).replace("'", "")
        if isinstance(number, list)
        else str(number).strip(" []")
    )


def _outcome(arguments: str, count: int, reply: str) -> tuple[list[int], str] | BadReply:
    try:
        return _merge(arguments, count, reply)
    except BadReply as error:
        return error


def _merge(arguments: str, count: int, reply: str) -> tuple[list[int], str]:
    indices, begin = _indices(arguments, reply)
    for index in indices:
        if not 0 <= index < count:
            raise BadReply(f"there is no note {index}; they are numbered from 0 to {count - 1}", reply)
    shown = ", ".join(map(str, indices))
    closed = _TEXT.match(arguments, begin)
    if closed is None:
        raise BadReply(f"Merge(number, text) has no end: Merge({arguments[:200]}", reply)
    text = _bare(unquoted(closed[0]))
    if not text:
        raise BadReply(f"Merge({shown}, text) needs a text", reply)
    if count_tokens(text) > _LONGEST_MERGED:
        raise BadReply(f"a note is one or two sentences, this is longer: {text[:200]}", reply)
    return indices, text


def _indices(arguments: str, reply: str) -> tuple[list[int], int]:
    """The numbers that a merge names, and where its text begins, which may begin with a number too."""
    first = _INDEX.match(arguments)
    if first is None:
        raise BadReply(f"Merge(number, text) needs a number first, got: Merge({arguments[:100]}", reply)
    run = [first]
    while more := _INDEX.match(arguments, run[-1].end()):
        # A quotation mark or bracket that nothing closes behind the number opens a text.
        is_text = more["numbers"][0] in "\"'[(（" and more["numbers"][-1].isdigit()
        if is_text or max(map(abs, _numbers(more))) > _LARGEST:
            break
        run.append(more)
    if len(run) > 1 and arguments[run[-1].end() :][:1].isdigit():
        if run[-1]["space"]:
            raise BadReply(f"write Merge(number, text) once for each note, got: Merge({arguments[:100]}", reply)
        run.pop()  # "1,200 euros", "10:30"
    return list(dict.fromkeys(number for each in run for number in _numbers(each))), run[-1].end()


def _numbers(found: re.Match[str]) -> list[int]:
    return [int(digits) for digits in _DIGITS.findall(found["numbers"])]


def _bare(text: str) -> str:
    line = _NAMED.sub("", " ".join(text.split()))
    quotation = _QUOTATION.fullmatch(line)
    if quotation is None:
        return line
    return quotation[quotation.lastindex or 0].replace(f"\\{line[0]}", line[0]).strip()
