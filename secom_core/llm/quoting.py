"""Untrusted text as it may stand in a prompt, and a model's reply without its thoughts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ..text.patterns import regex
from ..text.terms import count_tokens
from .marks import without_hidden, without_marks

_MARKER: Final = re.compile("[\\[\ufe47\uff3b](?=\\W{0,9}exchange\\b)", re.IGNORECASE)
# Mistral's models think between [THINK] and [/THINK].
_THOUGHT: Final = re.compile(
    r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)|(?-i:\[THINK\]).*?(?:(?-i:\[/THINK\])|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_LEAST: Final = 12  # tokens, below which a text without its middle says nothing
_BEGINS: Final = regex(
    r"\s*(?:<(think|thinking|thought|reasoning)>(?:.*?</\1>\s*|[ \t]*\n(?!.*</\1>).*\Z)"
    r"|(?-i:\[THINK\](?:.*?\[/THINK\]\s*|[ \t]*\n(?!.*\[/THINK\]).*\Z)))",
    re.DOTALL | re.IGNORECASE,
)
_UNOPENED: Final = regex(
    r"(?:(?!```|<(?:think|thinking|thought|reasoning)>).)*?\n</(?:think|thinking|thought|reasoning)>[ \t]*\n\s*",
    re.DOTALL | re.IGNORECASE,
)
_THOUGHT_END: Final = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


def quoted(text: str) -> str:
    """``text`` such that it can neither open nor close a tag, start an exchange, nor leave its paragraph, and holds no
    mark of a model's own.
    """
    kept = "\n".join(filter(None, map(str.rstrip, without_hidden(text).splitlines())))
    bare = kept.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKER.sub("(", without_marks(bare))


def unquoted(text: str) -> str:
    """What a model copied out of a prompt as it was said: it writes ``R&amp;D`` as `quoted` showed it."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def shortened(text: str, tokens: int) -> str:
    """The beginning and the end of ``text``, of at most ``tokens`` tokens; the whole where it is no longer."""
    short, kept = text, len(text)
    while (size := count_tokens(short)) > tokens:
        kept = min(kept * tokens // size, kept * 9 // 10)
        short = f"{text[: kept * 2 // 3]} […] {text[len(text) - kept // 3 :]}"
    return short


def fitted(texts: Sequence[str], tokens: int) -> list[str]:
    """``texts`` with at most ``tokens`` tokens together; the longest ones lose their middles, the others are whole.

    No text is cut to less than a few tokens, so very many texts may have more.
    """
    room, left, cap = tokens, len(texts), tokens
    for size in sorted(map(count_tokens, texts)):
        cap = room // left
        if size > cap:
            break
        room, left = room - size, left - 1
    else:
        return list(texts)
    return [shortened(text, max(cap, _LEAST)) for text in texts]


def without_thoughts(reply: str) -> str:
    """``reply`` without what a reasoning model thought aloud, even where a template left the opening tag out."""
    answer = _THOUGHT.sub("", reply)
    return _THOUGHT_END.split(answer)[-1]


def spoken(answer: str) -> str:
    """An answer to a user without what a model thought before it; whatever else it says of thoughts and tags stays.

    Thoughts begin the answer between tags, as local models write them, or end with a line that only closes them, where
    a template wrote the opening tag. Where thoughts were never closed, nothing was said.
    """
    begun = _BEGINS.match(answer) if answer.lstrip()[:1] in ("<", "[") else None
    begun = begun or (_UNOPENED.match(answer) if "\n</" in answer else None)
    return answer[begun.end() :] if begun is not None else answer
