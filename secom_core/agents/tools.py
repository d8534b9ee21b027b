"""The tools of `secom serve` for agents in the same process. Their scope comes from the application."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, Literal, get_args

from ..bank import MemoryBank
from ..bank.answers import shared_writer
from ..bank.checks import check_some
from ..conversation import Scope
from ..errors import ModelError, SecomError, StoreError, warn_degraded
from ..serve import requests
from ..serve.grants import Grant
from ..serve.tools import TOOLS, AgentTool, Recall, found

ToolName = Literal["recall", "read_the_rest", "remember", "correct", "forget", "look"]
"""The name of a tool."""
USUAL: Final[tuple[ToolName, ...]] = ("recall", "read_the_rest")
"""The tools that an agent gets unless others are named."""
_UNREACHABLE: Final = "Memory cannot be reached at the moment."


def named_tools(names: Collection[ToolName]) -> list[AgentTool]:
    """The tools of these names.

    Raises:
        InvalidInput: there is none of such a name, or no name is given.
    """
    check_some("tools", names, get_args(ToolName))
    return [tool for name in dict.fromkeys(names) for tool in TOOLS if tool.name == name]


def call_tool(bank: MemoryBank, scope: Scope, tool: AgentTool, arguments: Any, *, asked: str = "") -> str:
    """What the model reads as the result: what was found or done, or why it was not.

    Args:
        bank: where the memories are.
        scope: whose they are.
        tool: which one.
        arguments: as the model gave them.
        asked: what the user has just said, which a search need not find.
    """
    try:
        call, grant = requests.checked(tool.takes, arguments), Grant("agent", scope)
        if isinstance(call, Recall):
            return found(bank, grant, call, _unanswered(bank, scope, asked))
        return tool.does(shared_writer(bank), grant, call)
    except (StoreError, ModelError) as error:
        warn_degraded("the model is told that memory cannot be reached", error)
        return _UNREACHABLE
    except SecomError as error:
        return str(error)


def _unanswered(bank: MemoryBank, scope: Scope, asked: str) -> Sequence[str]:
    """The turn that the user has just begun, which would be the best match for itself."""
    names = bank.sessions(scope) if asked else []
    latest = bank.turns(scope, names[-1], last=1) if names else []
    return [turn.id for turn in latest if [message.text for message in turn.messages] == [asked]]
