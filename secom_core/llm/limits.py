"""The errors of models, and how much one can be asked at once: learned from those that say a prompt was too long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final
from weakref import WeakKeyDictionary

from ..errors import ContextTooLong, ModelError, ModelUnavailable
from ..text.patterns import regex

_TOO_LONG: Final = regex(
    r"context[_ -]?(?:length|window|size|limit)|maximum context|exceeds? (?:the )?(?:available )?context"
    r"|prompt is too long|input is too long|input token count|too many (?:input )?tokens"
    r"|reduce the length of the (?:messages|prompt|input)|input length and `?max_tokens"
    r"|maximum input length|must have less than \d+ tokens|too large to process|exceeds (?:the )?maximum length",
    re.IGNORECASE,
)
"""As OpenAI, vLLM, llama.cpp, Anthropic, Bedrock, Gemini, Cohere, Ollama, Jina and TEI say it."""

_LEAST: Final = 200  # tokens, below which no window is made, whatever a model says
_room: WeakKeyDictionary[object, int] = WeakKeyDictionary()


def says_too_long(message: str) -> bool:
    """Whether an error's message says that the prompt was longer than the model's context."""
    return _TOO_LONG.search(message) is not None


def failure(message: str) -> type[ModelError]:
    """What to raise of a model that gave no answer but an error with this message."""
    return ContextTooLong if says_too_long(message) else ModelUnavailable


@contextmanager
def translated(integration: object) -> Iterator[None]:
    """Turn what a framework's integration raises into our errors; it may be anything, and there is no common base."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        said = f"{type(integration).__name__}: {type(error).__name__}: {error}"
        raise failure(str(error))(said) from error


def note_too_long(model: object, tokens: int) -> None:
    """Remember, as long as ``model`` lives, that a prompt of ``tokens`` estimated tokens was too long for it."""
    with suppress(TypeError):  # a model that cannot be a weak key is asked by its own limits each time
        _room[model] = max(_LEAST, min(tokens // 2, room(model, tokens)))


def room(model: object, most: int) -> int:
    """How many tokens one question to ``model`` holds: ``most``, or less where a longer one was too long for it."""
    with suppress(TypeError):
        return min(most, _room.get(model, most))
    return most
