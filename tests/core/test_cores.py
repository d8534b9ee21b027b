"""The sentence that is shown of a passage where there is no room for all of it."""

from __future__ import annotations

from secom_core.conversation import Message, Turn
from secom_core.memory import Memory, Passage
from secom_core.ranking.candidate import Candidate
from secom_core.ranking.cores import with_narrower


def test_of_two_sentences_that_hold_as_much_it_is_the_first_in_every_process() -> None:
    weights = [0.1, 0.2, 0.3, 0.7]
    for number in range(200):
        # Sets of other words have another order, as they have in other processes.
        first, second = ([f"{name}{number}x{place}" for place in range(4)] for name in ("kiwi", "plum"))
        text = f"{' '.join(first)}. {' '.join(second)}."
        turn = Turn((Message(text, id=f"t{number}"),))
        passage = Passage(turn, 0, 0, len(text))
        worth = dict(zip(first, weights, strict=True)) | dict(zip(second, weights, strict=True))
        found = with_narrower(Candidate(turn, Memory(f"m{number}", text, (turn,)), 1.0), passage, worth)
        assert [each.text.strip() for each in found.narrower] == [f"{' '.join(first)}."]
