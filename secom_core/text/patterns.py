"""Regular expressions that are compiled when they are first used: a process uses few of all that there are."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, cast

from .han import finding_all_ways


def regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """The expression as `re.compile` gives it, compiled when anything of it is first asked for.

    A Chinese character in it finds itself in all ways in which it may be written.

    Args:
        source: the expression.
        flags: of `re`, such as ``re.I``.
    """
    return cast("re.Pattern[str]", Later(source, flags))


class Later:
    """Stands for a pattern; what was asked of it once is at hand, so that it costs what the pattern itself does."""

    def __init__(self, source: str, flags: int) -> None:
        self._given = source, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.compiled, name)
        setattr(self, name, found)
        return found

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The pattern itself."""
        source, flags = self._given
        return re.compile(finding_all_ways(source), flags)
