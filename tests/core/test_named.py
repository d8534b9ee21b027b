"""Memories that a model names by their ids, as small models write these."""

from __future__ import annotations

import pytest

from secom_core.bank import MemoryBank
from secom_core.bank.named import id_meant, unknown_id

ME = ("me",)


@pytest.mark.parametrize(
    "written", ["{}", " {} ", "'{}'", "`{}`", "[{}]", "[2] {}", "{} (in part)", "[1] {} (in part)", "{};", "{}."]
)
@pytest.mark.parametrize("named", ["a-7", "~", "7"])
def test_an_id_is_found_with_what_stands_around_it(named: str, written: str) -> None:
    with MemoryBank.open() as bank:
        talk = [{"role": "user", "content": "Miso is my cat.", **({} if named == "~" else {"id": named})}]
        [known] = bank.remember(ME, talk, session="one").turn_ids
        bank.remember(ME, [{"role": "user", "content": "Eva is my sister."}], session="one")
        bank.remember(("others",), [{"role": "user", "content": "No.", "id": "b-1"}], session="one")
        assert id_meant(bank, ME, written.format(known)) == known
        assert id_meant(bank, ME, written.format(known.removeprefix("~"))) == known
        assert id_meant(bank, ME, written.format("b-1")) == written.format("b-1"), "another's is not found"


@pytest.mark.parametrize("written", ["", " ", "[]", "[1]", "1", "2026-11-30 Mon", "~", "nothing", "\0", "x" * 10_000])
def test_what_is_no_id_stays_as_it_is(written: str) -> None:
    with MemoryBank.open() as bank:
        bank.remember(ME, [("user", "Miso is my cat.")], session="one")
        assert id_meant(bank, ME, written) == written


def test_a_model_that_gives_a_number_is_told_where_the_id_stands() -> None:
    assert unknown_id("[2]") == (
        "There is no memory with the id '[2]'. Copy one from the last line of a search's result: that of [2] stands "
        "behind [2] there."
    )
    assert unknown_id("x") == "There is no memory with the id 'x'. Copy one from the last line of a search's result."
