"""The diff on the page on LlamaIndex gives an agent memory; `tests/test_docs.py` runs the other blocks."""

from __future__ import annotations

import re
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from readme_diff import changed

from secom_core.testing import ScriptedServer

pytestmark = pytest.mark.docs

PAGE = Path(__file__).parents[2] / "docs" / "llamaindex.md"


def test_an_agent_gets_memory_by_five_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page's diff: the program before it and the program after it both run, and only one of them knows."""
    monkeypatch.chdir(tmp_path)
    (diff,) = re.findall(r"^```diff\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    lines = diff.splitlines()
    assert sum(line[:1] in "+-" and bool(line[1:].strip()) for line in lines if line) <= 5
    for leave, knows in (("+", False), ("-", True)):
        program = "\n".join(line[1:] for line in lines if line[:1] != leave)
        exec(compile(program, str(PAGE), "exec"), {})
        assert ("Marta" in capsys.readouterr().out) is knows


PLAIN = """\
from llama_index.core.agent.workflow import FunctionAgent

agent = FunctionAgent(tools=tools, llm=llm)

answer = await agent.run(text)
"""


@pytest.mark.parametrize("with_memory", [False, True], ids=["plain", "as README says"])
async def test_a_new_user_adds_memory_to_a_plain_agent(
    with_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from http_models import HttpLLM

    monkeypatch.chdir(tmp_path)
    code = compile(changed(PLAIN, "LlamaIndex") if with_memory else PLAIN, "plain", "exec", PyCF_ALLOW_TOP_LEVEL_AWAIT)
    answers = []
    with ScriptedServer(
        lambda request: "In Ghent." if "moved to Ghent" in str(request.body) else "Who knows?"
    ) as server:
        for text in ("I moved to Ghent in May.", "Which city did I move to?"):
            names: dict[str, Any] = {"llm": HttpLLM(base_url=server.base_url), "tools": [], "text": text}
            await eval(code, names)
            answers.append(str(names["answer"]))
    assert answers == ["In Ghent.", "In Ghent." if with_memory else "Who knows?"]
