"""Memory as tools of an agent: to search, to read the rest, to remember, to correct and to forget."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from agents import FunctionTool
from agents.tool_context import ToolContext

from secom_core.agents import ScopeOf, check_scope_of, scope_in
from secom_core.agents.tools import USUAL, ToolName, call_tool, named_tools
from secom_core.bank import MemoryBank, check_bank
from secom_core.serve.tools import AgentTool

from .items import dialogue_of


def memory_tools(bank: MemoryBank, *, scope: ScopeOf, tools: Sequence[ToolName] = USUAL) -> list[FunctionTool]:
    """Tools over the memory of a scope: the ones that `secom serve` offers by the Model Context Protocol.

    The scope comes from the application. If a model names a scope, or another argument that the tool does not have, the
    result says that there is no such argument. If the store fails, the result says that memory cannot be reached.

    Usage::

        agent = Agent("helper", tools=memory_tools(bank, scope=lambda who: (who.tenant, who.user)))
        await Runner.run(agent, "…", context=Who("acme", "alice"))

    Args:
        bank: where the memories are.
        scope: whose they are, or a function that gives it from the context of the run.
        tools: which ones: ``"recall"``, ``"read_the_rest"``, ``"remember"``, ``"correct"``, ``"forget"``, ``"look"``.

    Raises:
        InvalidScope: for a bad scope; when a tool is called, if the function finds none in the run's context.
        InvalidInput: ``bank`` is not a bank, or there is no such tool.
    """
    check_bank(bank, "memory_tools")
    whose = check_scope_of(scope, "memory_tools")
    return [_tool(tool, bank, whose) for tool in named_tools(tools)]


def _tool(tool: AgentTool, bank: MemoryBank, scope: ScopeOf) -> FunctionTool:
    return FunctionTool(
        name=tool.name,
        description=tool.says,
        params_json_schema=tool.takes.model_json_schema(),
        on_invoke_tool=_invoked(tool, bank, scope),
        strict_json_schema=False,
    )


def _invoked(tool: AgentTool, bank: MemoryBank, scope: ScopeOf) -> Callable[[ToolContext[Any], str], Awaitable[str]]:
    async def invoked(context: ToolContext[Any], arguments: str) -> str:
        named = scope_in(scope, context.context, tool.name)
        try:
            given = json.loads(arguments or "{}")
        except (ValueError, RecursionError) as error:
            return f"the arguments are no JSON: {error}"
        said = dialogue_of(context.turn_input)
        asked = said[-1].text if said else ""
        return await asyncio.to_thread(call_tool, bank, named, tool, given, asked=asked)

    return invoked
