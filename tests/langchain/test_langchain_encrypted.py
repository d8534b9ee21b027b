"""LangChain's memories open an encrypted file by its path, and show its key nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from langchain_secom import RecursiveSummaryMemory, SecomMemory, open_bank
from secom_core.errors import InvalidInput, StoreError

pytest.importorskip("sqlcipher3", reason="encryption needs the extra 'encrypted'")

ANN, KEY = ("acme", "ann"), f"x'{'5a' * 32}'"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [SecomMemory, RecursiveSummaryMemory])
def test_a_memory_opens_an_encrypted_file(tmp_path: Path, kind: type[SecomMemory]) -> None:
    path = str(tmp_path / "bank.db")
    memory = kind(store_path=path, key=KEY, scope=ANN, session="s")
    memory.save_context({"input": "I moved to Ghent."}, {"output": "Congratulations!"})
    assert "Ghent" in memory.load_memory_variables({"input": "Where do I live?"})["history"]
    shown = (repr(memory), str(memory), memory.model_dump_json(), str(memory.to_json()))
    assert not any("5a5a" in each for each in shown)
    memory.bank.close()
    assert b"Ghent" not in Path(path).read_bytes()
    again = kind(**memory.model_dump(mode="json"), key=KEY)
    assert "Ghent" in again.load_memory_variables({"input": "Where do I live?"})["history"]
    again.bank.close()
    with open_bank(path, key=KEY) as bank:
        assert bank.sessions(ANN) == ["s"]


def test_what_is_wrong_is_said_without_the_key(tmp_path: Path) -> None:
    path = str(tmp_path / "bank.db")
    with open_bank(path, key=KEY) as bank:
        attempts = [
            (InvalidInput, {"bank": bank, "scope": ANN}),
            (InvalidInput, {"scope": ANN}),
            (InvalidInput, {"store_path": "postgresql://localhost/x", "scope": ANN}),
            (StoreError, {"store_path": path, "scope": ANN}),
            (ValueError, {"store_path": str(tmp_path / "new.db"), "scope": 7}),
        ]
        for kind, given in attempts:
            with pytest.raises(kind) as caught:
                SecomMemory(**given, key=KEY.replace("5a", "a5"))
            assert "a5a5" not in str(caught.value)
