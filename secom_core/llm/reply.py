"""The text of a model's reply, and whether it was cut off at its limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

_REASON_KEYS: Final = ("finish_reason", "stop_reason", "done_reason", "finishReason", "stopReason", "reason")
_HOLDERS: Final = ("choices", "candidates", "incomplete_details", "response_metadata", "generation_info")
_AT_LIMIT: Final = frozenset(
    "length max_tokens max_output_tokens model_length max_length token_limit model_context_window_exceeded".split()
)
"""As OpenAI, Anthropic, OpenAI's Responses, Mistral, TGI, watsonx and Anthropic again name it."""


class Reply(str):
    """A reply's text, which also says whether it was cut off.

    Args:
        text: the text, as far as it goes.
        cut_off: whether the model was stopped at its limit, so that the text is not the whole of its answer.
    """

    __slots__ = ("cut_off",)
    cut_off: bool

    def __new__(cls, text: str = "", *, cut_off: bool = False) -> Reply:
        """The text, with what is known of its end."""
        reply = super().__new__(cls, text)
        reply.cut_off = cut_off
        return reply


def cut_off(reply: str) -> bool:
    """Whether a reply was cut off at its limit; what is only a `str` is taken to be whole."""
    return isinstance(reply, Reply) and reply.cut_off


def empty(at_limit: bool) -> str:
    """What is wrong with a reply without a word; of one that ended at its limit, thoughts are the likeliest cause."""
    limited = "the reply is empty: it ended at the limit of tokens before its first word, maybe by the model's thoughts"
    return limited if at_limit else "the reply is empty"


def ended_at_limit(answer: Any, depth: int = 2) -> bool:
    """Whether what a provider sent beside its words says that the answer was cut off at its limit.

    Args:
        answer: the answer, its choice or its metadata: a mapping or an object, by whichever name the provider calls
            the reason (``finish_reason``, ``stop_reason``, ``done_reason``), in any case of letters, or an enum of it.
        depth: how many levels down the reason is looked for, in choices and the like.
    """
    if answer is None:
        return False
    if any(_name(_field(answer, key)) in _AT_LIMIT for key in _REASON_KEYS):
        return True
    return depth > 0 and any(ended_at_limit(_first(_field(answer, key)), depth - 1) for key in _HOLDERS)


def _field(holder: Any, key: str) -> Any:
    return holder.get(key) if isinstance(holder, Mapping) else getattr(holder, key, None)


def _first(value: Any) -> Any:
    if isinstance(value, Sequence):
        return value[0] if value and not isinstance(value, str) else None
    return value


def _name(reason: Any) -> str:
    """A reason as a lower-case word: ``FinishReason.MAX_TOKENS``, the enum or its name, is ``max_tokens``."""
    name = getattr(reason, "name", reason)
    return name.rpartition(".")[2].lower() if isinstance(name, str) else ""
