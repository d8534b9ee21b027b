"""Whether a part of a bank is of its kind: said when the bank is opened, with what was given and what is wanted."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any, Final

from ..context.packing import Packer
from ..conversation import Session
from ..errors import InvalidInput, shorten
from ..protocols import ChatModel, Denoiser, Embedder, Segmenter, VectorStore
from ..ranking.reranking import WANTED
from ..ranking.weights import SIGNALS
from ..times import in_zone, on_clocks, present


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of part: its protocol, what it wants in words, how one is made, and how of a framework's object."""

    protocol: Any
    wanted: str
    made: str
    langchain: str = ""
    llamaindex: str = ""


_KINDS: Final = {
    "segmenter": _Kind(Segmenter, "an object with segment(turns)", "secom_core.segmenters.LexicalSegmenter()"),
    "denoiser": _Kind(Denoiser, "an object with denoise(texts, statistics)", "secom_core.denoisers.Informativeness()"),
    "embedder": _Kind(
        Embedder,
        "an object with a name and embed(texts)",
        "secom_core.models.SentenceTransformerEmbedder('all-MiniLM-L6-v2')",
        "langchain_secom.LangChainEmbedder(embeddings)",
        "llamaindex_secom.LlamaIndexEmbedder(embed_model)",
    ),
    "vector_store": _Kind(
        VectorStore,
        "an object with a name, upsert(documents), delete(ids), existing(ids) and search(scope, query, k)",
        "secom_core.vector_stores.PgVectorStore(url, embedder)",
        "langchain_secom.LangChainVectorStore(vector_store)",
        "llamaindex_secom.LlamaIndexVectorStore(vector_store)",
    ),
    "reranker": _Kind(
        Callable,
        WANTED,
        "secom_core.models.SentenceTransformerReranker('cross-encoder/ms-marco-MiniLM-L6-v2')",
        "langchain_secom.LangChainReranker(compressor)",
        "llamaindex_secom.LlamaIndexReranker(postprocessor)",
    ),
    "packer": _Kind(Packer, "an object with pack(candidates, …)", "secom_core.context.packing.PackTurns()"),
    "model": _Kind(
        ChatModel,
        "an object with complete(prompt)",
        "secom_core.models.OpenAIModel('gpt-4o')",
        "langchain_secom.LangChainChatModel(model)",
        "llamaindex_secom.LlamaIndexChatModel(llm)",
    ),
    "token_counter": _Kind(
        Callable,
        "a function that takes a text and gives a number of tokens",
        "lambda text: len(encoding.encode(text)), with an encoding of tiktoken",
    ),
    "redact": _Kind(
        Callable,
        "a function that takes a text and gives it back without what must not be kept",
        "lambda text: pattern.sub('…', text)",
    ),
}


def check_part(name: str, value: object) -> None:
    """Refuse a part that does not fit its protocol.

    Raises:
        InvalidInput: with what was given, what is wanted, and how to make it.
    """
    if value is None:
        return
    kind, framework = _KINDS[name], _framework(value)
    if framework or isinstance(value, type) or not isinstance(value, kind.protocol):
        made = (getattr(kind, framework, "") if framework else "") or kind.made
        given = f"the class {value.__qualname__}" if isinstance(value, type) else shorten(value)
        raise InvalidInput(f"{name} is {kind.wanted}, got {given}; make one with {made}")
    if name == "token_counter":
        _check_counter(value, kind)


def _check_counter(counter: Any, kind: _Kind) -> None:
    count = counter("How many tokens is this?")
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise InvalidInput(f"token_counter is {kind.wanted}; this one gave {shorten(count)}. Use {kind.made}")


def _framework(value: object) -> str:
    """Whose object it is: LangChain's and LlamaIndex' have methods of the same names that do something else."""
    kinds = value.__mro__ if isinstance(value, type) else type(value).__mro__
    roots = {kind.__module__.split(".")[0] for kind in kinds}
    if "llama_index" in roots:
        return "llamaindex"
    return "langchain" if any(root.startswith("langchain") and not root.endswith("secom") for root in roots) else ""


def check_options(name: str, value: object, kind: type) -> None:
    """Refuse what are not the options that say how, where it is no bool either.

    Raises:
        InvalidInput: with what was given and what is wanted.
    """
    if not isinstance(value, kind):
        home = ".".join(kind.__module__.split(".")[:2])
        raise InvalidInput(f"{name} is True, False or {home}.{kind.__name__}(…), got {shorten(value)}")


