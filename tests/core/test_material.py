"""What the writer of a message does not say of himself, and what only asks or orders; none of it stands."""

from __future__ import annotations

import pytest

from secom_core.bank import MemoryBank
from secom_core.changes.slots import slot_values
from secom_core.changes.statements import statements_of
from secom_core.text.material import given_spans, meant, without_given
from secom_core.text.speech import stands

ANN = ("acme", "ann")

GIVEN = r"""
    Translate into German: I live in Berlin.
    Translate this into German:\n\nMy name is Oscar.\n\nI live in Rome.
    Please translate the following text to French.\nI live in Berlin.
    Correct my English: I work at the circus since two years.
    Rewrite: I live in a house that is big
    Rewrite this in formal English: I'm allergic to nuts.
    Summarize this: My sister is a nurse and I moved to Ghent.
    Can you proofread this: I work as a teacher since 2010
    Fix this: always return None
    Write a letter for a story that begins: My name is Oscar and I am lost.
    Let's play a game: I live in Mordor and you are Gandalf.
    Pretend I am Batman.
    Imagine I live in Paris.
    Suppose we moved to Lyon.
    Übersetze ins Englische: Ich wohne in Berlin.
    Kannst du das übersetzen: Ich wohne in Berlin.
    Korrigiere meinen Text: Ich wohne in Berlin seit zwei Jahre.
    Schreib einen Brief: Ich heiße Oskar und wohne in Rom.
    Angenommen, ich wohne in Paris.
    Traduce al inglés: Vivo en Sevilla.
    Corrige esta frase: Me llamo Oscar.
    Escribe una carta: Me llamo Oscar.
    Traduis en anglais : J'habite à Lyon.
    Corrige mon texte : je m'appelle Oscar.
    Écris une lettre : Je m'appelle Oscar.
    翻译：我住在柏林。
    请把这句话翻译成英文：我住在柏林。
    写一封信：我叫小明。
    次を英訳して：私は東京に住んでいます。
    英語に訳してください：私の名前は花子です。
    다음을 번역해 줘: 부산에 살고 있어요.
    """

UNMEANT = r"""
    If I moved to Paris, what would the rent be?
    What would the rent be if I moved to Paris?
    My colleague wrote: 'I live in Rome and the internet is down.' What can I reply?
    My friend wrote: I live in Rome.
    How would you put "I live in Berlin" in German.
    > I live in Berlin
    I have two children in the story I'm writing.
    In our story my name is Kael and I live in Winterhold.
    let's play. in this game my name is Kael, i'm a knight
    in the rp my name is Kael
    I live in fear of the next exam.
    I live for chocolate!
    I moved to the next chapter of the book.
    My name is mud at work today, haha.
    def f(): always answer = 1
    Si vivo en París, ¿cuánto pago?
    Si j'habite à Paris, combien ?
    如果我住在巴黎，房租多少？
    """

TOLD = r"""
    I live in New Hope.
    I live in Hope, BC.
    I live for now in Linz.
    Remember: my name is Katrin.
    Act as a nutritionist. I'm vegetarian and I live in Linz.
    Write a packing list: I'm allergic to nuts.
    Write a cover letter: I'm a nurse.
    Write this down: I live in Linz.
    Check this out: I moved to Linz!
    Correct, I live in Linz.
    Correct your notes: I live in Linz.
    In case I forget: my name is Kim.
    If I remember correctly, I moved in May.
    I get hives if I eat them because I'm allergic to nuts.
    I told you: I live in Linz.
    "I live in Linz."
    Translate into German: Good day.\n\nBy the way, I live in Linz.
    Fasse dich kurz: ich wohne in Linz.
    My favourite song is "Yesterday".
    """

ASKED = """
    And my brother?
    And my brother
    So my wife?
    what's my email
    do you know my email
    how old is my sister
    where do I work for now
    what's my favourite colour
    Write a poem about my dog.
    Tell me about my sister.
    Summarize the mail of my boss.
    I'm Ok.
    I'm Sure, thanks.
    Schreib ein Gedicht über meinen Hund.
    wie heißt meine Schwester
    Und meine Schwester?
    Escribe un poema sobre mi perro.
    Écris un poème sur mon chien.
    Et ma sœur ?
    写一首关于我的狗的诗。
    """

