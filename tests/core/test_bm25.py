"""BM25 on text: the oracle's scores, mixed languages, cost."""

from __future__ import annotations

import gc
import json
import random
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lexical_oracle import oracle

from secom_core.indexes import growing_postings
from secom_core.indexes.bm25 import BM25
from secom_core.indexes.growing_postings import GrowingPostings, apart
from secom_core.text.terms import terms

LOCOMO = Path(__file__).parents[2].parent / "shared" / "data" / "locomo"

CHAT = [
    "Hi! How was your weekend?",
    "Great, we went hiking in the Dolomites and saw two marmots.",
    "Marmots! I have never seen one. Did you take the dog with you?",
    "Yes, Biscuit loved it, although the long hike made her paws sore.",
    "Poor Biscuit. By the way, my job interview at the museum is on Friday.",
    "Good luck with the interview! Which museum is it?",
    "The maritime museum. I would run their education programme.",
    "You ran the school workshops for years, you will be perfect.",
    "",
    "...",
    "Thanks, that is kind of you!",
]


def scores_of(index: BM25, query: str | list[str]) -> dict[int, float]:
    return dict(zip(*(each.tolist() for each in index.scores(query)), strict=True))


def oracle_scores(corpus: list[list[str]], query: list[str]) -> dict[int, float]:
    scores = oracle(corpus).get_scores(list(dict.fromkeys(query)))
    return {place: score for place, score in enumerate(scores.tolist()) if score}


def index_of(texts: list[str]) -> BM25:
    index = BM25()
    index.add(range(len(texts)), texts)
    return index


def test_scores_are_the_oracles_on_random_tokens() -> None:
    random = np.random.default_rng(3)
    corpus = [[f"t{place}" for place in random.zipf(1.3, size=random.integers(1, 30)) % 200] for _ in range(300)]
    index = BM25()
    index.add(range(300), corpus)
    for _ in range(40):
        query = [f"t{place}" for place in random.zipf(1.2, size=8) % 220]
        assert scores_of(index, query) == pytest.approx(oracle_scores(corpus, query), rel=1e-12)


def test_scores_are_the_oracles_on_talk() -> None:
    index, corpus = index_of(CHAT), [terms(text) for text in CHAT]
    for query in ["Where did they hike?", "museum interview", "the dog", "nothing shared", "Biscuit Biscuit paws"]:
        assert scores_of(index, query) == pytest.approx(oracle_scores(corpus, terms(query)), rel=1e-12)


def test_scores_are_the_oracles_on_locomo() -> None:
    if not LOCOMO.is_dir():
        pytest.skip("the LoCoMo files are not beside the project")
    conversation = json.loads(sorted(LOCOMO.glob("*.json"))[0].read_text())
    talk = conversation.get("conversation", conversation)
    names = [f"session_{number}" for number in range(1, 40)]
    texts = [turn["text"] for name in names for turn in talk.get(name) or []]
    index, corpus = index_of(texts), [terms(text) for text in texts]
    assert len(texts) > 100
    for question in [entry["question"] for entry in conversation["qa"][:40]]:
        assert scores_of(index, question) == pytest.approx(oracle_scores(corpus, terms(question)), rel=1e-12)


def test_a_word_that_every_unit_holds_still_counts_for_something() -> None:
    index = BM25()
    index.add(range(5), [["common", f"rare{number}"] for number in range(5)])
    common, rare = index.words(["common"]), index.words(["rare1"])
    assert 0 < common.idf[0] < rare.idf[0]
    assert len(index.words(["unseen"])) == len(index.words(["unseen"]).ids) == 0


def test_a_word_of_the_query_counts_once_and_the_rarest_come_first() -> None:
    index = index_of(CHAT)
    assert scores_of(index, "hike hike") == scores_of(index, "hike") != {}
    weights = index.words("the museum interview on Friday").idf.tolist()
    assert len(weights) > 2
    assert weights == sorted(weights, reverse=True)


def test_of_a_page_only_its_rarest_words_are_looked_up() -> None:
    index = BM25()
    corpus = [[f"w{place}" for place in range(unit + 1)] for unit in range(100)]
    index.add(range(100), corpus)
    words = index.words([f"w{place}" for place in range(100)])
    assert np.bincount(words.numbers).tolist() == list(range(1, 65))


