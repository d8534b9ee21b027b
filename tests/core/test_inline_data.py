"""Pictures that stand in messages as data URLs: what is remembered of them is that they were there."""

from __future__ import annotations

import base64
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from secom_core import MemoryBank
from secom_core.errors import DuplicateId
from secom_core.text.inline_data import without_inline_data

DATA = base64.b64encode(random.Random(1).randbytes(60_000)).decode()
PICTURE = f"Here is Mimi on the sofa:\n\n![cat](data:image/png;base64,{DATA})\n\nShall I add her toy mouse?"
BARE = "Here is Mimi on the sofa:\n\n![cat](data:image/png;base64,…)\n\nShall I add her toy mouse?"
ANN = ("ann",)


def test_a_recall_has_room_for_words_where_an_answer_held_a_picture() -> None:
    with MemoryBank.open(":memory:") as bank:
        drawn = [("user", "Draw my cat Mimi on a red sofa."), ("assistant", PICTURE)]
        bank.remember(ANN, drawn, session="drawing", close=True)
        bank.remember(ANN, [("user", "My sister Lena lives in Porto.")], session="family", close=True)
        text = bank.recall(ANN, "Where does my sister live?", token_budget=800).text
        assert DATA[:100] not in text
        assert "Porto" in text
        assert "toy mouse" in text
        assert [each.text for each in bank.turns(ANN, "drawing")[0].messages] == [drawn[0][1], BARE]
        assert sum(map(len, bank.storage.export(ANN))) < 10_000


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (PICTURE, BARE),
        (BARE, BARE),
        (f'<img src="data:image/jpeg;base64,{DATA}"> ok', '<img src="data:image/jpeg;base64,…"> ok'),
        (f"url(data:font/woff2;charset=utf-8;base64,{DATA}), x", "url(data:font/woff2;charset=utf-8;base64,…), x"),
        (f"data:;base64,{DATA} data:image/svg+xml;base64,{DATA}", "data:;base64,… data:image/svg+xml;base64,…"),
        (f"url(data:image/png;base64,{DATA[:256]})", f"url(data:image/png;base64,{DATA[:256]})"),
        (f"My key is {DATA}", f"My key is {DATA}"),
    ],
)
def test_long_data_is_taken_out_and_all_else_stays(text: str, kept: str) -> None:
    assert without_inline_data(text) == kept
    assert without_inline_data(kept) == kept


def test_what_an_earlier_version_stored_with_its_data_is_known(tmp_path: Path) -> None:
    said = [{"role": "user", "content": PICTURE, "id": "1"}]
    with MemoryBank.open(tmp_path / "old.db") as bank:
        bank.remember(ANN, [{**said[0], "content": "the words of then"}], session="drawing")
    with closing(sqlite3.connect(tmp_path / "old.db")) as file, file:
        file.execute("UPDATE messages SET text = ? WHERE name = '1'", [PICTURE])
    with MemoryBank.open(tmp_path / "old.db") as bank:
        assert bank.remember(ANN, said, session="drawing").new == 0
        with pytest.raises(DuplicateId):
            bank.remember(ANN, [{**said[0], "content": "Other words."}], session="drawing")
