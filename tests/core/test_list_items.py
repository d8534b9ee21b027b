"""A question for an item of a list by its place: "the third option you listed"."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.ranking import scope_search
from secom_core.text.list_items import LAST, item_asked, item_begins, item_span

ANN = ("acme", "ann")


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("What was the third option you gave me for the attic?", 3),
        ("number four of your hints for the sourdough?", 4),
        ("the 2nd step of the descaling, please", 2),
        ("What was the last of the five questions for the landlord?", 5),
        ("What did step 7 say?", 7),
        ("die fünfte Übung für die Schulter, wie ging die", 5),
        ("Was war der dritte Punkt von deiner Packliste?", 3),
        ("¿Cuál era el segundo consejo para el viaje?", 2),
        ("C'était quoi, la quatrième étape ?", 4),
        ("Qual era il terzo ristorante che mi hai consigliato?", 3),
        ("Qual era il secondo passo?", 2),
        ("Qual era o terceiro restaurante que você recomendou?", 3),
        ("Qual foi a segunda dica?", 2),
        ("你给我的第三条建议是什么？", 3),
        ("三つ目の案は何だった？", 3),
        ("네 번째 방법이 뭐였지?", 4),
        ("the second of the places you recommended", 2),
        ("der zweite von den Tipps", 2),
        ("第二个是什么？", 2),
        ("number 3 on the list?", 3),
        ("What did you say in part 2 of your answer?", 2),
        ("What was part 2 of the training plan?", 2),
        ("What was the second part of the workout you gave me?", 2),
        ("What was question 3 of the quiz that you wrote?", 3),
        ("What was the third restaurant you recommended?", 3),
        ("the second sci-fi film that you'd suggested", 2),
        ("Which was the fifth name for the starter you gave me?", 5),
        ("Welches zweite Buch hast du mir empfohlen?", 2),
        ("das dritte Restaurant, das du mir genannt hast", 3),
        ("¿Cuál era el tercer restaurante que me recomendaste?", 3),
        ("C'était quoi, le troisième film que tu m'as recommandé ?", 3),
        ("你推荐的第三个城市是哪里？", 3),
        ("おすすめしてくれた三番目の映画は？", 3),
        ("추천해 준 세 번째 식당이 뭐였지?", 3),
        ("What was the last restaurant on the list?", LAST),
        ("the last option you gave me", LAST),
        ("Was war das letzte Restaurant auf deiner Liste?", LAST),
        ("¿Cuál era el último libro de tu lista?", LAST),
        ("le dernier restaurant de ta liste", LAST),
        ("清单上最后一家是哪家？", LAST),
    ],
)
def test_the_place_of_an_item_is_read(question: str, place: int) -> None:
    assert item_asked(question) == place


@pytest.mark.parametrize(
    "question",
    [
        "What was my first job?",
        "What did we talk about the first time?",
        "Who came third in the race?",
        "What did I do in the second week of May?",
        "What is my number one goal?",
        "Which room number 12 did I mean?",
        "Wann war der zweite Termin?",
        "我们第一次聊了什么？",
        "What is the first chapter of the book about?",
        "Who is the third child of my sister?",
        "What is the second part of my address?",
        "Give me second hand ideas.",
        "What did I think of part 2 of Dune?",
        "Did I like part two of Dune?",
        "Who wrote the third part of the trilogy?",
        "Have I seen season 3 of the show?",
        "What did I say about the third season of the show you recommended?",
        "What did I say about chapter 4 of the book?",
        "When is stage 4 of the Tour?",
        "What did I answer to question 3 of the exam?",
        "What was the third book of the trilogy?",
        "What was my third restaurant?",
        "What was the third restaurant that I visited?",
        "When was the second time you recommended it?",
        "What was the last book you recommended?",
        "What is the last item on my list?",
        "Was war das dritte Buch der Reihe?",
        "What are the first three steps?",
        "What was the last of the three months like?",
        "What was my first question?",
        "Who lives at number 10 Downing Street?",
        "Is the tram number 7 late?",
        "Quel est le premier jour de la semaine ?",
        "¿Cuál es el primer día de la semana?",
        "Wie heißt der zweite Sohn von dem Nachbarn?",
        "我的第二个孩子叫什么名字？",
        "二番目の子供の名前は？",
        "두 번째 아이 이름이 뭐야?",
        "How many steps did I walk?",
        "What was the third option you gave me? " * 20,
    ],
)
def test_a_question_that_names_no_item(question: str) -> None:
    assert item_asked(question) == 0


def test_a_question_without_any_sign_of_an_item_or_a_range_compiles_no_rule_for_them() -> None:
    """Those rules are large, and would be half of what the first recall of a process takes."""
    asked = """
