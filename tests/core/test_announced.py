"""Changes of the subject that people announce, in words that no weight was fitted on."""

from __future__ import annotations

import time

import pytest
from embedders import HashingEmbedder

from secom_core.conversation import Message, as_turns, group_messages
from secom_core.memory import boundaries_of
from secom_core.protocols import Segmenter
from secom_core.segmenters import AdaptiveSegmenter, EmbeddingSegmenter, LexicalSegmenter
from secom_core.segmenters.announced import announced

MEETING = [
    ("Chair", "Good morning everyone, let's start with the release."),
    ("Dev", "The build is green since Tuesday, two bugs are open."),
    ("QA", "Both are in the export, one crashes on empty tables."),
    ("Chair", "Can they be fixed by Friday?"),
    ("Dev", "The crash yes, the other one is cosmetic."),
    ("Chair", "Then we ship on Monday with a note."),
    ("Chair", "Next, the office move."),
    ("Ops", "The new place has 22 desks and we are 27."),
    ("Dev", "So people share desks?"),
    ("Ops", "Two days a week from home, we drew up a rota."),
    ("QA", "I need a fixed desk because of the test phones."),
    ("Ops", "Noted, the lab corner is yours."),
    ("Chair", "When do the boxes come?"),
    ("Ops", "On the 12th."),
    ("Chair", "Last point, the budget for training."),
    ("Ops", "We have 9,000 left for this year."),
    ("Dev", "I would like to go to the database conference in Vienna."),
    ("Chair", "How much is it?"),
    ("Dev", "1,400 with the hotel."),
    ("QA", "And I want the accessibility course, 600."),
    ("Chair", "Both fine, send me the forms by Wednesday."),
]
ANOTHER_MATTER = """
Now something else: my nephew Otto wants to learn the cello.
ok. other question: does the flask app need a lock?
Thanks! Another question: how do I get to Sintra?
Completely different question: which fork for oysters?
Next, the office move.
Moving on to the budget
Was anderes: mein Vermieter will die Miete erhöhen
Danke! Ganz andere Frage: wie alt wird ein Dackel?
Otra cosa: mi hijo no duerme
Gracias. Cambiando de tema, el coche hace ruido
Merci ! Autre question : le train est à quelle heure ?
Un'altra domanda: quanto costa?
Outra coisa: o carro não pega
Iets heel anders: mijn fiets is weg
Спасибо! Другой вопрос: как доехать?
Başka bir soru: hava nasıl?
ところで、ベランダのトマトが枯れました
話は変わりますが、来週は休みですか
换个话题吧
好的。另外一个问题，怎么去机场？
다른 질문 있어요
"""
ASIDE = """
by the way, did the vet call?
Great, that worked. By the way, what is the harbour like?
Before I forget, the allotment needs a fence.
Back to the carpet: it is pink now
Übrigens, der Hund frisst wieder
Noch mal zum Teppich, der Fleck ist rosa
Por cierto, ¿vienes mañana?
Trouwens, de hond is ziek
Кстати, завтра дождь
对了，下个月我想去成都
"""
NEITHER = """
I want something else for dinner
Is there something else that I can do?
Something different happened today
Can you show me another question?
What is next?
The last point is wrong
I go back to the office on Monday
I have to change the subject of the mail
It's a different question whether it rusts
Now, it's the beginning of April. What first?
Das ist was anderes als ich dachte
Volvió a llover
那如果要同时记录呢
对，就是这个
"""


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


def evidence(text: str) -> float:
    return float(announced(as_turns(["The soup is good.", text]))[0])


@pytest.mark.parametrize("text", lines(ANOTHER_MATTER))
def test_another_matter_is_announced(text: str) -> None:
    assert evidence(text) > 2


@pytest.mark.parametrize("text", lines(ASIDE))
def test_what_is_said_aside_tells_less(text: str) -> None:
    assert 0 < evidence(text) < 2


@pytest.mark.parametrize("text", lines(NEITHER))
def test_the_same_words_elsewhere_announce_nothing(text: str) -> None:
    assert evidence(text) == 0


@pytest.mark.parametrize(
    "segmenter",
    [LexicalSegmenter(), AdaptiveSegmenter(), EmbeddingSegmenter(HashingEmbedder())],
    ids=lambda each: type(each).__name__,
)
def test_a_meeting_is_cut_where_the_chair_goes_on_to_the_next_point(segmenter: Segmenter) -> None:
    turns = group_messages(Message(text, role="", speaker=name) for name, text in MEETING)
    cuts = [place for place, ends in enumerate(boundaries_of(segmenter.segment(turns))) if ends]
    assert {5, 13} <= set(cuts)
    assert len(cuts) <= 4


def test_reading_how_a_message_opens_takes_no_time_whatever_it_is() -> None:
    texts = [
        words * 200 for words in ("ok, ", "so, so ", "ach so ", "and ", "now just one ", "noch mal ", "...", "? ! ")
    ]
    begin = time.process_time()
    announced(as_turns(["The soup is good.", *texts]))
    assert time.process_time() - begin < 0.5
