"""The dialogue before a query weighs in, most where the query cannot be read alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from secom_core.bank import MemoryBank
from secom_core.bank.asked import Asked, cut, parted
from secom_core.conversation import Message
from secom_core.errors import InvalidInput
from secom_core.ranking import LEANT_ON, weighted_context
from secom_core.testing import ScriptedEmbedder
from secom_core.text.intents import leans
from secom_core.text.people import is_of_another, names_people

SCOPE = ("acme", "alice")
AT = datetime(2024, 5, 6, tzinfo=timezone.utc)

FAMILY = {
    "english": [
        "My sister Mara lives in Ghent and paints boats.",
        "My brother Jonas lives in Lisbon and bakes bread.",
        "The dentist has moved to Harbour Street.",
        "I would like to grow tomatoes on the balcony.",
    ],
    "german": [
        "Meine Schwester Mara wohnt in Gent und bemalt Boote.",
        "Mein Bruder Jonas wohnt in Lissabon und backt Brot.",
        "Der Zahnarzt ist in die Hafenstraße gezogen.",
        "Ich möchte auf dem Balkon Tomaten ziehen.",
    ],
    "chinese": [
        "我姐姐小梅住在根特，她给船画画。",
        "我弟弟小军住在里斯本，他烤面包。",
        "牙医搬到港口街去了。",
        "我想在阳台上种番茄。",
    ],
    "spanish": [
        "Mi madre Mara vive en Gante y pinta barcos.",
        "Mi padre Jonás vive en Lisboa y hace pan.",
        "El dentista se ha mudado a la calle del Puerto.",
        "Me gustaría cultivar tomates en el balcón.",
    ],
    "french": [
        "Ma sœur Inès habite à Gand et peint des bateaux.",
        "Mon frère Jonas habite à Lisbonne et fait du pain.",
        "Le dentiste a déménagé rue du Port.",
        "Je voudrais cultiver des tomates sur le balcon.",
    ],
    "italian": [
        "Mia sorella Mara vive a Gand e dipinge barche.",
        "Mio fratello Jonas vive a Lisbona e fa il pane.",
        "Il dentista si è trasferito in via del Porto.",
        "Vorrei coltivare pomodori sul balcone.",
    ],
    "japanese": [
        "姉の舞はゲントに住んでいて、船に絵を描いています。",
        "弟の翔はリスボンに住んでいて、パンを焼いています。",
        "歯医者が港通りに移りました。",
        "ベランダでトマトを育てたいです。",
    ],
    "korean": [
        "우리 누나 마라는 겐트에 살고 배에 그림을 그려요.",
        "우리 남동생 요나스는 리스본에 살고 빵을 구워요.",
        "치과가 항구길로 옮겼어요.",
        "베란다에서 토마토를 키우고 싶어요.",
    ],
}
QUESTIONS = {
    "english": ("What does my {} do for a living?", "And where does {} live?", ("sister", "she"), ("brother", "he")),
    "german": (
        "Was macht {} beruflich?",
        "Und wo wohnt {}?",
        ("meine Schwester", "sie"),
        ("mein Bruder", "er"),
    ),
    "chinese": ("我{}做什么工作？", "那{}住在哪里？", ("姐姐", "她"), ("弟弟", "他")),
}
PLACES = {"english": ("Ghent", "Lisbon"), "german": ("Gent", "Lissabon"), "chinese": ("根特", "里斯本")}


def remember(bank: MemoryBank, texts: Sequence[str]) -> None:
    for number, text in enumerate(texts):
        said = [{"role": "user", "content": text}, {"role": "assistant", "content": "OK."}]
        bank.remember(SCOPE, said, session=f"s{number}", at=AT + timedelta(days=number), close=True)


def said(*texts: str) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    return [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]


@pytest.mark.parametrize("embedder", [None, ScriptedEmbedder(4096)], ids=["words", "vectors"])
@pytest.mark.parametrize("whom", [0, 1])
@pytest.mark.parametrize("language", QUESTIONS)
def test_the_person_spoken_of_is_the_one_that_is_found(language: str, whom: int, embedder: Any) -> None:
    asked, then, *people = QUESTIONS[language]
    noun, pronoun = people[whom]
    with MemoryBank.open(embedder=embedder) as bank:
        remember(bank, FAMILY[language])
        context = said(asked.format(noun), "…")
        recall = bank.recall(SCOPE, then.format(pronoun), token_budget=1000, context=context)
        best, other = PLACES[language][whom], PLACES[language][1 - whom]
        of = {place: max(hit.score for hit in recall.hits if place in hit.text) for place in (best, other)}
        assert of[best] > of[other]
        assert best in bank.recall(SCOPE, then.format(pronoun), token_budget=70, context=context).text


def test_tell_me_more_is_about_what_was_spoken_of() -> None:
    with MemoryBank.open() as bank:
        remember(bank, FAMILY["english"])
        context = said("What about my tomatoes on the balcony?", "They need sun.")
        found = bank.recall(SCOPE, "Tell me more.", context=context, only_relevant=True)
        assert "tomatoes" in found.ranked[0].text


def test_messages_and_dicts_are_the_same_context_and_anything_else_is_none() -> None:
    with MemoryBank.open() as bank:
        remember(bank, FAMILY["english"])
        as_dicts = said("What does my sister do?", "She paints.")
        as_messages = [Message(each["content"], role=each["role"]) for each in as_dicts]
        query = "And where does she live?"
        one, two = (bank.recall(SCOPE, query, context=each) for each in (as_dicts, as_messages))
        assert one == two
        with pytest.raises(InvalidInput):
            bank.recall(SCOPE, query, context=[42])  # type: ignore[list-item]


def test_a_context_that_ends_with_the_query_is_the_context_before_it() -> None:
    query = "And where does she live?"
    before = [Message("What does my sister do?"), Message("She paints.", role="assistant")]
    assert weighted_context(query, [*before, Message(query)]) == weighted_context(query, before)
    assert weighted_context(query, [*before, Message(f" {query}\n"), Message(" ")]) == weighted_context(query, before)
    with MemoryBank.open() as bank:
        remember(bank, FAMILY["english"])
        one, two = (bank.recall(SCOPE, query, context=each) for each in (before, [*before, Message(query)]))
        assert one == two


def test_what_was_recalled_before_is_no_part_of_the_dialogue() -> None:
    with MemoryBank.open() as bank:
        remember(bank, FAMILY["english"])
        query, asked = "And where does she live?", "What does my sister do?"
        block = bank.recall(SCOPE, "Where is the dentist, and who bakes bread in Lisbon?").text
        assert "Lisbon" in block
        plain = bank.recall(SCOPE, query, context=said(asked, "She paints boats."))
        within = bank.recall(SCOPE, query, context=said(f"{block}\n{asked}", "She paints boats."))
        assert within.hits == plain.hits


@pytest.mark.parametrize("embedder", [None, ScriptedEmbedder(4096)], ids=["words", "vectors"])
def test_a_question_that_stands_alone_is_not_led_astray(embedder: Any) -> None:
    with MemoryBank.open(embedder=embedder) as bank:
        remember(bank, FAMILY["english"])
        thread = said(
            "I would like to talk about tomatoes on the balcony.", "Gladly! Tomatoes on a balcony want sun.",
            "How often do tomatoes on the balcony want water?", "Tomatoes want water twice a day on a balcony.",
        )  # fmt: skip
        query = "Which street has the dentist moved to?"
        found = bank.recall(SCOPE, query, context=thread, token_budget=60)
        assert "Harbour Street" in found.text
        assert "Harbour" in bank.recall(SCOPE, query, context=thread).ranked[0].text


def test_the_nearer_the_more_and_a_reply_less_than_a_question() -> None:
    before = [Message(text, role=role) for text, role in (
        ("The first boat", "user"), ("one", "assistant"), ("The second boat", "user"), ("two", "assistant"),
        ("The third boat", "user"), ("three", "assistant"), ("The fourth boat", "user"), ("four", "assistant"),
    )]  # fmt: skip
    weights = dict(weighted_context("And she?", before))
    assert list(weights) == ["four", "The fourth boat", "three", "The third boat", "two", "The second boat"]
    assert weights["The fourth boat"] > weights["The third boat"] > weights["The second boat"] > 0
    assert weights["The fourth boat"] > weights["four"] >= LEANT_ON
    alone = dict(weighted_context("Where is the dentist of my sister Mara?", before))
    assert max(alone.values()) < LEANT_ON
    assert weighted_context("And she?", []) == []


def test_a_question_that_leans_hands_on_what_it_leans_on() -> None:
    with MemoryBank.open() as bank:
        remember(bank, FAMILY["english"])
        thread = said("What does my sister do?", "She paints.", "And where?", "By the water.")
        found = bank.recall(SCOPE, "Tell me more.", context=thread, only_relevant=True)
        assert "sister" in found.ranked[0].text


def test_a_question_with_words_of_its_own_outweighs_what_it_points_back_to() -> None:
    with MemoryBank.open() as bank:
        bank.remember(
            SCOPE, [{"role": "user", "content": "For the arch we took lime mortar."}], session="a", close=True
        )
        for place in range(6):
            text = (
                f"The roof of hall {place} has slates, gutters, rafters and a ridge, and copper nails hold the slates."
            )
            bank.remember(SCOPE, [{"role": "user", "content": text}], session=f"b{place}", close=True)
        reply = "Slates want copper nails; rafters carry the ridge, and gutters run along the roof of every hall." * 3
        thread = said("What about the slates on the roof of hall 4?", reply)
        assert "lime" in bank.recall(SCOPE, "Which mortar is it for the arch?", context=thread).ranked[0].text


class Listening(ScriptedEmbedder):
    """Keeps what it was asked to embed."""

    def __init__(self) -> None:
        super().__init__(256)
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.asked.append(list(texts))
        return super().embed(texts)


def test_vectors_of_query_and_context_are_mixed_where_the_query_leans() -> None:
    embedder = Listening()
    with MemoryBank.open(embedder=embedder) as bank:
        remember(bank, FAMILY["english"])
        embedder.asked.clear()
        context = said("What does my sister Mara do?", "She paints.")
        bank.recall(SCOPE, "And where does she live?", context=context)
        [[query, *more]] = embedder.asked
        assert query == "And where does she live?"
        assert set(more) == {"What does my sister Mara do?", "She paints."}
        embedder.asked.clear()
        bank.recall(SCOPE, "Which street has the dentist moved to?", context=context)
        assert embedder.asked == [["Which street has the dentist moved to?"]]
        mixed = bank._inside.derivation.query_vector("a", [("b", 0.5)])
        assert mixed is not None
        assert np.linalg.norm(mixed) == pytest.approx(1.0)
        one, two = ScriptedEmbedder(256).embed(["a", "b"])
        assert mixed @ one > mixed @ two > 0


def test_a_context_of_odd_messages_does_no_harm() -> None:
    with MemoryBank.open() as bank:
        remember(bank, FAMILY["english"])
        query = "Which street has the dentist moved to?"
        for context in ([], [Message("")], [Message("?!"), Message("\n")], [Message("", role="tool")] * 30):
            assert bank.recall(SCOPE, query, context=context) == bank.recall(SCOPE, query)


@pytest.mark.slow
@pytest.mark.parametrize("query", ["x" * 200_000, "好" * 200_000, "Ann" * 70_000], ids=["x", "chinese", "names"])
def test_a_follow_up_that_is_one_long_word_is_searched_for_in_time(query: str) -> None:
    context = said("What does my sister do?", "She paints boats.")
    with MemoryBank.open() as bank:
        remember(bank, FAMILY["english"])
        began = time.perf_counter()
        found = bank.recall(SCOPE, query, context=context)
        assert time.perf_counter() - began < 5
        assert bank.recall(SCOPE, query, context=[*context, Message(query)]).hits == found.hits


PEOPLE = (
    "My sister Lena lives in Porto and works as a nurse.",
    "My brother Tom lives in Oslo and works as a carpenter.",
    "My boss Petra lives in Ghent and is allergic to nuts.",
    "My neighbour Ahmed has two goats.",
)
TOM = said("Where does Tom live?", "Your brother Tom lives in Oslo.")
BOTH = said("Tell me about Lena.", "She is a nurse in Porto.", "And Tom?", "He is a carpenter in Oslo.")


@pytest.mark.parametrize(
    ("context", "query", "found"),
    [
        (TOM, "And my sister?", "Porto"),
        (TOM, "And Lena?", "Porto"),
        (TOM, "my sister, where?", "Porto"),
        (TOM, "And my boss?", "Ghent"),
        (TOM, "Where does Lena live?", "Porto"),
        (said("Where does my brother live?", "In Oslo."), "And my sister?", "Porto"),
        (said("What is Petra allergic to?", "Nuts."), "And where does my sister live?", "Porto"),
        (BOTH, "And where does she live?", "Porto"),
        (BOTH, "And her job?", "Porto"),
        (BOTH, "Where does he live?", "Oslo"),
    ],
)
def test_who_is_named_in_a_follow_up_comes_before_who_was_talked_about(
    context: list[dict[str, str]], query: str, found: str
) -> None:
    with MemoryBank.open() as bank:
        remember(bank, PEOPLE)
        assert found in bank.recall(SCOPE, query, k=1, context=context).text


@pytest.mark.parametrize(
    ("language", "asked", "answered", "query", "found"),
    [
        ("german", "Wo wohnt mein Bruder?", "Dein Bruder Jonas wohnt in Lissabon.", "Und meine Schwester?", "Gent"),
        ("german", "Wo wohnt Jonas?", "In Lissabon.", "Und Mara?", "Gent"),
        ("chinese", "我弟弟住在哪里？", "你弟弟小军住在里斯本。", "我姐姐呢？", "根特"),
        ("spanish", "¿Dónde vive mi padre?", "Tu padre Jonás vive en Lisboa.", "¿Y mi madre?", "Gante"),
        ("french", "Où habite mon frère ?", "Ton frère Jonas habite à Lisbonne.", "Et ma sœur ?", "Gand"),
        ("french", "Où habite Jonas ?", "À Lisbonne.", "Et Inès ?", "Gand"),
        ("french", "Que fait Jonas ?", "Jonas fait du pain.", "Il habite où ?", "Lisbonne"),
        ("italian", "Dove vive mio fratello?", "Tuo fratello Jonas vive a Lisbona.", "E mia sorella?", "Gand"),
        ("japanese", "弟はどこに住んでいますか？", "弟の翔さんはリスボンに住んでいます。", "姉は？", "ゲント"),
        ("korean", "남동생은 어디에 살아?", "남동생 요나스는 리스본에 살아요.", "누나는?", "겐트"),
    ],
)
def test_who_is_named_comes_first_in_other_languages(
    language: str, asked: str, answered: str, query: str, found: str
) -> None:
    with MemoryBank.open() as bank:
        remember(bank, FAMILY[language])
        assert found in bank.recall(SCOPE, query, k=1, context=said(asked, answered)).text


PAPER = "\n".join(f"The harbour of town {n} has a dentist, and a baker who grows tomatoes." for n in range(60))


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize(
    "question", ["Where does my sister Mara live?", "By the way, where does Mara live?", "玛拉住在哪里？"]
)
def test_beside_what_is_pasted_the_question_decides(question: str, where: str, gap: str) -> None:
    text = f"{PAPER}{gap}{question}" if where == "before" else f"{question}{gap}{PAPER}"
    assert parted(text) == (question, PAPER)
    assert Asked.of(text) == Asked.of(question)


@pytest.mark.parametrize(
    "text",
    [
        PAPER,
        f"{PAPER}\n\nThanks a lot.",
        f"{PAPER}\n\n{'My sister is away, and I wonder about her cat, ' * 9} who feeds it?",
        "What is this?\n\nWhere does Mara live?",
        "?" * 3000,
        " " * 3000,
    ],
    ids=["a paper", "no question", "a long question", "short", "marks", "nothing"],
)
def test_a_text_that_asks_nothing_of_its_own_is_searched_for_as_it_is(text: str) -> None:
    assert parted(text) == (text, "")


def test_a_question_about_what_is_pasted_leans_on_it() -> None:
    [(text, weight)] = Asked.of(f"{PAPER}\n\nWhat is it about?").context
    assert text == cut(PAPER)
    assert weight >= LEANT_ON


def test_a_question_beside_what_is_pasted_finds_what_it_finds_alone() -> None:
    with MemoryBank.open() as bank:
        for number, said in enumerate([*FAMILY["english"], "On 2 May 2024 I met Olga."]):
            bank.remember(SCOPE, [Message(said, at=AT + timedelta(days=number))], session=f"s{number}")
        paper = f"{PAPER}\nOn 2 May 2024 it rained.\n\n"
        [alone] = bank.recall(SCOPE, "Where does Mara live?", k=1).turns
        [beside] = bank.recall(SCOPE, f"{paper}Where does Mara live?", k=1).turns
        assert beside == alone


TWO = {
    "english": (
        "What does my sister paint?",
        "Mara paints boats.",
        "What does my brother bake?",
        "Bread.",
        "Where is she?",
    ),
    "spanish": ("¿Qué pinta mi madre?", "Mara pinta barcos.", "¿Qué hace mi padre?", "Pan.", "¿Y ella?"),
    "french": ("Que peint ma sœur ?", "Inès peint des bateaux.", "Que fait mon frère ?", "Du pain.", "Et elle ?"),
    "italian": ("Cosa dipinge mia sorella?", "Mara dipinge barche.", "Cosa fa mio fratello?", "Il pane.", "E lei?"),
    "japanese": ("姉は何を描く？", "船の絵です。", "弟は何を焼く？", "パンです。", "彼女はどこ？"),
    "korean": ("누나는 뭘 그려?", "배에 그림을 그려요.", "남동생은 뭘 구워?", "빵을 구워요.", "그녀는 어디에 있어?"),
}


@pytest.mark.parametrize("language", TWO)
def test_a_question_about_a_woman_passes_over_the_man_who_was_spoken_of_last(language: str) -> None:
    *context, query = TWO[language]
    with MemoryBank.open() as bank:
        remember(bank, FAMILY[language])
        first = bank.recall(SCOPE, query, k=1, context=said(*context)).hits[0]
    assert first.turns[0].messages[0].text == FAMILY[language][0]


def test_an_article_or_a_word_without_meaning_is_no_man() -> None:
    assert not is_of_another("Il fait beau ?", "Ma sœur est là.")
    assert not is_of_another("Qual è il mio dentista?", "Mia sorella è qui.")
    assert is_of_another("Où habite-t-il ?", "Ma sœur est là.")
    assert not names_people("大丈夫ですか？")
    assert not names_people("이 형태가 뭐야?")


@pytest.mark.parametrize(
    "query",
    ["¿Cómo se llama él?", "Où habite-t-il ?", "Il s'appelle comment ?", "弟は？", "いくらだった？", "걔는 뭐 해?"],
)
def test_who_is_asked_for_in_other_languages_by_a_pronoun_or_alone_leans(query: str) -> None:
    assert leans(query)


@pytest.mark.parametrize("query", ["Qual è il mio indirizzo di casa?", "Il fait beau à Rennes en avril ?"])
def test_an_article_or_a_word_without_meaning_does_not_lean(query: str) -> None:
    assert not leans(query)
