"""What the memory tools do, and what they tell the model of it."""

from __future__ import annotations

from collections.abc import Collection

from secom_core.bank import MemoryBank
from secom_core.bank.named import id_meant
from secom_core.bank.said_again import forget_said
from secom_core.context.reading import with_ids
from secom_core.conversation import NOTE, Message, Scope
from secom_core.memory import Recall


def result(recall: Recall, scope: Scope, *, show_ids: bool) -> str:
    """What was found, with the ids of the scope's turns where they are wanted; empty where nothing was."""
    return with_ids(recall, scope) if show_ids else recall.text


def missing(action: str, text: str | None, memory_id: str | None, allowed: Collection[str]) -> str | None:
    """What is wrong with the arguments, as the model is told; nothing where they will do."""
    if action not in allowed:
        return f"{action!r} is not allowed here."
    if action != "forget" and not (text or "").strip():
        return f"{action!r} needs text."
    return f"{action!r} needs a memory_id." if action != "remember" and not memory_id else None


def changed(bank: MemoryBank, scope: Scope, session: str, action: str, text: str, memory_id: str) -> str | None:
    """Do it, and report it to the model; nothing where the memory is not there."""
    memory_id = id_meant(bank, scope, memory_id) if action != "remember" else ""
    if action == "forget":
        gone = forget_said(bank, scope, [memory_id])
        return f"Forgot {memory_id}.{gone.more}" if gone.turns else None
    if action == "correct":
        is_there = bool(bank.turns(scope, turn_ids=[memory_id]))
        if not is_there:
            return None
        return f"Corrected: {memory_id} is now {bank.correct(scope, memory_id, text, by='assistant')}."
    note = Message(text, role="", speaker=NOTE)
    [new] = bank.remember(scope, [note], session=session, later=True).turn_ids
    return f"Remembered, as {new}."


def marked(bank: MemoryBank, scope: Scope, action: str, memory_id: str) -> str | None:
    """Mark a memory, and report it to the model; nothing where it is not there."""
    memory_id = id_meant(bank, scope, memory_id)
    if not bank.turns(scope, turn_ids=[memory_id]):
        return None
    marks = {"retract": bank.corrections.retract, "pin": bank.corrections.pin, "unpin": bank.corrections.unpin}
    marks[action](scope, memory_id)
    return f"Done: {action} {memory_id}."
