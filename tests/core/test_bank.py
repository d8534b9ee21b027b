"""The bank end to end, on the base install: remember, recall, forget, export, import, rebuild."""

from __future__ import annotations

import json
import pickle
import threading
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from histories import remember_all
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from secom_core.bank import BackgroundWriter, MemoryBank
from secom_core.context import PackMemories
from secom_core.conversation import Message, Session, group_messages
from secom_core.errors import DegradedWarning, DuplicateId, InvalidInput, InvalidScope, ModelUnavailable
from secom_core.memory import check_partition, segments_of
from secom_core.presets import Preset
from secom_core.segmenters.fixed import FixedSize
from secom_core.stores.schema import vectors
from secom_core.testing import ScriptedEmbedder

ANN = ("acme", "ann")
BOB = ("acme", "bob")
pytestmark = pytest.mark.usefixtures("each_store")
THINGS = {2: "fence", 3: "chair", 4: "cellar"}
MAY = datetime(2024, 5, 3, 12, tzinfo=timezone.utc)

SAID = {
    "s1": [
        ("Ann", "My parcel with the red bicycle helmet has not arrived."),
        ("Bo", "The courier left the helmet with your neighbour Quentin."),
        ("Ann", "I will ask him tonight."),
        ("Ann", "By the way, the oven thermostat broke again."),
        ("Bo", "A technician can come on Thursday for the thermostat."),
    ],
    "s2": [
        ("Ann", "Quentin had the helmet, thank you!"),
        ("Bo", "Lovely. How is the sourdough starter?"),
        ("Ann", "It died while we hiked in the Dolomites."),
    ],
}


def history() -> list[Session]:
    sessions = []
    for day, (name, lines) in enumerate(SAID.items()):
        said = [
            Message(text, "", speaker, f"{name}-{place}", MAY + timedelta(days=day, minutes=place))
            for place, (speaker, text) in enumerate(lines)
        ]
        sessions.append(Session(name, group_messages(said, name)))
    return sessions


@pytest.fixture
def bank(tmp_path):
    with MemoryBank.open(tmp_path / "bank.db") as opened:
        yield opened


@pytest.fixture
def full(bank):
    remember_all(bank, ANN, history())
    return bank


def found(bank: MemoryBank, query: str, scope=ANN, **request) -> list[str]:
    return [turn.id for turn in bank.recall(scope, query, **request).turns]


def test_what_was_said_comes_back_verbatim_dated_and_traceable(full):
    recall = full.recall(ANN, "Who had the helmet?", token_budget=120)
    assert "s1-1" in [turn.id for turn in recall.turns]
    texts = {turn.id: turn.content for turn in recall.turns}
    assert texts["s1-1"] == "The courier left the helmet with your neighbour Quentin."
    assert [hit.number for hit in recall.hits] == list(range(1, len(recall.hits) + 1))
    assert [hit.turns[0].at for hit in recall.hits] == sorted(hit.turns[0].at for hit in recall.hits)
    for hit in recall.hits:
        assert f"[{hit.number}]" in recall.text
        assert set(hit.turns) <= set(hit.memory.turns)
    assert "2024" in recall.text


def test_ids_speakers_roles_times_and_metadata_come_back(bank):
    message = Message("The code is 4711.", "user", "Ann", "mine-7", MAY, {"channel": {"name": "web"}})
    bank.remember(ANN, [message], session="s")
    [turn] = bank.recall(ANN, "code 4711", k=1).turns
    assert turn.messages == (message,)


def test_dicts_are_taken_as_they_are(bank):
    bank.remember(
        ANN, [{"role": "user", "content": "I moved to Ghent."}, {"role": "assistant", "content": "Noted."}], session="s"
    )
    [turn] = bank.turns(ANN, "s")
    assert turn.content == "I moved to Ghent.\nNoted."


@pytest.mark.slow
@pytest.mark.parametrize("budget", [1, 5, 20, 60, 200, 1000])
def test_the_block_never_passes_its_budget(full, budget):
    recall = full.recall(ANN, "helmet thermostat sourdough", token_budget=budget)
    assert recall.tokens <= budget
    assert bool(recall.text) == bool(recall.hits)


def test_k_limits_the_memories(full):
    assert len(full.recall(ANN, "helmet thermostat sourdough Dolomites", k=1).hits) == 1


