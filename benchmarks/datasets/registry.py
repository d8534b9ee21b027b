"""Every data set of conversations that is read, and which of them a file is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.chats import Chat, read_chat
from secom_core.errors import InvalidTranscript

from . import asked, replied
from .files import contents, has, rows_of


@dataclass(frozen=True, slots=True)
class Form:
    """A form in which a data set is published.

    Args:
        title: what it is called.
        is_in: whether a file's contents are of it.
        read: its conversations, from the file and its contents.
    """

    title: str
    is_in: Callable[[Any], bool]
    read: Callable[[Path, Any], Iterable[Chat]]


def _is_carecall(found: Any) -> bool:
    return isinstance(found, list) and isinstance(found[:1], list) and bool(found) and has(found[0], "dialogue", "guid")


def _is_locomo(found: Any) -> bool:
    return any(isinstance(each, Mapping) and ("conversation" in each or "session_1" in each) for each in rows_of(found))


def _is_memdaily(found: Any) -> bool:
    """Whether a trajectory comes within a few steps into the file."""
    for _ in range(6):
        if isinstance(found, Mapping) and {"message_list", "QA"} <= found.keys():
            return True
        inner = next(iter(found.values() if isinstance(found, Mapping) else found), None) if found else None
        if not isinstance(inner, (Mapping, list)):
            return False
        found = inner
    return False


FORMS: Final = (
    Form("QMSum", lambda found: has(found, "meeting_transcripts"), lambda file, it: [asked.read_qmsum(file.stem, it)]),
    Form(
        "LongMemEval",
        lambda found: has(found, "haystack_sessions", "question"),
        lambda _, it: asked.read_longmemeval(rows_of(it)),
    ),
    Form("RealMem", lambda found: has(found, "dialogues"), lambda file, it: asked.read_realmem(it, file.stem)),
    Form(
        "MSC", lambda found: has(found, "previous_dialogs"), lambda file, it: replied.read_msc(rows_of(it), file.stem)
    ),
    Form("CareCall", _is_carecall, lambda file, it: replied.read_carecall(it, file.stem)),
    Form(
        "Conversation Chronicles",
        lambda found: has(found, "first_session_dialogue"),
        lambda file, it: replied.read_chronicles(rows_of(it), file.stem),
    ),
    Form(
        "Long-MT-Bench+",
        lambda found: has(found, "sessions", "questions", "answers"),
        lambda file, it: asked.read_long_mtbench(rows_of(it), file.stem),
    ),
    Form(
        "MT-Bench+",
        lambda found: has(found, "id", "conversations"),
        lambda _, it: asked.read_mtbench_plus(rows_of(it)),
    ),
    Form("chats, such as BEAM", lambda found: has(found, "sessions", "questions"), lambda file, _: [read_chat(file)]),
    Form("LoCoMo", _is_locomo, lambda file, _: [asked.read_locomo_chat(file)]),
    Form("MemDaily", _is_memdaily, lambda file, it: asked.read_memdaily(it, file.stem)),
)
"""Every form, in the order in which a file is tried for them."""


def form_of(file: Path) -> tuple[Form, Any]:
    """The form of a file, with its contents.

    Raises:
        InvalidTranscript: if it is none of `FORMS`.
    """
    found = contents(file)
    form = next((each for each in FORMS if not isinstance(found, str) and each.is_in(found)), None)
    if form is None:
        titles = ", ".join(each.title for each in FORMS)
        raise InvalidTranscript(f"{file} is of no data set that is read; give files of {titles}")
    return form, found


def read(file: Path) -> list[Chat]:
    """The conversations of a file, with their questions.

    Raises:
        InvalidTranscript: if it is none of `FORMS`, or lacks what its form has.
    """
    form, found = form_of(file)
    try:
        return list(form.read(file, found))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidTranscript(f"{file} looks like {form.title}, but cannot be read as such: {error!r}") from error
