"""The page on LangChain runs as it is written."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_classic", reason="needs the extra 'langchain'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from readme_diff import changed

from secom_core.testing import ScriptedServer

pytestmark = pytest.mark.docs

PAGE = Path(__file__).parents[2] / "docs" / "langchain.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"(?<! -->\n)^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    assert len(blocks) >= 5
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        for place, block in enumerate(blocks):
            exec(compile(block, f"{PAGE.name}, block {place}", "exec"), names)


PLAIN = """\
from langchain.agents import create_agent

agent = create_agent(
    model,
    tools,
    checkpointer=checkpointer,
)

for thread, text in (("monday", "I moved to Ghent in May."), ("friday", "Which city did I move to?")):
    config = {"configurable": {"user_id": "alice", "thread_id": thread}}
    state = agent.invoke({"messages": [("user", text)]}, config)
    answers.append(state["messages"][-1].text)
"""


@pytest.mark.parametrize("with_memory", [False, True], ids=["plain", "as README says"])
def test_a_new_user_adds_memory_to_a_plain_agent(
    with_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from http_agent import HttpAgentModel
    from langgraph.checkpoint.memory import InMemorySaver

    monkeypatch.chdir(tmp_path)
    with ScriptedServer(
        lambda request: "In Ghent." if "moved to Ghent" in str(request.body) else "Who knows?"
    ) as server:
        model = HttpAgentModel(base_url=server.base_url)
        names: dict[str, Any] = {"model": model, "tools": [], "checkpointer": InMemorySaver(), "answers": []}
        exec(changed(PLAIN, "LangChain") if with_memory else PLAIN, names)
    assert names["answers"] == ["In Ghent.", "In Ghent." if with_memory else "Who knows?"]
