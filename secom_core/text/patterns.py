"""Regular expressions that are compiled when they are first used: a process uses few of all that there are."""

from __future__ import annotations

import re
from typing import Any, cast


def regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """The expression as `re.compile` gives it, compiled when anything of it is first asked for.

    Args:
        source: the expression.
        flags: of `re`, such as ``re.I``.
    """
    return cast("re.Pattern[str]", _Later(source, flags))


class _Later:
    """Stands for a pattern; what was asked of it once is at hand, so that it costs what the pattern itself does."""

    def __init__(self, source: str, flags: int) -> None:
        self._given = source, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found
