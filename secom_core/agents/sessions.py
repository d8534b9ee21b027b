"""What the sessions of agent frameworks share: whose they are, their names, their log, and what is recalled."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..bank import MemoryBank
from ..bank.checks import check_name
from ..conversation import Message, check_scope
from ..errors import InvalidInput
from ..memory import RecallOptions
from .log import ConversationLog
from .recalling import PromptRecall


class AgentSession:
    """A conversation of a framework, kept in a bank.

    Args:
        bank: where it is; the session does not close it.
        scope: whose memory it is.
        session: its name; a new one unless given.
        options: how much is recalled for a prompt, and of what.
        framework: whose messages are kept, as `ConversationLog` takes it.
        plain: makes a message of the framework from what is remembered.

    Raises:
        InvalidScope: for a bad scope.
        InvalidInput: for what is no bank, a name that is none, or options that the bank cannot recall with.
    """

    def __init__(
        self,
        bank: MemoryBank,
        scope: Sequence[str],
        session: str | None,
        options: RecallOptions,
        *,
        framework: str,
        plain: Callable[[Message], Mapping[str, Any]],
    ) -> None:
        self._recall = PromptRecall(bank, options, type(self).__name__)
        self._name = session if session is not None else uuid.uuid4().hex
        check_name(self._name)
        if not self._name:
            raise InvalidInput("session is the name of the conversation, got ''; leave it out for a new conversation")
        self.scope = check_scope(scope)
        self._log = ConversationLog(bank, self.scope, self._name, framework=framework, plain=plain)

    async def _block(self, dialogue: Sequence[Message], begins: bool) -> str:
        """What is recalled beside a dialogue, as quoted data; empty where nobody speaks, or nothing is found.

        Args:
            dialogue: what users and assistants say, with the user's message at the end.
            begins: whether the model is called for this message for the first time.
        """
        if not dialogue:
            return ""
        return await asyncio.to_thread(self._recall.block, self.scope, self._name, dialogue, begins=begins)
