from __future__ import annotations

import math
import time
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from secom_core.conversation import Message, Turn
from secom_core.errors import InvalidInput
from secom_core.memory import Memory
from secom_core.ranking import DENSE, LEXICAL, SIGNALS, STATIC, ScopeIndex
from secom_core.text.terms import count_tokens, terms

AT = datetime(2024, 5, 1, tzinfo=timezone.utc)
WITH_RECENCY = {**LEXICAL, "recency": 0.0}


def turns_of(session: str, *lines: str, start: int = 0) -> list[Turn]:
    """Turns from ``"Ann: Hello"`` lines; without a name nobody speaks."""
    made = []
    for place, line in enumerate(lines, start=start):
        speaker, _, text = line.rpartition(": ")
        message = Message(text, role="", speaker=speaker or None, id=f"{session}-{place}", at=AT)
        made.append(Turn((message,), session, place))
    return made


def memory_of(turns: list[Turn], key: str | None = None) -> Memory:
    text = "\n".join(turn.text for turn in turns)
    return Memory(f"{turns[0].session}#{turns[0].index}-{turns[-1].index + 1}", key or text, tuple(turns))


def put(index: ScopeIndex, turns: list[Turn], *, vectors=None, size: int = 4) -> None:
    """The turns of one session, in memories of ``size`` turns."""
    memories = [memory_of(turns[place : place + size]) for place in range(0, len(turns), size)]
    keys = (
        np.stack([vectors[p : p + size].mean(0) for p in range(0, len(turns), size)]) if vectors is not None else None
    )
    index.add_turns(turns, vectors)
    index.set_memories(turns[0].session, 0, memories, keys)


def index_with(*sessions: list[Turn], weights=None) -> ScopeIndex:
    index = ScopeIndex(dense=False, weights=weights, counter=count_tokens)
    for session in sessions:
        put(index, session)
    return index


def ids(found) -> list[str]:
    return [candidate.turn.id for candidate in found]


TALK = turns_of(
    "s",
    "Ann: I bought a kayak in Lisbon.",
    "Bob: What colour is it?",
    "Ann: Bright orange, you can't miss it.",
    "Bob: My sister repairs violins for the opera.",
    "Ann: How did she learn that?",
    "Bob: Our grandfather taught her when she was nine.",
    "Ann: I should go and cook some dinner now.",
    "Bob: Same here, talk tomorrow.",
)


def test_the_turn_that_holds_the_words_comes_first() -> None:
    assert ids(index_with(TALK).search("Who repairs violins?"))[0] == "s-3"


def test_an_answer_without_the_words_is_found_through_its_question() -> None:
    found = ids(index_with(TALK).search("What colour is the kayak?"))
    assert found.index("s-2") < 3


def test_a_named_speaker_is_preferred_but_nothing_is_filtered() -> None:
    talk = turns_of("s", "Ann: I love jazz music.", "Bob: I love jazz music.", "Ann: So.", "Bob: So.")
    index = index_with(talk)
    assert ids(index.search("Does Ann love jazz?"))[0] == "s-0"
    assert ids(index.search("Does Bob love jazz?"))[0] == "s-1"
    assert {"s-0", "s-1"} <= set(ids(index.search("Does Bob love jazz?")))


def test_a_name_inside_another_word_is_not_meant() -> None:
    index = index_with(TALK, weights={"window_lexical": 1.0, "speaker": 1.0})
    named = {each.signals["speaker"] for each in index.search("Are there bobbins for violins?")}
    assert named == {0.0}


def test_the_name_of_a_tool_is_a_common_word_and_no_speaker() -> None:
    asked, told = Message("How full is the disk?", id="a"), Message("Nearly full.", "assistant", id="c")
    answered = Message("/dev/sda1 97%", "tool", speaker="shell", id="b")
    talk = [Turn((asked, answered, told), "s", 0), *turns_of("s", "Fish runs on the full disk.", start=1)]
    index = index_with(talk, weights={"window_lexical": 1.0, "speaker": 1.0})
    assert {each.signals["speaker"] for each in index.search("Which shell runs on the full disk?")} == {0.0}


