"""What did the segmentation get wrong? One question a mini-batch of hard sessions (SeCom Figure 8)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ...conversation import Turn
from ...errors import BadReply, CutOff
from ...llm.flow import Prompt
from ...llm.prompt_texts import PromptTexts
from ...llm.quoting import fitted, quoted, without_thoughts
from ...llm.records import records_in
from ...llm.replies import CUT_OFF
from ...llm.reply import cut_off
from ...llm.windows import numbered
from ...memory import Segment, boundaries_of
from ...text.terms import terms
from ..agreement import window_diff
from ..zero_shot_prompt import ranges_of

_TEXTS: Final = PromptTexts(__package__, "prompt.txt")
_MOST_CHARACTERS: Final = 100_000  # of a reply that is read at all
_MOST_ITEMS: Final = 50  # of a list that is looked through
_LONGEST: Final = 800  # characters of a rule; those of SeCom's Figures 9 and 10 have at most 365
_TAG: Final = r"<\s*/?\s*(?:reflection|rubric|example|revision)\b"
_BULLET: Final = re.compile(r"^[^\S\n]*(?:[-*+•]|\(?\d{1,3}[.):])[^\S\n]+", re.MULTILINE)
_RULE_END: Final = re.compile(r"<\s*/\s*rubric\s*>|<\s*example\b", re.IGNORECASE)
_HEADING: Final = re.compile(r"^[^\w\n]*(reflection|rubric|example|revision)\b[^\w\n]*$", re.IGNORECASE | re.MULTILINE)
_NEW_RULE: Final = re.compile(
    r"^[^\w\n]{0,9}(?:\d{1,2}[.)][^\w\n]{0,9})?(?:the )?new rule\b[^\w\n]{0,9}$", re.IGNORECASE | re.MULTILINE
)
_BETWEEN: Final = re.compile(r"^\W{2,9}between <(\w{1,20})> and </\1>\W{2,9}$", re.IGNORECASE | re.MULTILINE)
_BOLD_TAG: Final = re.compile(r"\*\*(<[^<>\n]{1,20}>)\*\*")
_LABEL: Final = re.compile(r"^\W{0,4}(?:new )?rule\W{0,3}:\W{0,4}(?=\w)", re.IGNORECASE)
_BLANK_LINE: Final = re.compile(r"\n\s*\n")
_FENCE: Final = re.compile(r"^[^\S\n]*```\w*[^\S\n]*$", re.MULTILINE)
_NAMED: Final = re.compile(r"^\W{0,20}(?:conversation|example)?\W{0,20}(\d{1,4})\b[\s:.*)\-–—]*", re.IGNORECASE)
_REVISED: Final = re.compile(r"^\W{0,20}(?:rule|item)?\W{0,20}(\d{1,4})\s*[:.)\-–—]\s*(.+)", re.IGNORECASE | re.DOTALL)
_PLACEHOLDERS: Final = ("and", "The new rule in one or two sentences.", "The rule in its new words.")
"""What stands between the tags in the prompt, or is said of it there, and is sent back as if it were a rule."""


@dataclass(frozen=True, slots=True)
class HardExample:
    """A session that was segmented wrongly.

    Args:
        turns: the session.
        predicted: how the model divided it.
        true: how people did.
    """

    turns: Sequence[Turn]
    predicted: Sequence[Segment]
    true: Sequence[Segment]

    @property
    def error(self) -> float:
        """The WindowDiff between the two."""
        return window_diff(boundaries_of(self.true), boundaries_of(self.predicted))


@dataclass(frozen=True, slots=True)
class Reflection:
    """What a model learned from a mini-batch.

    Args:
        item: the one new rule, in one line.
        revised: earlier rules in new words, by their place in the list, from 0.
        example: the most representative session's place in the mini-batch, from 0.
        note: what that session shows.
    """

    item: str
    revised: dict[int, str]
    example: int
    note: str


def reflection_prompt(
    examples: Sequence[HardExample], rules: Sequence[str] = (), *, tokens: int = 16_000, complaint: str | None = None
) -> Prompt:
    """Ask for one new rule from sessions that were segmented wrongly, and for the most typical of them.

    SeCom's figure shows each session twice, divided as predicted and as annotated. Here it is shown once, with both
    divisions and their differences by exchange number, which takes half the tokens.

    Args:
        examples: the mini-batch, with predictions and ground truth.
        rules: the rules so far.
        tokens: the most tokens of conversation that are shown, estimated; long exchanges lose their middle.
        complaint: what was wrong with an earlier reply.
    """
    room = tokens // max(len(examples), 1)
    parts = [_TEXTS.part("task", count="The conversation below" if len(examples) == 1 else "The conversations below")]
    if rules:
        listed = "\n".join(f"{n}. {quoted(rule)}" for n, rule in enumerate(rules, 1))
        parts.append(_TEXTS.part("rules", rules=listed))
    parts += [_shown(example, number, room) for number, example in enumerate(examples, 1)]
    parts += [_TEXTS.part(name) for name in ("form", "revision")[: 2 if rules else 1]]
    return _TEXTS.prompt("".join(parts), "reflect", complaint=complaint)


def _shown(example: HardExample, number: int, tokens: int) -> str:
    texts = fitted([quoted(turn.text) for turn in example.turns], tokens)
    true, predicted = ({segment.start for segment in segments} for segments in (example.true, example.predicted))
    divisions = {"predicted": ranges_of(example.predicted), "true": ranges_of(example.true)}
    errors = {"missed": _starts(true - predicted), "wrong": _starts(predicted - true)}
    return _TEXTS.part("example", number=number, exchanges=numbered(texts), **divisions, **errors)


def _starts(places: set[int]) -> str:
    return ", ".join(f"exchange {place}" for place in sorted(places)) or "nowhere"


def read_reflection(reply: str, count: int, rules: Sequence[str] = ()) -> Reflection:
    """The new rule, the revised ones and the representative example in a reply.

    What has only one reading is repaired: thoughts, code fences, missing closing tags, the earlier rules copied in
    front of the new one, and a list of new ones, of which the first is taken. Where no example is named, it is the
    first, which is the hardest.

    Args:
        reply: the model's reply.
        count: how many sessions it was shown.
        rules: the rules so far.

    Raises:
        BadReply: with what is wrong, in words for the model.
        CutOff: the reply was cut off before the end of its rule.
    """
    if len(reply) > _MOST_CHARACTERS:
        raise BadReply(f"the reply has {len(reply)} characters", reply)
    text = _tagged(_FENCE.sub("", without_thoughts(reply)))
    if cut_off(reply) and not _RULE_END.search(text):
        raise CutOff(CUT_OFF, reply)
    revised = _revised(text, rules, reply)
    item = _new_item(text, [*rules, *revised.values()], reply)
    example, note = _example(text, count)
    return Reflection(item, revised, example, note or "".join(_blocks(text, "reflection")[:1]))


def _tagged(text: str) -> str:
    """The reply in the form that was asked for, where it has headings, bold tags or a JSON object instead of tags."""
    text = _BETWEEN.sub(r"<\1>", _BOLD_TAG.sub(r"\1", text))
    if re.search(_TAG, text, re.IGNORECASE):
        return text
    records = records_in(text, lambda record: "rubric" in record).records
    said = [(key, value) for record in records for key, value in record.items() if "rubric" in record]
    if said:
        return "".join(
            f"<{key}>\n{value[0] if isinstance(value, list) and value else value}\n</{key}>" for key, value in said
        )
    return _NEW_RULE.sub("<rubric>", _HEADING.sub(r"<\1>", text))


def same_rule(one: str, other: str) -> bool:
    """Whether two rules say the same, but for word order, inflection and function words."""
    return _gist(one) == _gist(other)


def _gist(rule: str) -> frozenset[str]:
    return frozenset(terms(rule)) or frozenset(terms(rule, keep_stopwords=True))


def _new_item(text: str, known: Sequence[str], reply: str) -> str:
    blocks = _blocks(text, "rubric")
    if not blocks:
        raise BadReply("there is nothing between <rubric> and </rubric>", reply)
    # The last one that has any, as models repeat the form first.
    items = next(filter(None, map(_items, reversed(blocks))), [])
    if not items:
        raise BadReply("there is no rule between <rubric> and </rubric>", reply)
    gists = set(map(_gist, known))
    item = next((item for item in items[:_MOST_ITEMS] if _gist(item) not in gists), None)
    if item is None:
        raise BadReply(f"the rule is among the rules so far: {items[-1][:200]}", reply)
    if len(item) > _LONGEST:
        raise BadReply(f"the rule has {len(item)} characters, it may have {_LONGEST}", reply)
    return item


def _items(block: str) -> list[str]:
    """The items of a list, or the paragraphs where there is no list, a line each."""
    items = _BULLET.split(block)[1:] or _BLANK_LINE.split(block)
    found = (_LABEL.sub("", " ".join(item.split()).strip('[]"“”').lstrip("- ")) for item in items)
    return [item for item in found if any(map(str.isalnum, item)) and not _is_placeholder(item)]


def _is_placeholder(item: str) -> bool:
    return any(same_rule(item, each) for each in _PLACEHOLDERS)


def _revised(text: str, rules: Sequence[str], reply: str) -> dict[int, str]:
    found: dict[int, str] = {}
    for match in map(_REVISED.match, _blocks(text, "revision") if rules else ()):
        if match is None or _is_placeholder(match[2]):
            continue
        place, rule = int(match[1]) - 1, " ".join(match[2].split())
        if not 0 <= place < len(rules):
            raise BadReply(f"there is no rule {match[1]} to revise, there are {len(rules)}", reply)
        others = [*rules[:place], *rules[place + 1 :], *found.values()]
        if len(rule) <= _LONGEST and not any(same_rule(rule, other) for other in others):
            found[place] = rule
    return found


def _example(text: str, count: int) -> tuple[int, str]:
    for block in reversed(_blocks(text, "example")):
        match = _NAMED.match(block)
        if match and 1 <= int(match[1]) <= count:
            return int(match[1]) - 1, " ".join(block[match.end() :].split())
    return 0, ""


def _blocks(text: str, tag: str) -> list[str]:
    """What stands behind each opening tag, up to the next tag of the form or the end; blank ones left out."""
    found = re.findall(rf"<\s*{tag}\b[^<>]*>(.*?)(?={_TAG}|\Z)", text, re.IGNORECASE | re.DOTALL)
    return list(filter(None, map(str.strip, found)))
