"""What the README says of LangChain is what a new user has to do; `tests/test_docs.py` runs the page on LangChain."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_classic", reason="needs the extra 'langchain'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from readme_diff import changed

from secom_core.testing import ScriptedServer

pytestmark = pytest.mark.docs

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


def test_the_page_on_moving_shows_no_warning_of_langchain(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "moving-langchain.md").read_text(encoding="utf-8")
    (opening, before) = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)[:2]
    assert "ConversationBufferMemory()" in before
    ran = subprocess.run([sys.executable, "-c", opening + before], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
