"""The sentence that is shown of a passage where there is no room for all of it."""

from __future__ import annotations

import pytest

from secom_core.context.excerpts import beginnings
from secom_core.conversation import Message, Turn
from secom_core.memory import Memory, Passage, passages_of
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


MENU = """## Lunch

| Dish | Price | Notes |
|------|-------|-------|
| Soup of the day | 4 | Warm. With bread |
| Plum cake | 3 | Cold. The price is for one |

```sh
bake --cake plum
```
"""


@pytest.mark.parametrize(
    ("word", "core"),
    [
        ("bread", "## Lunch"),
        ("cold", "| Plum cake | 3 | Cold. The price is for one |"),
        ("dish", "## Lunch"),
        ("bake", "```sh\nbake --cake plum"),
    ],
)
def test_a_row_is_shown_whole_and_a_head_or_a_fence_never_alone(word: str, core: str) -> None:
    turn = Turn((Message(MENU, id="t"),))
    passage = Passage(turn, 0, 0, len(MENU))
    [found] = with_narrower(Candidate(turn, Memory("m", MENU, (turn,)), 1.0), passage, {word: 1.0}).narrower
    assert found.text.strip().startswith(core)
    assert found.text.count("|") in (0, 4, 12)


def test_no_beginning_ends_with_what_leads_to_the_rest_or_within_a_row() -> None:
    turn = Turn((Message(f"Here is the menu of the day. {MENU}", id="t"),))
    [passage] = passages_of(turn)
    ends = [each.text.rstrip().splitlines()[-1] for each in beginnings(passage)]
    assert ends[-1] == "Here is the menu of the day."
    assert not [end for end in ends if end.startswith(("##", "| Dish", "|--", "```sh"))]
    assert all(end.endswith("|") for end in ends if end.startswith("|"))
