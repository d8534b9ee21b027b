"""Topics: what the sessions of a speaker say about one thing (RMM, sections 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TopicVersion:
    """A topic as one session left it (RMM section 5, memory update).

    Args:
        number: from 1.
        text: the topic's summary then.
        note: what the session added, in the words it had before it was merged; the summary itself in version 1.
        session: that session.
        turn_ids: the turns of that session that the note rests on, in order; never none.
        previous: the version that the note was merged into.
    """

    number: int
    text: str
    note: str
    session: str
    turn_ids: tuple[str, ...]
    previous: TopicVersion | None = None


@dataclass(frozen=True, slots=True)
class Topic:
    """What somebody's sessions say about one thing: a summary and the turns that it rests on (RMM section 4).

    Args:
        id: unique in its bank; stays when the topic grows.
        speaker: whose topic it is.
        version: the latest; former ones are reached from it.
        turn_ids: all turns that it rests on, over all sessions, in time order.
    """

    id: int
    speaker: str
    version: TopicVersion
    turn_ids: tuple[str, ...]

    @property
    def summary(self) -> str:
        """What it is about; the key by which it is found."""
        return self.version.text

    @property
    def versions(self) -> tuple[TopicVersion, ...]:
        """All versions, the oldest first."""
        found: list[TopicVersion] = []
        version: TopicVersion | None = self.version
        while version is not None:
            found.append(version)
            version = version.previous
        return tuple(reversed(found))

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions it rests on, each once, in the order in which they were merged."""
        return tuple(dict.fromkeys(each.session for each in self.versions))