def test_nothing_remembered_gives_an_empty_recall(bank):
    recall = bank.recall(ANN, "anything")
    assert (recall.hits, recall.text, recall.tokens) == ((), "", 0)


@pytest.mark.slow
def test_excluded_turns_do_not_come_back(full):
    assert "s1-1" not in found(full, "Who had the helmet?", token_budget=500, exclude={"s1-1"})


CALLS = {
    "remember": lambda bank, scope: bank.remember(scope, [{"role": "user", "content": "x"}], session="s"),
    "close_session": lambda bank, scope: bank.close_session(scope, "s"),
    "derive": lambda bank, scope: bank.derive(scope),
    "rebuild": lambda bank, scope: bank.rebuild(scope),
    "recall": lambda bank, scope: bank.recall(scope, "q"),
    "forget": lambda bank, scope: bank.forget(scope),
    "sessions": lambda bank, scope: bank.sessions(scope),
    "turns": lambda bank, scope: bank.turns(scope, "s"),
    "memories": lambda bank, scope: bank.memories(scope, "s"),
    "stats": lambda bank, scope: bank.stats(scope),
    "epoch": lambda bank, scope: bank.storage.epoch(scope),
    "export": lambda bank, scope: list(bank.storage.export(scope)),
    "latest": lambda bank, scope: bank.summaries.latest(scope),
    "find": lambda bank, scope: bank.timelines.find(scope, "q"),
    "events": lambda bank, scope: bank.timelines.events(scope),
    "links": lambda bank, scope: bank.timelines.links(scope),
    "topics": lambda bank, scope: bank.topics.all(scope),
    "undo_merge": lambda bank, scope: bank.topics.undo_merge(scope, 1),
    "impression": lambda bank, scope: bank.citations.impression(scope, "q", []),
    "reward": lambda bank, scope: bank.citations.reward(scope, "q", None, [1]),
    "log": lambda bank, scope: bank.citations.log(scope),
    "reset": lambda bank, scope: bank.citations.reset(scope),
    "updates": lambda bank, scope: bank.citations.updates(scope),
}


@pytest.mark.sqlite_only("refused before any store is asked")
@pytest.mark.parametrize("call", CALLS)
def test_every_call_wants_a_scope(call):
    with MemoryBank.open(summaries=True, timelines=True, topics=True, citations=True) as bank:
        for scope in ("ann", "", (), ("",), ("a", ""), ("a", 1), None, 7):
            with pytest.raises(InvalidScope, match="scope"):
                CALLS[call](bank, scope)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"token_budget": 0}, "token_budget.*0"),
        ({"k": -1}, "k.*-1"),
        ({"k": 1.5}, "1.5"),
        ({"token_budget": "9"}, "'9'"),
    ],
)
def test_bad_requests_carry_the_value(full, request_, words):
    with pytest.raises(InvalidInput, match=words):
        full.recall(ANN, "helmet", **request_)


def test_a_session_needs_a_name(bank):
    with pytest.raises(InvalidInput, match="name of the session"):
        bank.remember(ANN, [{"role": "user", "content": "x"}])


def test_what_another_bank_writes_is_seen(tmp_path):
    with MemoryBank.open(tmp_path / "bank.db") as one, MemoryBank.open(tmp_path / "bank.db") as two:
        remember_all(one, ANN, history())
        assert "s2-2" in found(two, "Dolomites")
        two.remember(ANN, [Message("The Dolomites trip cost 900 euros.", id="new")], session="s3")
        assert "new" in found(one, "Dolomites")
        one.forget(ANN, turn_ids=["new"])
        assert "new" not in found(two, "Dolomites")


def test_a_reply_that_comes_later_is_found_with_its_turn(bank):
    bank.remember(ANN, [Message("What is the gate code?", id="q")], session="s")
    assert found(bank, "gate code") == ["q"]
    bank.remember(ANN, [Message("It is zebra-9.", "assistant")], session="s")
    assert found(bank, "zebra") == ["q"]


