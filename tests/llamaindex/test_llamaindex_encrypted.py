"""LlamaIndex' parts open an encrypted file by its path, and keep its key in no field."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from llamaindex_secom import (
    CitationNumberer,
    CitationReranker,
    RecursiveSummaryMemoryBlock,
    SecomMemory,
    SecomMemoryBlock,
)
from secom_core import MemoryBank
from secom_core.errors import InvalidInput, StoreError
from secom_core.segmenters.lexical import LexicalSegmenter

pytest.importorskip("sqlcipher3", reason="encryption needs the extra 'encrypted'")

ANN, KEY = ("acme", "ann"), f"x'{'5a' * 32}'"

PARTS: list[tuple[Any, dict[str, Any]]] = [
    (SecomMemory, {"scope": ANN}),
    (SecomMemory.from_defaults, {"scope": ANN}),
    (SecomMemory.from_defaults, {"scope": ANN, "segmenter": LexicalSegmenter()}),
    (SecomMemoryBlock, {"scope": ANN}),
    (RecursiveSummaryMemoryBlock, {"scope": ANN}),
    (CitationReranker, {}),
    (CitationNumberer, {}),
]


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = str(tmp_path / "bank.db")
    with MemoryBank.open(file, key=KEY) as bank:
        bank.remember(ANN, [{"role": "user", "content": "I moved to Ghent."}], session="s")
    return file


@pytest.mark.slow
@pytest.mark.parametrize(("make", "given"), PARTS)
def test_a_part_opens_an_encrypted_file(path: str, make: Any, given: dict[str, Any]) -> None:
    gc.collect()  # a bank that nobody uses any more is open until then
    with pytest.raises(StoreError, match="no key was given"):
        make(store_path=path, **given)
    part = make(store_path=path, key=KEY, **given)
    assert part._bank.sessions(ANN) == ["s"]
    assert not any("5a5a" in each for each in (repr(part), part.model_dump_json(), str(vars(part))))
    with MemoryBank.open() as other, pytest.raises(InvalidInput, match="key") as caught:
        make(bank=other, key=KEY, **{name: value for name, value in given.items() if name != "segmenter"})
    assert "5a5a" not in str(caught.value)
    part._bank.close()


@pytest.mark.slow
def test_a_memory_that_is_made_again_gets_its_key_again(path: str) -> None:
    memory = SecomMemory(store_path=path, key=KEY, scope=ANN, session="s")
    dump = memory.to_dict()
    # The bank of a file that is open in this process is shared.
    assert SecomMemory.from_dict(dump)._bank is memory._bank
    memory._bank.close()
    del memory
    gc.collect()
    with pytest.raises(InvalidInput, match=r"saved on a bank opened with key=.*MemoryBank.open\(.*key=…\)"):
        SecomMemory.from_dict(dump)
    again = SecomMemory.from_dict(dump, key=KEY)
    assert [message.content for message in again.get_all()] == ["I moved to Ghent."]
    again._bank.close()
