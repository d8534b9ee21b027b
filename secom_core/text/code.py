"""Code in replies, and the questions that ask for it: "the share_out function", "give me that command again"."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cache, partial
from itertools import chain
from typing import Final, NamedTuple

from .kept import Kept
from .passages import blocks
from .patterns import regex
from .terms import terms
from .wording import folded_case, is_signed, signs, wording

_LONGEST: Final = 300
"""How many characters a question for code has at most."""

_KEPT: Final = 1_000_000
"""How long the texts may be together of which it is kept where their code is."""

_ABOVE: Final = 120
"""How many characters before a block of code are looked at for what it is called."""

_FILE: Final = (
    r"(?:[\w-]*docker-?(?:file|compose)|makefile|ya?ml|json|sql|css"
    r"|[\w-]+\.(?:py|[jt]sx?|ya?ml|toml|json|sh|sql|css|java|go|rs))"
)
_CODE: Final = (
    rf"(?:code|functions?|scripts?|snippets?|commands?|regex(?:es)?|query|queries|one-?liners?|class(?:es)?|configs?"
    rf"|{_FILE})"
)
_SURELY: Final = "(?:function|script|snippet|command|regex|query|one-?liner)s?"
"""What is of code also where nobody is asked to give it: "what was the code again" may be of a door."""
_PIECE: Final = (
    r"(?:diffs?|hooks?|schemas?|sql|middlewares?|decorators?|unit ?tests?|stack ?traces?|structs?|type definitions?"
    r"|(?:migration|patch)(?:es|s)?(?! (?!for|that|which|we|you|again|please|script|file|out)\w))"
)
"""What is of code where the assistant is asked to show it: "what is the schema of our trip" is of none."""
_COMMAND: Final = "(?:script|snippet|command|regex|query|one-?liner)s?"
_DOES: Final = r"(?:that|which) (?!is|was|has|does)\w+s\b"
_PLACED: Final = f"(?:functions?|class(?:es)?|{_COMMAND}) {_DOES}"
_USED: Final = "(?:use|run|write|pick|choose|settle on|end up with|go with)"
_GAVE: Final = "(?:wrote|written|gave|given|show(?:ed|n)|suggested|recommended|sent|made|used|told)"
_DE: Final = rf"(?:[\w-]*(?:code|skripts?|funktion|befehle?|abfrage|regex|schnipsel|klasse|konfig\w*)|{_FILE})"
_DE_PIECE: Final = r"(?:[\w-]*(?:diff|hook)|migration|schema|sql)"
_DE_COMMAND: Final = r"(?:[\w-]*(?:skript|befehl|abfrage|regex|schnipsel)|sql)"
_DE_PLACED: Final = rf"(?:[\w-]*funktion|{_DE_COMMAND})"
_ES: Final = f"(?:código|función|script|comando|consulta|fragmento|regex|{_FILE})"
_FR: Final = f"(?:code|fonction|script|commande|requête|extrait|regex|{_FILE})"
_ASKS: Final = wording(
    rf"""
    (?:give|show|send|paste|print|repeat|find|get|need|want|see)\b(?: [\w-]+){{0,4}} {_CODE}
    (?:give|show|send|paste|print|repeat)\b(?: [\w-]+){{0,4}}[ -]{_PIECE}
    \A(?:the|that|our) (?:[\w-]+ ){{0,3}}(?:function|{_COMMAND}) {_DOES}
    where(?:'s| is| are| was| were| did (?:we|you|i) put| do we keep)(?: [\w-]+){{0,3}} {_PLACED}
    where(?:'s| is| was)(?: [\w-]+){{0,3}} (?:regex|snippet|one-?liner|query)\b
    (?:what|which)\b(?: [\w-]+){{0,4}} (?:functions?|{_COMMAND}|configs?|{_FILE}) (?:did|do) (?:we|i) {_USED}
    what(?:'s| is| was) (?:the|our)(?: [\w-]+){{0,3}} {_COMMAND} (?:to|for) \w+
    what(?:'s| is| was) (?:the|our)(?: [\w-]+){{0,3}} (?:function|{_COMMAND}) {_DOES}
    what(?:'s| is| was) (?:the|our)(?: [\w-]+){{1,3}} (?:command|regex|snippet|one-?liner)s?(?=\W*\Z)
    (?:what|which)\b(?: [\w-]+){{0,4}} {_CODE}\b.{{0,60}}\byou
    {_CODE}\b.{{0,40}}\byou(?:'d|'ve| had| have)?(?: \w+ly| just| also)? {_GAVE}
    what(?:'s| is| was) (?:the|that)(?: [\w-]+){{0,3}} {_SURELY}\b.{{0,60}}\bagain
    wie (?:war|lautete?|ging|hieß)(?: [\w-]+){{0,3}} (?:skript|funktion|befehl|abfrage)\b.{{0,60}}\b(?:noch ?mal|gleich)
    (?:c'était quoi|quelle était)(?: [\w-]+){{0,3}} (?:fonction|script|commande|requête)
    cuál era(?: [\w-]+){{0,3}} (?:función|script|comando|consulta)
    cuál es(?: [\w-]+){{0,3}} (?:comando|consulta|script) (?:para|que)
    dónde está(?: [\w-]+){{0,3}} (?:función|script|comando|consulta) (?:que|para)
    (?:où est|où se trouve|quelle est)(?: [\w-]+){{0,3}} (?:fonction|commande|requête) (?:qui|pour)
    wo (?:ist|sind|steht|liegt|war|haben wir)(?: [\w-]+){{0,3}} {_DE_PLACED},? (?:die|das|der|zum|für)
    welche[nrs]?(?: [\w-]+){{0,2}} {_DE_COMMAND} (?:haben wir|hatten wir|habe ich|nutzen wir|verwenden wir)
    wie (?:lautete?|heißt|ist|war|geht)(?: [\w-]+){{0,3}} {_DE_COMMAND} (?:zum|zur|für|um|mit dem|mit der)
    (?:gib|zeige?|schicke?)\b(?: [\w-]+){{0,4}}[ -]{_DE_PIECE}
    (?:gib|zeige?|schicke?|brauche|will)\b(?: [\w-]+){{0,4}} {_DE}|{_DE}\b.{{0,60}}\b(?:du|(?-i:Sie))
    (?:dame|muéstrame|enséñame|pásame|necesito|quiero)(?: [\w-]+){{0,4}} {_ES}
    {_ES} que me (?:diste|escribiste|mostraste|enseñaste|mandaste|pasaste)
    (?:(?:re)?donne|(?:re)?montre|envoie)[sz]?(?:-moi)?(?: [\w-]+){{0,4}} {_FR}
    {_FR} que (?:tu|vous) (?:m'|nous )?(?:as|avez) (?:donné|écrit|montré|envoyé)e?
    """,
    anywhere=r"代码|函数|脚本|命令行|正则表达式|查询语句|関数|スクリプト|コマンド|正規表現|クエリ|コードを|코드|함수|스크립트|명령어|정규식|쿼리"
    r"|命令(?:是|怎)|迁移文件|(?:哪个|什么)\s?SQL|どのSQL",
)
_OTHER: Final = wording(
    r"""
    (?:zip|postal|post|area|dress|promo|discount|voucher|door|gate|access|country|qr|tax|security|pin|booking) codes?
    codes? of conduct|(?:film|movie|play|tv) scripts?|(?:chain|second|third) (?:of|in) commands?
    (?:voice|dog|puppy|obedience) commands?
    (?:coat|crochet|curtain|fish(?:ing)?|picture|shower|towel|wall|window)[ -]hooks?
    (?:eye|iron-?on|nicotine|pumpkin|vegetable|garden) patch(?:es)?
    """
)
"""What is called code, but is none."""

_SIGNS: Final = signs(
    "code|function|script|snippet|command|regex|quer|liner|skript|funktion|befehl|abfrage|schnipsel|código|función"
    "|class|config|docker|makefile|yaml|yml|json|sql|css|klasse|konfig|.py|.js|.ts|.toml|.sh|.java|.go|.rs|comando|consulta"
    "|diff|hook|migration|patch|schema|middleware|decorator|unit|trace|struct|definition|迁移"
    "|fragmento|fonction|requête|extrait|代码|函数|脚本|命令|正则|查询|関数|スクリプト|コマンド|正規|クエリ"
    "|コード|코드|함수|스크립트|명령|정규|쿼리"
)
_NAME: Final = "[A-Za-z_][A-Za-z0-9_]+"
_ENDING: Final = (
    "(?:py|[jt]sx?|html?|css|json|ya?ml|toml|txt|md|csv|pdf|docx?|xlsx?|png|jpe?g|sh|sql|java|go|rs|xml|com|org|net|io)"
)
_IDENTIFIER: Final = regex(
    rf"(?<![A-Za-z0-9_./@-])(?:{_NAME}(?:\.(?!{_ENDING}\b){_NAME})+|_*[A-Za-z0-9]+_[A-Za-z0-9_]+|[a-z]{{2,}}(?:[A-Z][a-z0-9]+)+"
    rf"|{_NAME}(?=\((?!e?[sn]\))))(?![A-Za-z0-9_@/])"
)
"""``share_out``, ``shareOut``, ``os.path.join``, ``divmod(…)``; no "item(s)", and none of an address or a file."""
_TYPE: Final = regex(
    r"(?<![A-Za-z0-9_./@-])[A-Z][A-Za-z0-9]*(?:(?<=[a-z0-9])[A-Z]|(?<=[A-Z])[A-Z][a-z](?!\b))[A-Za-z0-9]*"
    r"(?![A-Za-z0-9_@/])"
)
"""``FrameChecksum``, ``JSONDecoder``; and "YouTube", of which no code is likely."""
_NAMES: Final = regex(r"[A-Za-z0-9_](?:[A-Z(]|[._][A-Za-z0-9_])")
"""Whatever is written as a name of code holds this."""
_INLINE: Final = regex(r"`[^`\n]*[^`\s] [^`\n]+`")
"""Code of several words within a line, such as a command."""


def asks_for_code(query: str) -> bool:
    """Whether a question asks the assistant for code, such as a command that it gave.

    In English, German, Spanish, French, Chinese, Japanese and Korean.
    """
    if len(query) > _LONGEST or not is_signed(folded_case(query), _SIGNS):
        return False
    return _ASKS.search(query) is not None and _OTHER.search(query) is None


def identifiers(query: str) -> list[str]:
    """The names in a question that are written as those of code are, each once."""
    return _names(_IDENTIFIER, query)


def type_names(query: str) -> list[str]:
    """The names in a question that are written as those of types are, each once; or of anything: "YouTube"."""
    return _names(_TYPE, query)


def _names(written: re.Pattern[str], query: str) -> list[str]:
    if len(query) > _LONGEST or _NAMES.search(query) is None:
        return []
    return list(dict.fromkeys(written.findall(query)))


def wants_code(query: str) -> bool:
    """Whether a question asks for code, or has a name of it."""
    return asks_for_code(query) or bool(identifiers(query))


def holding_any(names: list[str]) -> Callable[[str], bool]:
    """Whether a text holds one of the names, as a word of its own; of no names, none does."""
    if not names:
        return lambda text: False
    alike, listed = "|".join(map(re.escape, names)), tuple(names)
    found = regex(rf"(?<![A-Za-z0-9_])(?:{alike})(?![A-Za-z0-9_])")
    return lambda text: is_signed(text, listed) and found.search(text) is not None


def code_edges(text: str) -> list[int]:
    """Where the blocks of code between fences begin and end in a text, in order."""
    if "```" not in text and "~~~" not in text:
        return []
    return list(chain.from_iterable(span for *span, kind in blocks(text) if kind == "code"))


def asked_edges(text: str, query: str) -> list[int]:
    """As `code_edges`, of those blocks alone that are called what a question asks for, where any is.

    A block is called by the line above it, and by what stands behind its fence: "## Dockerfile", "```sql".

    Args:
        text: the text.
        query: the question.
    """
    words = set(terms(query, language="english"))
    blocks_of_code = _code_in(text)
    named = [each for each in blocks_of_code if not each.called.isdisjoint(words)]
    return [place for each in named or blocks_of_code for place in (each.start, each.stop)]


class _Code(NamedTuple):
    """A block of code, and the terms of what it is called."""

    start: int
    stop: int
    called: frozenset[str]


def _blocks_of_code(text: str) -> tuple[_Code, ...]:
    edges = code_edges(text)
    return tuple(
        _Code(start, stop, frozenset(terms(_label(text, start), language="english", in_parts=True)))
        for start, stop in zip(edges[::2], edges[1::2], strict=True)
    )


# Of a reply that is found by one question, the next ones find something too.
_code_in: Final[Kept[str, tuple[_Code, ...]]] = Kept(_blocks_of_code, characters=_KEPT)


def _label(text: str, start: int) -> str:
    above = text[max(0, start - _ABOVE) : start].rstrip().rpartition("\n")[2]
    return f"{above} {text[start : text.find(chr(10), start)]}"


def is_code(edges: list[int], start: int, stop: int) -> bool:
    """Whether some of a part of a text is code.

    Args:
        edges: as `code_edges` gives them.
        start: where the part begins.
        stop: where it ends.
    """
    before = bisect_right(edges, start)
    return before % 2 == 1 or (before < len(edges) and edges[before] < stop)


class CodeAsked:
    """The code that a question asks for.

    Args:
        query: the question.
    """

    def __init__(self, query: str) -> None:
        self.by_kind: Final = asks_for_code(query)
        """Whether any code is asked for, and not only what has a name."""
        names, types = identifiers(query), type_names(query)
        self.is_asked: Final = self.by_kind or bool(names or types)
        """Whether any is asked for, or named."""
        self._named, self._typed = holding_any(names), holding_any(types)
        self._edges = cache(partial(asked_edges, query=query))

    def is_in(self, text: str, start: int, stop: int) -> bool:
        """Whether a part of a reply is of the code, or holds a name of it.

        What may be the name of a type, or of anything, such as "YouTube", counts in code only.
        """
        part = text[start:stop]
        if self._named(part) or (self.by_kind and "`" in part and _INLINE.search(part) is not None):
            return True
        # A long reply has many parts, and is read once.
        return (self.by_kind or self._typed(part)) and is_code(self._edges(text), start, stop)
