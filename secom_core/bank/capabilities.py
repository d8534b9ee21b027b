"""What a bank can do beside remembering and recalling, each under its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

from ..errors import InvalidInput
from .components import Components
from .layers import Layers

if TYPE_CHECKING:
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

    @property
    def storage(self) -> Storage:
        """Where the bank is, and how its scopes leave and enter: export, import, moving, backup."""
        return self._inside.storage
