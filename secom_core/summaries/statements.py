"""A summary as statements that can each be understood alone: what a heading says is written before its items."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ..text.patterns import regex
from ..text.speech import asks, stands
from ..text.terms import is_stopword, sentences, terms

SPEAKERS: Final = ("user", "assistant")
_MARKDOWN: Final = regex(r"[ \t]*(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*:?")
_BULLET: Final = regex(
    r"([ \t]*)([-*•–—+](?=[ \t])|\(?\d{1,3}[.)](?=[ \t])|\[\d{1,3}\][.:]?(?=[ \t])"
    r"|[・●○①-⑳]|[（(]?\d{1,3}[．、）])?(?(2)[ \t]*)(.*)"
)
_NUMBER: Final = regex(r"\d{1,3}[.)]?")
_TITLE: Final = regex(r"(?:\*\*|__)([^:：]{1,80}?[:：]?)(?:\*\*|__)[:：]?|([^:：]{1,80})[:：]")
_LABELLED: Final = regex(r"([^\s:：.!?][^:：.!?\n]{0,40})[:：]\s+(?=\S)|(?P<wide>[^\s\W\d_]{2,8})：(?=\S)")
_COPIED_TAG: Final = regex(r"<\s*/?\s*\w[^<>]*>")
_INLINE: Final = regex(r"(?<!\s)\s+[-•–]\s+")  # Only from where the spaces begin: a long run of them is read once.
_LABEL_WORDS, _TITLE_WORDS, _LEAD_WORDS = 4, 8, 4
_DATE: Final = regex(r"\d{4}-\d\d-\d\d[ \t]+")
_ROLES: Final = regex(
    r"(?:the\s+)?(?:(user|human|customer)|(assistant|ai|bot|chatbot))(?=['’]s\b|\W|$)"
    r"|(用户|使用者|ユーザー)|(助手|助理|アシスタント)",
    re.IGNORECASE,
)
_WORD: Final = regex(r"\w+(?:['’]\w+)*")
_NOTHING: Final = regex(
    r"\W*(?:(?:there (?:is|are) )?(?:none|nothing|n/?a|no|not|null|empty|unchanged)"
    r"(?:\s+(?:new|at all|to (?:add|update|report|change)|of note|yet|known|given|provided|mentioned|applicable"
    r"|memory|memories|information|facts?|details?|changes?|updates?|needed|available|needs? updating|so far))*"
    r"|(?:the )?(?:old |previous |existing )?memory (?:is |remains |stays )?(?:unchanged|the same|empty)"
    r"|(?:目前|暂时)?(?:没有|无|暂无)(?:任何)?(?:新的?|更多|相关)?(?:信息|资讯|内容|变化|更新|改变|记忆)?"
    r"|(?:记忆|内容)(?:没有|无|未)(?:变化|更新|改变)|特になし|変更(?:は)?(?:なし|ありません)"
    r"|(?:新しい(?:情報|記憶)|新情報|記憶)は?(?:なし|ありません|空です)"
    r"|keine?|nichts(?: neues)?|unverändert|无|没有|無|なし|rien|aucune?|ninguna|nada|nessuna|ningún)\W*",
    re.IGNORECASE,
)
_GENERAL: Final = frozenset(
    "updated new old memory summary key important known information facts details points notes list here is the".split()
)


@dataclass(slots=True)
class _Heading:
    """A heading, how deep it stands, and whether its items have bullets."""

    text: str
    depth: float
    bulleted: bool = False


def says_nothing(text: str) -> bool:
    """Whether a memory is but a way of saying ``none``: ``None.``, ``(no new information)``, ``unchanged``."""
    return _NOTHING.fullmatch(text.strip()) is not None


def statements(text: str) -> list[str]:
    """The sentences of a text, each with the headings or the label that it stands under, in order.

    ``User:`` above ``- Lives in Ghent.`` gives ``User: Lives in Ghent.``, so that whom it is about survives when other
    lines come between or are cut. Bullets and numbers go. What names its heading, or somebody else, in its first words
    is left as it is.
    """
    lines = _without_tables([line for line in text.splitlines() if line.strip()])
    path: list[_Heading] = []
    found: list[str] = []
    for line in lines:
        depth, bulleted, bare = _taken_apart(line)
        if title := _title(line, bare):
            # A heading of the same depth ends the one before it, and a bullet those beside it.
            path = [each for each in path if each.depth < depth]
            path.append(_Heading(title, depth))
            continue
        # A sentence without a bullet is none of the items that have one.
        path = [each for each in path if (each.depth < depth if bulleted else not each.bulleted)]
        for each in path:
            each.bulleted = each.bulleted or bulleted
        found += _bound([each.text for each in path], bare)
    return found


def lines_of(summary: str) -> list[str]:
    """The statements of a summary that was read or extracted before: a line is one, or several under its label."""
    return [each for line in summary.splitlines() for each in _bound([], line)]


def unlabelled(statement: str) -> tuple[str, str]:
    """The label of a statement, such as a name, and what is said behind it; without one the label is empty."""
    label = _LABELLED.match(statement)
    return ((label[1] or label["wide"]).strip(), statement[label.end() :]) if label else ("", statement)


def is_tag(statement: str) -> bool:
    """Whether a statement is but a tag of a prompt that was copied: ``</session>``."""
    return _COPIED_TAG.fullmatch(statement) is not None


def _without_tables(lines: Sequence[str]) -> list[str]:
    """The lines, those of tables as ``first: others``, without the names of the columns."""
    is_rule = [*(_is_rule(line) for line in lines), False]
    names = (is_rule[place + 1] and "|" in line for place, line in enumerate(lines))
    return [_row(line) for line, is_name, rule in zip(lines, names, is_rule[:-1], strict=True) if not (is_name or rule)]


def _is_rule(line: str) -> bool:
    """Whether it parts the names of a table's columns from its rows, such as ``|:-:|---|`` or ``--- | ---``."""
    bare = line.strip()
    return set(bare) <= set("|-: \t") and "|" in bare and "-" in bare and (bare.startswith("|") or "--" in bare)


