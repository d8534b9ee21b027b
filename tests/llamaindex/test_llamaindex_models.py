"""LlamaIndex's models where the core takes one, over real HTTP."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_models import HttpEmbedding, HttpLLM
from llama_index.core import Settings
from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseGen, LLMMetadata
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.llms.callbacks import llm_completion_callback

from llamaindex_secom import LlamaIndexChatModel, LlamaIndexEmbedder
from llamaindex_secom.models import as_chat_model, as_embedder, version_of
from secom_core.errors import InvalidInput
from secom_core.llm.flow import AsyncChatModel, ChatModel, Prompt
from secom_core.segmenters.fixed import FixedSize
from secom_core.testing import ScriptedEmbedder, ScriptedModel, ScriptedServer


def test_an_llm_is_a_chat_model_of_the_core() -> None:
    with ScriptedServer("Paris") as server:
        model = LlamaIndexChatModel(HttpLLM(base_url=server.base_url), temperature=0)
        assert isinstance(model, ChatModel)
        assert isinstance(model, AsyncChatModel)
        assert model.complete(Prompt("The capital of France?", system="Be brief.")) == "Paris"
        assert server.requests[0].messages == (("system", "Be brief."), ("user", "The capital of France?"))
        assert server.requests[0].body["temperature"] == 0


class SyncOnlyLLM(CustomLLM):
    """As many integrations are: its async methods call the sync ones on the event loop."""

    base_url: str

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: object) -> CompletionResponse:
        return HttpLLM(base_url=self.base_url).complete(prompt)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: object) -> CompletionResponseGen:
        yield self.complete(prompt)


async def test_a_sync_llm_does_not_block_the_event_loop() -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    with ScriptedServer("Paris") as server:
        llm = SyncOnlyLLM(base_url=server.base_url)
        with blockbuster.blockbuster_ctx():
            assert await LlamaIndexChatModel(llm).acomplete(Prompt("?")) == "Paris"
            with pytest.raises(blockbuster.BlockingError):
                await llm.achat([])  # what it would do by itself


class TwoSided(HttpEmbedding):
    def _get_query_embedding(self, query: str) -> list[float]:
        return super()._get_text_embedding(f"query: {query}")


def test_queries_are_embedded_as_queries() -> None:
    with ScriptedServer() as server:
        embedder = LlamaIndexEmbedder(TwoSided(base_url=server.base_url, model_name="tiny"))
        np.testing.assert_allclose(embedder.embed_queries(["a"]), ScriptedEmbedder(64).embed(["query: a"]), atol=1e-6)
        np.testing.assert_allclose(embedder.embed(["a"]), ScriptedEmbedder(64).embed(["a"]), atol=1e-6)


def test_models_of_either_side_are_taken() -> None:
    ours, theirs = ScriptedModel("x"), MockLLM()
    assert as_chat_model(ours) is ours
    assert as_chat_model(theirs).llm is theirs  # type: ignore[attr-defined]
    assert LlamaIndexChatModel(theirs).name == "MockLLM:unknown"
    assert LlamaIndexChatModel().name == "Settings.llm"
    embedder = ScriptedEmbedder()
    assert as_embedder(embedder) is embedder
    theirs_too = as_embedder(MockEmbedding(embed_dim=2, model_name="tiny"))
    assert isinstance(theirs_too, LlamaIndexEmbedder)
    assert theirs_too.name == "MockEmbedding:tiny"
    assert LlamaIndexEmbedder(MockEmbedding(embed_dim=2), name="mine").name == "mine"
    with pytest.raises(InvalidInput, match="got 'gpt'"):
        as_chat_model("gpt")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="got 'bert'"):
        as_embedder("bert")  # type: ignore[arg-type]


def test_settings_are_asked_when_a_model_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    model, embedder = LlamaIndexChatModel(), LlamaIndexEmbedder()
    with ScriptedServer("Paris") as server:
        monkeypatch.setattr(Settings, "_llm", HttpLLM(base_url=server.base_url))
        monkeypatch.setattr(Settings, "_embed_model", HttpEmbedding(base_url=server.base_url))
        assert model.complete(Prompt("?")) == "Paris"
        assert embedder.embed(["x"]).shape == (1, 64)


@pytest.mark.slow
def test_the_import_resolves_no_settings_and_pulls_in_no_other_framework() -> None:
    probe = (
        "import sys, llamaindex_secom\n"
        "from llama_index.core.settings import Settings\n"
        "assert Settings._llm is None and Settings._embed_model is None\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'torch', 'openai', 'transformers', 'langchain', 'langchain_core', 'nltk'}, loaded\n"
    )
    subprocess.run([sys.executable, "-c", probe], check=True)


MISSING = """
import sys
from pathlib import Path
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "llama_index" or name.startswith("llama_index."):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Absent())
try:
    import llamaindex_secom
except ImportError as error:
    assert type(error).__name__ == "MissingExtra", error
    assert 'pip install "secom-memory[llamaindex]"' in str(error), error
else:
    raise SystemExit("no error")
"""


def test_a_missing_framework_is_named_with_the_line_that_brings_it() -> None:
    subprocess.run([sys.executable, "-c", MISSING], check=True)


def test_versions_tell_settings_apart() -> None:
    assert version_of(FixedSize(2)) != version_of(FixedSize(3))
    assert version_of(ScriptedEmbedder(name="a")) != version_of(ScriptedEmbedder(name="b"))
    assert " at 0x" not in version_of(object())


@pytest.mark.models
def test_versions_tell_models_and_rates_apart() -> None:
    pytest.importorskip("torch", reason="needs the extra 'llmlingua'")
    pytest.importorskip("transformers", reason="needs the extra 'llmlingua'")
    from secom_core.denoisers.llmlingua import LLMLingua2

    made = [LLMLingua2(), LLMLingua2(rate=0.5), LLMLingua2("other"), LLMLingua2(force_tokens=["?"]), LLMLingua2()]
    versions = [version_of(each) for each in made]
    assert len(set(versions)) == 4
    assert versions[0] == versions[-1]
