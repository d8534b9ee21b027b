"""A segmenter that learns, inside the bank: one a scope, kept with it, gone with what it was learned from."""

from __future__ import annotations

import json

import pytest
from histories import remember_all

from benchmarks.generated_talk import dialogues
from secom_core.bank import MemoryBank, Parts
from secom_core.conversation import Session, as_turns
from secom_core.errors import DegradedWarning, ModelUnavailable
from secom_core.memory import segments_of
from secom_core.segmenters.adaptive import AdaptiveSegmenter
from secom_core.segmenters.lexical import LexicalSegmenter
from secom_core.stores.sqlite import open_sqlite

ALICE, BOB = ("acme", "alice"), ("acme", "bob")


def history(turns: int, seed: int = 0) -> list[Session]:
    made, total = [], 0
    for place, dialogue in enumerate(dialogues(400, seed)):
        if dialogue.kind == "small" and total < turns:
            made.append(Session(f"s{place}", as_turns([turn.content for turn in dialogue.turns], f"s{place}")))
            total += len(made[-1].turns)
    return made


def learned(path, scope):
    store = open_sqlite(path)
    row = store.scope(scope)
    kept = store.part_state(row.id, "segmenter") if row else None
    store.close()
    return kept


@pytest.mark.slow
def test_a_scope_is_learned_from_at_200_turns_and_again_at_twice_as_many(tmp_path):
    path = tmp_path / "bank.db"
    with MemoryBank.open(path, segmenter=AdaptiveSegmenter()) as bank:
        marks = []
        for session in history(500):
            bank.remember(ALICE, session, close=True)
            kept = learned(path, ALICE)
            marks.append(kept[0] if kept else 0)
    lessons = sorted(set(marks))
    assert lessons[0] == 0
    assert 200 <= lessons[1] < 260
    assert 2 * lessons[1] <= lessons[2] < 2 * lessons[1] + 60
    assert len(lessons) == 3


@pytest.mark.slow
def test_what_was_learned_is_the_scopes_own_and_outlives_the_process(tmp_path):
    path, probe = tmp_path / "bank.db", history(60, seed=5)[0]
    with MemoryBank.open(path, segmenter=AdaptiveSegmenter()) as bank:
        remember_all(bank, ALICE, history(260))
    kept = learned(path, ALICE)
    assert kept is not None
    with MemoryBank.open(path, segmenter=AdaptiveSegmenter()) as bank:
        for scope in (ALICE, BOB):
            bank.remember(scope, Session("probe", probe.turns), close=True)
        taught, untaught = (segments_of(bank.memories(scope, "probe")) for scope in (ALICE, BOB))
    assert taught == AdaptiveSegmenter().for_scope(kept[1]).segment(probe.turns)
    assert untaught == AdaptiveSegmenter().segment(probe.turns)
    assert learned(path, BOB) is None


@pytest.mark.slow
def test_another_process_follows_what_one_has_learned(tmp_path):
    path, probe = tmp_path / "bank.db", history(60, seed=5)[0]
    with MemoryBank.open(path, segmenter=AdaptiveSegmenter()) as early:
        early.remember(ALICE, [{"role": "user", "content": "Hello."}], session="first")
        with MemoryBank.open(path, segmenter=AdaptiveSegmenter()) as other:
            remember_all(other, ALICE, history(260))
        early.remember(ALICE, Session("probe", probe.turns), close=True)
        kept = learned(path, ALICE)
        assert segments_of(early.memories(ALICE, "probe")) == AdaptiveSegmenter().for_scope(kept[1]).segment(
            probe.turns
        )


@pytest.mark.slow
@pytest.mark.parametrize("what", ["turn", "session", "scope"])
def test_forgetting_drops_what_was_learned_from_the_forgotten(tmp_path, what):
    path, talk = tmp_path / "bank.db", history(260)
    with MemoryBank.open(path, segmenter=AdaptiveSegmenter()) as bank:
        remember_all(bank, ALICE, talk)
        assert learned(path, ALICE)
        some = bank.turns(ALICE, talk[0].name)[0].id
        bank.forget(ALICE, **{"turn": {"turn_ids": [some]}, "session": {"session": talk[0].name}, "scope": {}}[what])
        assert learned(path, ALICE) is None


@pytest.mark.slow
def test_a_rebuild_after_forgetting_cuts_by_what_was_learned_from_the_rest(tmp_path):
    path, probe = tmp_path / "bank.db", history(60, seed=5)[0]
    talk = history(260)
    with MemoryBank.open(path, segmenter=AdaptiveSegmenter()) as bank:
        remember_all(bank, ALICE, talk)
        bank.rebuild(ALICE)  # learned from as many turns as there are, so that the number alone tells nothing
        before = learned(path, ALICE)[1]
        for session in talk[:4]:
            turn_ids = [turn.id for turn in bank.turns(ALICE, session.name)[1:]]
            bank.forget(ALICE, turn_ids=turn_ids)
        bank.rebuild(ALICE)
        after = learned(path, ALICE)[1]
        assert after != before
        assert bank._inside.derivation._segmenters.of(ALICE).state() == after
        bank.remember(ALICE, Session("probe", probe.turns), close=True)
        assert segments_of(bank.memories(ALICE, "probe")) == AdaptiveSegmenter().for_scope(after).segment(probe.turns)


@pytest.mark.slow
def test_what_is_kept_holds_no_words(tmp_path):
    path = tmp_path / "bank.db"
    talk = history(260)
    with MemoryBank.open(path, segmenter=AdaptiveSegmenter()) as bank:
        remember_all(bank, ALICE, talk)
    _, state = learned(path, ALICE)
    keys: set[str] = set()
    json.loads(state, object_hook=lambda found: keys.update(found))
    spoken = {word.lower() for session in talk for turn in session.turns for word in turn.content.split()} - keys
    assert not [word for word in spoken if len(word) > 6 and word.isalpha() and f'"{word}' in state.lower()]


def test_a_late_lesson_does_not_come_back_after_forgetting(tmp_path):
    store = open_sqlite(tmp_path / "bank.db")
    with MemoryBank(store, Parts(segmenter=AdaptiveSegmenter())) as bank:
        bank.remember(ALICE, [{"role": "user", "content": "Hello."}], session="s", close=True)
        bank.remember(ALICE, [{"role": "user", "content": "Bye."}], session="t", close=True)
        before = store.scope(ALICE)
        bank.forget(ALICE, session="s")
        assert not store.save_part_state(before.id, before.epoch, "segmenter", 2, "{}")
        assert store.part_state(before.id, "segmenter") is None


class _Broken:
    name = "broken"

    def embed(self, texts):
        raise ModelUnavailable("connection refused")


def test_with_an_embedder_that_fails_segments_are_cut_by_words():
    talk = history(60)[0]
    bank = MemoryBank.open(embedder=_Broken())
    with pytest.warns(DegradedWarning) as seen:
        bank.remember(ALICE, talk, close=True)
    assert any("segments are cut by words: connection refused" in str(each.message) for each in seen)
    assert segments_of(bank.memories(ALICE, talk.name)) == LexicalSegmenter().segment(talk.turns)