@pytest.mark.sqlite_only("the segments are the same on both")
@pytest.mark.slow
def test_remembering_turn_by_turn_keeps_settled_segments(bank):
    for number in range(130):
        topic = ["boats and harbours", "tax forms", "violin lessons"][number // 7 % 3]
        bank.remember(ANN, [Message(f"Message {number} about {topic}.", "", at=MAY)], session="long")
        if number == 100:
            early = segments_of(bank.memories(ANN, "long"))[:4]
    segments = segments_of(bank.memories(ANN, "long"))
    check_partition(segments, 130)
    assert segments[:4] == early


# -- forgetting ---------------------------------------------------------------------------------------------------


def raw_bytes(tmp_path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(tmp_path.glob("bank.db*")))


def test_a_forgotten_turn_is_nowhere(full, tmp_path):
    assert "s1-4" in found(full, "technician Thursday")
    assert full.forget(ANN, turn_ids=["s1-4"]) == 1
    assert "s1-4" not in found(full, "technician Thursday")
    assert "technician" not in "\n".join(full.storage.export(ANN))
    assert "Thursday" not in "\n".join(memory.key for memory in full.memories(ANN, "s1"))
    assert [turn.id for turn in full.turns(ANN, "s1")] == ["s1-0", "s1-1", "s1-2", "s1-3"]
    check_partition(segments_of(full.memories(ANN, "s1")), 4)


@pytest.mark.sqlite_only("it reads the file")
def test_forgotten_words_are_not_in_the_file(full, tmp_path):
    assert b"technician" in raw_bytes(tmp_path)
    full.forget(ANN, turn_ids=["s1-4"])
    full.close()
    assert b"technician" not in (tmp_path / "bank.db").read_bytes()


def test_forgetting_by_session_date_and_scope(full):
    full.remember(BOB, [Message("Bob likes chess.", id="b")], session="s1")
    assert full.forget(ANN, before=MAY + timedelta(minutes=2)) == 2
    assert full.forget(ANN, session="s2") == 3
    assert full.sessions(ANN) == ["s1"]
    assert full.forget(ANN) == 3
    assert full.scopes() == [BOB]
    assert found(full, "chess", BOB) == ["b"]


def test_unknown_ids_forget_nothing(full):
    assert full.forget(ANN, turn_ids=["nobody"]) == 0
    assert full.forget(("nobody",)) == 0
    with pytest.raises(InvalidInput, match="not the string 's1-1'"):
        full.forget(ANN, turn_ids="s1-1")


def test_a_session_goes_on_after_a_turn_of_it_is_forgotten(full):
    full.forget(ANN, turn_ids=["s1-4"])
    full.remember(ANN, [Message("The oven works now.", "", id="later", at=MAY)], session="s1")
    assert [turn.id for turn in full.turns(ANN, "s1")][-1] == "later"
    check_partition(segments_of(full.memories(ANN, "s1")), 5)
    assert "later" in found(full, "does the oven work")


# -- export, import, rebuild ---------------------------------------------------------------------------------------


def test_export_then_import_gives_the_same_recall(full):
    lines = list(full.storage.export(ANN))
    with MemoryBank.open() as other:
        assert other.storage.import_(lines) == 8
        for query in ("helmet", "thermostat Thursday", "What happened in the Dolomites?"):
            assert other.recall(ANN, query, token_budget=90) == full.recall(ANN, query, token_budget=90)
        assert list(other.storage.export(ANN)) == lines
        assert other.storage.import_(lines) == 0


def test_import_into_another_scope(full):
    with MemoryBank.open() as other:
        other.storage.import_(full.storage.export(ANN), scope=BOB)
        assert other.scopes() == [BOB]


@pytest.mark.sqlite_only("refused before any store is asked")
@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: [],
        lambda lines: lines[1:],
        lambda lines: [lines[0], "not json"],
        lambda lines: [lines[0], lines[2]],
        lambda lines: [lines[0], '{"kind": "session"}'],
        lambda lines: [lines[0], '{"kind": "what"}'],
        lambda lines: [lines[0].replace('"version": 2', '"version": 99'), *lines[1:]],
        lambda lines: [lines[0], lines[1], lines[2].replace('"index": 0', '"index": -4')],
    ],
)
def test_a_damaged_import_says_where_and_takes_nothing(full, damage):
    with MemoryBank.open() as other:
        with pytest.raises(InvalidInput, match="import"):
            other.storage.import_(damage(list(full.storage.export(ANN))))
        assert other.scopes() == []


def test_an_import_with_memories_that_lose_turns_is_cut_anew(full):
    lines = [line for line in full.storage.export(ANN) if '"kind": "memory", "start": 0' not in line]
    with MemoryBank.open() as other:
        other.storage.import_(lines)
        check_partition(segments_of(other.memories(ANN, "s1")), 5)


