"""Calls of tools that a model wrote down as its answer, in the place of calling them, as many local models do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from .patterns import regex

_NAMES: Final = frozenset({"name", "tool", "tool_name", "function", "action"})
_ARGUMENTS: Final = frozenset({"arguments", "parameters", "args", "input", "action_input", "tool_input", "kwargs"})
_BESIDE: Final = frozenset({"id", "type", "index"})
_WITHIN: Final = ("tool_calls", "function_call", "tool_call", "function")
"""Under what key a call stands in another object."""

_NAME: Final = re.compile(r"[\w.:-]+")
_WRAPPING: Final = regex(r"```[\w-]*|</?[^<>\n]{1,40}>|\[/?[A-Z]+(?:_[A-Z]+)*\]")
"""Fences of code, tags such as ``<tool_call>``, and marks such as ``[TOOL_CALLS]``."""
_BETWEEN: Final = re.compile(r"[\s,;}]*")
_DOUBLED: Final = "{{"
"""How Qwen2.5-Coder begins such an object: its template shows it with each outer brace twice."""
_TAGGED: Final = regex(r"<function=[\w.:-]+>\s*\{.*", re.DOTALL)
_IN_CODE: Final = regex(r"```tool_code\b(?:(?!```).)*(?:```\s*)?|\[\s*[\w.]+\((?:\s*\w+\s*=.*)?\)\s*\]\s*", re.DOTALL)
_BROKEN_OFF: Final = regex(
    rf"""\{{+\s*"(?:{"|".join(sorted(_NAMES))})"\s*:\s*"[\w.:-]+"\s*,\s*"(?:{"|".join(sorted(_ARGUMENTS))})"\s*:"""
)
_OPENINGS: Final = ("{", "[", "`", "<")
_LONGEST: Final = 8000
"""How many characters such an answer has at most; it is looked at with each of its passages."""
_object_at: Final = json.JSONDecoder().raw_decode


def is_written_call(text: str) -> bool:
    """Whether a text is a call of a tool, or several, and nothing else.

    As an object of JSON with a name and arguments, in a fence of code or between tags or not, also where it breaks off;
    or as the calls in code that some models are trained to write.
    """
    answer = text.lstrip() if len(text) <= _LONGEST else ""
    if not answer.startswith(_OPENINGS):
        return False
    if _IN_CODE.fullmatch(answer) or _TAGGED.fullmatch(answer):
        return True
    found = list(_are_calls(_WRAPPING.sub(" ", answer).strip()))
    return bool(found) and all(found)


def _are_calls(text: str) -> Iterator[bool]:
    """Of each object of JSON in a text, and of what is none, whether it is a call, or the beginning of one."""
    place = 0
    while place < len(text):
        place += text.startswith(_DOUBLED, place)
        try:
            found, place = _object_at(text, place)
        except (ValueError, RecursionError):
            yield _breaks_off(text[place:])
            return
        yield from map(_is_call, found if isinstance(found, list) and found else [found])
        between = _BETWEEN.match(text, place)
        place = between.end() if between else place


def _breaks_off(text: str) -> bool:
    return _BROKEN_OFF.match(text.lstrip("[ \n")) is not None and text.count("{") > text.count("}")


def _is_call(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    inner = next((value[key] for key in _WITHIN if isinstance(value.get(key), (dict, list))), None)
    if inner is not None and value.keys() - _BESIDE - {*_WITHIN} == set():
        calls = inner if isinstance(inner, list) else [inner]
        return bool(calls) and all(map(_is_call, calls))
    names, arguments = value.keys() & _NAMES, value.keys() & _ARGUMENTS
    is_bare = value.keys() == names | arguments | (value.keys() & _BESIDE)
    return is_bare and len(names) == 1 and len(arguments) == 1 and _is_named(value[names.pop()])


def _is_named(name: Any) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None
