"""Where the local segmenters cut: on talk with plain topic shifts, by the clock, in exchanges, in short runs."""

from __future__ import annotations

import math
import random
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

from benchmarks.evaluation.segmentation import boundary_f1
from secom_core.conversation import Message, Turn, as_turns, group_messages
from secom_core.errors import InvalidInput
from secom_core.memory import Segment, boundaries_of
from secom_core.protocols import Segmenter
from secom_core.segmenters import (
    EachTurn,
    EmbeddingSegmenter,
    FixedSize,
    LexicalSegmenter,
    WholeSession,
    embedding,
    evidence,
    lexical,
)
from secom_core.segmenters.adaptive.gaps import CUES, PRIOR, SIMILARITIES, WORDING
from secom_core.segmenters.cohesion import COHESION, bags_of, cohesion

sys.path.insert(0, str(Path(__file__).parents[1]))
from embedders import HashingEmbedder

DESK = [
    [
        "Hello, I need a train to Bergen on Friday.",
        "Trains to Bergen leave at eight and at noon. Which train suits you?",
    ],
    ["The noon train. How long does the train take?", "The noon train takes seven hours to Bergen."],
    ["Then one ticket for that train, please.", "Your ticket for the noon train is booked. Anything else?"],
    ["Can you find me a restaurant with good soup?", "There is a soup restaurant by the harbour, and one uphill."],
    ["Is the harbour restaurant expensive?", "No, the soup at the harbour restaurant is cheap."],
    ["Thanks, book the restaurant for two.", "The harbour restaurant is booked for two people."],
    ["I'm also looking for a museum about ships.", "The ship museum opens at ten. It shows old ships and sails."],
    ["Does the museum have a guided tour of the ships?", "Yes, the museum has a tour of its ships every hour."],
]
DESK_CUTS = [5, 11]
CHAT = [
    "my dog ate a whole shoe this morning",
    "oh no , is the dog alright ?",
    "yes , the dog is fine but the shoe is not",
    "my dog only eats socks . dogs are strange",
    "do you play any music ?",
    "i play the guitar in a band . the guitar is loud",
    "nice , i always wanted to learn the guitar",
    "our band needs another guitar , come and learn",
    "what do you do for work ?",
    "i bake bread in a small bakery",
    "fresh bread , your bakery must smell wonderful",
    "it does , but the bakery opens at four",
]
CHAT_CUTS = [3, 7]
CHINESE = [
    "我想买一台新的笔记本电脑，你觉得买哪种好？",
    "看你用电脑做什么，写字的话轻一点的笔记本电脑就够了。",
    "主要是写字，电脑的屏幕要大一点。",
    "那就买大屏幕的笔记本电脑，记得看电池。",
    "周末去爬山吗？听说香山的红叶很好看。",
    "好啊，香山的红叶正是时候，我们坐地铁去爬山。",
    "爬山要早一点出发，香山人多。",
    "那我们七点出发，看完红叶再下山。",
]
CHINESE_CUTS = [3]


def cuts_of(segmenter: Segmenter, turns: Sequence[Turn]) -> list[int]:
    return [turn for turn, ends in enumerate(boundaries_of(segmenter.segment(turns))) if ends]


@pytest.fixture(params=["lexical", "embedding"])
def segmenter(request: pytest.FixtureRequest) -> LexicalSegmenter | EmbeddingSegmenter:
    return LexicalSegmenter() if request.param == "lexical" else EmbeddingSegmenter(HashingEmbedder())


def f1_of(segmenter: Segmenter, texts: Sequence[str], cuts: Sequence[int]) -> float:
    truth = [int(turn in cuts) for turn in range(len(texts))]
    return boundary_f1(truth, boundaries_of(segmenter.segment(as_turns(texts))))


def test_a_desk_clerk_changes_topics(segmenter: Segmenter) -> None:
    assert f1_of(segmenter, [text for pair in DESK for text in pair], DESK_CUTS) >= 0.8