def test_an_import_never_overwrites_other_words(full):
    lines = [line.replace("Quentin had", "Quentin ate") for line in full.storage.export(ANN)]
    with pytest.raises(DuplicateId, match="s2-0"):
        full.storage.import_(lines)


def test_rebuild_uses_the_parts_the_bank_has_now(tmp_path):
    with MemoryBank.open(tmp_path / "bank.db") as bank:
        remember_all(bank, ANN, history())
    with MemoryBank.open(tmp_path / "bank.db", segmenter=FixedSize(2)) as bank:
        found(bank, "helmet")
        bank.rebuild(ANN)
        assert [len(segment) for segment in segments_of(bank.memories(ANN, "s1"))] == [2, 2, 1]
        assert "s1-1" in found(bank, "helmet courier")


@pytest.mark.slow
@pytest.mark.parametrize(("granularity", "units"), [("turn", 8), ("session", 2)])
def test_granularities(tmp_path, granularity, units):
    with MemoryBank.open(granularity=granularity) as bank:
        remember_all(bank, ANN, history())
        assert bank.stats(ANN).memories == units


def test_a_wrong_granularity_carries_the_value():
    with pytest.raises(InvalidInput, match="'page'"):
        MemoryBank.open(granularity="page")


def test_explicit_parts_go_before_the_presets():
    preset = Preset("test", weights={"segment_lexical": 1.0}, packer=PackMemories(), segmenter=FixedSize(3))
    with MemoryBank.open(preset=preset, segmenter=FixedSize(1)) as bank:
        remember_all(bank, ANN, history())
        assert bank.stats(ANN).memories == 8


# -- parts that fail ------------------------------------------------------------------------------------------------


class FlakyEmbedder:
    """Real enough to search with, and down when told so."""

    name = "flaky"

    def __init__(self) -> None:
        self.down = False
        self.calls = 0

    def embed(self, texts):
        if self.down:
            raise ModelUnavailable("connection refused by 127.0.0.1:9")
        self.calls += len(texts)
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[0] = 0.1
            for word in text.lower().split():
                row[sum(map(ord, word)) % 63 + 1] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_an_embedder_that_is_down_costs_no_turn_and_is_made_good_later(tmp_path):
    embedder = FlakyEmbedder()
    with MemoryBank.open(tmp_path / "bank.db", embedder=embedder) as bank:
        embedder.down = True
        with pytest.warns(DegradedWarning, match="connection refused"):
            remember_all(bank, ANN, history())
        with pytest.warns(DegradedWarning, match="by words"):
            assert "s1-1" in found(bank, "courier helmet")
        embedder.down = False
        assert "s1-1" in found(bank, "courier helmet")
        assert bank.stats(ANN).vectors >= 8


def test_vectors_are_made_once(tmp_path):
    embedder = FlakyEmbedder()
    with MemoryBank.open(tmp_path / "bank.db", embedder=embedder) as bank:
        remember_all(bank, ANN, history())
        found(bank, "helmet")
    made = embedder.calls
    with MemoryBank.open(tmp_path / "bank.db", embedder=embedder) as bank:
        found(bank, "helmet")
    assert embedder.calls == made + 1


@pytest.mark.parametrize("together", [False, True])
def test_a_turn_that_is_forgotten_while_it_is_embedded_leaves_no_vector(together):
    class Slow(ScriptedEmbedder):
        forgets = False

        def embed(self, texts):
            # The segmenter asks for single texts before.
            if self.forgets and any("\n" in text for text in texts):
                self.forgets = False
                assert bank.forget(ANN, turn_ids=[made.turn_ids[0]]) == 1
            return super().embed(texts)

    embedder = Slow()
    with MemoryBank.open(embedder=embedder) as bank:
        bank.remember(ANN, [{"role": "user", "content": "The space of the vectors is settled."}], session="first")
        said = [{"role": "user", "content": text} for text in ("The safe opens with 4711.", "The cat is called Miso.")]
        made = bank.remember(ANN, said, session="second", later=True)
        embedder.forgets = True
        bank.derive(ANN, None if together else "second")
        assert not embedder.forgets
        bank.prepare(ANN)
        [row] = [each for each in bank._store.sessions_of(ANN) if each.name == "second"]
        with bank._store.transaction(write=False) as connection:
            stored = connection.execute(select(vectors.c.digest).where(vectors.c.session_id == row.id)).scalars().all()
        turns = bank._store.turns(row)
        assert [turn.messages[0].text for turn in turns] == ["The cat is called Miso."]
        assert set(stored) == bank._inside.deriving.derivation.digests(turns, bank._store.memories(row.id))


