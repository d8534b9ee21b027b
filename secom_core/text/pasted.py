"""What a program wrote, in a text that somebody pasted it into: code, logs, traces of calls, differences of files."""

from __future__ import annotations

from typing import Final

from .passages import blocks
from .patterns import regex

_LEVEL: Final = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)"
_TIME: Final = r"\[?(?:\d{4}-\d\d-\d\d[T ]|[A-Z][a-z]{2} {1,2}\d{1,2} )?\d\d:\d\d(?::\d\d)?"
_BY_PROGRAM: Final = regex(
    r"[ \t]*(?:"
    rf"{_TIME}[^\n]{{0,80}}?\b{_LEVEL}\b"
    r'|Traceback \(most recent call last\):|File "[^"\n]+", line \d'
    r"|goroutine \d+ \[|\S+\.go:\d+ \+0x"
    r"|diff --git |index [0-9a-f]{7,}\.\.[0-9a-f]{7,}|@@ -\d|(?:\+\+\+|---) (?:[ab]/|/dev/null)"
    r'|\{"|(?:SELECT|INSERT INTO|DELETE FROM|CREATE (?:TABLE|INDEX)|ALTER TABLE) '
    r"|\$ [a-z./~]|[dl-][r-][w-][xsStT-][rwxsStT-]{6}"
    r"|(?:async )?def \w+\(|class \w+(?:\(.*\))?:\s*$|(?:from [\w.]+ )?import [\w.]+(?:$|,| as )|from [\w.]+ import "
    r"|(?:export |async )*(?:function\*?|const|let|var|interface|type) \w[^\n]*[=({;]\s*$|#include [<\"]"
    r"|func (?:\(\w+ \*?\w+\) )?\w+\(|(?:public|private|protected) [\w<>\[\] ]+[({;]"
    r"|[})\]]+[;,]?\s*$|[\w.$]{3,}\([^\n]*\)[;,]?\s*$"
    r")|[ \t]+at [^\n]*\([^()\n]*\)\s*$|[^\n]*\{\s*$|[^\n=(){}]*[=(){}][^\n]*;\s*$"
)
"""A line of a log, of a trace, of a difference, of a shell, of code."""
_INDENTED: Final = regex(r"(?:[+-]? {2,}|\t)[ \t]*(?![-*+•·]\s|\d{1,3}[.)]\s)\S")
"""A line that is indented, also where a difference adds or removes it, and no item of a list."""


def without_pasted(text: str) -> str:
    """The text without the lines of code between fences, and of what else a program wrote by all appearances.

    Where there are any such lines, indented ones beside them count as such too. Messages of errors stay: they are
    sentences, and tell what happened.
    """
    kept = [text[start:stop] for start, stop, kind in blocks(text) if kind != "code"]
    lines = "".join(kept).splitlines(keepends=True)
    by_program = [_BY_PROGRAM.match(line) is not None for line in lines]
    if not any(by_program):
        return "".join(kept)
    pasted = [each or _INDENTED.match(line) is not None for each, line in zip(by_program, lines, strict=True)]
    return "".join(line for line, is_pasted in zip(lines, pasted, strict=True) if not is_pasted)
