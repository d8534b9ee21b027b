"""How an earlier event stands to a later one (Theanine Phase I-2; the relations of appendix B.1)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from ..errors import BadReply
from ..llm.flow import Prompt
from ..llm.prompt_texts import PromptTexts
from ..llm.quoting import quoted, without_thoughts
from .records import Relation

_TEXTS: Final = PromptTexts(__package__, "linking_prompt.txt")
MEANINGS: Final = {
    Relation(name): meaning for name, meaning in re.findall(r"^(\w+): (.*)$", _TEXTS.part("meanings"), re.M)
}
"""Each relation in our words; A is the earlier event."""

_NONE: Final = "None"
_NAMES: Final = (*(relation.value for relation in Relation), _NONE)
_LINE: Final = re.compile(r"^[^\w\n]*relation(?:ship)?[^\w\n]*:\s*(?P<answer>.*)$", re.I | re.M)
_WORD: Final = re.compile(r"[^\W\d_]+")
_SPELLINGS: Final = {name.casefold(): name for name in _NAMES} | {
    "causes": "Cause",
    "caused": "Cause",
    "change": "Changed",
    "changes": "Changed",
    "reacts": "React",
    "wants": "Want",
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
    return _TEXTS.prompt(text, "relation", complaint=complaint, max_tokens=300, names=", ".join(_NAMES))


def read_relation(reply: str) -> Relation | None:
    """The relation that a reply names, or nothing where it says that there is none.

    Raises:
        BadReply: where it names no relation of the list, or several.
    """
    text = without_thoughts(reply)
    lines = [match["answer"] for match in _LINE.finditer(text)]
    answer = lines[-1] if lines else text.strip()
    names = _named(answer)
    if len(names) != 1 or (not lines and len(_WORD.findall(answer)) > 2):
        wrong = "several relations" if len(names) > 1 else "no relation of the list"
        raise BadReply(f"the reply names {wrong}", reply)
    name = names.pop()
    return None if name == _NONE else Relation(name)


def _named(answer: str) -> set[str]:
    words = _WORD.findall(answer)
    # "Changed, since she wants …" names one relation: names as written come before other spellings.
    if exact := {word for word in words if word in _NAMES}:
        return exact
    pairs = ["".join(pair) for pair in pairwise(words)]
    return {_SPELLINGS[each.casefold()] for each in (*words, *pairs) if each.casefold() in _SPELLINGS}
