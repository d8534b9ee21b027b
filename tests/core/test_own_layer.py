"""A layer that this package does not know (mood_layer.py): made, searched, forgotten, moved, listed, shown."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from mood_layer import MoodLayer, moods
from sqlalchemy import inspect

from secom_core.bank import MemoryBank
from secom_core.command import main
from secom_core.errors import InvalidInput, StoreError
from secom_core.layers import Layer, register, registered, unregister

unregister("moods")  # importing it made it known to every test
ANN, BOB = ("acme", "ann"), ("acme", "bob")
WORDS = ("--scope", "acme", "--scope", "ann")


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """The layer is known while these tests run, and to no other test."""
    register(MoodLayer)
    yield
    unregister("moods")


def filled(place: Path | str) -> MemoryBank:
    bank = MemoryBank.open(place, layers=[MoodLayer])
    for scope in (ANN, BOB):
        bank.remember(scope, [{"role": "user", "content": "I am proud of my bread.", "id": "1"}], session="monday")
        bank.remember(scope, [{"role": "user", "content": "The oven makes me angry.", "id": "2"}], session="monday")
        bank.close_session(scope, "monday")
        bank.remember(scope, [{"role": "user", "content": "Tired today.", "id": "3"}], session="tuesday", close=True)
        bank.remember(scope, [{"role": "user", "content": "Sad, too.", "id": "4"}], session="open")
    return bank


def words(bank: MemoryBank, scope: tuple[str, ...] = ANN) -> list[str]:
    rows = bank.layers["moods"].listing(scope, "moods").rows
    return [row["word"] for row in rows]


@pytest.mark.slow
def test_it_is_made_when_a_session_closes_and_again_when_it_goes_on(place: Path | str) -> None:
    with filled(place) as bank:
        assert words(bank) == ["proud", "angry", "tired"]
        bank.close_session(ANN, "open")
        assert words(bank) == ["proud", "angry", "tired", "sad"]
        bank.remember(ANN, [{"role": "user", "content": "Happy again."}], session="monday", close=True)
        assert sorted(words(bank)) == ["angry", "happy", "proud", "sad", "tired"]
        bank.rebuild(ANN)
        assert sorted(words(bank)) == ["angry", "happy", "proud", "sad", "tired"]
        assert words(bank, BOB) == ["proud", "angry", "tired"]


@pytest.mark.slow
def test_it_takes_part_in_a_recall_where_it_is_asked_for(place: Path | str) -> None:
    with filled(place) as bank:
        assert "Feelings" not in bank.recall(ANN, "Was I angry?").text
        recall = bank.recall(ANN, "Was I angry?", layers=["moods"], token_budget=300)
        last = len(recall.hits) + 1
        assert recall.text.endswith(f"# Feelings:\n[{last}] somebody was angry\n</memories>")
        assert recall.items("moods") == (("angry", "2"),)
        assert (recall.numbers[-1], recall.cited_turns[last]) == (last, ("2",))
        assert recall.tokens <= 300
    with MemoryBank.open(place) as plain, pytest.raises(InvalidInput, match="opened without 'moods'"):
        plain.recall(ANN, "Was I angry?", layers=["moods"])


@pytest.mark.slow
@pytest.mark.parametrize("opened_with_it", [True, False])
def test_it_forgets_with_the_turns_whether_the_bank_was_opened_with_it_or_not(
    place: Path | str, opened_with_it: bool
) -> None:
    filled(place).close()
    with MemoryBank.open(place, layers=[MoodLayer] if opened_with_it else []) as bank:
        assert bank.forget(ANN, turn_ids=["2"]) == 1
        left = [row["word"] for row in MoodLayer.export(bank._store, bank._store.scope(ANN).id)]
        assert left == ["tired"]
        assert bank.forget(BOB) == 4
    with MemoryBank.open(place, layers=[MoodLayer]) as bank:
        assert bank.derive(ANN) == 1
        assert words(bank) == ["tired", "proud"]
        with bank._store.transaction(write=False) as connection:
            assert len(connection.execute(moods.select()).all()) == 2


def test_it_is_asked_to_forget_what_it_holds_elsewhere_also_while_its_tables_are_empty(
    place: Path | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = {0: "We met at the lake.", 1: "It rained."}

    def forget_turns(connection: object, session: object, turns: Collection[int]) -> None:
        for turn in turns:
            del elsewhere[turn]

    monkeypatch.setattr(MoodLayer, "forget_turns", forget_turns)
    told = [{"id": str(turn), "role": "user", "content": text} for turn, text in elsewhere.items()]
    with MemoryBank.open(place) as bank:
        bank.remember(ANN, told, session="monday", close=True)
        assert bank.forget(ANN, turn_ids=["0"]) == 1
    assert elsewhere == {1: "It rained."}


@pytest.mark.slow
def test_nothing_is_forgotten_by_halves_where_nobody_knows_it(tmp_path: Path) -> None:
    filled(tmp_path / "bank.db").close()
    unregister("moods")
    with MemoryBank.open(tmp_path / "bank.db") as bank:
        with pytest.raises(StoreError, match="nothing was forgotten: the scope holds what the layer 'moods' made"):
            bank.forget(ANN, turn_ids=["2"])
        assert bank.stats(ANN).turns == 4
        assert bank.forget(ANN) == 4
    register(MoodLayer)
    with MemoryBank.open(tmp_path / "bank.db", layers=[MoodLayer]) as bank:
        assert (words(bank), words(bank, BOB)) == ([], ["proud", "angry", "tired"])


def test_it_moves_to_postgresql_and_back(tmp_path: Path, postgres_url: str) -> None:
    with filled(tmp_path / "here.db") as here, MemoryBank.open(postgres_url, layers=[MoodLayer]) as there:
        assert here.storage.move_to(there.storage).scopes == 2
        assert words(there) == ["proud", "angry", "tired"]
        there.remember(ANN, [{"role": "user", "content": "Happy."}], session="friday", close=True)
        with MemoryBank.open(tmp_path / "back.db", layers=[MoodLayer]) as back:
            assert there.storage.move_to(back.storage).scopes == 2
            assert (words(back), words(back, BOB)) == (
                # The session that was open has ended as the next one began.
                ["proud", "angry", "tired", "sad", "happy"],
                ["proud", "angry", "tired"],
            )
            assert back.layers.behind(ANN, "moods") == 0
            assert "moods" in inspect(back._store.engine).get_table_names()


@pytest.mark.slow
def test_it_is_exported_and_made_again_by_who_imports(tmp_path: Path) -> None:
    with filled(tmp_path / "bank.db") as bank:
        lines = list(bank.storage.export(ANN))
    assert [json.loads(line)["word"] for line in lines if '"layer": "moods"' in line] == ["proud", "angry", "tired"]
    with MemoryBank.open(layers=[MoodLayer]) as other:
        assert other.storage.import_(lines) == 4
        assert words(other) == ["proud", "angry", "tired"]


@pytest.mark.slow
def test_the_command_lists_it_and_the_report_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(tmp_path / "bank.db").close()
    store = ("--store", str(tmp_path / "bank.db"))
    assert main(["inspect", "moods", *WORDS, *store, "--json"]) == 0
    assert [row["word"] for row in json.loads(capsys.readouterr().out)] == ["proud", "angry", "tired"]
    assert main(["inspect", "moods", *WORDS, *store]) == 0
    assert '"word": "proud"' in capsys.readouterr().out
    assert main(["inspect", *WORDS, *store]) == 0
    assert "moods                     3" in capsys.readouterr().out
    assert main(["recall", "Was I angry?", "--layer", "moods", *WORDS, *store]) == 0
    assert "somebody was angry" in capsys.readouterr().out
    assert main(["report", "-o", str(tmp_path / "report.html"), *WORDS, *store]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<section id="moods"><h2>Moods <small>3</small></h2>' in page
    assert "&quot;word&quot;: &quot;angry&quot;" in page
    with pytest.raises(SystemExit):
        main(["inspect", "--help"])
    assert "moods      the feelings that each session names" in capsys.readouterr().out


def test_what_is_no_layer_is_refused() -> None:
    class Nameless(Layer):
        pass

    class Taken(Layer):
        name = "moods"

    with pytest.raises(InvalidInput, match=r"takes a subclass of secom_core.layers.Layer"):
        register(object)  # type: ignore[type-var]
    with pytest.raises(InvalidInput, match=r"a layer's name is an identifier such as 'timelines', Nameless has None"):
        register(Nameless)
    with pytest.raises(InvalidInput, match="there is a layer 'moods' already"):
        register(Taken)
    names = [layer.name for layer in registered()]
    assert names[:5] == ["summaries", "timelines", "topics", "validity", "moods"]
    assert sorted(names[5:]) == ["changes", "chats", "citations", "corrections", "lifetimes"]
    with pytest.raises(InvalidInput, match="is not registered"):
        MemoryBank.open(layers=[Nameless])


def test_a_layer_of_this_package_is_known_before_it_is_imported() -> None:
    said = """
