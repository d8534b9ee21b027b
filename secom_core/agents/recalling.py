"""What is recalled for a prompt: beside what the user says, and without what the prompt holds already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..bank import MemoryBank, check_bank
from ..bank.answers import ANSWER_WAITS_S
from ..conversation import Message, Scope
from ..errors import ModelError, StoreError, warn_degraded
from ..memory import RecallOptions
from ..stores.database import waiting_at_most

_MORE: Final = 64
"""By how many turns the end of a session grows that is read for a prompt, and how many more it has at least."""

_TURNS: Final = 16
"""Of how many turns that go on side by side the memories are kept."""


class PromptRecall:
    """Recalls for prompts.

    Args:
        bank: what is searched.
        options: how much is recalled, and of what.
        caller: who asks, for error messages.

    Raises:
        InvalidInput: for what is no bank, or layers that the bank was opened without.
    """

    def __init__(self, bank: MemoryBank, options: RecallOptions, caller: str) -> None:
        check_bank(bank, caller).layers.check(options.layers)
        self._bank, self._options = bank, options
        self._latest: dict[tuple[object, ...], str] = {}

    def block(self, scope: Scope, session: str, dialogue: Sequence[Message], *, begins: bool) -> str:
        """The recalled memories as quoted data; empty if there are none.

        The calls of a model in one turn have the same dialogue, and get the same memories. A store or a model that
        fails costs the memories, with a `DegradedWarning`, and not the user's turn.

        Args:
            scope: whose memory it is.
            session: the session that the dialogue belongs to.
            dialogue: what the prompt holds, with the user's message at the end.
            begins: whether this is the first call of the turn. It searches again also if the same was asked before:
                memories may have been added, corrected or forgotten since.
        """
        asked = scope, session, hash(tuple(message.line for message in dialogue))
        # Runs side by side, and those of agents that are tools of others, share this object.
        block = None if begins else self._latest.get(asked)
        if block is None:
            block = self._found(scope, session, dialogue)
            latest = {key: each for key, each in self._latest.copy().items() if key != asked}
            self._latest = dict([*latest.items(), (asked, block)][-_TURNS:])
        return block

    def _found(self, scope: Scope, session: str, dialogue: Sequence[Message]) -> str:
        *before, asked = dialogue
        try:
            with waiting_at_most(ANSWER_WAITS_S):
                exclude = list(self._shown(scope, session, dialogue))
                options = self._options.arguments
                return self._bank.recall(scope, asked.text, exclude=exclude, context=before, **options).text
        except (StoreError, ModelError) as error:
            warn_degraded("memory cannot be reached; nothing is recalled", error)
            return ""

    def _shown(self, scope: Scope, session: str, dialogue: Sequence[Message]) -> Iterator[str]:
        """The turns of the session that the prompt holds, among the latest: of these, more than it has messages."""
        shown = {message.text for message in dialogue if message.role == "user"}
        # The bank keeps as many as it was asked for last, and reads what is new.
        for turn in self._bank.turns(scope, session, last=(len(dialogue) // _MORE + 2) * _MORE):
            if any(message.text in shown for message in turn.messages):
                yield turn.id
