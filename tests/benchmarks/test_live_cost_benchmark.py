"""`python -m benchmarks.live_cost`: what is asked while an agent talks is counted, for each preset in each loop."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")
pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
pytest.importorskip("openai", reason="the clients speak HTTP")

from benchmarks import live_cost

pytestmark = pytest.mark.slow


def test_each_preset_asks_at_the_end_of_a_session_and_not_in_between() -> None:
    found = dict(live_cost.measured(threads=2, turns=3))
    assert list(found) == [f"{loop}, {preset}" for loop in live_cost.LOOPS for preset in live_cost.PRESETS]
    for name, row in found.items():
        assert row["in all"]["calls"] > row["close"]["calls"] > 0, name
        assert "join" not in row["purposes"], name
        assert bool(row["a turn"]["waited"]) == name.startswith("Companion"), name
    assert found["LangChain create_agent, secom"]["purposes"] == {"segment": 1}
    assert found["LlamaIndex FunctionAgent, rsum"]["made"]["summaries"] == 1
