"""What a bank can do beside remembering and recalling, each under its name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn, cast

from ..conversation import check_scope
from ..errors import InvalidInput
from .components import Components
from .corrections import Corrections, Named
from .layers import Layers
from .lifetimes import Lifetimes

if TYPE_CHECKING:
    from ..changes import Change
    from ..chats.layer import Chats
    from ..citations.layer import CitationLayer
    from ..summaries.layer import SummaryLayer
    from ..timelines.layer import TimelineLayer
    from ..topics.layer import TopicLayer
    from .storage import Storage


class Capabilities:
    """The layers of a bank, and its storage. What holds a bank shares it with its copies, and is not pickled."""

    _inside: Components

    def __copy__(self) -> Capabilities:
        """The bank itself: what holds a bank and is copied goes on with the same one."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Capabilities:
        return self

    def __reduce__(self) -> NoReturn:
        raise InvalidInput(
            "an open bank cannot be pickled, nor can what holds one: open it in the other process, from its place and "
            "with the same parts, and make there what holds it"
        )

    @property
    def layers(self) -> Layers:
        """The layers that the bank was opened with, by name; those below and any of your own."""
        return self._inside.layers

    @property
    def summaries(self) -> SummaryLayer:
        """The running summary; raises `InvalidInput` where the bank was opened without ``summaries``."""
        return cast("SummaryLayer", self._inside.layers["summaries"])

    @property
    def timelines(self) -> TimelineLayer:
        """Events, links and timelines; raises `InvalidInput` where the bank was opened without ``timelines``."""
        return cast("TimelineLayer", self._inside.layers["timelines"])

    @property
    def topics(self) -> TopicLayer:
        """Topics of each speaker; raises `InvalidInput` where the bank was opened without ``topics``."""
        return cast("TopicLayer", self._inside.layers["topics"])

    @property
    def citations(self) -> CitationLayer:
        """What answers cite; raises `InvalidInput` where the bank was opened without ``citations``."""
        return cast("CitationLayer", self._inside.layers["citations"])

    @property
    def chats(self) -> Chats:
        """The messages of sessions as a framework holds them; every bank keeps them."""
        return self._inside.chats

    def correct(self, scope: Sequence[str], what: Named, text: str | None, *, at: datetime | None = None) -> str | None:
        """Correct by hand what is remembered: what is so instead is a turn of its own, and the older one stays, marked.

        A recall brings what holds before what it replaced, whose mark says so: ``(replaced on 2025-06-01 by [4])``.
        Where the turn was corrected before, what stands in its place is corrected. Summaries, timelines and topics are
        told of it as of any session that ends; what they made of the older words goes (`Corrections`).

        Args:
            scope: whose memory it is.
            what: the turn, its id, or a hit that shows it alone.
            text: what is so instead, as whoever said it would say it; ``None`` takes it back, and puts nothing in its
                place.
            at: when it was corrected; now unless given.

        Returns:
            The id of the turn that holds now; nothing where it was taken back.

        Raises:
            InvalidInput: the scope holds no such turn, or the text is empty.
            StoreError: the store failed; nothing is changed.
        """
        return self.corrections.correct(scope, what, text, at=at)

    @property
    def corrections(self) -> Corrections:
        """Correction by hand: retract, undo, pin and unpin, and the marks that say what was done."""
        return self._inside.corrections

    @property
    def lifetimes(self) -> Lifetimes:
        """When turns, sessions and scopes end, and how much a scope may hold."""
        return self._inside.lifetimes

    def changes(self, scope: Sequence[str]) -> list[Change]:
        """What was said to have changed, ended, been corrected, or be so still: later statements with the older ones.

        Found by rules, in English, German, Chinese, Japanese, Korean and Spanish, as messages are
        remembered, and with ``changes="model"`` by the language model as sessions end, with what it is about and since
        when it holds. A recall brings the newer one with the older, which is marked.

        Args:
            scope: whose memory it is.

        Raises:
            InvalidInput: the bank was opened without ``changes``.
        """
        if not self._inside.deriving.changes:
            raise InvalidInput(
                "this bank was opened without changes; open it with changes=True, and rebuild what it has"
            )
        from ..changes.store import changes_of

        return changes_of(self._inside.deriving.store, check_scope(scope))

    @property
    def storage(self) -> Storage:
        """Where the bank is, and how its scopes leave and enter: export, import, moving, backup."""
        return self._inside.storage