def dated(text: str, number: int, at: datetime) -> list[Turn]:
    return [Turn((Message(text, role="", speaker="Ann", id=f"d-{number}", at=at),), f"day{number}", 0)]


def test_a_date_in_the_question_is_a_boost_and_no_filter() -> None:
    said = [datetime(2023, month, 9, tzinfo=timezone.utc) for month in (1, 3, 5, 7)]
    index = index_with(*(dated("We had dinner at the harbour.", place, at) for place, at in enumerate(said)))
    assert ids(index.search("Where did we have dinner on 8 March 2023?"))[0] == "d-1"
    assert ids(index.search("Where did we have dinner in July?"))[0] == "d-3"
    assert ids(index.search("我们三月 dinner 在哪里？ 2023年5月8日"))[0] == "d-2"
    assert len(index.search("Where did we have dinner on 8 March 2023?")) == 4


def test_a_date_counts_from_when_it_is_asked_and_from_when_it_was_said() -> None:
    last, old = datetime(2024, 5, 2, tzinfo=timezone.utc), datetime(2023, 5, 2, tzinfo=timezone.utc)
    index = index_with(dated("The dinner was good.", 0, last), dated("The dinner was good.", 1, old))
    assert ids(index.search("How was the dinner last week?", now=datetime(2024, 5, 8, tzinfo=timezone.utc)))[0] == "d-0"
    assert ids(index.search("How was the dinner last week?", now=datetime(2023, 5, 8, tzinfo=timezone.utc)))[0] == "d-1"
    told = index_with(dated("The dinner two months ago was good.", 0, last), dated("The dinner was good.", 1, last))
    assert ids(told.search("How was the dinner in March 2024?"))[0] == "d-0"


def test_nothing_is_found_where_nothing_speaks_for_a_turn() -> None:
    index = index_with(TALK)
    assert index.search("zzz qqq") == []
    assert index.search("") == []
    assert ScopeIndex(dense=False, counter=count_tokens).search("kayak") == []


def test_one_turn_is_enough() -> None:
    assert ids(index_with(TALK[:1]).search("kayak")) == ["s-0"]


def test_candidates_carry_the_signals_that_make_their_score() -> None:
    for candidate in index_with(TALK).search("Who taught the violin sister?"):
        assert set(candidate.signals) == set(LEXICAL)
        total = sum(LEXICAL[name] * value for name, value in candidate.signals.items())
        assert candidate.score == pytest.approx(total, abs=1e-4)


def said(day: int | None, name: str) -> list[Turn]:
    at = AT + timedelta(days=day) if day is not None else None
    return [Turn((Message("The kayak leaks.", role="", id=name, at=at),), name, 0)]


def recency(index: ScopeIndex, now: datetime | None = None) -> dict[str, float]:
    return {each.turn.session: each.signals["recency"] for each in index.search("kayak", now=now)}


def test_what_was_said_lately_is_recent() -> None:
    index = index_with(said(0, "old"), said(90, "late"), said(99, "last"), said(None, "undated"), weights=WITH_RECENCY)
    found = recency(index)
    assert found["last"] > found["late"] > found["old"]
    assert found["last"] > found["undated"] > found["old"]
    # Ten days are more between the last ten than between the first.
    index = index_with(said(0, "old"), said(10, "older"), said(90, "late"), said(100, "last"), weights=WITH_RECENCY)
    found = recency(index)
    assert found["last"] - found["late"] > 5 * (found["older"] - found["old"]) > 0


def test_recency_counts_from_when_it_is_asked() -> None:
    sessions = said(0, "old"), said(90, "late"), said(100, "last")
    index = index_with(*sessions, weights=WITH_RECENCY)
    assert recency(index) == recency(index, AT + timedelta(days=100))
    back = recency(index, AT + timedelta(days=95))
    assert back["last"] > back["late"] > back["old"]
    assert back["last"] - back["late"] < recency(index)["last"] - recency(index)["late"]
    # Asked before anything was said, all of it is as of today.
    assert set(recency(index, AT - timedelta(days=1)).values()) == {0.0}


