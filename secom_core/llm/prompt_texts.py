"""The words of a prompt, in text files beside the modules that ask, so that anybody can read and compare them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from typing import Any

from .flow import Prompt
from .quoting import quoted


class PromptTexts:
    """The parts of a prompt. In a file, a line ``== name`` begins each part; `str.format` fills it.

    Every prompt has the parts ``system``, the system message, and ``again``, which is added where an earlier reply
    could not be used. A paragraph stands on one line, and a brace that is meant as such is written twice.

    Args:
        package: the package that ships the files.
        names: the files; a part of a later one takes the place of an earlier one's.
    """

    def __init__(self, package: str | None, *names: str) -> None:
        self._package, self._names = package or "", names

    @cached_property
    def _parts(self) -> Mapping[str, str]:
        """The parts by name, read when the first is asked for: few processes ask a language model."""
        parts: dict[str, str] = {}
        for name in self._names:
            text = files(self._package).joinpath(name).read_text(encoding="utf-8")
            _, *found = re.split(r"^== (\w+)\n", text, flags=re.M)
            parts |= {part: words.removesuffix("\n") for part, words in zip(found[::2], found[1::2], strict=True)}
        return parts

    def part(self, name: str, **values: Any) -> str:
        """One part with its values."""
        return self._parts[name].format(**values)

    def prompt(
        self,
        text: str,
        purpose: str,
        *,
        complaint: str | None = None,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        **again: Any,
    ) -> Prompt:
        """The prompt that asks ``text``.

        Args:
            text: the question, made of parts.
            purpose: what it is asked for.
            complaint: what was wrong with an earlier reply.
            max_tokens: the longest reply that is of use.
            schema: the JSON schema of the reply, for models that can be held to one.
            again: further values of the part ``again``.
        """
        added = self.part("again", complaint=quoted(complaint), **again) if complaint else ""
        return Prompt(text + added, self._parts["system"], purpose, max_tokens, schema=schema)
