"""A memory that is saved and restored: itself where this process has it, else on the bank that it was saved on."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from llama_index.core.bridge.pydantic import (
    Field,
    PrivateAttr,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    model_serializer,
    model_validator,
)
from llama_index.core.memory.types import BaseMemory
from typing_extensions import Self

from secom_core.bank import MemoryBank
from secom_core.errors import InvalidInput

from .chat_log import dumped
from .saved import SAVED, Saved, keep_in_turn, know
from .unstored import Unstored
from .window import WindowEntry, is_answered

_FIELDS: Final = TypeAdapter[Any](dict[str, Any])
_LATE: Final = "late"
"""The key of a history that was handed over while the chat was not known, and of what was put after it."""


class SavedMessages(BaseMemory):
    """What a memory of a session is saved with, and restored from."""

    scope: tuple[str, ...]
    session: str = Field(min_length=1)
    window: list[WindowEntry] = Field(default_factory=list, exclude=True)
    unstored: list[Unstored] = Field(default_factory=list)
    _bank: MemoryBank = PrivateAttr()
    _lock: Any = PrivateAttr()
    _id: str = PrivateAttr(default_factory=lambda: uuid.uuid4().hex)
    _saved_as: str | None = PrivateAttr(default=None)
    _unkept: list[WindowEntry] = PrivateAttr(default_factory=list)
    _is_read: bool = PrivateAttr(default=False)
    _late: tuple[list[WindowEntry], list[WindowEntry]] | None = PrivateAttr(default=None)

    @model_serializer(mode="wrap")
    def custom_model_dump(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        """What `to_dict` holds, also where the memory is a field of a workflow's typed state, or of an event."""
        with self._lock:
            saved = Saved.of(self).model_dump(mode="json")
            self._saved_as = self._saved_as or self._id
            unstored = [each.model_dump(mode="json") for each in self.unstored]
            held: dict[str, Any] = {"unstored": unstored, "window": _saved(self._unkept)}
            if self._late is not None:
                held |= {_LATE: [_saved(entries) for entries in self._late]}
            held = self._bank.chats.redacted(held)
            return {**handler(self), **held, SAVED: saved, "class_name": self.class_name()}

    @model_validator(mode="wrap")
    @classmethod
    def _restored(cls, data: Any, handler: Callable[[Any], Self]) -> Self:
        """What was saved comes back by `from_dict`, which refuses a bank that lacks what the memory's bank had."""
        return cls.from_dict(data) if isinstance(data, dict) and SAVED in data else handler(data)

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        """Scope and session, without any message: workflows log this at every event."""
        known = [("messages", len(self.window))] if self._is_read else []
        return [("scope", self.scope), ("session", self.session), *known]

    @property
    def bank(self) -> MemoryBank:
        """The bank in which everything is stored."""
        return self._bank

    @property
    def id(self) -> str:
        """Which memory of this process it is; in its saved form too."""
        return self._id

    @property
    def given(self) -> tuple[str, ...]:
        """The names of those arguments that cannot be saved and were given."""
        return ()

    @property
    def is_waiting(self) -> bool:
        """Whether it holds what the bank does not."""
        return bool(self.unstored or self._unkept or self._late)

    @property
    def settings(self) -> dict[str, Any]:
        """The options, as they are saved."""
        names = type(self).model_fields.keys() - {"window", "unstored", "store_path"}
        return dict(_FIELDS.dump_python({name: getattr(self, name) for name in names}, mode="json"))

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """A dict that JSON can hold: whose memory it is, its session and its options.

        What was said is in the bank. Of messages that the bank does not hold yet it has the words, as the bank's
        redaction leaves them.

        Raises:
            StoreError: the bank was in memory and is closed.
        """
        Saved.of(self)  # in the serializer, pydantic would make an error of its own of it
        return super().to_dict(**{"mode": "json", **kwargs})

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """The memory that was saved: itself or another one of its session where this process has it, else a new one.

        A new one is made on the bank that it was saved on: the one that is open in this process, or its file anew.

        Args:
            data: from `to_dict`.
            **kwargs: arguments that are given again, such as ``bank``, ``key`` and ``token_counter``; a new memory is
                made with them.

        Raises:
            InvalidInput: the bank is not open and its place alone does not give all that it was opened with, or an
                argument that cannot be saved is missing; the message says what to do.
            StoreError: the file cannot be opened.
        """
        settings = {name: value for name, value in data.items() if name not in (SAVED, _LATE, "class_name")}
        if SAVED not in data:
            return cls(**{**settings, **kwargs})
        saved = Saved.model_validate(data[SAVED])
        live = saved.live(cls, settings) if not kwargs else None
        if isinstance(live, cls):
            live._saved_as = saved.memory
            return live
        saved.check_given(kwargs)
        if kwargs.get("bank") is None and kwargs.get("store_path") is None:
            opened = saved.reopened(key=kwargs.pop("key", None), busy_timeout=kwargs.pop("busy_timeout", None))
            kwargs["bank"] = opened
        memory = cls(**{**settings, "window": [], "store_path": None, **kwargs})
        memory._saved_as = saved.memory
        memory._unkept = _entries(settings.get("window", []))
        memory.window = [*memory._unkept]
        if _LATE in data:
            history, put = map(_entries, data[_LATE])
            memory._late, memory.window = (history, put), [*history, *put]
        return memory

    def _stay_in_turn(self) -> None:
        """Stay in this process until the user's last message is answered, where nobody may hold a saved memory."""
        if self._saved_as is not None:
            in_turn = bool(self.window) and not is_answered(self.window)
            keep_in_turn(self._saved_as, self, needed=self.is_waiting or in_turn)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Another memory of the same session, such as with another ``k``; a deep copy is the memory itself.

        Raises:
            InvalidInput: the copy would be of another scope or session.
        """
        moved = [name for name in ("scope", "session") if name in (update or {})]
        if moved:
            raise InvalidInput(
                f"a copy of a memory keeps its {' and '.join(moved)}: its window is of that session; make another "
                f"memory, {type(self).__name__}(bank=memory.bank, scope=…, session=…)"
            )
        if deep and not update:
            return self
        copied = super().model_copy(update=update)
        copied._id, copied._saved_as = uuid.uuid4().hex, None
        copied.window, copied._unkept = [*self.window], [*self._unkept]
        know(copied)
        return copied

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """As `to_dict` and `from_dict`."""
        return type(self).from_dict, (self.to_dict(),)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """The memory itself, as with a file: workflows copy their state wherever a step edits it."""
        return self


def _saved(entries: Iterable[WindowEntry]) -> list[dict[str, Any]]:
    return [{**dumped(entry), "turn": entry.turn, "name": entry.name} for entry in entries]


def _entries(saved: Iterable[Mapping[str, Any]]) -> list[WindowEntry]:
    return [WindowEntry(**each) for each in saved]