def test_forgetting_removes_the_vectors(tmp_path):
    with MemoryBank.open(tmp_path / "bank.db", embedder=FlakyEmbedder()) as bank:
        bank.remember(ANN, [Message("Only this.", id="1")], session="s")
        bank.remember(ANN, [Message("And the answer to it.", "assistant")], session="s")
        assert bank.stats(ANN).vectors > 0
        bank.forget(ANN, turn_ids=["1"])
        assert bank.stats(ANN).vectors == 0


class FailingDenoiser:
    def denoise(self, texts, statistics=None):
        raise ModelUnavailable("no weights here")


def test_a_denoiser_that_fails_leaves_the_words_as_keys():
    with MemoryBank.open(denoiser=FailingDenoiser()) as bank:
        with pytest.warns(DegradedWarning, match="no weights here"):
            remember_all(bank, ANN, history())
        assert "s1-1" in found(bank, "courier helmet")


# -- many at once -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_threads_write_and_read_one_bank(bank):
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(15):
                bank.remember((name,), [Message(f"{name} saw comet{number}", "", id=f"{name}{number}")], session="s")
                assert found(bank, f"comet{number}", (name,), k=1)[0].startswith(name)
        except BaseException as error:  # noqa: BLE001 - reported by the test below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(f"user{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert all(bank.stats((f"user{number}",)).turns == 15 for number in range(6))


def test_dropped_scopes_are_loaded_again():
    with MemoryBank.open(max_scopes=1) as bank:
        bank.remember(ANN, [Message("Ann sails.", id="a")], session="s")
        bank.remember(BOB, [Message("Bob climbs.", id="b")], session="s")
        for _ in range(2):
            assert found(bank, "sails") == ["a"]
            assert found(bank, "climbs", BOB) == ["b"]


# -- properties -------------------------------------------------------------------------------------------------------

words = st.text(max_size=60)
roles = st.sampled_from(["user", "assistant", "system", "tool", ""])
scripts = st.lists(st.tuples(st.sampled_from(["one", "two"]), roles, words), min_size=1, max_size=40)
quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.slow
@pytest.mark.sqlite_only("hundreds of banks: too slow on a server")
@quick
@given(script=scripts, cut=st.integers(1, 7))
def test_segments_partition_any_session_and_no_turn_is_lost(script, cut):
    with MemoryBank.open() as bank:
        for start in range(0, len(script), cut):
            for session, role, text in script[start : start + cut]:
                bank.remember(ANN, [Message(text, role)], session=session)
        kept = [
            message.text for name in bank.sessions(ANN) for turn in bank.turns(ANN, name) for message in turn.messages
        ]
        assert sorted(kept) == sorted(text for _, _, text in script)
        for name in bank.sessions(ANN):
            check_partition(segments_of(bank.memories(ANN, name)), len(bank.turns(ANN, name)))


@pytest.mark.slow
@settings(quick, max_examples=15)
@given(script=scripts, query=words)
def test_scopes_never_meet(script, query):
    with MemoryBank.open() as bank:
        bank.remember(ANN, [Message("quetzalcoatl " + text, role) for _, role, text in script], session="s")
        bank.remember(
            BOB, [Message(text, role, id=f"b{place}") for place, (_, role, text) in enumerate(script)], session="s"
        )
        mine = {turn.id for turn in bank.turns(BOB, "s")}
        recall = bank.recall(BOB, query + " quetzalcoatl", token_budget=400)
        assert {turn.id for turn in recall.turns} <= mine
        with MemoryBank.open() as alone:
            alone.remember(
                BOB, [Message(text, role, id=f"b{place}") for place, (_, role, text) in enumerate(script)], session="s"
            )
            again = alone.recall(BOB, query + " quetzalcoatl", token_budget=400)
        assert [(hit.turn_ids, hit.score) for hit in recall.hits] == [(hit.turn_ids, hit.score) for hit in again.hits]