from secom_core.text import list_items, periods
query = "harbour trip with Ben in March"
assert periods.days_named(query, None, [2024]) and not list_items.item_asked(query)
rules = {"item": list_items._BY_ORDINAL, "range": periods._ENDS, "joint": periods._JOINTS, "signs": periods._SIGN_ENDS}
print(sorted(name for name, rule in rules.items() if "search" in vars(rule) or "finditer" in vars(rule)))
"""
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


NUMBERED = (
    "Do this:\n\n1. **Rinse** it.\n2. Dry it.\n   - not in the sun\n3. Oil it.\n\nThen:\n\n- Hang it up.\n- Leave it.\n"
)


@pytest.mark.parametrize(
    ("place", "words"), [(1, "1. **Rinse"), (2, "2. Dry"), (3, "3. Oil"), (1, "- Hang"), (2, "- Leave")]
)
def test_items_by_number_and_by_bullet(place: int, words: str) -> None:
    at = NUMBERED.index(words)
    assert item_span(NUMBERED, place, at, at + 1) == (at, at + 1)
    assert item_span(NUMBERED, place + 3, at, at + 1) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1. Rinse it:\n   - in cold water\n   - for a minute\n2. Dry it.\n", "2. Dry it.\n"),
        (
            "### 1. Rinse\n- in cold water\n- for a minute\n\n### 2. Dry\n- in the shade\n",
            "### 2. Dry\n- in the shade\n",
        ),
        ("- Rinse it:\n  - in cold water\n  - for a minute\n- Dry it.\n", "- Dry it.\n"),
    ],
)
def test_bullets_below_an_item_are_part_of_it(text: str, words: str) -> None:
    start = text.index(words)
    assert item_span(text, 2, 0, len(text)) == (start, len(text))
    assert item_span(text, 1, 0, len(text)) == (0, start)


def test_the_last_item_of_each_list() -> None:
    last, bullet = NUMBERED.index("3. Oil"), NUMBERED.index("- Leave")
    assert item_begins(NUMBERED, LAST) == [last, bullet]
    assert item_span(NUMBERED, LAST, 0, len(NUMBERED)) == (last, NUMBERED.index("\n\nThen"))


@pytest.mark.parametrize(
    ("item", "after"),
    [
        ("2. Dry it.", "\n\nShall I write a plan? It takes a week."),
        ("2. **Dry it**\n\nIn the shade.", "\n\nShall I write a plan?"),
        ("2. Dry it:\n\n   in the shade.\n\n   - and turn it", " \n\nShall I write a plan?"),
        ("2. Dry it\nand turn it.\n\n> Not in the sun.", ""),
    ],
)
def test_an_item_ends_before_the_paragraph_after_its_list(item: str, after: str) -> None:
    text = f"Do this:\n\n1. Rinse it.\n\nIn cold water.\n\nFor a minute.\n\n{item}{after}"
    start = text.index(item)
    assert item_span(text, 2, 0, len(text)) == item_span(text, LAST, 0, len(text)) == (start, start + len(item))
    assert item_span(text, 1, 0, len(text)) == (text.index("1."), start)


@pytest.mark.parametrize(
    ("question", "item"),
    [
        ("What was the fourth option you gave me?", "Lokaal"),
        ("the last one on your list?", "Lokaal"),
        ("Und der letzte auf deiner Liste?", "Lokaal"),
        ("第三个选项是什么?", "De Vitrine"),
    ],
)
def test_the_last_item_is_in_a_small_block_however_much_comes_after_the_list(question: str, item: str) -> None:
    names = ["Roots", "Balls & Glory", "De Vitrine", "Lokaal"]
    listed = "\n".join(f"{place}. {name}, by the canal" for place, name in enumerate(names, 1))
    after = "Most kitchens close at nine on weekdays, so book ahead. Bring cash, as few of them take cards. " * 20
    with MemoryBank.open() as bank:
        said = [Message("Where to eat in Ghent?"), Message(f"Some ideas:\n\n{listed}\n\n{after}", "assistant")]
        bank.remember(ANN, said, session="s1", close=True)
        found = bank.recall(ANN, question, token_budget=80)
    assert item in found.text


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("Take a walk. First choice: the pier. Second: the old town. Third, the park.", "Second: the"),
        ("**Firstly**, rest. **Secondly**, drink.", "**Secondly**"),
        ("Erstens: den Bus nehmen; zweitens, laufen.", "zweitens, laufen"),
        ("Primero, mezcla la harina. Segundo, añade el agua.", "Segundo, añade"),
    ],
)
def test_items_that_are_told_in_sentences(text: str, begins: str) -> None:
    assert [text[at:].startswith(begins) for at in item_begins(text, 2)] == [True]
    assert item_begins(text, 1) != []


def test_what_no_second_follows_is_no_item_and_a_list_beside_it_stays_one() -> None:
    assert item_begins("First, breathe. Then, a second later, speak.", 1) == []
    text = "First, a list.\n\n- one\n- two"
    assert [text[at:] for at in item_begins(text, 2)] == ["- two"]
    text = "- one\n- two\n\nFirst, eat. Second, sleep."
    assert [text[at:] for at in item_begins(text, LAST)] == ["- two\n\nFirst, eat. Second, sleep."]


@pytest.mark.parametrize(
    "text", ["### Step 4: Rinse", "**Woche 4, Ruhe:** nichts", "4) Rinse", "4、冲洗", "- **4.** Rinse"]
)
def test_numbers_are_written_in_many_ways(text: str) -> None:
    assert item_span(text, 4, 0, len(text)) == (0, len(text))


def test_ten_thousand_bullets_are_read_once_through() -> None:
    text = "- one more\n" * 10_000
    assert item_span(text, 10_000, len(text) - 11, len(text)) == (len(text) - 11, len(text))


def test_a_long_reply_is_read_once_for_all_of_its_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counted(text: str, place: int) -> list[int]:
        read.append(len(text))
        return item_begins(text, place)

    monkeypatch.setattr(scope_search, "item_begins", counted)
    long = "\n".join(f"- the tip about basil number {number} is to water it" for number in range(400))
    with MemoryBank.open() as bank:
        bank.remember(ANN, [Message("How do I grow basil?"), Message(long, "assistant")], session="s1", close=True)
        bank.recall(ANN, "What was the third tip about basil?", k=3)
    assert read == [len(long)]


def reply(opening: str, items: list[str]) -> str:
    """A reply as assistants write them: a list with a sentence or two in each item, and words around it."""
    listed = "\n".join(
        f"{place}. **{item}.** Take your time with it, and note what you see, so that we can look at it together."
        for place, item in enumerate(items, 1)
    )
    return f"{opening}\n\n### In this order\n{listed}\n\nShall I write a shopping list, or a plan for the week?"


HERBS = [
    "Cut the stems back by half",
    "Move the pots inside",
    "Spray with soft soap",
    "Change the soil",
    "Feed sparingly",
]
PIANO = [
    "Scales in both hands",
    "The left hand alone",
    "Slow practice with a metronome",
    "Record yourself",
    "Play for Ida",
]
DOGS = ["Feed in the crate", "Close the door for a minute", "Leave the room", "Leave the flat", "Come back late"]


@pytest.fixture(params=[False, True], ids=["warm", "opened again"])
def bank(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryBank]:
    place = str(tmp_path / "memory.db")
    bank = MemoryBank.open(place)
    for number, (asked, opening, items) in enumerate(
        [
            ("My basil has aphids again, what do I do?", "Aphids on basil are a nuisance, and easily beaten.", HERBS),
            ("How do I practise the sonata? It falls apart on page two.", "Page two falls apart for all of us.", PIANO),
            ("The dog howls when I go. Ideas?", "Howling is fear, so we go in small steps.", DOGS),
        ]
    ):
        said = [Message(asked), Message(reply(opening, items), "assistant")]
        said += [Message("Thanks. The weather is awful, by the way."), Message("Stay dry!", "assistant")]
        bank.remember(ANN, said, session=f"s{number}", close=True)
    if request.param:
        bank.recall(ANN, "ready")
        bank.close()
        bank = MemoryBank.open(place)
    with bank:
        yield bank


@pytest.mark.parametrize(
    ("question", "item"),
    [
        ("What was the third thing you told me against the aphids?", HERBS[2]),
        ("number four of your list for the basil?", HERBS[3]),
        ("the second exercise for the sonata, what was it", PIANO[1]),
        ("What was the last of the five steps for the howling?", DOGS[4]),
    ],
)
def test_the_item_that_is_asked_for_is_in_a_small_block(bank: MemoryBank, question: str, item: str) -> None:
    found = bank.recall(ANN, question, token_budget=150)
    assert item in found.text
    assert found.tokens <= 150


@pytest.fixture
def places() -> Iterator[MemoryBank]:
    """A reply that speaks of a third line, and a list of restaurants."""
    names = ["Roots", "Balls & Glory", "De Vitrine", "Komkommertijd", "Lokaal", "Oak", "Le Botaniste", "Mosquito"]
    code = "How it works. The third line computes the total, and the last one shares out what is left of it. " * 9
    with MemoryBank.open() as bank:
        bank.remember(ANN, [Message("Share a bill for me."), Message(code, "assistant")], session="s1", close=True)
        listed = Message(reply("Ghent is a lively place, here are some ideas.", names), "assistant")
        bank.remember(ANN, [Message("Where can a vegetarian eat in Ghent?"), listed], session="s2", close=True)
        yield bank


@pytest.mark.parametrize(
    ("question", "item"),
    [
        ("What was the third option you gave me?", "De Vitrine"),
        ("What was the seventh option you gave me?", "Le Botaniste"),
        ("What was the sixth restaurant you recommended?", "Oak"),
        ("What was the last restaurant on the list?", "Mosquito"),
    ],
)
def test_an_item_is_shown_of_a_list_that_shares_no_word_with_the_question(
    places: MemoryBank, question: str, item: str
) -> None:
    assert f"**{item}.**" in places.recall(ANN, question, token_budget=150).text


def test_of_lists_that_share_no_word_with_the_question_only_the_newest_are_found() -> None:
    with MemoryBank.open() as bank:
        for number in range(40):
            said = [Message("Ideas?"), Message(reply("Sure.", [f"Nr{number}{each}" for each in "abc"]), "assistant")]
            bank.remember(ANN, said, session=f"s{number}", close=True)
        found = bank.recall(ANN, "What was the third option you gave me?", k=50)
    assert [hit.turns[0].session for hit in found.hits if hit.kind == "relevant"] == ["s37", "s38", "s39"]