def test_a_weight_of_0_is_computed_and_no_weight_is_not() -> None:
    index, plain = index_with(TALK, weights=WITH_RECENCY), index_with(TALK)
    with_, without = index.search("kayak"), plain.search("kayak")
    assert "recency" not in LEXICAL
    assert "recency" not in DENSE
    assert [each.score for each in with_] == [each.score for each in without]
    assert all(
        set(each.signals) - set(other.signals) == {"recency"} for each, other in zip(with_, without, strict=True)
    )


def test_recency_without_dates_says_nothing() -> None:
    index = index_with(said(None, "one"), said(None, "two"), weights=WITH_RECENCY)
    assert set(recency(index).values()) == {0.0}


def test_every_weight_that_ships_is_of_a_known_signal() -> None:
    assert set(LEXICAL) < set(DENSE) == set(STATIC) <= set(SIGNALS)
    with pytest.raises(InvalidInput, match="'turn_lexcial'"):
        ScopeIndex(dense=False, weights={"turn_lexcial": 1}, counter=count_tokens)


@pytest.mark.parametrize("name", sorted(SIGNALS))
def test_each_signal_can_stand_alone(name: str) -> None:
    index = ScopeIndex(dense=True, weights={name: 1.0}, counter=count_tokens)
    put(index, TALK, vectors=hashed([turn.text for turn in TALK]))
    query = "Who repairs violins for Bob since May 2024?"
    found = index.search(query, hashed([query])[0])
    assert found
    assert all(set(candidate.signals) == {name} for candidate in found)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def test_how_a_long_message_of_a_user_begins_comes_before_how_it_goes_on() -> None:
    asked = "Please look at the report of the harbour. "
    filler = "".join(f"Crane {n} lifts crates on pier {n} while gulls circle over the planks. " for n in range(25))
    messages = (Message(f"{asked}{filler}{asked}", "user"), Message(f"{filler}{asked}{filler}", "assistant"))
    index = index_with([Turn(messages, "s", 0, id="long")])
    found = [each for each in index.search("What of the report of the harbour?") if each.passage]
    first, *others = [each for each in found if each.passage and each.passage.place == 0]
    assert first.passage
    assert first.passage.start == 0
    begins = {each.passage.start: each.signals["depth"] for each in (first, *others) if each.passage}
    assert len(begins) > 2
    assert [begins[start] for start in sorted(begins)] == sorted(begins.values())
    # How far into a reply it is counts for nothing.
    assert {each.signals["depth"] for each in found if each.passage and each.passage.place == 1} == {begins[0]}


def test_the_key_is_searched_and_not_the_value() -> None:
    index = ScopeIndex(dense=False, weights={"segment_lexical": 1.0}, counter=count_tokens)
    index.add_turns(TALK, None)
    index.set_memories("s", 0, [memory_of(TALK[:4], "boats"), memory_of(TALK[4:], "family")], None)
    assert index.search("boats")[0].memory.key == "boats"
    assert index.search("family")[0].memory.key == "family"
    assert len({each.score for each in index.search("violins")}) == 1, "a word of the value alone tells nothing"


# -- agreement with a plain computation ---------------------------------------------------------------------------


