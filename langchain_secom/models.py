"""Any LangChain chat model or embeddings, wherever the core takes a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager, Callbacks
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig, ensure_config

from secom_core.bank import MemoryBank
from secom_core.errors import BadReply, InvalidInput, shorten
from secom_core.llm.flow import ChatModel, Prompt
from secom_core.llm.limits import translated
from secom_core.llm.reply import Reply, empty, ended_at_limit
from secom_core.llm.schemas import SchemaTrial
from secom_core.models.rows import model_rows
from secom_core.protocols import Embedder, Segmenter, Vectors

from .convert import text_of

_CHAT_MODEL: Final = "LangChain chat model, such as langchain.chat_models.init_chat_model('openai:gpt-4o-mini')"
_MODEL_NAMES: Final = ("model", "model_name", "model_id", "repo_id", "deployment", "azure_deployment")


class LangChainChatModel:
    """A LangChain chat model as the core's `ChatModel` and `AsyncChatModel`.

    These calls do not appear in the user's stream: they have the tag ``nostream``, and the handlers of
    ``astream_events`` and of LangGraph's streams are not called. Tracers are called, and find the purpose of a call in
    its metadata as ``secom_purpose``. The model keeps its own temperature and token limit, because their names differ
    between integrations.

    Args:
        chat_model: the chat model.
        hold_to_schema: ask for replies in the JSON schema of a prompt that has one, by the argument
            ``response_format`` that LangChain's own ``ProviderStrategy`` passes. Whether the model takes it is found
            out by the first such prompt; if it does not, the text alone says what is wanted.
        **options: keyword arguments for every call, such as ``temperature=0``.

    Raises:
        InvalidInput: it is not a `BaseChatModel`.
    """

    def __init__(self, chat_model: BaseChatModel, *, hold_to_schema: bool = True, **options: Any) -> None:
        if not isinstance(chat_model, BaseChatModel):
            raise InvalidInput(f"expected a {_CHAT_MODEL}, got {shorten(chat_model)}")
        self.chat_model = chat_model
        self._options = options
        self._schemas = SchemaTrial(hold_to_schema)

    @property
    def name(self) -> str:
        """Identifies the model: its class, and the name that the class gives it."""
        return ":".join(filter(None, (type(self.chat_model).__name__, _model_of(self.chat_model))))

    def complete(self, prompt: Prompt) -> str:
        """Answer the prompt; a `Reply` that says whether it was cut off.

        Raises:
            ModelUnavailable: the chat model raised; its error is chained.
            BadReply: the answer holds no text.
        """
        reply = Reply()
        for attempt in self._schemas.attempts(prompt):
            with attempt, translated(self.chat_model):
                reply = _reply(self._invoke(prompt, attempt.options))
        return reply

    async def acomplete(self, prompt: Prompt) -> str:
        """Answer the prompt without blocking the event loop. Raises as `complete`."""
        reply = Reply()
        for attempt in self._schemas.attempts(prompt):
            with attempt, translated(self.chat_model):
                reply = _reply(await self._ainvoke(prompt, attempt.options))
        return reply

    def _invoke(self, prompt: Prompt, options: Mapping[str, Any]) -> BaseMessage:
        try:
            return self.chat_model.invoke(_messages(prompt), quiet(prompt.purpose), **{**options, **self._options})
        except Exception as error:
            if (answer := _cut_off_in(error)) is None:
                raise
            return answer

    async def _ainvoke(self, prompt: Prompt, options: Mapping[str, Any]) -> BaseMessage:
        try:
            return await self.chat_model.ainvoke(
                _messages(prompt), quiet(prompt.purpose), **{**options, **self._options}
            )
        except Exception as error:
            if (answer := _cut_off_in(error)) is None:
                raise
            return answer


class LangChainEmbedder:
    """LangChain embeddings as the core's `Embedder`.

    Args:
        embeddings: the embeddings.
        name: identifies the model in the store; the class and the model's name unless given.

    Raises:
        InvalidInput: it is not a `Embeddings`, or it does not say which model it is and no name is given.
    """

    def __init__(self, embeddings: Embeddings, *, name: str | None = None) -> None:
        if not isinstance(embeddings, Embeddings):
            raise InvalidInput(f"expected LangChain embeddings, got {embeddings!r}")
        self.embeddings = embeddings
        self.name = name or _name_of(embeddings)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), d)``, each of length 1.

        Raises:
            ModelUnavailable: the embeddings raised; their error is chained.
            BadReply: they gave something else than a vector of finite numbers for each text.
        """
        return self._rows(texts, self.embeddings.embed_documents)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As `embed`, for queries, with ``embed_query``."""
        return self._rows(texts, lambda queries: [self.embeddings.embed_query(query) for query in queries])

    def _rows(self, texts: Sequence[str], embed: Callable[[list[str]], list[list[float]]]) -> Vectors:
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        with translated(self.embeddings):
            rows = embed(list(texts))
        return model_rows(rows, len(texts), self.name)


def as_chat_model(model: BaseChatModel | ChatModel) -> ChatModel:
    """The model as the core takes it: a LangChain chat model is wrapped, a core model comes back as it is.

    Raises:
        InvalidInput: it is neither.
    """
    if isinstance(model, BaseChatModel):
        return LangChainChatModel(model)
    if not isinstance(model, ChatModel):
        raise InvalidInput(f"expected a {_CHAT_MODEL}, or a ChatModel of secom_core, got {shorten(model)}")
    return model


def as_embedder(model: Embeddings | Embedder) -> Embedder:
    """The embedder as the core takes it: LangChain embeddings are wrapped, a core embedder comes back as it is.

    Raises:
        InvalidInput: it is neither.
    """
    if isinstance(model, Embeddings):
        return LangChainEmbedder(model)
    if not isinstance(model, Embedder):
        raise InvalidInput(f"expected LangChain embeddings or an Embedder of secom_core, got {model!r}")
    return model


def as_segmenter(
    segmenter: Segmenter | None = None,
    *,
    model: BaseChatModel | ChatModel | None = None,
    embeddings: Embeddings | Embedder | None = None,
) -> Segmenter:
    """The given segmenter, or one that asks a model, or one that uses embeddings, or else the lexical one.

    Args:
        segmenter: any segmenter of the core.
        model: ask a language model for the cuts (`ZeroShotSegmenter`).
        embeddings: cut where the meaning changes (`EmbeddingSegmenter`).

    Raises:
        InvalidInput: more than one is given, or one that is none.
    """
    if sum(part is not None for part in (segmenter, model, embeddings)) > 1:
        raise InvalidInput("give one of segmenter, model and embeddings, not several")
    if model is not None:
        from secom_core.segmenters.zero_shot import ZeroShotSegmenter

        return ZeroShotSegmenter(as_chat_model(model), fallback=as_segmenter())
    if embeddings is not None:
        from secom_core.segmenters.embedding import EmbeddingSegmenter

        if isinstance(embeddings, Embeddings):
            # Nothing is stored under its name.
            name = None if _model_of(embeddings) else type(embeddings).__name__
            embeddings = LangChainEmbedder(embeddings, name=name)
        return EmbeddingSegmenter(as_embedder(embeddings))
    if segmenter is None:
        from secom_core.segmenters.lexical import LexicalSegmenter

        return LexicalSegmenter()
    if not isinstance(segmenter, Segmenter):
        raise InvalidInput(f"a segmenter has a segment method (secom_core.protocols.Segmenter), got {segmenter!r}")
    return segmenter


def open_bank(
    path: str | Path = ":memory:",
    *,
    model: BaseChatModel | ChatModel | None = None,
    embedder: Embeddings | Embedder | None = None,
    **parts: Any,
) -> MemoryBank:
    """Open a bank with LangChain's models.

    Args:
        path: the file, made if it is not there; ``":memory:"`` keeps nothing.
        model: cuts sessions into segments, and is the ``model`` of the bank's layers; the lexical segmenter, which
            needs no model, unless given.
        embedder: adds search by vector to search by words.
        **parts: as for `MemoryBank.open`.
    """
    if model is not None:
        model = as_chat_model(model)  # one for both, so that what is found out of it is found out once
        parts["segmenter"] = as_segmenter(parts.get("segmenter"), model=model)
        parts.setdefault("model", model)
    if embedder is not None:
        parts["embedder"] = as_embedder(embedder)
    return MemoryBank.open(path, **parts)


def _messages(prompt: Prompt) -> list[BaseMessage]:
    system: list[BaseMessage] = [SystemMessage(prompt.system)] if prompt.system else []
    return [*system, HumanMessage(prompt.text)]


def quiet(purpose: str) -> RunnableConfig:
    """The surrounding run's configuration, without the handlers that stream tokens to the user.

    Args:
        purpose: what something is run for, which tracers find in its metadata.
    """
    current = ensure_config()
    return {
        "callbacks": _without_streams(current.get("callbacks")),
        "tags": [*current.get("tags", ()), "nostream"],
        "metadata": {**current.get("metadata", {}), "secom_purpose": purpose},
        "run_name": f"secom {purpose}".strip(),
    }


def _without_streams(callbacks: Callbacks) -> Callbacks:
    if isinstance(callbacks, BaseCallbackManager):
        quiet: BaseCallbackManager = callbacks.copy()
        for handler in list(quiet.handlers):
            if _is_stream(handler):
                quiet.remove_handler(handler)
        return quiet
    return [handler for handler in callbacks if not _is_stream(handler)] if callbacks else callbacks


def _is_stream(handler: BaseCallbackHandler) -> bool:
    return hasattr(handler, "tap_output_iter")


def _cut_off_in(error: Exception) -> BaseMessage | None:
    """The answer that an error holds because it was cut off at its limit.

    The openai client raises one where an answer in a schema does not end, and `ChatOpenAI` lets it through.
    """
    completion: Any = getattr(error, "completion", None)
    if not ended_at_limit(completion):
        return None
    return AIMessage(completion.choices[0].message.content or "", response_metadata={"finish_reason": "length"})


def _reply(answer: BaseMessage) -> Reply:
    text = text_of(answer)
    at_limit = ended_at_limit(answer.response_metadata) or ended_at_limit(answer.additional_kwargs)
    if not text.strip():
        raise BadReply(empty(at_limit), text)
    return Reply(text, cut_off=at_limit)


def _model_of(integration: object) -> str | None:
    return next((value for key in _MODEL_NAMES if isinstance(value := getattr(integration, key, None), str)), None)


def _name_of(embeddings: Embeddings) -> str:
    model = _model_of(embeddings)
    if not model:
        raise InvalidInput(
            f"{type(embeddings).__name__} does not say which model it is; give it a name: "
            "LangChainEmbedder(embeddings, name='my-model')"
        )
    return f"{type(embeddings).__name__}:{model}"
