"""Token counts of chat messages, with every kind of block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from llama_index.core.base.llms.types import BaseContentBlock, ChatMessage, TextBlock, ThinkingBlock

_MEDIA: Final = {"image": 2125, "audio": 512, "video": 2048, "document": 512}
"""About how many tokens media have; the framework's own estimate opens files and downloads links."""

_CALLS: Final = ("tool_calls", "function_call")


class MessageTokens:
    """Counts the tokens of a message: of text, media, thinking and tool calls.

    Args:
        counter: counts the tokens of a text.
    """

    def __init__(self, counter: Callable[[str], int]) -> None:
        self._counter = counter

    def __call__(self, message: ChatMessage) -> int:
        """How many tokens the message has."""
        calls = (str(value) for key, value in message.additional_kwargs.items() if key in _CALLS)
        return sum(map(self._in_block, message.blocks)) + sum(map(self._counter, calls))

    def _in_block(self, block: BaseContentBlock) -> int:
        kind = getattr(block, "block_type", "")
        if kind in _MEDIA:
            return _MEDIA[kind]
        if isinstance(block, ThinkingBlock):
            return block.num_tokens or self._counter(block.content or "")
        return self._counter(block.text if isinstance(block, TextBlock) else _written(block))


def _written(block: BaseContentBlock) -> str:
    try:
        return block.model_dump_json(exclude={"block_type"})
    except ValueError:
        # It holds an object that JSON cannot hold.
        return str(block)