def test_window_scores_are_those_of_a_plain_computation() -> None:
    words = [terms(turn.text, language="english") for turn in TALK]
    shares = [{near: 1.0 if near == place else 0.5 for near in range(place - 2, place + 3)} for place in range(8)]
    windows = [{near: share for near, share in each.items() if 0 <= near < 8} for each in shares]
    lengths = [sum(share * len(words[near]) for near, share in window.items()) for window in windows]
    query = "Which violins from Lisbon and which dinner did the sister cook?"
    plain = []
    for window, length in zip(windows, lengths, strict=True):
        score = 0.0
        for word in dict.fromkeys(terms(query, language="english")):
            holders = sum(word in unit for unit in words)
            count = sum(share * words[near].count(word) for near, share in window.items())
            held_back = 1.5 * (0.25 + 0.75 * length / np.mean(lengths))
            score += math.log1p((8.5 - holders) / (holders + 0.5)) * 2.5 * count / (count + held_back)
        plain.append(score)
    found = index_with(TALK, weights={"window_lexical": 1.0}).search(query)
    expected = (np.array(plain) - np.mean(plain)) / np.std(plain)
    assert len(found) == 8
    assert {each.turn.index: each.score for each in found} == pytest.approx(dict(enumerate(expected)), abs=1e-5)


def test_windows_do_not_reach_into_other_sessions() -> None:
    index = index_with(turns_of("a", "Ann: kayak kayak kayak"), turns_of("b", "Ann: nothing of the kind"))
    assert ids(index.search("kayak")) == ["a-0"]


# -- change -------------------------------------------------------------------------------------------------------


def same(one: ScopeIndex, two: ScopeIndex, *queries: str) -> None:
    for query in queries:
        got, wanted = one.search(query), two.search(query)
        assert ids(got) == ids(wanted)
        assert [each.score for each in got] == pytest.approx([each.score for each in wanted], abs=1e-4)
        assert [each.memory for each in got] == [each.memory for each in wanted]


QUERIES = ("kayak colour", "Who repairs violins for Bob?", "dinner tomorrow")


def test_turn_by_turn_is_the_same_as_all_at_once() -> None:
    grown = ScopeIndex(dense=False, counter=count_tokens)
    for stop in range(1, len(TALK) + 1):
        grown.add_turns(TALK[stop - 1 : stop], None)
        since = (stop - 1) // 4 * 4
        grown.set_memories("s", since, [memory_of(TALK[since:stop])], None)
    same(grown, index_with(TALK), *QUERIES)


def test_two_sessions_that_grow_at_once() -> None:
    other = turns_of("t", "Cleo: My kayak leaks.", "Dan: Did you patch it?", "Cleo: Twice.", "Dan: Hm.")
    grown = ScopeIndex(dense=False, counter=count_tokens)
    for pair in zip(TALK[:4], other, strict=True):
        grown.add_turns(pair, None)
    for session in (TALK[:4], other):
        grown.set_memories(session[0].session, 0, [memory_of(session)], None)
    plain = index_with(TALK[:4], other)
    assert set(ids(grown.search("kayak patch"))) == set(ids(plain.search("kayak patch")))
    assert grown.search("patch")[0].score == pytest.approx(plain.search("patch")[0].score, abs=1e-4)


def test_a_turn_that_grew_replaces_itself() -> None:
    index = index_with(TALK)
    grown = Turn((*TALK[3].messages, Message("She also restores harpsichords.", "assistant")), "s", 3, TALK[3].id)
    changed = [*TALK[:3], grown, *TALK[4:]]
    index.add_turns([grown], None)
    index.set_memories("s", 0, [memory_of(changed[:4]), memory_of(changed[4:])], None)
    same(index, index_with(changed), *QUERIES, "harpsichords")
    assert index.search("harpsichords")[0].turn == grown


def test_a_turn_without_a_memory_is_not_shown() -> None:
    index = index_with(TALK[:4])
    index.add_turns(TALK[4:], None)
    assert set(ids(index.search("grandfather taught violins kayak"))) <= {turn.id for turn in TALK[:4]}


# -- vectors ------------------------------------------------------------------------------------------------------


def hashed(texts: list[str]) -> np.ndarray:
    """One seeded direction a word: near texts are near."""
    rows = np.zeros((len(texts), 64))
    for row, text in zip(rows, texts, strict=True):
        for word in terms(text):
            row += np.random.default_rng(sum(map(ord, word))).standard_normal(64)
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype(np.float32)