@pytest.mark.slow
@pytest.mark.sqlite_only("hundreds of banks: too slow on a server")
@quick
@given(script=scripts, query=words)
def test_export_then_import_is_the_same_bank(script, query):
    with MemoryBank.open() as bank, MemoryBank.open() as other:
        for session, role, text in script:
            bank.remember(ANN, [Message(text, role)], session=session)
        lines = list(bank.storage.export(ANN))
        assert all(json.loads(line) for line in lines)
        other.storage.import_(lines)
        assert list(other.storage.export(ANN)) == lines
        assert other.recall(ANN, query, token_budget=300, now=MAY) == bank.recall(ANN, query, token_budget=300, now=MAY)


@pytest.mark.parametrize("reply", [False, True])
def test_a_session_that_was_closed_and_searched_may_go_on(reply):
    with MemoryBank.open() as bank:
        said = [Message("The parcel is on the shelf.", id="1"), Message("Grandma baked a cake.", id="2")]
        bank.remember(ANN, said, session="s", close=True)
        assert bank.recall(ANN, "cake").hits
        more = Message("A second cake is here.", "assistant" if reply else "user", id="3")
        bank.remember(ANN, [more], session="s")
        found = bank.recall(ANN, "cake")
        in_memories = {turn.id for hit in found.hits for turn in hit.memory.turns}
        assert in_memories >= {"2", *(() if reply else "3")}
        assert "second cake" in found.text


# -- languages --------------------------------------------------------------------------------------------------------

LINES = {
    "zh": ("我昨天带狗去看了兽医，它对鸡肉过敏。", "狗对什么过敏？", "下周我们搬到新公寓。"),
    "ja": ("来月は京都へ紅葉を見に行く予定です。", "京都にはいつ行きますか", "昨日はカレーを作りました。"),
    "ko": ("여동생이 부산에서 결혼식을 올렸어요.", "결혼식은 어디였나요?", "오늘은 비가 많이 왔어요."),
    "de": ("Die Häuser am Fluss wurden gestern verkauft.", "Welches Haus wurde verkauft?", "Ich habe Kopfschmerzen."),
    "ru": ("Мы купили билеты в Казань на июнь.", "Куда у нас билеты?", "Кошка спит на диване."),
    "mixed": ("The 发票 number for the Osaka trip is 88.", "发票 Osaka", "Nothing else happened today."),
}


@pytest.mark.slow
@pytest.mark.parametrize("language", LINES)
def test_other_scripts_are_found_by_their_words_in_one_mixed_bank(language):
    with MemoryBank.open() as bank:
        for name, (fact, _, other) in LINES.items():
            bank.remember(
                ANN, [Message(other, "", id=f"{name}-other"), Message(fact, "", id=f"{name}-fact")], session=name
            )
        recall = bank.recall(ANN, LINES[language][1], token_budget=500)
        best = recall.ranked[0]
        assert f"{language}-fact" in best.turn_ids


def test_the_turns_of_a_scope_come_session_after_session(full):
    whole = [turn for session in full.sessions(ANN) for turn in full.turns(ANN, session)]
    assert full.turns(ANN) == whole
    assert full.turns(("nobody",)) == []
    for wrong in ({"session": "s1", "turn_ids": ["s1-1"]}, {"last": 1}, {"turn_ids": "s1-1"}):
        with pytest.raises(InvalidInput, match="1"):
            full.turns(ANN, **wrong)


def test_scopes_are_listed_by_their_first_parts(tmp_path):
    inside = [("acme", "ann"), ("acme", 'b"ob'), ("acme",), ("acme", "字", "two")]
    outside = [("acme2", "ann"), ("ac", "me"), ("ACME", "ann"), ("%", "ann"), ("_cme", "ann"), ("字", "acme")]
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        for scope in [*inside, *outside]:
            bank.remember(scope, [("user", "Hello.")], session="s")
        assert bank.scopes() == [*inside, *outside]
        assert bank.scopes(within=("acme",)) == inside
        assert bank.scopes(within=("acme", "字")) == inside[3:]
        assert bank.scopes(within=("%",)) == [("%", "ann")]
        assert bank.scopes(within=("acme", "a")) == []
        with pytest.raises(InvalidScope, match="acme"):
            bank.scopes(within="acme")


