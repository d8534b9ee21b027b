"""JSON schemas of replies, as ``response_format`` takes them: every key required, no other allowed.

And whether somebody else's model can be held to one, which nobody knows before it was tried.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from json import JSONDecodeError
from types import TracebackType
from typing import Any, Final

from .flow import Prompt
from .limits import says_too_long

Schema = Mapping[str, Any]

TEXT: Final[Schema] = {"type": "string"}
NUMBER: Final[Schema] = {"type": "integer"}
NUMBERS: Final[Schema] = {"type": "array", "items": NUMBER}

_LOG: Final = logging.getLogger(__name__)
_NAMES_SCHEMA: Final = re.compile(r"response_?format|json_?schema|schema|grammar|structured|guided", re.IGNORECASE)
"""In what an endpoint says that takes no JSON schema."""
_BAD_REQUEST: Final = (400, 422)


def one_of(*names: str) -> Schema:
    """One of some words."""
    return {"type": "string", "enum": list(names)}


def object_of(**keys: Schema) -> Schema:
    """An object with these keys."""
    return {"type": "object", "properties": keys, "required": list(keys), "additionalProperties": False}


def records_of(name: str, **keys: Schema) -> Schema:
    """An object with a list of objects under ``name``."""
    return object_of(**{name: {"type": "array", "items": object_of(**keys)}})


class SchemaTrial:
    """Asks a model for replies in the schema of a prompt; its first such prompt finds out whether it takes one.

    A model that ignores the schema answers in words, as the prompt asks too. One that refuses it is asked the same once
    more without it, and is asked without from then on, if that is what helped::

        for attempt in trial.attempts(prompt):
            with attempt:
                reply = ask(prompt, **attempt.options)

    Safe to share between threads: those that ask at the same time may each find out.

    Args:
        is_on: whether schemas are sent at all.
    """

    def __init__(self, is_on: bool = True) -> None:
        self._is_on = is_on

    def attempts(self, prompt: Prompt) -> Iterator[Attempt]:
        """One way to ask after the other, until one is not refused: with the schema, then without it."""
        refusal: BaseException | None = None
        if self._is_on and prompt.schema is not None:
            held = Attempt({"response_format": _form(prompt)})
            yield held
            if held.refusal is None:
                return
            refusal = held.refusal
        yield Attempt({})
        if refusal is not None:
            self._is_on = False
            _LOG.debug("a model takes no JSON schema and is asked for its form in words from now on: %s", refusal)


class Attempt:
    """One way to ask, in whose block a refusal of the schema is no error.

    Args:
        options: what is passed to the model beside the prompt.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options
        self.refusal: BaseException | None = None

    def __enter__(self) -> None:
        """Nothing is to be done."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: TracebackType | None) -> bool:
        """Keep an error that can be about the schema; others go on."""
        self.refusal = error if self.options and _can_be_refusal(error) else None
        return self.refusal is not None


def _form(prompt: Prompt) -> dict[str, Any]:
    """The prompt's schema as OpenAI's protocol has it."""
    form = {"name": prompt.purpose or "reply", "strict": True, "schema": prompt.schema}
    return {"type": "json_schema", "json_schema": form}


def _can_be_refusal(error: BaseException | None) -> bool:
    """Whether an error can be about the schema: it names it, or the request was bad.

    An integration that knows no such argument raises what Python raises. What passes by itself is not counted. Nor is
    an empty reply, which has been paid for: whoever asked asks once more, in words (`secom_core.llm.retry`).
    """
    if not isinstance(error, Exception) or says_too_long(str(error)):
        return False
    cause = error.__cause__ or error
    if isinstance(cause, JSONDecodeError):  # of a proxy's page
        return False
    bad = isinstance(cause, (TypeError, ValueError, NotImplementedError))
    return bad or _NAMES_SCHEMA.search(str(error)) is not None or getattr(cause, "status_code", None) in _BAD_REQUEST