def test_chat_changes_topics(segmenter: Segmenter) -> None:
    assert f1_of(segmenter, CHAT, CHAT_CUTS) >= 0.8


def test_chinese_chat_changes_topics(segmenter: Segmenter) -> None:
    assert f1_of(segmenter, CHINESE, CHINESE_CUTS) >= 2 / 3


@pytest.mark.parametrize("segmenter", [LexicalSegmenter(), EmbeddingSegmenter(HashingEmbedder())])
def test_exchanges_are_cut_as_well_as_utterances(segmenter: Segmenter) -> None:
    messages = [Message(text, role) for pair in DESK for text, role in zip(pair, ("user", "assistant"), strict=True)]
    turns = group_messages(messages)
    assert len(turns) == len(DESK)
    assert {2, 5} <= set(cuts_of(segmenter, turns)) <= {2, 4, 5}


@pytest.mark.parametrize("segmenter", [LexicalSegmenter(), EmbeddingSegmenter(HashingEmbedder())])
def test_a_later_turn_does_not_upset_what_was_clear(segmenter: Segmenter) -> None:
    texts = [text for pair in DESK for text in pair]
    for known in range(9, len(texts) + 1):
        assert 5 in cuts_of(segmenter, as_turns(texts[:known]))


def timed(minutes: Sequence[float]) -> list[Turn]:
    begin = datetime(2024, 3, 1, tzinfo=timezone.utc)
    texts = ["The soup needs more salt, and the potatoes need more time."] * len(minutes)
    return [
        Turn((Message(text, role="", at=begin + timedelta(minutes=minute)),), "s", place)
        for place, (text, minute) in enumerate(zip(texts, minutes, strict=False))
    ]


def test_a_long_pause_ends_a_topic(segmenter: Segmenter) -> None:
    even, broken = timed([0, 1, 2, 3, 4, 5]), timed([0, 1, 2, 600, 601, 602])
    assert cuts_of(segmenter, even) == []
    assert cuts_of(segmenter, broken) == [2]


def test_slow_talk_has_no_long_pauses() -> None:
    assert not evidence.pauses(timed([0, 300, 600, 900, 1200])).any()


def test_times_unknown_or_backwards_say_nothing() -> None:
    assert not evidence.pauses(timed([5, 4, 3, 2])).any()
    assert not evidence.pauses([*timed([0]), *as_turns(["x", "y"])]).any()


def test_it_cuts_where_the_chance_is_above_the_threshold(segmenter: LexicalSegmenter | EmbeddingSegmenter) -> None:
    turns = as_turns(CHAT)
    likely = np.flatnonzero(segmenter.chances(turns) > segmenter.threshold).tolist()
    assert likely == cuts_of(segmenter, turns)


def test_a_lower_threshold_cuts_more() -> None:
    counts = [len(LexicalSegmenter(threshold=limit).segment(as_turns(CHAT))) for limit in (0.02, 0.33, 0.999)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]


def test_the_longest_segment_is_cut_where_it_hurts_least() -> None:
    assert cuts_of(LexicalSegmenter(max_length=4), as_turns(CHAT)) == CHAT_CUTS


def test_speakers_tell_who_opens() -> None:
    turns = [
        Turn((Message(text, speaker=name, role=""),), "s", place)
        for place, (text, name) in enumerate(zip(CHAT, "ABBABABABABA", strict=True))
    ]
    opener = evidence._opens(turns)
    assert opener is not None
    assert opener.tolist() == [name == "A" for name in "BBABABABABA"]
    assert evidence._opens(group_messages([Message("a"), Message("b", "assistant"), Message("c")])) is None


def test_the_adaptive_prior_fits_the_code() -> None:
    prior = evidence.load_prior(PRIOR)
    assert prior.columns == (*WORDING, *CUES, *SIMILARITIES)
    assert len(prior.means) == len(prior.scales) == len(prior.columns)
    words, vectors = len(WORDING) + len(CUES), len(prior.columns)
    assert [len(weights) for _, weights in prior.models.values()] == [words, words, vectors, vectors]