def test_now_is_read_in_the_time_zone_of_the_bank(monkeypatch: pytest.MonkeyPatch) -> None:
    late = datetime(2026, 3, 4, 13, tzinfo=timezone.utc)  # and it is the fifth already in Kiritimati
    monkeypatch.setattr("secom_core.times.datetime", SimpleNamespace(now=late.astimezone))
    said = {day: Message(f"I painted the {thing}.", at=late + timedelta(days=day - 4)) for day, thing in THINGS.items()}
    for zone, day, offset in (("Pacific/Kiritimati", 4, 14), (timezone(timedelta(hours=-4)), 3, -4), (None, 3, 0)):
        with MemoryBank.open(timezone=zone) as bank:
            for number, message in said.items():
                bank.remember(ANN, [message], session=f"s{number}")
            asked = bank.recall(ANN, "What did I say yesterday?", k=1)
            assert [turn.at.day for turn in asked.turns if turn.at] == [day]
            bank.remember(ANN, [Message("Now.")], session="now")
            BackgroundWriter(bank).remember(ANN, [Message("And now.", id="later")], session="now")
            bank.correct(ANN, "later", "Not now.")
            [*_, first, corrected] = bank.turns(ANN, "now") + bank.turns(ANN, "now/corrections")
            assert {each.at.utcoffset() for each in (first, corrected) if each.at} == {timedelta(hours=offset)}


@pytest.mark.parametrize(
    ("zone", "said", "day", "now"),
    [
        ("Europe/Brussels", "2025-06-10T22:30:00+00:00", "2025-06-11", "2025-06-11T22:30:00+00:00"),
        ("America/Lima", "2025-06-11T02:30:00+00:00", "2025-06-10", "2025-06-12T03:00:00+00:00"),
        ("Europe/Brussels", "2025-06-10T22:30:00-05:00", "2025-06-10", "2025-06-11T12:00:00-05:00"),
        (None, "2025-06-10T22:30:00+00:00", "2025-06-10", "2025-06-11T22:30:00+00:00"),
    ],
)
def test_a_time_in_utc_is_told_by_the_clocks_of_the_bank(zone: str | None, said: str, day: str, now: str) -> None:
    at = datetime.fromisoformat(said)
    with MemoryBank.open(timezone=zone) as bank:
        for number, moment in enumerate((at - timedelta(days=1), at, at + timedelta(days=1))):
            bank.remember(ANN, [Message(f"I painted thing {number}.", at=moment)], session=f"s{number}")
        bank.remember(ANN, [("user", "I slept.")], session="s1", at=at)
        assert {(turn.at, str(turn.at and turn.at.date())) for turn in bank.turns(ANN, "s1")} == {(at, day)}
        asked = bank.recall(ANN, "What did I paint yesterday?", k=1, now=datetime.fromisoformat(now))
        assert [(hit.kind, hit.memory.session) for hit in asked.hits] == [("relevant", "s1")]


def test_times_without_an_offset_are_of_the_time_zone_of_the_bank() -> None:
    evening = datetime(2025, 6, 10, 22, 30)
    with MemoryBank.open(timezone="Europe/Brussels") as bank:
        bank.remember(ANN, [{"role": "user", "content": "One.", "timestamp": "2025-06-10T22:30"}], session="s")
        bank.remember(ANN, [("user", "Two.")], session="s", at=evening)
        bank.remember(ANN, [Message("Three.", at=evening)], session="s")
        [copied] = pickle.loads(pickle.dumps([replace(Message("Four.", at=evening), id="four")]))
        BackgroundWriter(bank).remember(ANN, [copied], session="s")
        at = evening.replace(tzinfo=timezone(timedelta(hours=2)))
        assert [turn.at for turn in bank.turns(ANN)] == [at] * 4
        assert bank.would_forget(ANN, before=evening) == []
        assert bank.forget(ANN, before=evening + timedelta(minutes=1)) == 4


def test_the_first_and_the_last_moment_there_are_stay_as_they_are() -> None:
    with MemoryBank.open(timezone="Pacific/Kiritimati") as bank:
        last = datetime.max.replace(tzinfo=timezone.utc)
        bank.remember(ANN, [Message("The end.", at=last)], session="s")
        assert [turn.at for turn in bank.turns(ANN)] == [last]


@pytest.mark.parametrize("zone", ["Europe/Bruxelles", "", 2, "../etc/passwd"])
def test_a_time_zone_that_is_none_is_refused_when_the_bank_is_opened(zone: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"a time zone is called by its place, such as .*, got '?{zone}"):
        MemoryBank.open(timezone=zone)