def check_weights(weights: object) -> None:
    """Refuse what are no weights of known signals.

    Raises:
        InvalidInput: with the first name or number that cannot be used.
    """
    if not isinstance(weights, Mapping):
        raise InvalidInput(f"weights are numbers by signal, such as {{'segment_lexical': 1.0}}, got {shorten(weights)}")
    for name, weight in weights.items():
        if name not in SIGNALS:
            raise InvalidInput(f"no signal is called {name!r}; there are {sorted(SIGNALS)}")
        if not isinstance(weight, (int, float)) or not math.isfinite(weight):
            raise InvalidInput(f"the weight of {name!r} is a finite number, got {shorten(weight)}")


def check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    """Refuse what is none of the choices.

    Raises:
        InvalidInput: with what was given and the choices.
    """
    if not any(value == each and type(value) is type(each) for each in choices):
        raise InvalidInput(f"{name} is one of {', '.join(map(repr, choices))}, got {shorten(value)}")


def check_text(name: str, value: object, *, such_as: str = "", empty: bool = False) -> str:
    """Refuse what is no text, or has no characters; returns it.

    Args:
        name: of the argument.
        value: what was given.
        such_as: an example.
        empty: whether the empty text will do.

    Raises:
        InvalidInput: with what was given.
    """
    if not isinstance(value, str) or not (value or empty):
        example = f", such as {such_as!r}" if such_as else ""
        raise InvalidInput(f"{name} is a string{'' if empty else ' that is not empty'}{example}, got {shorten(value)}")
    return value


def check_some(name: str, value: object, choices: Sequence[str]) -> frozenset[str]:
    """Refuse what are not some of the choices; returns them.

    Raises:
        InvalidInput: with what was given and the choices.
    """
    given = value if isinstance(value, Collection) and not isinstance(value, str) else ()
    if not given or not all(isinstance(each, str) and each in choices for each in given):
        listed = f"; give a list: {name}=[{value!r}]" if isinstance(value, str) and value in choices else ""
        raise InvalidInput(f"{name} are some of {', '.join(map(repr, choices))}, got {shorten(value)}{listed}")
    return frozenset(given)


def check_count(name: str, value: object) -> None:
    """Refuse what is no whole number from 1 on.

    Raises:
        InvalidInput: with what was given.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidInput(f"{name} is a whole number from 1 on, got {shorten(value)}")


def check_idle(value: object) -> None:
    """Refuse what does not say how long a silence ends a session.

    Raises:
        InvalidInput: with what was given.
    """
    if value is not False and not (isinstance(value, timedelta) and value > timedelta(0)):
        raise InvalidInput(
            f"idle_after is a timedelta above 0, such as timedelta(minutes=30), or False, got {shorten(value)}"
        )


def check_session_name(messages: object, session: str | None) -> str:
    """The name of the session that messages belong to; a `Session` brings its own.

    Raises:
        InvalidInput: there is none, or it is no name.
    """
    name = messages.name if isinstance(messages, Session) and session is None else session
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"remember needs the name of the session, such as session='monday', got {name!r}")
    return name


def check_moment(name: str, at: object, zone: tzinfo | None = None) -> datetime:
    """The moment as the clocks of the ``zone`` show it, unless it has an offset of its own; the present for None.

    Without an offset it is of the zone, or of UTC where none is given.

    Raises:
        InvalidInput: it is no moment.
    """
    if at is None:
        return present(zone)
    if not isinstance(at, datetime):
        raise InvalidInput(
            f"{name} is a datetime, such as datetime(2025, 6, 1, tzinfo=timezone.utc), or None, got {shorten(at)}; "
            "datetime.fromisoformat reads one from text"
        )
    return on_clocks(in_zone(at, zone), zone)


def check_ids(name: str, ids: object) -> None:
    """Refuse what are no ids of turns.

    Raises:
        InvalidInput: with what was given.
    """
    if isinstance(ids, str):
        raise InvalidInput(f"{name} is a sequence of ids, not the string {shorten(ids)}; give [{shorten(ids)}]")
    if not isinstance(ids, Collection) or not all(isinstance(each, str) for each in ids):
        raise InvalidInput(f"{name} is a sequence of ids, which are strings, got {shorten(ids)}")


def check_name(session: object) -> None:
    """Refuse what is no name of a session.

    Raises:
        InvalidInput: with what was given.
    """
    if not isinstance(session, str):
        raise InvalidInput(f"a session is named by a string, got {shorten(session)}; bank.sessions(scope) lists them")


def check_query(query: object) -> None:
    """Refuse a query that is no string.

    Raises:
        InvalidInput: with what was given.
    """
    if not isinstance(query, str):
        raise InvalidInput(f"a query is a string, not {query!r}")
