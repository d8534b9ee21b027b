"""The memories that the papers compare with, as the memory of a LangChain chain."""

from __future__ import annotations

import pytest
from langchain_core.language_models.fake import FakeListLLM

pytest.importorskip("langchain_classic", reason="classic chains take a memory")
from langchain_classic.chains import ConversationChain

from benchmarks.memories.adapters import langchain_memory
from benchmarks.memories.registry import Means, make
from secom_core.testing import ScriptedModel

pytestmark = [
    pytest.mark.filterwarnings("ignore::langchain_core._api.deprecation.LangChainDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Please see the migration guide"),
]


def test_a_chain_talks_with_a_baseline_for_its_memory() -> None:
    memory = langchain_memory(make("memorybank-turns-kept", Means()))
    chain = ConversationChain(llm=FakeListLLM(responses=["In Cork?", "Lovely.", "In Cork harbour."]), memory=memory)
    chain.invoke({"input": "My boat Petrel lies in Cork harbour."})
    assert memory.load_memory_variables({"input": "?"})["history"] == (
        "Human: My boat Petrel lies in Cork harbour.\nAI: In Cork?"
    ), "an open session is shown as it is"
    memory.end_session()  # type: ignore[attr-defined]
    assert "Cork" not in memory.load_memory_variables({"input": "cheese"})["history"].partition("Human")[2]
    chain.invoke({"input": "I make goat cheese."})
    shown = memory.load_memory_variables({"input": "Where is the Petrel?"})["history"]
    assert shown.index("Cork harbour") < shown.index("Human: I make goat cheese."), "memories, then the session"


def test_a_baseline_that_asks_a_model_is_given_one() -> None:
    model = ScriptedModel("<summary>The boat lies in Cork.</summary>")
    memory = langchain_memory(make("summem", Means(model=model)), model, budget=50, memory_key="past")
    memory.save_context({"input": "My boat lies in Cork."}, {"response": "Nice."})
    memory.clear()
    assert memory.memory_variables == ["past"]
    assert memory.load_memory_variables({"input": "Where is the boat?"}) == {"past": "The boat lies in Cork."}
    assert "Where is the boat?" in model.requests[-1].text
