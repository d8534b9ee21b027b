"""What a saved memory says of itself, and how the memory is found again: live, or on the bank that it was saved on.

Workflows save and restore their state before every run, in the same process too. A memory that is saved names its
session; it does not hold it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from llama_index.core.bridge.pydantic import BaseModel

from secom_core.bank import MemoryBank
from secom_core.bank.known import open_banks
from secom_core.errors import InvalidInput, StoreError
from secom_core.processes import ForkLock
from secom_core.stores.places import is_postgres

from .banks import new_bank, one_of, opening

if TYPE_CHECKING:
    from .saving import SavedMessages

SAVED: Final = "saved"
"""The key of what a saved memory says of itself."""

_live: Final[WeakValueDictionary[str, SavedMessages]] = WeakValueDictionary()
_in_a_turn: Final[OrderedDict[str, SavedMessages]] = OrderedDict()
"""By the id in the saved form: servers that save the state at each step hold no memory between two steps of a turn."""
_MOST_IN_A_TURN: Final = 64
_lock: Final = ForkLock()


class Saved(BaseModel):
    """Which memory was saved, and what it takes to make it again.

    Args:
        memory: the id of the memory in its process.
        bank: the id of its bank.
        needs: the arguments that the bank was opened with and that its place does not hold, such as ``redact``.
        layers: the layers that the bank was opened with.
        given: the arguments of the memory that cannot be saved, such as ``token_counter``.
    """

    memory: str
    bank: str
    needs: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    given: tuple[str, ...] = ()

    @classmethod
    def of(cls, memory: SavedMessages) -> Saved:
        """What a memory says of itself.

        Raises:
            StoreError: its bank was in memory and is closed, so that nothing can be made again.
        """
        storage = memory.bank.storage
        if storage.path is None and not storage.is_open:
            raise StoreError("a memory whose bank was in memory cannot be saved once the bank is closed")
        return cls(
            memory=memory.id,
            bank=storage.id,
            needs=storage.needs,
            layers=tuple(memory.bank.layers),
            given=memory.given,
        )

    # -- the memory itself ----------------------------------------------------------------------------------------

    def live(self, kind: type[SavedMessages], settings: Mapping[str, Any]) -> SavedMessages | None:
        """The memory itself, where this process has it; else the one that it has of the same session, bank and scope.

        Args:
            kind: the class of the memory.
            settings: the fields that were saved. They tell which one is meant if there are several of the session.
        """
        with _lock:
            answering = dict(_in_a_turn)
            memories = [each for each in _live.values() if type(each) is kind and each.bank.storage.is_open]
        scope = list(settings.get("scope", ()))
        ids = {self.memory, answering[self.memory].id if self.memory in answering else self.memory}
        itself = [each for each in memories if each.id in ids and list(each.scope) == scope]
        busy = {each.id for each in answering.values()}
        session = [each for each in memories if each.id not in busy and self._is_of_session(each, settings)]
        alike = [each for each in session if all(settings.get(name) == value for name, value in each.settings.items())]
        found = itself or (session if len(session) == 1 else alike)
        return found[0] if found else None

    def _is_of_session(self, memory: SavedMessages, settings: Mapping[str, Any]) -> bool:
        same = memory.session == settings.get("session") and memory.bank.storage.id == self.bank
        whole = set(self.given) <= set(memory.given) and not self._lacks(memory.bank)
        return same and whole and list(memory.scope) == list(settings.get("scope", ()))

    def check_given(self, given: Mapping[str, Any]) -> None:
        """Check that whatever cannot be saved of the memory is given again.

        Raises:
            InvalidInput: something is not.
        """
        missing = [name for name in self.given if name not in given]
        if missing:
            raise InvalidInput(
                f"the memory was saved with {_arguments(missing)} of its own, which cannot be saved; make it again "
                f"before it is restored, SecomMemory(scope=…, session=…, bank=…, {_arguments(missing, '…')}), and keep "
                f"it, or give what is missing: from_dict(data, {_arguments(missing, '…')})"
            )

    # -- its bank -------------------------------------------------------------------------------------------------

    def reopened(self, *, key: str | None, busy_timeout: float | None) -> MemoryBank:
        """The bank that this process has open, or the file opened again where nothing is missing then.

        Args:
            key: the passphrase of an encrypted file.
            busy_timeout: how many seconds a bank that is opened waits for others who write.

        Raises:
            InvalidInput: the bank was in memory, the file is gone, or the bank would be without a part that it had.
            StoreError: the file cannot be opened.
        """
        with opening:
            known = open_banks(self.bank)
            whole = [each for each in known if not self._lacks(each)]
            if whole:
                same = [
                    each for each in whole if tuple(each.layers) == self.layers and each.storage.needs == self.needs
                ]
                return one_of(same or whole)
            missing = self._lacks(known[0]) if known else self._missing(key)
            if missing:
                raise self._cannot(missing, is_open=bool(known))
            if not is_postgres(self.bank) and not Path(self.bank).exists():
                raise InvalidInput(f"the memory was saved on the bank {self.bank!r}, which is not there any more")
            return new_bank(self.bank, self.layers, key=key, busy_timeout=busy_timeout)

    def _lacks(self, bank: MemoryBank) -> list[str]:
        # Whoever has opened it had its key or password; after `rekey` it may be another one.
        return [name for name in self.needs if name not in (*bank.storage.needs, "key", "password")]

    def _missing(self, key: str | None) -> list[str]:
        if self.bank.startswith("memory:"):
            raise InvalidInput(
                "the memory was saved on a bank in memory, which is gone with its process or was closed; keep the bank "
                'in a file, or take the "memory" out of the saved context and give the run a new one, memory=…'
            )
        return [name for name in self.needs if name != "key" or key is None]

    def _cannot(self, missing: Sequence[str], *, is_open: bool) -> InvalidInput:
        here = "the one that is open in this process has none" if is_open else "its place alone does not give that"
        parts = _arguments([name for name in missing if name != "password"], "…")
        how = f"MemoryBank.open({self.bank!r}{parts and ', '}{parts})"
        how += ", with the password in the URL" if "password" in missing else ""
        return InvalidInput(
            f"the memory was saved on a bank opened with {_arguments(missing)}, and {here}; open the bank as the "
            f"application does, {how}, before the memory is restored, or hand it over: from_dict(data, bank=bank)"
        )


def know(memory: SavedMessages) -> None:
    """Make a memory known to this process, until nobody uses it any more."""
    with _lock:
        _live[memory.id] = memory


def keep_in_turn(saved_as: str, memory: SavedMessages, *, needed: bool) -> None:
    """Keep a memory that knows more than its saved form while this is needed: the recall of a turn, refused messages.

    Args:
        saved_as: the id in the saved form.
        memory: the memory.
        needed: whether it is; else it is let go.
    """
    with _lock:
        _in_a_turn.pop(saved_as, None)
        if needed:
            _in_a_turn[saved_as] = memory
        # Turns that were given up go; what the store refused is nowhere else.
        given_up = [name for name, each in _in_a_turn.items() if not each.is_waiting]
        for name in given_up[: max(0, len(_in_a_turn) - _MOST_IN_A_TURN)]:
            del _in_a_turn[name]


def _arguments(names: Sequence[str], value: str = "") -> str:
    return ", ".join(f"{name}={value}" for name in names)
