"""Memory as tools of an agent: to search, to read the rest, to remember, to correct and to forget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pydantic_ai import FunctionToolset, RunContext, Tool
from pydantic_core import SchemaValidator, core_schema

from secom_core.agents import ScopeOf, check_scope_of, scope_in
from secom_core.agents.tools import USUAL, ToolName, call_tool, named_tools
from secom_core.bank import MemoryBank, check_bank
from secom_core.serve.tools import AgentTool


def memory_toolset(bank: MemoryBank, *, scope: ScopeOf, tools: Sequence[ToolName] = USUAL) -> FunctionToolset[Any]:
    """Tools over the memory of a scope: the ones that `secom serve` offers by the Model Context Protocol.

    The scope comes from the application. If a model names a scope, or another argument that the tool does not have, the
    result says that there is no such argument. If the store fails, the result says that memory cannot be reached.

    Usage::

        agent = Agent(model, deps_type=Who, toolsets=[memory_toolset(bank, scope=lambda who: (who.tenant, who.user))])
        await agent.run("…", deps=Who("acme", "alice"))

    Args:
        bank: where the memories are.
        scope: whose they are, or a function that gives it from the ``deps`` of the run.
        tools: which ones: ``"recall"``, ``"read_the_rest"``, ``"remember"``, ``"correct"``, ``"forget"``, ``"look"``.

    Raises:
        InvalidScope: for a bad scope; when a tool is called, if the function finds none in the run's ``deps``.
        InvalidInput: ``bank`` is not a bank, or there is no such tool.
    """
    check_bank(bank, "memory_toolset")
    whose = check_scope_of(scope, "memory_toolset")
    return FunctionToolset([_tool(tool, bank, whose) for tool in named_tools(tools)])


def _tool(tool: AgentTool, bank: MemoryBank, scope: ScopeOf) -> Tool[Any]:
    schema = tool.takes.model_json_schema()
    made: Tool[Any] = Tool.from_schema(_called(tool, bank, scope), tool.name, tool.says, schema, takes_ctx=True)
    # Pydantic AI checks nothing here, and a call with what is no object would end the run.
    made.function_schema.validator = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
    return made


def _called(tool: AgentTool, bank: MemoryBank, scope: ScopeOf) -> Callable[..., Awaitable[str]]:
    async def called(ctx: RunContext[Any], /, **arguments: Any) -> str:
        return await asyncio.to_thread(call_tool, bank, scope_in(scope, ctx.deps, tool.name), tool, arguments)

    return called