def test_units_that_share_no_term_are_not_found() -> None:
    index = index_of(CHAT)
    assert {unit for unit, _ in index.search("museum", 99)} == {4, 5, 6}
    assert index.search("what was it about?", 5) == []
    assert index.search("", 5) == []


def test_statistics_follow_the_units() -> None:
    index = index_of(CHAT)
    assert (index.total, index.frequency("museum"), index.frequency("walrus")) == (11, 3, 0)
    index.add([4], ["museum museum"])
    assert (index.total, index.frequency("museum")) == (11, 3)
    index.remove([4, 5])
    assert (index.total, index.frequency("museum")) == (9, 1)


MANY_TONGUES = {
    0: "We watched the whales from the harbour and the children were running along the pier.",
    1: "Ich habe gestern mit den Kindern im Garten gespielt und dann haben wir die Katzen gefüttert.",
    2: "Nous avons mangé de l'ail et des champignons dans le restaurant de ma tante à Lyon.",
    3: "Mañana tengo que llevar los gatos al veterinario porque están muy enfermos.",
    4: "周末我和妈妈去了杭州西湖，天气很好，我们还喝了龙井茶。",
    5: "昨日、友達と京都の金閣寺を見に行きました。とても綺麗でした。",
    6: "지난주에 부산에서 해산물을 많이 먹었어요. 정말 맛있었습니다.",
    7: "Вчера мы ездили на дачу и собирали грибы вместе с дедушкой.",
    8: "เมื่อวานฉันไปตลาดน้ำกับแม่และซื้อมะม่วง",
    9: "ذهبنا إلى المكتبة واشترينا كتبا جديدة للأطفال",
    10: "कल हमने दिल्ली में लाल किले की यात्रा की और मिठाई खाई।",
    11: "Χθες πήγαμε στη θάλασσα με τα παιδιά και φάγαμε ψάρια.",
    12: "我的新 laptop 是 ThinkPad，上周在公司买的。",
}


@pytest.mark.parametrize(
    ("query", "unit"),
    [
        ("Who ran along the pier?", 0),
        ("whale", 0),
        ("Katze füttern", 1),
        ("gefuttert", 1),
        ("ail", 2),
        ("champignon à Lyon", 2),
        ("gato enfermo", 3),
        ("manana", 3),
        ("西湖在哪里？", 4),
        ("龙井", 4),
        ("金閣寺はどうでしたか", 5),
        ("부산 해산물", 6),
        ("부산에 갔어요?", 6),
        ("гриб", 7),
        ("дача", 7),
        ("ซื้อมะม่วงที่ไหน", 8),
        ("كتاب المكتبة", 9),
        ("दिल्ली की यात्रा", 10),
        ("ψάρι", 11),
        ("ThinkPads", 12),
        ("laptop 是什么", 12),
    ],
)
def test_many_tongues_in_one_bank_are_found_by_their_words(query: str, unit: int) -> None:
    index = BM25()
    index.add(list(MANY_TONGUES), list(MANY_TONGUES.values()))
    assert index.search(query, 1)[0][0] == unit


def test_a_word_looked_up_in_two_languages_counts_once() -> None:
    english = ["The generals were running the museum for us and it was good", "We had no time for that at all"] * 20
    german = ["Die Katzen und die Hunde sind nicht in der Schule", "Wir haben das Museum nicht mit den Kindern gesehen"]
    index = BM25()
    index.add(range(60), english + german * 10)
    assert set(index.languages) == {"english", "german"}
    # "museum" is one and the same stem in both, "running" is not: neither may count twice.
    for word, stem in [("museum", "museum"), ("running", "run")]:
        assert scores_of(index, word) == pytest.approx(scores_of(index, [stem]))
    # Nor does a unit that holds both variants of a word get both.
    index.add([99], [["run", "running"]])
    words = index.words("running")
    assert words.counts[words.ids == 99].tolist() == [1]


