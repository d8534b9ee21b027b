"""What the framework's base classes take, typed; and what is said of an argument that a constructor does not take."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any, Final

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.callbacks import CallbackManager
from llama_index.core.memory.memory import InsertMethod
from llama_index.core.schema import BaseNode, IndexNode
from typing_extensions import TypedDict

from secom_core.bank.checks import check_choice
from secom_core.errors import InvalidInput, shorten


class NoOthers(TypedDict):
    """No argument besides those that are named."""


class RetrieverFields(TypedDict, total=False):
    """What ``BaseRetriever`` takes."""

    callback_manager: CallbackManager | None
    object_map: dict[str, Any] | None
    objects: list[IndexNode] | None
    verbose: bool


class PostprocessorFields(TypedDict, total=False):
    """What ``BaseNodePostprocessor`` takes, and the name that its dumps have."""

    callback_manager: CallbackManager
    class_name: str


class ParserFields(TypedDict, total=False):
    """What ``NodeParser`` takes, and the name that its dumps have."""

    include_metadata: bool
    include_prev_next_rel: bool
    callback_manager: CallbackManager
    id_func: Callable[[int, BaseNode], str]
    class_name: str


_FOREIGN: Final = {
    "session_id": ("session", "session is its name"),
    "chat_store_key": ("session", "session is its name"),
    "chat_store": ("bank", "messages are kept in a bank, or in the file of store_path"),
    "sql_store": ("bank", "messages are kept in a bank, or in the file of store_path"),
    "async_database_uri": ("store_path", "store_path is the file, or the URL of a PostgreSQL database"),
    "similarity_top_k": ("k", "k says how many memories come back at most"),
    "top_k": ("k", "k says how many memories come back at most"),
    "user_id": ("scope", 'scope says whose memory it is, such as ("acme", "alice")'),
    "tokenizer_fn": ("token_counter", "token_counter counts the tokens of a text; from_defaults takes a tokenizer_fn"),
    "chat_history": ("token_limit", "from_defaults takes it"),
    "embed_model": ("bank", "models belong to the bank: MemoryBank.open(embedder=LlamaIndexEmbedder(embed_model))"),
    "citations": ("bank", "SecomMemory(citations=True) or a CitationReward takes in what answers cite"),
    "cite": ("citations", "citations says whether it takes in what answers cite"),
    "inject": ("insert_method", "insert_method says where recalled text goes"),
    "scope_keys": ("scope", "it is of one scope; make one for each user"),
    "window": ("token_limit", "the window is what token_limit leaves beside token_budget"),
    "memory_blocks": ("layers", "layers take part in a recall; blocks belong into the framework's own Memory"),
    "chunk_overlap": ("chunk_size", "segments do not overlap; chunk_size alone sets their length"),
    "separator": ("segmenter", "text is cut where the subject changes; segmenter= takes another way to cut"),
    "paragraph_separator": ("segmenter", "text is cut where the subject changes; segmenter= takes another way to cut"),
    "token_flush_size": ("token_limit", "the window is what token_limit leaves beside token_budget"),
    "chat_history_token_ratio": ("token_limit", "the window is what token_limit leaves beside token_budget"),
}
"""For names of LlamaIndex, and of our classes for LangChain, the argument that they stand for, and what it is."""


def refuse_unknown(
    made: str, takes: Callable[..., object], given: Collection[str], *, besides: Collection[str] = ()
) -> None:
    """Refuse arguments that nothing takes, with the one that is meant.

    Args:
        made: the class or function that is called.
        takes: the function that names its arguments.
        given: the names that it does not name.
        besides: names that it takes all the same.

    Raises:
        InvalidInput: for the first of them that it does not take.
    """
    own = [name for name, each in signature(takes).parameters.items() if each.kind is not Parameter.VAR_KEYWORD]
    names = [name for name in own if name != "self"]
    for each in given:
        if each not in besides and each != "class_name":
            raise InvalidInput(f"{made} takes no {each}: {_meant(each, names)}")


def _meant(name: str, names: Sequence[str]) -> str:
    argument, hint = _FOREIGN.get(name, ("", ""))
    if argument in names:
        return hint
    near = get_close_matches(name, names, 1)
    return f"is {near[0]} meant?" if near else f"it takes {', '.join(names)}"


def check_session(session: object, *, insert_method: object, write: object, on_error: object) -> None:
    """Refuse what is no name of a session, or a choice that an option does not know.

    Raises:
        InvalidInput: with what was given and what is wanted.
    """
    if session is not None and not (isinstance(session, str) and session):
        raise InvalidInput(
            f"session is the name of the session, such as 'monday', got {shorten(session)}; leave it out for a new one"
        )
    placed = insert_method.value if isinstance(insert_method, InsertMethod) else insert_method
    check_choice("insert_method", placed, ("user", "system", "off"))
    check_choice("write", write, ("inline", "background"))
    check_choice("on_error", on_error, ("warn", "raise"))


def check_list(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """Refuse what is one message, or none at all, where a list of messages is wanted.

    Raises:
        InvalidInput: with what was given.
    """
    if isinstance(messages, (str, bytes, Mapping, ChatMessage)) or not hasattr(messages, "__iter__"):
        raise InvalidInput(f"messages is a list of ChatMessage, got {shorten(messages)}; put it in a list: [message]")
    return messages