TOLD_BESIDE = """
    Suggest dinner, I'm vegetarian.
    Suggest dinner as I'm vegetarian.
    By the way, my wife is called Anna.
    Plan a dinner with my partner, James.
    My sister, who lives in Ghent, is a doctor.
    My dog: Rex.
    Anna is my wife.
    When my son was born we moved to Linz.
    Could you help? My wife is ill.
    My sister lives in Ghent, what can I visit there?
    Hi, I'm Bea, what can you do?
    So I moved to Porto, where should I eat?
    Hello, this is Katrin from Leipzig.
    I turned 35 last week.
    """


def lines(block: str) -> list[str]:
    return [line.strip().replace("\\n", "\n") for line in block.strip().splitlines()]


@pytest.mark.parametrize("text", [*lines(GIVEN), *lines(UNMEANT)])
def test_what_somebody_does_not_say_of_himself_does_not_stand(text: str) -> None:
    assert stands(text) == ""


@pytest.mark.parametrize("text", lines(ASKED))
def test_a_question_without_a_mark_and_an_order_tell_nothing(text: str) -> None:
    assert stands(text) == ""


@pytest.mark.parametrize("text", [*lines(TOLD), *lines(TOLD_BESIDE)])
def test_what_somebody_says_of_himself_beside_it_stands(text: str) -> None:
    assert stands(text)


@pytest.mark.parametrize("text", lines(GIVEN))
def test_what_is_given_states_nothing(text: str) -> None:
    [(start, stop)] = given_spans(text)
    assert text[start:stop].strip()
    assert len(without_given(text)) == len(text)
    assert not any(each.is_mine for each in statements_of(text) if start <= each.start)


@pytest.mark.parametrize("text", lines(TOLD)[:16])
def test_what_is_told_is_not_given(text: str) -> None:
    assert given_spans(text) == ()


def test_everything_else_stays_in_its_place() -> None:
    assert meant('I live in Linz, not "in Rome".') == "I live in Linz, not          ."
    assert without_given("Translate: yes.\n\nI live in Linz.") == "Translate:     \n\nI live in Linz."


def test_a_long_text_to_be_worked_on_is_given_to_its_end() -> None:
    story = "Translate this:\n" + "The rain fell on the roofs of the town all day. " * 12 + "My name is Oscar."
    with MemoryBank.open() as bank:
        bank.remember(ANN, [("user", story), ("assistant", "Here it is.")], session="one", close=True)
        assert bank.standing(ANN) == []


@pytest.mark.parametrize("given", ["Translate into German: I live in Berlin.", "Let's play: I moved to Mordor today."])
@pytest.mark.parametrize("changes", [None, True])
def test_what_is_given_takes_the_place_of_nothing(given: str, changes: bool | None) -> None:
    with MemoryBank.open(changes=changes) as bank:
        for session, said in enumerate(("I live in Linz.", given)):
            bank.remember(ANN, [("user", said), ("assistant", "Sure.")], session=str(session), close=True)
        assert [each.passage.text for each in bank.standing(ANN)] == ["I live in Linz."]
        assert "replaced" not in bank.recall(ANN, "Where do I live?").text


def test_what_tells_nothing_crowds_out_nothing() -> None:
    with MemoryBank.open() as bank:
        for session, said in enumerate(("I'm allergic to penicillin.", *lines(ASKED))):
            bank.remember(ANN, [("user", said), ("assistant", "Sure. " * 60)], session=str(session), close=True)
        assert "penicillin" in bank.recall(ANN, "What do you know about me?", token_budget=120).text


@pytest.mark.parametrize("text", ["We moved to Friday.", "I moved to Chapter 3.", "We moved to June."])
def test_no_day_and_no_chapter_is_a_home(text: str) -> None:
    assert [each.sort for each in slot_values(text)] == []
    assert [each.sort for each in slot_values("We moved to Maysville.")] == ["slot:home"]
