"""Every way in which memories of others go wrong in an agent has its test, named by the number that it has here."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

LANGCHAIN = {
    1: "a hook that is only sync runs on the event loop, one that is only async raises under invoke",
    2: "what a turn recalled is checkpointed, seen by the next turn, or lost when a person resumes it",
    3: "annotations of the state schema cannot be read at run time",
    4: "history that is sent again, under new ids, is remembered again",
    5: "what a framework made up is remembered, or what was redacted",
    6: "the memory's own model calls reach the user's stream",
    7: "citations are streamed before they can be stripped",
    8: "content is stored as its repr, reasoning and pictures with it; a call parts from its result",
    9: "scopes collide or default; state of a run is kept on the middleware; two share a name",
    10: "a sub-agent's words are remembered as the user's, as it has his thread",
    11: "memory moves the base prompt, so that no prompt cache hits",
    12: "what waits in the background cannot be recalled, or comes back after it was forgotten",
    13: "what was said has no time, or the caller's is lost",
    14: "stored metadata is loaded by the name that it gives itself",
}
LLAMAINDEX = {
    1: "a ReAct agent without a system prompt throws a leading system message away, memory with it",
    2: "what is returned is the memory's own, and agents with a state rewrite it",
    3: "an empty memory is falsy, and is replaced",
    4: "private attributes vanish, and a dump does not open the store again",
    5: "each reading within a turn recalls again, under other numbers",
    6: "an answer teaches twice, or thoughts and recalled text do",
    7: "content is None for tool calls; a window parts a call from its result, or begins with one",
    8: "thoughts, tools and hand-offs are remembered as something said",
    9: "set() remembers the history again; reset() wipes what was remembered",
    10: "a block's put raises, loses messages, or changes those of others",
    11: "what is recalled is longer than there is room for",
    12: "a remembered {context_str} is filled in by a chat engine's prompt",
    13: "where nothing is found, the model is not asked",
    14: "nodes that were cut or denoised keep stale vectors, lose their place, or their own text",
    15: "the ingestion cache does not see the models; workers cannot pickle them",
    16: "bookkeeping reaches the model; nodes that are shared are changed",
    17: "every later session goes by the first one's id",
}


@pytest.mark.slow
@pytest.mark.parametrize(("framework", "pitfalls"), [("langchain", LANGCHAIN), ("llamaindex", LLAMAINDEX)])
def test_every_pitfall_has_a_test_of_its_name(framework: str, pitfalls: dict[int, str]) -> None:
    folder = Path(__file__).parent / framework
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in folder.glob("test_*.py")]
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    names = [node.name for tree in trees for node in ast.walk(tree) if isinstance(node, kinds)]
    numbers = [int(number) for name in names for number in re.findall(r"pitfall_(\d\d)_", name)]
    assert sorted(set(numbers)) == list(pitfalls)