def test_a_turn_with_no_word_in_common_is_found_by_its_vector() -> None:
    vectors = np.eye(8, dtype=np.float32)
    index = ScopeIndex(dense=True, counter=count_tokens)
    put(index, TALK, vectors=vectors)
    assert ids(index.search("zzz", vectors[5]))[0] == "s-5"


def test_without_the_querys_vector_the_search_is_by_words() -> None:
    index = ScopeIndex(dense=True, counter=count_tokens)
    put(index, TALK, vectors=hashed([turn.text for turn in TALK]))
    same(index, index_with(TALK), *QUERIES)


def test_dense_weights_alone_fall_back_to_words_without_a_vector() -> None:
    index = ScopeIndex(dense=True, weights={"segment_dense": 1.0}, counter=count_tokens)
    put(index, TALK, vectors=hashed([turn.text for turn in TALK]))
    assert ids(index.search("Who repairs violins?"))[0] == "s-3"


def test_neighbours_cosines_are_averaged_over_those_that_exist() -> None:
    vectors = np.eye(8, dtype=np.float32)
    index = ScopeIndex(dense=True, weights={"window_dense": 1.0}, counter=count_tokens)
    put(index, TALK, vectors=vectors)
    found = {each.turn.index: each.score for each in index.search("x", vectors[0])}
    raw = np.array([1 / 3, 1 / 4, 1 / 5])
    expected = (raw - raw.mean()) / raw.std()
    assert [found[place] for place in range(3)] == pytest.approx(expected.tolist(), abs=1e-5)


# -- languages and size -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "query"),
    [
        ("小明: 我在里斯本买了一艘皮划艇。", "小明买了什么皮划艇？"),
        ("ミカ: 京都で赤いカヤックを買いました。", "カヤックの色は？"),
        ("민수: 나는 부산에서 카약을 샀어요.", "카약을 어디서 샀어?"),
        ("Олег: Я купил байдарку в Казани.", "Где Олег купил байдарку?"),
    ],
)
def test_any_script(line: str, query: str) -> None:
    talk = turns_of("s", "Ann: Hello there.", line, "Ann: That is nice.", "Ann: Good night then.")
    assert ids(index_with(talk).search(query))[0] == "s-1"


@pytest.mark.slow
def test_search_and_addition_in_a_large_scope() -> None:
    rng = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(3000)])

    def filled(size: int) -> ScopeIndex:
        index = ScopeIndex(dense=False, counter=len)
        for session in range(size // 20):
            lines = [" ".join(words[rng.zipf(1.3, 8) % 3000]) for _ in range(20)]
            put(index, turns_of(f"s{session}", *lines))
        return index

    def fastest(action, times: int = 7) -> float:
        taken = []
        for number in range(times):
            begin = time.perf_counter()
            action(number)
            taken.append(time.perf_counter() - begin)
        return min(taken)

    small, large = filled(400), filled(8000)

    def adding(index: ScopeIndex):
        return lambda number: put(index, turns_of(f"new{number}", "one more turn with w1 w2 w3"))

    assert fastest(adding(large)) < 5 * fastest(adding(small)) + 0.002
    assert fastest(lambda _: large.search("w1000 w2000 w17 w5")) < 0.05
    assert len(large.search("w1 w2 w3", limit=50)) == 50


def test_what_users_say_is_looked_at_however_much_their_assistant_says() -> None:
    """Hundreds of passages of replies hold more of the words than anything the user said of them."""
    said = [f"I had lunch with {name}da, who wants to paint the harbour's sheds." for name in "AEIOUY"]
    turns = []
    for place, text in enumerate(said):
        steps = [f"Step {place}.{each}: mind the harbour, the wind and the tide {each}. " * 4 for each in range(150)]
        messages = (
            Message(text, "user", id=f"u{place}", at=AT),
            Message("\n\n".join(steps), "assistant", id=f"a{place}"),
        )
        turns.append(Turn(messages, "s", place))
    found = index_with(turns).search("the harbour, the wind and the tide", limit=100, budget=10**9)
    assert {each.passage.text for each in found if each.passage and each.passage.place == 0} == {*said}
