"""Models, embedders and vector stores that let callers wait for nothing: for a while nobody asks them again."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Final
from weakref import WeakKeyDictionary

from ..errors import ModelPaused

_FAILURES: Final = 2
"""After how many waits in a row without an answer a model is left alone; one may be due to what was asked."""
_NOTICED_S: Final = 1.0
"""A failure that comes sooner costs nobody anything."""
_TIMES: Final = 10
"""How many times as long as it was waited for it is left alone."""
_LONGEST_S: Final = 600.0
LANGUAGE_MODEL: Final = (
    "the language model",
    "parts without a model take its place, and what they make for stored sessions is made again when it answers",
)
EMBEDDER: Final = ("the embedder", "search is by words only, and vectors that are missing are made when it answers")
VECTOR_STORE: Final = ("the vector store", "search is by words only, and what it lacks is sent when it answers")
"""What it is that is left alone, and what happens meanwhile."""


@dataclass(slots=True)
class _Waits:
    """The waits for a model since it last answered, and until when (of the monotonic clock) it is not asked."""

    failures: int = 0
    until: float = 0.0
    why: str = ""


_waits: WeakKeyDictionary[object, _Waits] = WeakKeyDictionary()


def check_pause(model: object) -> None:
    """Raise `ModelPaused` while ``model`` is left alone."""
    if why := _why_paused(model):
        raise ModelPaused(why)


def is_paused(model: object) -> bool:
    """Whether ``model`` is left alone now."""
    return bool(_why_paused(model))


def _why_paused(model: object) -> str:
    with suppress(TypeError):  # a model that cannot be a weak key is asked each time
        found = _waits.get(model)
        if found is not None and time.monotonic() < found.until:
            return found.why
    return ""


def note_wait(model: object, seconds: float, error: Exception, *, kind: tuple[str, str] = LANGUAGE_MODEL) -> None:
    """Note that a caller of ``model``, which is of this kind, has waited for so long, and got only an error."""
    if seconds < _NOTICED_S:
        return
    with suppress(TypeError):
        waits = _waits.setdefault(model, _Waits())
        waits.failures += 1
        if waits.failures >= _FAILURES:
            pause = min(_TIMES * seconds, _LONGEST_S)
            again = datetime.now(timezone.utc) + timedelta(seconds=pause)
            what, meanwhile = kind
            waits.why = (
                f"{what} is not asked before {again:%H:%M:%S} UTC, as it has kept {waits.failures} callers in a row "
                f"waiting, the last for {seconds:.0f} s; until then {meanwhile}: {error}"
            )
            waits.until = time.monotonic() + pause


def note_answer(model: object) -> None:
    """Note that ``model`` has answered."""
    with suppress(TypeError):
        _waits.pop(model, None)