def _row(line: str) -> str:
    bare = line.strip()
    if len(bare) < 2 or not (bare.startswith("|") and bare.endswith("|")):
        return line
    first, *others = [each.strip() for each in bare.strip("|").split("|") if each.strip()] or [""]
    if others and _NUMBER.fullmatch(first):
        first, *others = others
    said = ", ".join(others)
    return said if said.startswith(f"{first}:") else f"{first}: {said}" if said else first


def _taken_apart(line: str) -> tuple[float, bool, str]:
    """How deep a line stands, whether it has a bullet, and what is left without it."""
    if heading := _MARKDOWN.fullmatch(line):
        return len(heading[1]), False, heading[2]
    found = _BULLET.fullmatch(line)
    indent, bullet, bare = found.groups(default="") if found else ("", "", line)
    kind = 0.0 if not bullet else 0.5 if bullet.strip("([.:])").isdigit() else 1.0
    return 10 + 2 * len(indent.expandtabs(4)) + kind, bool(bullet), bare.strip()


def _title(line: str, bare: str) -> str:
    """What a heading says; empty where the line is none."""
    found = _TITLE.fullmatch(bare)
    if found is None and not _MARKDOWN.fullmatch(line):
        return ""
    title = (found[1] or found[2]) if found else bare
    bold = found is not None and found[1] is not None and not bare.endswith((":", "：", ":**"))
    words = _plain(title).rstrip(":： ")
    return "" if len(words.split()) > _TITLE_WORDS or (bold and words.endswith((".", "!", "?"))) else words


def _bound(headings: list[str], item: str) -> Iterator[str]:
    """The statements of one line, each under its headings or its label."""
    item = _plain(item)
    label = _LABELLED.match(item)
    if label is not None and len((label[1] or label["wide"]).split()) <= _LABEL_WORDS:
        pieces = _pieces(item[label.end() :])
        if len(pieces) > 1:
            headings, said = [*headings, (label[1] or label["wide"]).strip()], pieces
        else:
            said = [item]
    else:
        said = sentences(item)
    yield from (_under(headings, each) for each in said if any(map(str.isalnum, each)) and not says_nothing(each))


def _pieces(text: str) -> list[str]:
    """What is listed or said behind a label: ``- Divorced - One child``, or sentences."""
    listed = _INLINE.split(re.sub(r"^[-•–]\s+", "", text))
    return listed if len(listed) > 1 and text.startswith(("-", "•", "–")) else sentences(text)


def _under(headings: list[str], sentence: str) -> str:
    lead = {word.casefold().removesuffix("'s") for word in _WORD.findall(sentence)[:_LEAD_WORDS]}
    if any(_words(each) & lead for each in headings) or (_ROLES.match(sentence) and headings):
        return sentence
    named = [each for each in headings if _words(each)]
    return f"{', '.join(named)}: {sentence}" if named else sentence


def _words(heading: str) -> set[str]:
    """The words that say what stands under a heading; none where it only says that this is a memory."""
    words = {word.casefold().removesuffix("'s") for word in _WORD.findall(heading)}
    return {word for word in words - _GENERAL if not is_stopword(word)}


def _plain(text: str) -> str:
    return text.replace("**", "").strip()


# -- what a statement holds -------------------------------------------------------------------------------------------


def about(statement: str, speakers: Collection[str] = ()) -> str:
    """Whom a statement begins with, in lower case: the user, the assistant, or one of the speakers; empty else.

    Args:
        statement: of a summary; a date before it is passed over.
        speakers: names beside the two roles.
    """
    bare = statement[found.end() :] if (found := _DATE.match(statement)) else statement
    if role := _ROLES.match(bare):
        return SPEAKERS[0] if role[1] or role[3] else SPEAKERS[1]
    folded = bare.casefold()
    return next((name for each in speakers if (name := each.casefold()) and _begins(folded, name)), "")


def _begins(text: str, name: str) -> bool:
    return text.startswith(name) and not text[len(name) : len(name) + 1].isalnum()


def marks(statement: str) -> set[str]:
    """The names and numbers of a statement, in lower case: words with a digit, and capitals inside a sentence."""
    bare = _DATE.sub("", statement, count=1)
    found = [(place.group(), _opens(bare[: place.start()])) for place in _WORD.finditer(bare)]
    names = {word for word, opens in found if any(map(str.isdigit, word)) or (word[:1].isupper() and not opens)}
    return {name.casefold().removesuffix("'s").removesuffix("’s") for name in names if _is_name(name)}


def _opens(before: str) -> bool:
    """Whether a word opens a sentence, or what is said behind a label or inside quotes."""
    return not before.strip() or before.rstrip().endswith((":", ".", "!", "?", '"', "“", "„", "(", "…"))


def _is_name(word: str) -> bool:
    return not is_stopword(word.split("'")[0].split("’")[0]) and _ROLES.fullmatch(word) is None


def tells(sentence: str, known: Collection[str] = ()) -> bool:
    """Whether a sentence says something to remember, as far as can be told locally: a name, a number, what holds.

    Args:
        sentence: as it was said; a question tells nothing.
        known: names and numbers that are no news, in lower case.
    """
    return not asks(sentence) and (bool(marks(sentence) - set(known)) or bool(stands(sentence) and terms(sentence)))
