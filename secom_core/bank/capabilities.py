"""What a bank can do beside remembering and recalling, each under its name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, NoReturn, cast

from ..conversation import check_scope
from ..errors import InvalidInput
from .components import Components
from .corrections import Corrections, Named, WrittenBy
from .layers import Layers
from .lifetimes import Lifetimes

if TYPE_CHECKING:
    from ..changes import Change
    from ..chats.layer import Chats
    from ..citations.layer import CitationLayer
    from ..protocols import TokenCounter
    from ..summaries.layer import SummaryLayer
    from ..timelines.layer import TimelineLayer
    from ..topics.layer import TopicLayer
    from .items import ItemReading
    from .parts import Parts
    from .storage import Storage


class Capabilities:
    """The layers of a bank, and its storage. Copies of an object that holds a bank share the bank."""

    _inside: Components
    _parts: Parts

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
    def token_counter(self) -> TokenCounter:
        """The function that counts the tokens of a text."""
        return self._parts.token_counter

    @property
    def timezone(self) -> tzinfo | None:
        """The time zone of the users, where the bank was opened with one."""
        return self._parts.zone

    @property
    def layers(self) -> Layers:
        """The layers that the bank was opened with, by name."""
        return self._inside.layers

    @property
    def summaries(self) -> SummaryLayer:
        """The running summary; raises `InvalidInput` if the bank was opened without ``summaries``."""
        return cast("SummaryLayer", self._inside.layers["summaries"])

    @property
    def timelines(self) -> TimelineLayer:
        """Events, links and timelines; raises `InvalidInput` if the bank was opened without ``timelines``."""
        return cast("TimelineLayer", self._inside.layers["timelines"])

    @property
    def topics(self) -> TopicLayer:
        """Topics of each speaker; raises `InvalidInput` if the bank was opened without ``topics``."""
        return cast("TopicLayer", self._inside.layers["topics"])

    @property
    def citations(self) -> CitationLayer:
        """The log of citations; raises `InvalidInput` if the bank was opened without ``citations``."""
        return cast("CitationLayer", self._inside.layers["citations"])

    @property
    def chats(self) -> Chats:
        """The messages of sessions as a framework holds them; every bank keeps them."""
        return self._inside.chats

    @property
    def items(self) -> ItemReading:
        """What a store of items reads: many sessions of one turn each, in many scopes that begin alike."""
        return self._inside.items

    def correct(
        self,
        scope: Sequence[str],
        what: Named,
        text: str | None,
        *,
        part: str | None = None,
        at: datetime | None = None,
        by: WrittenBy = "user",
    ) -> str | None:
        """Correct a turn by hand: the correction is a new turn, and the corrected turn stays, marked as replaced.

        A recall shows the correction first, then the corrected turn, marked ``(replaced on 2025-06-01 by [4])``. If the
        turn tells several things, only the sentences are replaced that the text is about, by their words and values,
        and sentences of the replies that repeat a value of them; the mark quotes them, and the rest holds. If no
        sentence can be told to be meant, all of the turn is replaced. If what is corrected was corrected before, its
        latest correction is corrected. What summaries, timelines and topics made from the corrected turn is deleted,
        and made again from the correction (`Corrections`).

        Args:
            scope: whose memory it is.
            what: the turn, its id, or a hit that shows it alone.
            text: the correct statement, as the speaker would say it; ``None`` retracts the turn without a correction.
            part: the words of the turn that are wrong, as they stand there; all of its first message for all of it.
                Found by the text unless given.
            at: when it was corrected; now unless given.
            by: whose words the text is; those of ``"assistant"`` are shown as ``user, as corrected by the assistant``.

        Returns:
            The id of the correction; nothing if the turn was retracted.

        Raises:
            InvalidInput: the scope holds no such turn, the text is empty, or the part is not in the turn once.
            StoreError: the store failed; nothing is changed.
        """
        return self.corrections.correct(scope, what, text, part=part, at=at, by=by)

    @property
    def corrections(self) -> Corrections:
        """Corrections by hand: retract, undo, pin and unpin turns, and list the marks."""
        return self._inside.corrections

    @property
    def lifetimes(self) -> Lifetimes:
        """When turns, sessions and scopes expire, and how much a scope may hold."""
        return self._inside.lifetimes

    def changes(self, scope: Sequence[str]) -> list[Change]:
        """The changes that were found: each links a later statement to the earlier one that it changes or confirms.

        Rules find them when messages are remembered, in English, German, Chinese, Japanese, Korean, Spanish and French.
        With ``changes="model"``, the language model also finds them when sessions end, with the attribute and the date.
        A recall shows the later statement together with the earlier one, which is marked.

        Args:
            scope: whose memory it is.

        Raises:
            InvalidInput: the bank was opened without ``changes``.
        """
        if not self._inside.deriving.changes:
            raise InvalidInput(
                "this bank was opened without changes; open it with changes=True, and rebuild what it has"
            )
        from ..changes.reading import changes_of

        return changes_of(self._inside.deriving.store, self._inside.current(check_scope(scope)))

    @property
    def storage(self) -> Storage:
        """Where the bank is stored, and export, import, moving and backup."""
        return self._inside.storage