def test_a_rare_language_is_looked_up_too_but_for_what_is_a_function_word_elsewhere() -> None:
    index = BM25()
    index.add(range(99), ["The cats are in the garden with the dogs"] * 99)
    index.add([100], ["Die Katzen sind nicht in der Schule"])
    assert index.languages["german"] == pytest.approx(0.01)
    assert [unit for unit, _ in index.search("Schulen", 3)] == [100]
    assert [unit for unit, _ in index.search("Was ist mit den Schulen?", 3)] == [100]
    # "are" and "with" are words of their own in German.
    assert index.search("are with", 3) == []


def test_a_message_that_seems_to_be_in_a_neighbouring_language_is_found_by_its_words() -> None:
    german = "Wir haben die Fahrräder nicht mit in den Keller genommen, weil es zu spät war"
    message = "hier die schlafmatte, statt 120 nur 80"
    index = BM25()
    index.add(range(60), [german] * 60)
    index.add([60], [message])
    # By its function words it could be either, and it is stemmed as Dutch.
    assert index.languages == {"german": pytest.approx(60 / 61), "dutch": pytest.approx(1 / 61)}
    assert [unit for unit, _ in index.search("Schick mir den Link zur Schlafmatte", 1)] == [60]


def test_languages_are_forgotten_with_their_units() -> None:
    index = BM25()
    index.add([1, 2, 3], ["Das ist nicht die Katze", "What is that?", ["tokens"]])
    assert index.languages == {"german": 0.5, "english": 0.5}
    index.remove([1])
    assert index.languages == {"english": 1.0}
    index.add([2], [["tokens"]])
    assert index.languages == {}
    assert index.search("tokens", 5) == []
    assert index.search("token", 5) == []
    assert [unit for unit, _ in index.search(["tokens"], 5)] == [2, 3]


@pytest.mark.slow
def test_adding_costs_the_same_in_a_large_bank() -> None:
    random = np.random.default_rng(0)
    units = [[f"t{place}" for place in random.zipf(1.3, size=15) % 3000] for _ in range(20_000)]

    def fastest(size: int) -> float:
        index = BM25()
        index.add(range(size), units[:size])
        times = []
        for step in range(200):
            begin = time.perf_counter()
            index.add([size + step], [units[step]])
            times.append(time.perf_counter() - begin)
        return sorted(times)[50]

    assert fastest(20_000) < 5 * fastest(200)


def test_the_garbage_collector_has_no_term_to_look_at() -> None:
    index, rng = BM25(), random.Random(3)
    units = [[f"{rng.random()}" for _ in range(20)] for _ in range(300)]
    gc.collect()
    before = len(gc.get_objects())
    index.add(range(len(units)), units)
    gc.collect()
    assert len(gc.get_objects()) - before < 600, "6,000 terms in 300 units"
    index.remove(range(0, 300, 2))
    assert index.search([units[0][0], units[1][0]], 5)[0][0] == 1


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from("ab"), st.integers(1, 9)), max_size=60),
    st.sampled_from([0, 2, 512]),
)
def test_postings_are_those_of_the_units_that_are_left(steps: list[tuple[bool, str, int]], late: int) -> None:
    with patch.object(growing_postings, "_LATE", late):
        check_postings(steps)


def check_postings(steps: list[tuple[bool, str, int]]) -> None:
    postings, held = GrowingPostings(), {"a": dict[int, int](), "b": dict[int, int]()}
    for slot, (comes, term, count) in enumerate(steps):
        if comes:
            postings.append(term, slot, count)
            held[term][slot] = count
        elif held[term]:
            gone = list(held[term])[count % len(held[term])]
            postings.discard(term, gone)
            del held[term][gone]
    for term, of_term in held.items():
        slots, counts = postings.of(term)
        assert (slots.tolist(), counts.tolist()) == (list(of_term), list(of_term.values()))
        assert postings.units(term) == len(of_term)
        assert [postings.count(term, slot) for slot in of_term] == list(of_term.values())
        whole = postings.whole(term)
        assert whole is None or apart(whole)[0].tolist() == list(of_term)
    _, entries = postings.joined()
    assert sorted(map(tuple, entries.tolist())) == sorted(each for of in held.values() for each in of.items())
    assert postings.entries <= 2 * sum(map(len, held.values()))
