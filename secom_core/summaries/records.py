"""The versions of a scope's running summary."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Summary:
    """A version of a scope's summary.

    Args:
        version: its number, from 1.
        text: its sentences, a line each.
        session: the session that it took in.
        session_turn_ids: the turns of that session that it rests on.
        previous: the version that it was made from.
        provisional: a language model was to make it and failed; it is made anew when the next session closes.
    """

    version: int
    text: str
    session: str
    session_turn_ids: tuple[str, ...]
    previous: Summary | None = None
    provisional: bool = False

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences, in order."""
        return tuple(self.text.splitlines())

    @property
    def turn_ids(self) -> tuple[str, ...]:
        """All turns that it rests on: those of its session and of all versions before it."""
        chain: list[Summary] = []
        version: Summary | None = self
        while version is not None:
            chain.append(version)
            version = version.previous
        return tuple(id_ for each in reversed(chain) for id_ in each.session_turn_ids)