import sys
from secom_core.bank import MemoryBank
from secom_core.errors import InvalidInput
from secom_core.layers import Layer, layer_names, names_taking_part, register, registered
class Taken(Layer):
    name = "topics"
try:
    register(Taken)
except InvalidInput as error:
    assert "there is a layer 'topics' already" in str(error), error
else:
    raise AssertionError("the name was free")
first = ("summaries", "timelines", "topics", "validity")
assert layer_names() == (*first, "changes", "chats", "citations", "corrections", "lifetimes")
assert set(names_taking_part()) == {"summaries", "timelines", "topics", "citations"}
assert [layer.name for layer in registered(["topics"])] == ["topics"]
assert "secom_core.topics.layer" in sys.modules
assert "secom_core.timelines.layer" not in sys.modules
MemoryBank.open(timelines=True).timelines
assert "secom_core.summaries.layer" not in sys.modules
assert [layer.name for layer in registered()] == list(layer_names())
assert set(names_taking_part()) == {"summaries", "timelines", "topics", "citations"}
try:
    MemoryBank.open(changes=True).recall(("ann",), "Where?", layers=["changes"])
except InvalidInput as error:
    assert "adds nothing to a recall" in str(error), error
else:
    raise AssertionError("it did as though it took part")
"""
    subprocess.run([sys.executable, "-c", said], check=True, timeout=60)
