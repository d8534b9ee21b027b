"""Long replies: the short thing they say is found, and shown without the rest."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

import pytest

from secom_core.bank import MemoryBank
from secom_core.context.packing import MOST_TOKENS
from secom_core.memory import CUT, Recall
from secom_core.presets import Preset
from secom_core.text.terms import count_tokens

SCOPE = ("acme", "alice")
AT = datetime(2024, 5, 6, tzinfo=timezone.utc)
THINGS = "harbour garden bicycle orchestra lantern museum bakery violin glacier compass meadow tractor".split()
VERBS = "paints repairs visits measures describes borrows cleans photographs studies draws".split()
SACHEN = "港口 花园 自行车 乐团 灯笼 博物馆 面包店 小提琴 冰川 指南针 草地 拖拉机".split()
CHINESE_VERBS = "画 修理 参观 测量 描述 借用 清洗 拍摄 研究 讨论".split()


def sentence(number: int) -> str:
    one, two = THINGS[number % 12], THINGS[(number * 7 + 3) % 12]
    return f"The neighbour {VERBS[number % 10]} the {one} near the {two} with great care. "


class Shape(NamedTuple):
    unit: str
    fact: str
    query: str
    told: str


SHAPES = {
    "prose": Shape(
        "{sentence}", "The spare key of the boathouse hangs behind the blue barometer. ", "Where is the spare key of "
        "the boathouse?", "barometer"
    ),
    "list": Shape(
        "- {sentence}\n", "- The deposit for the caravan is 340 euros.\n", "How much is the deposit for the caravan?",
        "340 euros"
    ),
    "code": Shape(
        "    result_{number} = compute_{thing}(value_{number}, scale={number})\n", "    RETRY_LIMIT = 17  # requests\n",
        "What is the RETRY_LIMIT for requests?", "RETRY_LIMIT = 17"
    ),
    "chinese": Shape("邻居非常仔细地{chinese}。", "备用钥匙挂在蓝色气压计后面。", "备用钥匙挂在哪里？", "气压计"),
}  # fmt: skip


def long_reply(shape: Shape, characters: int) -> str:
    """A reply with the fact in its middle."""
    units: list[str] = []
    size = number = 0
    while size < characters:
        chinese = CHINESE_VERBS[number % 10] + SACHEN[(number * 5) % 12] + "旁边的" + SACHEN[(number * 7 + 3) % 12]
        unit = shape.unit.format(sentence=sentence(number), number=number, thing=THINGS[number % 12], chinese=chinese)
        units.append(unit)
        size, number = size + len(unit), number + 1
    units.insert(len(units) // 2, shape.fact)
    body = "".join(units)
    return f"Here it is:\n\n```python\n{body}```\n" if "RETRY" in shape.fact else body


def talk(*exchanges: tuple[str, str]) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    return [{"role": role, "content": text} for each in exchanges for role, text in zip(roles, each, strict=True)]


def check_block(recall: Recall, budget: int) -> None:
    """The block fits, and its hits say exactly what is shown."""
    assert recall.tokens == count_tokens(recall.text) <= budget
    squeezed = "".join(recall.text.split())
    for hit in recall.hits:
        for passage in hit.passages:
            assert passage.message.text[passage.start : passage.stop] == passage.text
            # Quoting changes brackets only.
            assert "".join(passage.text.split()).replace("<", "‹") in squeezed.replace("<", "‹")


@pytest.mark.slow
@pytest.mark.pairwise
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("characters", [500, 2_000, 8_000, 20_000])
@pytest.mark.parametrize("budget", [200, 500, 1000])
@pytest.mark.parametrize("others", [0, 20])
def test_a_fact_in_the_middle_of_a_long_reply_is_found(name: str, characters: int, budget: int, others: int) -> None:
    shape = SHAPES[name]
    with MemoryBank.open() as bank:
        for number in range(others):
            around = talk((f"Tell me about the {THINGS[number % 12]}.", sentence(number) * (5 + number)))
            bank.remember(SCOPE, around, session=f"s{number}", at=AT + timedelta(days=number), close=True)
        asked = talk(("Write it down for me, please.", long_reply(shape, characters)))
        bank.remember(SCOPE, asked, session="long", at=AT + timedelta(days=50), close=True)
        recall = bank.recall(SCOPE, shape.query, token_budget=budget)
    assert shape.told in recall.text
    check_block(recall, budget)


@pytest.mark.slow
@pytest.mark.parametrize("long", [60, 600])
def test_a_short_fact_among_long_turns_is_found(long: int) -> None:
    fact = "By the way, my bike lock code is 4719, and the pump for it lies under the stairs."
    with MemoryBank.open() as bank:
        for session in range(long // 30):
            exchanges = []
            for place in range(30):
                number = session * 30 + place
                reply = "".join(sentence(number * 31 + each) for each in range(24 if long == 60 else 15))
                exchanges.append((f"Tell me about the {THINGS[number % 12]}, part {number}.", reply))
            if session == long // 60:
                exchanges[15] = (fact, "Noted. I will keep that in mind.")
            at = AT + timedelta(days=session)
            bank.remember(SCOPE, talk(*exchanges), session=f"s{session}", at=at, close=True)
        recall = bank.recall(SCOPE, "What is the code of my bike lock?", token_budget=200)
    assert "4719" in recall.text
    check_block(recall, 200)


@pytest.fixture
def manual():  # type: ignore[no-untyped-def]
    """A bank with one long reply in it, and some short talk."""
    with MemoryBank.open(citations=True) as bank:
        exchanges = [("How do I close the house for winter?", long_reply(SHAPES["prose"], 6_000)), ("Thanks!", "Sure.")]
        bank.remember(SCOPE, talk(*exchanges), session="house", at=AT, close=True)
        bank.remember(SCOPE, talk(("My cat is called Ponti.", "A fine name.")), session="cat", at=AT, close=True)
        yield bank


def test_a_long_turn_is_shown_in_excerpts_and_read_whole_by_its_id(manual: MemoryBank) -> None:
    recall = manual.recall(SCOPE, SHAPES["prose"].query, token_budget=300)
    hit = next(each for each in recall.hits if each.excerpts)
    assert "barometer" in hit.text
    assert CUT in hit.text
    [turn] = manual.turns(SCOPE, turn_ids=[hit.excerpts[0].turn.id])
    assert turn.messages[1].text == long_reply(SHAPES["prose"], 6_000)
    assert turn.messages[1].text != hit.text
    assert turn in recall.turns
    check_block(recall, 300)


def test_a_turn_forgotten_after_an_excerpt_is_gone(manual: MemoryBank) -> None:
    recall = manual.recall(SCOPE, SHAPES["prose"].query, token_budget=300)
    hit = next(each for each in recall.hits if each.excerpts)
    assert manual.forget(SCOPE, turn_ids=[hit.excerpts[0].turn.id]) == 1
    again = manual.recall(SCOPE, SHAPES["prose"].query, token_budget=300)
    assert "barometer" not in again.text
    assert "neighbour" not in again.text
    assert manual.turns(SCOPE, turn_ids=[hit.excerpts[0].turn.id]) == []


@pytest.mark.slow
def test_an_excerpt_that_was_cited_is_learned_from(manual: MemoryBank) -> None:
    query = SHAPES["prose"].query
    for _ in range(8):
        recall = manual.recall(SCOPE, query, token_budget=400)
        hit = next(each for each in recall.hits if "barometer" in each.text)
        assert len(hit.excerpts) > 1, "several passages of one turn"
        assert recall.impression is not None
        manual.citations.reward(SCOPE, query, recall.impression, [hit.number])
    assert len(manual.citations.log(SCOPE)) == 8
    assert "barometer" in manual.recall(SCOPE, query, token_budget=200).text
    assert "Ponti" in manual.recall(SCOPE, "What is my cat called?", token_budget=200).text


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 5])
def test_memories_by_number_have_an_end_too(k: int) -> None:
    with MemoryBank.open() as bank:
        for number in range(5):
            reply = long_reply(SHAPES["prose"], 9_000 + 10 * number)
            bank.remember(SCOPE, talk((f"Part {number}, please.", reply)), session=f"s{number}", at=AT, close=True)
        recall = bank.recall(SCOPE, SHAPES["prose"].query, k=k)
    assert 1 <= len(recall.hits) <= k
    assert "barometer" in recall.text
    check_block(recall, MOST_TOKENS)


@pytest.mark.slow
@pytest.mark.parametrize("dense", [False, True])
def test_whole_segments_as_published_are_cut_only_where_the_first_does_not_fit(dense: bool) -> None:
    from embedders import HashingEmbedder

    # The published ranking and packing, with our own segmenter: `presets.secom` has a language model's.
    weights = {"segment_dense": 1.0} if dense else {"segment_lexical": 1.0}
    preset = Preset(source="SeCom", weights=weights, embedder=HashingEmbedder() if dense else None)
    with MemoryBank.open(preset=preset) as bank:
        exchanges = [("How do I close the house for winter?", long_reply(SHAPES["prose"], 6_000))]
        bank.remember(SCOPE, talk(*exchanges), session="house", at=AT, close=True)
        bank.remember(SCOPE, talk(("My cat is called Ponti.", "A fine name.")), session="cat", at=AT, close=True)
        whole = bank.recall(SCOPE, SHAPES["prose"].query, token_budget=4000)
        cut = bank.recall(SCOPE, SHAPES["prose"].query, token_budget=400)
        small = bank.recall(SCOPE, "What is my cat Ponti called?", token_budget=400)
    assert any(hit.turn_ids and not hit.excerpts and "barometer" in hit.text for hit in whole.hits)
    assert cut.hits
    assert all(hit.excerpts for hit in cut.hits)
    check_block(cut, 400)
    assert not small.ranked[0].excerpts
    assert "Ponti" in small.ranked[0].text


@pytest.mark.slow
@pytest.mark.parametrize(
    "counter", [count_tokens, lambda text: len(text) // 4, lambda text: len(text.split()), lambda text: len(text) // 3]
)
def test_the_block_is_full_and_fits_whatever_counts_it(counter: Callable[[str], int]) -> None:
    exchanges = [(f"Question {place}, about the key?", long_reply(shape, 1_500)) for place, shape in enumerate(
        [*SHAPES.values()] * 3
    )]  # fmt: skip
    with MemoryBank.open(token_counter=counter, granularity="session") as bank:
        bank.remember(SCOPE, talk(*exchanges), session="one", at=AT, close=True)
        for budget in range(120, 900, 31):
            recall = bank.recall(SCOPE, SHAPES["prose"].query, token_budget=budget)
            assert recall.hits
            assert counter(recall.text) == recall.tokens <= budget


LETTERS = {
    "english": (sentence(3) * 12, "What is the weather like?"),
    "german": (
        "Der Nachbar streicht den Zaun am Hafen mit großer Sorgfalt, und danach fegt er den Hof. " * 8,
        "Wetter?",
    ),
    "chinese": ("邻居非常仔细地画港口旁边的花园，然后打扫院子。" * 12, "天气怎么样？"),
    "one sentence": ("and then we went on " * 200, "What is the weather like?"),
}


@pytest.mark.parametrize("budget", [60, 80, 100, 120, 200])
@pytest.mark.parametrize(("letter", "query"), LETTERS.values(), ids=LETTERS)
def test_a_block_is_not_empty_for_want_of_room(letter: str, query: str, budget: int) -> None:
    with MemoryBank.open(token_counter=count_tokens) as bank:
        bank.remember(SCOPE, [("user", letter)], session="s", at=AT, close=True)
        found = bank.recall(SCOPE, query, token_budget=budget)
    [hit] = found.hits
    assert hit.text
    assert CUT in found.text or budget == 200
    assert 0 < found.tokens <= budget


def test_what_is_cut_for_want_of_room_is_the_most_telling_sentence() -> None:
    with MemoryBank.open(token_counter=count_tokens) as bank:
        letter = f"{sentence(1) * 8}My own note: the boiler is a Vaillant from 2011. {sentence(2) * 8}"
        bank.remember(SCOPE, [("user", letter)], session="s", at=AT, close=True)
        assert "the boiler is a Vaillant" in bank.recall(SCOPE, "Which boiler do I have?", token_budget=55).text


@pytest.mark.parametrize("budget", [200, 500, 1000, 4000])
def test_an_instruction_stands_in_every_block(budget: int) -> None:
    with MemoryBank.open(token_counter=count_tokens) as bank:
        bank.remember(SCOPE, [("user", "Please always answer briefly.")], session="first", at=AT, close=True)
        for day in range(1, 40):
            said = [("user", f"How does a motor of type {day} work?"), ("assistant", sentence(day) * 8)]
            bank.remember(SCOPE, said, session=f"s{day}", at=AT + timedelta(days=day), close=True)
        found = bank.recall(SCOPE, "How does a xylophone work?", token_budget=budget)
        assert "always answer briefly" in found.text
        assert found.tokens <= budget
        alone = bank.recall(SCOPE, "How does a xylophone work?", token_budget=budget, only_relevant=True)
        assert "always answer briefly" not in alone.text


@pytest.mark.parametrize("budget", [300, 1000])
def test_what_takes_back_a_find_comes_with_it(budget: int) -> None:
    with MemoryBank.open(token_counter=count_tokens) as bank:
        talk = ["Tom says I may run again, but only 3 km.", "No wait, he said 2 km for the first two weeks."]
        for place in range(40):
            words = talk[place - 20] if 20 <= place < 22 else f"Tell me about the {THINGS[place % 12]}, part {place}."
            said = [("user", words), ("assistant", "".join(sentence(place * 9 + each) for each in range(20)))]
            bank.remember(SCOPE, said, session="talk", at=AT + timedelta(minutes=place))
        found = bank.recall(SCOPE, "How far may I run?", token_budget=budget)
        assert all(words in found.text for words in talk)
        [second] = (turn.id for hit in found.hits for turn in hit.turns if talk[1] in turn.text)
        shown = bank.recall(SCOPE, "How far may I run?", token_budget=budget, exclude=[second])
        assert talk[0] in shown.text
        assert talk[1] not in shown.text, "the prompt has it already"


EVERYDAY = (
    "I made soup with leeks and a little cream tonight.",
    "The hairdresser moved my appointment twice.",
    "I have an appointment at the bank about the mortgage.",
    "The dentist two streets away closed.",
    "My sister likes her new job.",
)


@pytest.mark.parametrize(
    ("told", "question"),
    [
        (["My dentist appointment is on Wednesday.", "Sorry, I meant Thursday."], "When is my dentist appointment?"),
        (["Please always answer in German.", "No wait, in English please."], "What could I cook?"),
        (["I live in Ghent.", "Oops, Bruges I mean."], "What do you know about me?"),
        (["I live in Ghent.", "Oops, Bruges I mean."], "What could I cook?"),
        (["I work as a nurse.", "Correction: as a midwife."], "What is my job?"),
    ],
    ids=["short", "instruction", "of the user", "fact", "job"],
)
@pytest.mark.parametrize("budget", [150, 300, 1000])
def test_what_takes_back_comes_with_what_is_short_or_stands(told: list[str], question: str, budget: int) -> None:
    with MemoryBank.open(token_counter=count_tokens) as bank:
        for day in range(60):
            words = told if day == 20 else [f"{EVERYDAY[day % 5]} That was on day {day}."]
            said = [each for one in words for each in (("user", one), ("assistant", "Thanks for telling me. " * 5))]
            bank.remember(SCOPE, said, session=f"s{day}", at=AT + timedelta(days=day), close=True)
        found = bank.recall(SCOPE, question, token_budget=budget).text
        assert all(words in found for words in told)


@pytest.mark.parametrize("budget", [300, 600])
def test_what_takes_back_comes_with_what_the_user_said_after_a_find(budget: int) -> None:
    with MemoryBank.open(token_counter=count_tokens) as bank:
        talk = ["The grinder makes a terrible noise.", "I'd take the workshop.", "Actually no, send me the burrs."]
        for place in range(40):
            words = talk[place - 20] if 20 <= place < 23 else f"Tell me about the {THINGS[place % 12]}, part {place}."
            said = [("user", words), ("assistant", "".join(sentence(place * 9 + each) for each in range(20)))]
            bank.remember(SCOPE, said, session="talk", at=AT + timedelta(minutes=place))
        found = bank.recall(SCOPE, "What did I choose for the grinder?", token_budget=budget).text
        assert talk[2] in found or talk[1] not in found


def test_a_long_answer_to_a_question_takes_nothing_back() -> None:
    told = ["I live in Ghent.", "No, I sold it. " + " ".join(sentence(each) for each in range(6))]
    with MemoryBank.open(token_counter=count_tokens) as bank:
        for place, words in enumerate(told):
            said = [("user", words), ("assistant", "Did you keep the boat?")]
            bank.remember(SCOPE, said, session="talk", at=AT + timedelta(minutes=place))
        for day in range(1, 20):
            said = [("user", f"{EVERYDAY[day % 5]} That was on day {day}."), ("assistant", "I see.")]
            bank.remember(SCOPE, said, session=f"s{day}", at=AT + timedelta(days=day), close=True)
        found = bank.recall(SCOPE, "What do you know about me?", token_budget=200).text
        assert "Ghent" in found
        assert "I sold it" not in found


def test_a_turn_of_another_day_is_shown_with_its_date() -> None:
    with MemoryBank.open(token_counter=count_tokens) as bank:
        for day, words in (
            (0, "My exam is in two days."),
            (0, "I study at night."),
            (71, "My driving test is tomorrow."),
        ):
            said = [("user", words), ("assistant", "Good luck!")]
            bank.remember(SCOPE, said, session="main", at=AT + timedelta(days=day))
        found = bank.recall(SCOPE, "When is my driving test?", token_budget=300)
        lines = found.text.splitlines()
        day = lines.index("2024-07-16 Tue")
        assert "My exam" in "\n".join(lines[:day])
        assert lines[day + 1] == "user: My driving test is tomorrow."
        assert found.tokens <= 300
        assert lines.index("2024-05-06 Mon") < day


def test_of_a_diary_the_day_that_is_asked_for_comes_first() -> None:
    names = "Noor Tom Lena Petra Ahmed Ilse Odile Marta Jan Bo Rita Sam Ann Kai Lou Max".split()
    verbs = "had coffee with, went running with, phoned, had dinner with, met".split(", ")
    with MemoryBank.open(token_counter=count_tokens) as bank:
        for day, name in enumerate(names):
            said = [("user", f"I {verbs[day % 5]} {name}, and it was fun."), ("assistant", "How nice! How was it?")]
            bank.remember(SCOPE, said, session=f"s{day}", at=AT + timedelta(days=day), close=True)
        for day, name in enumerate(names):
            asked = AT + timedelta(days=day)
            found = bank.recall(SCOPE, f"Whom did I see on {asked:%d %B %Y}?", k=1, now=AT + timedelta(days=60))
            assert name in found.text


def test_many_passages_of_one_turn_take_no_time_that_grows_with_their_square() -> None:
    """Four times the code: with a room for all of it, a square would take sixteen times as long."""
    assert seconds_of_recall("```\n" * 40_000) < 8 * seconds_of_recall("```\n" * 10_000)


def seconds_of_recall(words: str) -> float:
    with MemoryBank.open(token_counter=count_tokens) as bank:
        bank.remember(SCOPE, [("user", words), ("assistant", "OK.")], session="s")
        bank.recall(SCOPE, "Anything?", token_budget=100)
        began = time.thread_time()
        bank.recall(SCOPE, "What happened?", token_budget=len(words))
        return time.thread_time() - began
