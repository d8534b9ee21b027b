"""LlamaIndex LLMs and embedding models as the models of the core."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.llms.custom import CustomLLM
from llama_index.core.llms.llm import LLM

from secom_core.errors import BadReply, InvalidInput, shorten
from secom_core.llm.flow import ChatModel, Prompt
from secom_core.llm.limits import translated
from secom_core.llm.reply import Reply, empty, ended_at_limit
from secom_core.llm.schemas import SchemaTrial
from secom_core.models.rows import model_rows
from secom_core.protocols import Embedder, Vectors

from .convert import text_of


class LlamaIndexChatModel:
    """A LlamaIndex LLM as the core's `ChatModel` and `AsyncChatModel`.

    The LLM keeps its own temperature and token limit, because their names differ between integrations.

    Args:
        llm: the LLM; if ``None``, ``Settings.llm``, looked up at the first prompt.
        hold_to_schema: ask for replies in the JSON schema of a prompt that has one, by the argument
            ``response_format`` that OpenAI-like LLMs pass on. Whether the LLM takes it is found out by the first such
            prompt; if it does not, the text alone says what is wanted.
        **options: keyword arguments for every call, such as ``temperature=0``.

    Raises:
        InvalidInput: it is not a `LLM`.
    """

    def __init__(self, llm: LLM | None = None, *, hold_to_schema: bool = True, **options: Any) -> None:
        if llm is not None and not isinstance(llm, LLM):
            raise InvalidInput(f"expected a LlamaIndex LLM, got {shorten(llm)}")
        self._llm = llm
        self._options = options
        self._schemas = SchemaTrial(hold_to_schema)

    @property
    def llm(self) -> LLM:
        """The LLM."""
        if self._llm is None:
            from llama_index.core.settings import Settings

            self._llm = Settings.llm
        return self._llm

    @property
    def name(self) -> str:
        """The class and the model name of the LLM."""
        return "Settings.llm" if self._llm is None else f"{self._llm.class_name()}:{self._llm.metadata.model_name}"

    def complete(self, prompt: Prompt) -> str:
        """Answer the prompt; a `Reply` that says whether it was cut off.

        Raises:
            ModelUnavailable: the LLM raised; its error is chained.
            BadReply: the answer holds no text.
        """
        reply = Reply()
        for attempt in self._schemas.attempts(prompt):
            with attempt, translated(self):
                reply = _reply(self.llm.chat(_messages(prompt), **{**attempt.options, **self._options}))
        return reply

    async def acomplete(self, prompt: Prompt) -> str:
        """Answer the prompt without blocking the event loop. Raises as `complete`."""
        reply = Reply()
        for attempt in self._schemas.attempts(prompt):
            with attempt, translated(self):
                reply = _reply(await self._achat(_messages(prompt), {**attempt.options, **self._options}))
        return reply

    async def _achat(self, messages: list[ChatMessage], options: Mapping[str, Any]) -> ChatResponse:
        # CustomLLM's own achat calls chat on the event loop. Instrumentation wraps both, hence the unwrapping.
        if inspect.unwrap(type(self.llm).achat) is inspect.unwrap(CustomLLM.achat):
            return await asyncio.to_thread(self.llm.chat, messages, **options)
        return await self.llm.achat(messages, **options)


class LlamaIndexEmbedder:
    """A LlamaIndex embedding model as the core's `Embedder`.

    Args:
        embed_model: the model; if ``None``, ``Settings.embed_model``, looked up when it is first needed.
        name: identifies the model in the store; the model's class and name unless given.

    Raises:
        InvalidInput: it is not a `BaseEmbedding`.
    """

    def __init__(self, embed_model: BaseEmbedding | None = None, name: str | None = None) -> None:
        if embed_model is not None and not isinstance(embed_model, BaseEmbedding):
            raise InvalidInput(f"expected a LlamaIndex embedding model, got {shorten(embed_model)}")
        self._model = embed_model
        self._name = name

    @property
    def embed_model(self) -> BaseEmbedding:
        """The embedding model."""
        if self._model is None:
            from llama_index.core.settings import Settings

            self._model = Settings.embed_model
        return self._model

    @property
    def name(self) -> str:
        """Identifies the model; vectors of models with different names are never compared."""
        return self._name or f"{self.embed_model.class_name()}:{self.embed_model.model_name}"

    @name.setter
    def name(self, value: str) -> None:
        self._name = value

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), d)``, each of length 1.

        Raises:
            ModelUnavailable: the model raised; its error is chained.
            BadReply: the model did not give one finite vector of the same length for each text.
        """
        return self._rows(texts, lambda: self.embed_model.get_text_embedding_batch(list(texts)))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of queries, by ``get_query_embedding``. As `embed`."""
        return self._rows(texts, lambda: [self.embed_model.get_query_embedding(text) for text in texts])

    def _rows(self, texts: Sequence[str], embed: Callable[[], list[list[float]]]) -> Vectors:
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        with translated(self):
            rows = embed()
        return model_rows(rows, len(texts), self.name)


def as_chat_model(model: LLM | ChatModel) -> ChatModel:
    """A model of the core: a LlamaIndex LLM is wrapped, a model of the core is returned unchanged."""
    if isinstance(model, LLM):
        return LlamaIndexChatModel(model)
    if not isinstance(model, ChatModel):
        raise InvalidInput(f"expected a LlamaIndex LLM or a ChatModel of secom_core, got {model!r}")
    return model


def as_embedder(model: BaseEmbedding | Embedder) -> Embedder:
    """An embedder of the core: an embedding model of LlamaIndex is wrapped, a core embedder is returned unchanged."""
    if isinstance(model, BaseEmbedding):
        return LlamaIndexEmbedder(model)
    if not isinstance(model, Embedder):
        raise InvalidInput(f"expected a LlamaIndex BaseEmbedding or an Embedder of secom_core, got {model!r}")
    return model


def _messages(prompt: Prompt) -> list[ChatMessage]:
    system = [ChatMessage(role=MessageRole.SYSTEM, content=prompt.system)] if prompt.system else []
    return [*system, ChatMessage(role=MessageRole.USER, content=prompt.text)]


def _reply(response: ChatResponse) -> Reply:
    text = text_of(response.message)
    beside = (response.raw, response.additional_kwargs, response.message.additional_kwargs)
    at_limit = any(map(ended_at_limit, beside))
    if not text.strip():
        raise BadReply(empty(at_limit), text)
    return Reply(text, cut_off=at_limit)


def version_of(part: object) -> str:
    """A string that identifies a part and its settings, for caches that see only serialised components.

    It is the part's own ``model_version`` where it has one, else its class, its name and its public settings.
    """
    if isinstance(part, (str, int, float, bool, type(None))):
        return repr(part)
    if isinstance(part, (tuple, list)):
        return f"[{', '.join(map(version_of, part))}]"
    own = getattr(part, "model_version", None)
    if isinstance(own, str):
        return own
    settings = {name: version_of(value) for name, value in _settings(part)}
    arguments = ", ".join(f"{name}={value}" for name, value in settings.items())
    return f"{type(part).__module__}.{type(part).__qualname__}({arguments})"


def _settings(part: object) -> list[tuple[str, object]]:
    if is_dataclass(part):
        return [(field.name, getattr(part, field.name)) for field in fields(part) if field.init]
    plain = (str, int, float, bool, tuple)
    named = [("name", getattr(part, "name", None)), *getattr(part, "__dict__", {}).items()]
    return [(key, value) for key, value in named if not key.startswith("_") and isinstance(value, plain)]


def check_version(recorded: object, default: object, argument: str) -> None:
    """Refuse to rebuild a serialised component with the default part where it had another.

    Args:
        recorded: the version of the part that it had.
        default: the part that it would get.
        argument: the argument that takes the part, for the error.

    Raises:
        InvalidInput: ``recorded`` is not the default's version.
    """
    if recorded not in (None, "", version_of(default)):
        raise InvalidInput(f"this was made with {recorded}, which JSON cannot hold: pass {argument}= again")
