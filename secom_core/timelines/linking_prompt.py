"""How an earlier event stands to a later one (Theanine Phase I-2; the relations of appendix B.1)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from ..errors import BadReply, CutOff
from ..llm.flow import Prompt
from ..llm.prompt_texts import PromptTexts
from ..llm.quoting import quoted, without_thoughts
from ..llm.records import records_in
from ..llm.replies import CUT_OFF
from ..llm.reply import cut_off
from ..llm.schemas import TEXT, object_of, one_of
from ..text.patterns import regex
from .records import Relation

_TEXTS: Final = PromptTexts(__package__, "linking_prompt.txt")
MEANINGS: Final = {
    Relation(name): meaning for name, meaning in re.findall(r"^(\w+): (.*)$", _TEXTS.part("meanings"), re.M)
}
"""Each relation in our words; A is the earlier event."""

_NONE: Final = "None"
_NAMES: Final = (*(relation.value for relation in Relation), _NONE)
_SCHEMA: Final = object_of(explanation=TEXT, relation=one_of(*_NAMES))
_LINE: Final = regex(
    r"^[^\w\n]*(?:(?:the|final)\s+)?relation(?:ship)?\b[^\n:：=]{0,40}?(?:[:：=]|\bis\b)(?P<answer>.*)$", re.I | re.M
)
_MOST_WORDS: Final = 2  # of a line that is a name by itself
_WORD: Final = regex(r"[^\W\d_]+")
_SPELLINGS: Final = {name.casefold(): name for name in _NAMES} | {
    "causes": "Cause",
    "caused": "Cause",
    "change": "Changed",
    "changes": "Changed",
    "reacts": "React",
    "wants": "Want",
    "norelation": "None",
    "norelationship": "None",
    "unrelated": "None",
}


def relation_prompt(
    event_a: str, event_b: str, *, dialogue_a: str, dialogue_b: str, complaint: str | None = None
) -> Prompt:
    """Ask for the relation of two events.

    Args:
        event_a: the earlier event.
        event_b: the later event.
        dialogue_a: the conversation that the earlier one is from.
        dialogue_b: the conversation that the later one is from.
        complaint: what was wrong with an earlier reply.
    """
    text = _TEXTS.part(
        "task",
        meanings="\n".join(f"- {relation.value}: {meaning}" for relation, meaning in MEANINGS.items()),
        dialogue_a=quoted(dialogue_a),
        dialogue_b=quoted(dialogue_b),
        event_a=quoted(event_a),
        event_b=quoted(event_b),
    )
    return _TEXTS.prompt(text, "relation", complaint=complaint, max_tokens=300, schema=_SCHEMA, names=", ".join(_NAMES))


def read_relation(reply: str) -> Relation | None:
    """The relation that a reply names, or nothing where it says that there is none.

    It stands on the last line that begins with ``Relation``, in a JSON object, or by itself on the last line.

    Raises:
        BadReply: where it names no relation of the list, or several.
        CutOff: where the reply was cut off before it was named.
    """
    text = without_thoughts(reply)
    # The last word of a reply that was cut off may be half a name.
    text = text.rpartition("\n")[0] if cut_off(reply) else text
    answer = _answer(text)
    names = _named(answer)
    if len(names) != 1:
        wrong = "several relations" if len(names) > 1 else "no relation of the list"
        raise CutOff(CUT_OFF, reply) if cut_off(reply) else BadReply(f"the reply names {wrong}", reply)
    name = names.pop()
    return None if name == _NONE else Relation(name)


def _answer(text: str) -> str:
    """Where the relation is named."""
    records = records_in(text, lambda record: "relation" in record).records
    said = [record["relation"] for record in records if isinstance(record.get("relation"), str)]
    said += [match["answer"] for match in _LINE.finditer(text)] if not said else []
    if said:
        return str(said[-1])
    last = text.strip().rpartition("\n")[2]
    return last if len(_WORD.findall(last)) <= _MOST_WORDS else ""


def _named(answer: str) -> set[str]:
    words = _WORD.findall(answer)
    # "Changed, since she wants …" names one relation: names as written come before other spellings.
    if exact := {word for word in words if word in _NAMES}:
        return exact
    pairs = ["".join(pair) for pair in pairwise(words)]
    return {_SPELLINGS[each.casefold()] for each in (*words, *pairs) if each.casefold() in _SPELLINGS}
