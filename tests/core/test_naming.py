"""Segments are called by the words that tell them apart, and words of a query are found again in a text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secom_core import MemoryBank
from secom_core.conversation import Message, Turn
from secom_core.drafts.naming import segment_names
from secom_core.memory import Memory
from secom_core.text.matching import matching_spans, query_terms

DOG = [
    "Our dog Biscuit scratches his ears.",
    "The vet says that Biscuit reacts to chicken.",
    "So Biscuit eats salmon now.",
]
KITCHEN = [
    "The worktop should be oak.",
    "Oak needs oil; is terrazzo a better worktop?",
    "The terrazzo worktop comes in July.",
]
TRIP = ["We fly to Ponta Delgada in June.", "Is Ponta Delgada on the big island?"]


def segment(*texts: str, start: int = 0, role: str = "user") -> Memory:
    turns = tuple(Turn((Message(text, role),), "s", start + place) for place, text in enumerate(texts))
    return Memory(f"s#{start}-{start + len(texts)}", "key", turns)


def names(*segments: Memory, most: int = 3) -> list[tuple[str, ...]]:
    return segment_names(segments, most=most)


def test_what_comes_again_in_a_segment_names_it() -> None:
    dog, kitchen = names(segment(*DOG), segment(*KITCHEN, start=3), most=2)
    assert dog[0] == "Biscuit"
    assert kitchen[0] == "worktop"
    assert kitchen[1] in ("oak", "terrazzo")


def test_first_and_last_names_are_one_name() -> None:
    *_, trip = names(segment(*DOG), segment(*TRIP, start=3))
    assert trip[0] == "Ponta Delgada"


def test_words_of_every_conversation_name_nothing() -> None:
    said = ["Thank you so much, that was really good!", "I think we want to do that next week, please."]
    assert names(segment(*said)) == [()]


def test_a_word_that_the_whole_session_holds_tells_less_than_one_of_its_own() -> None:
    one = segment("The Lisbon trip: flights.", "Flights to Lisbon are cheap.")
    other = segment("The Lisbon trip: hotels.", "Hotels in Lisbon are full.", start=2)
    [first, *_], [second, *_] = names(one, other)
    assert (first.lower(), second.lower()) == ("flights", "hotels")


def test_what_the_user_says_counts_more_than_a_long_reply() -> None:
    asked = Turn(
        (Message("How do I graft an apple tree?", "user"), Message("Cut cleanly. Wax helps. " * 50, "assistant")),
        "s",
        0,
    )
    [found] = names(Memory("s#0-1", "key", (asked,)))
    assert {"graft", "apple"} & set(" ".join(found).split())


def test_a_name_is_spelled_as_it_is_there() -> None:
    [found] = names(segment("Wir ziehen nach Köln.", "In Köln ist die Wohnung teuer."), most=1)
    assert found == ("Köln",)


def test_chinese_words_are_told_without_spaces() -> None:
    [found] = names(segment("我们的钢琴要调音。", "钢琴是外婆的。"))
    assert found[0] == "钢琴"


def test_no_address_or_key_is_a_name() -> None:
    [found] = names(segment(f"Look at https://example.org/{'a' * 40} and {'deadbeef' * 8}: kiln, kiln!"))
    assert all(len(word) <= 50 for word in found)
    assert "kiln" in found


@given(st.lists(st.lists(st.text(max_size=80), min_size=1, max_size=3), min_size=1, max_size=4))
def test_any_texts_give_a_name_a_segment_of_words_that_stand_there(texts: list[list[str]]) -> None:
    segments = [segment(*each, start=10 * place) for place, each in enumerate(texts)]
    found = names(*segments)
    assert len(found) == len(segments)
    for memory, words in zip(segments, found, strict=True):
        assert len(words) <= 3
        assert all(part in memory.value for word in words for part in word.split())


@pytest.mark.slow
def test_a_bank_names_the_segments_of_a_session_in_its_own_scope(tmp_path: Path) -> None:
    with MemoryBank.open(str(tmp_path / "memory.db")) as bank:
        for place, texts in enumerate([DOG, KITCHEN]):
            bank.remember(("a",), [("user", text) for text in texts], session=f"s{place}", close=True)
        [found] = [bank.segment_names(("a",), "s0")]
        assert len(found) == len(bank.memories(("a",), "s0"))
        assert "Biscuit" in {word for words in found for word in words}
        assert bank.segment_names(("b",), "s0") == []


# -- words of a query --------------------------------------------------------------------------------------------------


def matched(text: str, query: str) -> list[str]:
    return [text[start:stop] for start, stop in matching_spans(text, query_terms(query, [text]))]


def test_other_forms_of_a_word_match_and_function_words_do_not() -> None:
    assert matched("She was walking the dogs in the park.", "Where does the dog walk?") == ["walking", "dogs"]


def test_a_word_matches_in_the_language_of_the_text() -> None:
    assert matched("Die Wohnungen in Köln sind teuer geworden.", "Wohnung Köln?") == ["Wohnungen", "Köln"]


def test_names_of_code_match_by_the_words_that_they_are_of() -> None:
    assert matched("Call useDebouncedSearch here.", "the debounced search") == ["useDebouncedSearch"]
    assert matched("We met on YouTube.", "the tube") == []


def test_pairs_of_characters_match_in_chinese() -> None:
    assert matched("外婆的钢琴很旧。", "钢琴在哪里？") == ["钢琴"]


@given(st.text(max_size=200), st.text(max_size=60))
def test_matches_stand_in_the_text_in_order_and_do_not_overlap(text: str, query: str) -> None:
    spans = matching_spans(text, query_terms(query, [text]))
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    assert all(0 <= start < stop <= len(text) for start, stop in spans)