@pytest.mark.parametrize(
    ("name", "columns"), [("lexical_prior.json", lexical.COLUMNS), ("embedding_prior.json", embedding.COLUMNS)]
)
def test_the_priors_fit_the_code(name: str, columns: tuple[str, ...]) -> None:
    prior = evidence.load_prior(name)
    assert prior.columns == columns
    assert len(prior.means) == len(prior.scales) == len(columns)
    assert len(prior.models["service"][1]) == len(prior.models["chat"][1]) == len(columns)
    neutral = len(prior.models["neutral"][1])
    assert not any(":" in column and not column.startswith("similar:") for column in columns[:neutral])
    assert len(prior.models["gate"][1]) == len(evidence.GATE)


def test_embedder_sees_each_message_once() -> None:
    embedder = HashingEmbedder()
    EmbeddingSegmenter(embedder).segment(as_turns(CHAT))
    assert embedder.calls == 1


def test_fixed_units() -> None:
    turns = as_turns("abcdefg")
    assert FixedSize(3).segment(turns) == [Segment(0, 3), Segment(3, 6), Segment(6, 7)]
    assert len(EachTurn().segment(turns)) == 7
    assert WholeSession().segment(turns) == [Segment(0, 7)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FixedSize(0), "at least 1 turn, got 0"),
        (lambda: LexicalSegmenter(max_length=0), "max_length is at least 1 turn, got 0"),
        (lambda: LexicalSegmenter(mean_length=0.5), "mean_length is at least 1 turn, got 0.5"),
        (lambda: LexicalSegmenter(mean_length=float("nan")), "mean_length is at least 1 turn, got nan"),
        (lambda: LexicalSegmenter(threshold=1.0), "between 0 and 1, got 1.0"),
        (lambda: EmbeddingSegmenter(HashingEmbedder(), threshold=0.0), "between 0 and 1, got 0.0"),
    ],
)
def test_wrong_options_are_named(make: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()  # type: ignore[operator]


def test_cohesion_is_of_no_unit() -> None:
    """Saying everything twice in one message changes no cosine."""
    once = lexical.columns(CHAT, bags_of(CHAT))
    twice = [f"{text} {text}" for text in CHAT]
    cosines = [place for place, name in enumerate(lexical.COLUMNS) if name in COHESION[:10]]
    assert np.allclose(once[:, cosines], lexical.columns(twice, bags_of(twice))[:, cosines])


def test_models_are_those_of_the_definition() -> None:
    """How much better two distributions explain the words around a gap, worked out from the words one by one."""
    dice = random.Random(4)
    said = [[f"w{min(int(dice.expovariate(0.2)), 30)}" for _ in range(dice.randrange(12))] for _ in range(40)]
    bags = [Counter(words) for words in said]
    found = cohesion(bags)

    def evidence(words: list[str]) -> float:
        each = sum(math.lgamma(count + 0.1) - math.lgamma(0.1) for count in Counter(words).values())
        return each - math.lgamma(len(words) + 30) + math.lgamma(30)

    for window in (2, 4):
        for gap in range(1, len(said)):
            before, after = (
                [word for words in said[part] for word in words]
                for part in (slice(max(0, gap - window), gap), slice(gap, gap + window))
            )
            gain = evidence(before) + evidence(after) - evidence(before + after)
            expected = gain / (len(before) + len(after) + 5)
            assert found[gap - 1, COHESION.index(f"model_{window}")] == pytest.approx(expected, abs=1e-9)


def test_a_run_of_no_words_at_all_is_cut_too() -> None:
    assert LexicalSegmenter().segment(as_turns(["", "…", "", ""]))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"max_length": "x"}, "max_length is at least 1 turn, got 'x'"),
        ({"mean_length": None}, "mean_length is at least 1 turn, got None"),
        ({"threshold": []}, r"the threshold lies between 0 and 1, got \[\]"),
    ],
)
def test_lengths_and_the_threshold_are_numbers(wrong, says) -> None:
    with pytest.raises(InvalidInput, match=says):
        LexicalSegmenter(**wrong)
