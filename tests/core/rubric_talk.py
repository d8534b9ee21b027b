"""Annotated talk, and a scripted model that segments it better the more its prompt tells it.

People open a topic with one of five cues. The model knows them all by sight, but follows only digressions of its own
accord, and takes additions for openings. It follows another cue where a rule in its prompt names it. Asked to reflect,
it compares the two divisions in its prompt and names the cue that it got wrong most often. It reads its prompt and
nothing else.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Sequence

from secom_core.conversation import Turn, as_turns
from secom_core.memory import Segment, segments_from
from secom_core.models import OpenAIModel
from secom_core.segmenters import Rubric, RubricLearner
from secom_core.segmenters.zero_shot_prompt import as_jsonl
from secom_core.testing import ScriptedRequest

Session = tuple[tuple[Turn, ...], list[Segment]]

OPENERS = {
    "digression": "By the way,",
    "return": "Back to what we said,",
    "greeting": "Hello again,",
    "date": "On Thursday,",
    "permission": "May I ask something else,",
}
ADDITION = "addition"
CUES = {**OPENERS, ADDITION: "Also,"}
SUBJECTS = {
    "boat": ["the hull wants paint", "the mast is bent", "the sail has a tear", "we row without the engine"],
    "bread": ["the dough rises slowly", "rye is dear", "the oven runs hot", "the crust came out pale"],
    "choir": ["the tenor is ill", "we sing at noon", "the hall is cold", "the score has a gap"],
    "goats": ["the kid was born", "the fence is down", "the milk is good", "the vet was here"],
    "maps": ["the scale is off", "the river moved", "the ink ran", "the north sheet is lost"],
}


def session(seed: int, segments: int = 5) -> Session:
    draw = random.Random(seed)
    texts: list[str] = []
    ends: list[int] = []
    subject = ""
    for place in range(segments):
        subject = draw.choice([each for each in SUBJECTS if each != subject])
        said = draw.sample(SUBJECTS[subject], draw.randint(2, 4))
        if place:
            said[0] = f"{CUES[draw.choice(list(OPENERS))]} {said[0]}"
        if len(said) > 2 and draw.random() < 0.5:
            said[-1] = f"{CUES[ADDITION]} {said[-1]}"
        texts += said
        ends.append(len(texts) - 1)
    return as_turns(texts), segments_from(ends, len(texts))


def sessions(first: int, count: int) -> list[Session]:
    return [session(seed) for seed in range(first, first + count)]


def model(request: ScriptedRequest) -> str:
    """What the model replies; a script for `ScriptedServer` and `ScriptedModel`."""
    return reflect(request.prompt) if "<reflection>" in request.prompt else segment(request.prompt)


def segment(prompt: str) -> str:
    rules = between(prompt, "<rubric>", "</rubric>")
    followed = {"digression"} | {cue for cue in OPENERS if cue in rules}
    if ADDITION not in rules:
        followed.add(ADDITION)
    said = exchanges(prompt[prompt.rindex("<conversation>") :])
    starts = [place for place, text in enumerate(said) if cue_of(text) in followed]
    return f"<segmentation>\n{as_jsonl(segments_from([at - 1 for at in starts], len(said)))}\n</segmentation>"


def reflect(prompt: str) -> str:
    rules = between(prompt, "<rules>", "</rules>")
    errors: list[tuple[str, int]] = []
    for number, body in re.findall(r'<conversation number="(\d+)">(.*?)</conversation>', prompt, re.DOTALL):
        model_starts, true_starts = (
            starts(prompt, rf"^Conversation {number} as {who} divided it: (.*)$") for who in ("the model", "people")
        )
        said = exchanges(body)
        errors += [(cue_of(said[place]), int(number)) for place in sorted(model_starts ^ true_starts)]
    fresh = [(cue, number) for cue, number in errors if cue not in rules]
    cue, _ = Counter(cue for cue, _ in fresh or errors).most_common(1)[0]
    typical = next(number for found, number in errors if found == cue)
    return written(rule(cue), typical)


def rule(cue: str) -> str:
    if cue == ADDITION:
        return "An addition goes on with the same topic and opens nothing."
    return f"A {cue} opens a segment, however short it is."


def written(item: str, example: int = 1, note: str = "it shows the cue") -> str:
    return (
        f"<reflection>\nI misread a cue.\n</reflection>\n<rubric>\n- {item}\n</rubric>\n"
        f"<example>\nConversation {example}: {note}.\n</example>"
    )


def exchanges(text: str) -> list[str]:
    return re.findall(r"^\[Exchange \d+\]: (.*)$", text, re.MULTILINE)


def cue_of(text: str) -> str:
    return next((cue for cue, words in CUES.items() if text.startswith(words)), "")


def starts(prompt: str, pattern: str) -> set[int]:
    found = re.search(pattern, prompt, re.MULTILINE)
    assert found is not None, pattern
    return {int(part.split("-")[0]) for part in found[1].split(", ")}


def between(text: str, begin: str, end: str) -> str:
    return text.partition(begin)[2].partition(end)[0]


def learn(base_url: str, state: str, annotated: Sequence[Session], **options: object) -> Rubric:
    model = OpenAIModel("tiny", base_url=base_url, timeout=30, max_retries=0)
    return RubricLearner(model, **({"items": 5, "top_k": 12, "state": state} | options)).learn(annotated)


if __name__ == "__main__":  # run by a test, which kills it
    learn(sys.argv[1], sys.argv[2], sessions(0, 16))
