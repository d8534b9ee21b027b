"""Small talks of our own, with what is right to say of them: what the corpus of replies is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation between somebody and an assistant, and right answers to every prompt about it.

    Args:
        name: what it is called in the corpus.
        speaker: who talks to the assistant.
        turns: what is said, and what is answered.
        segments: first and last exchange of each segment.
        facts: what it says, each with the exchanges that say so.
        merged: a note that takes in something new.
        relation: how two of its events stand to each other.
        joins: whether one more exchange goes on with the last segment.
        notes: a timeline in the words of a dialogue.
        rule: a rule of segmentation.
        question: a follow-up that stands alone.
        memory: the running summary.
    """

    name: str
    speaker: str
    turns: Sequence[tuple[str, str]]
    segments: Sequence[tuple[int, int]]
    facts: Sequence[tuple[str, tuple[int, ...]]]
    merged: str
    relation: str
    joins: bool
    notes: str
    rule: str
    question: str
    memory: Sequence[str]


TALKS: Final = (
    Talk(
        "kiln",
        "Mara",
        (
            ("My kiln stopped heating half way through the glaze firing.", "Is the thermocouple worn?"),
            ("It is ten years old, so probably.", "A new one costs little and takes an hour."),
            ("I ordered one from Leeds this morning.", "Good, then the firing can go on next week."),
            ("The red glaze has to be fired on the slow schedule.", "Slow means sixty degrees an hour at first."),
            ("Now something else: my nephew Otto wants to learn the cello.", "How old is Otto?"),
            ("He is nine and has small hands.", "Then a half-size cello would fit."),
            ("His teacher will be a Mrs Lindqvist, on Thursdays.", "Thursday is a good day for a lesson."),
            ("We rent the cello for a year at first.", "Renting is wise while he grows."),
            ("Before I forget, the allotment needs a fence against deer.", "How high are you allowed to build?"),
            ("One metre eighty, says the club.", "Deer jump that, so plant a hedge inside."),
            ("Then hawthorn along the north side.", "Hawthorn grows thick in three years."),
        ),
        ((0, 3), (4, 7), (8, 10)),
        (
            ("Mara ordered a new thermocouple for the kiln from Leeds.", (1, 2)),
            ("Mara fires the red glaze on the slow schedule.", (3,)),
            ("Mara's nephew Otto is nine and wants to learn the cello.", (4, 5)),
            ("Otto has lessons with Mrs Lindqvist on Thursdays.", (6,)),
            ("Mara wants to plant hawthorn along the north side of the allotment.", (10,)),
        ),
        "Mara keeps an allotment and plants hawthorn there against deer",
        "Cause",
        True,
        "The kiln failed in a firing. Mara ordered a thermocouple from Leeds. Since then the firing waits for it.",
        "A new person who is introduced with a wish of their own opens a segment.",
        "When does Otto have lessons with Mrs Lindqvist?",
        (
            "Mara has a kiln whose thermocouple is being replaced.",
            "Her nephew Otto is nine and learns the cello.",
            "She has an allotment and fears deer.",
        ),
    ),
    Talk(
        "ferry",
        "Joris",
        (
            ("We take the night ferry to Bergen in June.", "How many of you travel?"),
            ("Five, with my two sisters and their sons.", "Then a cabin of four and a single one."),
            ("The boys want a window.", "Cabins with a window are on deck seven."),
            ("My tax return is late again.", "When was it due?"),
            ("At the end of April.", "Ask for the extension until September."),
            ("I did the same last year, at the office in Ghent.", "Then you know the form."),
            ("What do I cook for twelve on Sunday?", "A stew can be made the day before."),
            ("Two of them eat no meat.", "Then one pot with beans and one with beef."),
            ("Beans with smoked paprika, that works.", "Soak the beans overnight."),
            ("And bread from the baker in the Veldstraat.", "Order the bread by Friday."),
            ("The stew for the others simmers four hours.", "Four hours at low heat."),
            ("Last thing: the gutter leaks over the door.", "Is it a joint or a crack?"),
        ),
        ((0, 2), (3, 5), (6, 10), (11, 11)),
        (
            ("Joris takes the night ferry to Bergen in June with his sisters.", (0, 1)),
            ("Joris filed the tax return late last year too.", (3, 5)),
            ("Joris cooks for twelve on Sunday.", (6,)),
            ("Two guests of Joris eat no meat, so the beans are for them.", (7, 8)),
        ),
        "Joris travels to Bergen by night ferry with his two sisters and their sons",
        "SameTopic",
        False,
        "Joris was late with his taxes last year. He is late again. He asks for the extension until September.",
        "A request for help with a meal is a segment of its own, however short.",
        "Which deck has cabins with a window on the night ferry to Bergen?",
        (
            "Joris travels to Bergen in June.",
            "He is late with his tax return for the second year.",
            "He cooks two stews for twelve people on Sunday.",
            "His gutter leaks over the door.",
        ),
    ),
    Talk(
        "choir",
        "Anele",
        (
            ("Our choir sings in the cathedral at Easter.", "What do you sing?"),
            ("A mass by Byrd, in four voices.", "Which voice is yours?"),
            ("Second alto, since the spring.", "Then you hold the middle."),
            ("My knee hurts when I go down the stairs.", "Since when does it hurt?"),
            ("Since the half marathon in October.", "Runners often have that from the hip."),
            ("The physiotherapist said the same.", "Did she give you exercises?"),
            ("Three of them, every morning.", "Six weeks and it should be better."),
            ("Can you help me name a kitten?", "What does the kitten look like?"),
            ("Grey with one white paw.", "Sock, Ash or Pebble?"),
            ("Pebble it is.", "A good name for a grey cat."),
        ),
        ((0, 2), (3, 6), (7, 9)),
        (
            ("Anele sings second alto in a choir.", (0, 2)),
            ("Anele's knee hurts since the half marathon in October.", (3, 4)),
            ("Anele does three exercises every morning for the knee.", (6,)),
            ("Anele has a grey kitten called Pebble.", (8, 9)),
        ),
        "Anele ran a half marathon in October and does exercises since, as the knee hurts",
        "Reason",
        False,
        "Anele ran a half marathon in October. Her knee has hurt since. A physiotherapist gave her three exercises.",
        "Bodily complaints and what is done about them stay in one segment.",
        "Since when does Anele's knee hurt?",
        (
            "Anele sings second alto in a choir that performs a mass by Byrd.",
            "Her knee has hurt since a half marathon in October.",
            "She has a grey kitten called Pebble.",
        ),
    ),
    Talk(
        "bakery",
        "Tomas",
        (
            ("The bakery opens in May if the oven comes.", "Where does the oven come from?"),
            ("From Graz, by lorry.", "A deck oven needs three men to carry."),
            ("My brother and two friends help.", "Then plan a whole morning."),
            ("We sell rye and spelt at first.", "Two kinds are enough to begin."),
            ("The spelt comes from a mill in Zwettl.", "Ask for the fine grade."),
            ("My daughter moved to Lisbon last week.", "What does she do there?"),
            ("She restores tiles in a museum.", "Tiles are a good trade in Lisbon."),
            ("We visit her in August with the train.", "Three days by train, with a night in Lyon."),
            ("And I read the book on bees you told me of.", "Did you like it?"),
            ("So much that I want two hives.", "Two hives keep each other company."),
            ("On the roof of the bakery.", "Bees on a roof need shade at noon."),
            ("The landlord allows it.", "Then put them up in April."),
            ("I have to be careful with my allergy, though.", "Have the pen at hand."),
        ),
        ((0, 4), (5, 7), (8, 12)),
        (
            ("Tomas opens a bakery in May if the oven comes from Graz.", (0, 1)),
            ("Tomas gets the spelt from a mill in Zwettl.", (4,)),
            ("Tomas's daughter moved to Lisbon and restores tiles in a museum.", (5, 6)),
            ("Tomas and his family visit her in August by train.", (7,)),
            ("Tomas wants two hives on the roof of the bakery.", (9, 10)),
        ),
        "Tomas opens a bakery in May and wants to keep two hives on its roof",
        "Want",
        True,
        "Tomas opens a bakery in May. The oven comes from Graz by lorry. The spelt comes from a mill in Zwettl.",
        "What a speaker plans for one place is one segment, even where it has several parts.",
        "When do Tomas and his family visit the daughter in Lisbon?",
        (
            "Tomas opens a bakery in May.",
            "His daughter restores tiles in Lisbon.",
            "He wants two hives on the roof, though he has an allergy.",
        ),
    ),
)
