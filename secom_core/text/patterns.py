"""Regular expressions that are compiled when they are first used: a process uses few of all that there are."""

from __future__ import annotations

import re
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

    _compiled: re.Pattern[str] | None = None

    def __init__(self, source: str, flags: int) -> None:
        self._given = source, flags

    def __getattr__(self, name: str) -> Any:
        if "_given" not in self.__dict__:
            raise AttributeError(name)
        found = getattr(self.compiled, name)
        setattr(self, name, found)
        return found

    @property
    def compiled(self) -> re.Pattern[str]:
        """The pattern itself."""
        # Without a lock, which a forked process would find held by a thread that it does not have.
        found = self._compiled
        if found is None:
            source, flags = self._given
            found = self._compiled = re.compile(finding_all_ways(source), flags)
        return found
