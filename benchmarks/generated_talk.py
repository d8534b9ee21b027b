"""Dialogues made from the phrases of ``prior_text.txt``, with their segments known.

Four kinds: small talk, errands done with an agent, a person with an assistant, and meetings. The text was written for
this project, so that what is learned from it may be shipped.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from secom_core.conversation import Message, Turn, as_turns, group_messages

HERE = Path(__file__).parent

REACTIONS = (
    "that is cool . | nice ! | oh , i see . | that sounds fun . | wow ! | sorry to hear that . | great ! | "
    "i know what you mean . | haha , same here . | good for you . | interesting . | me too . | lol . | "
    "that is a shame . | i love that ."
).split(" | ")
GREETINGS = "hi ! | hello , how are you ? | hey there , how is it going ? | good morning !".split(" | ")
WELLS = "i am good , thanks . | doing fine . | pretty tired today . | great , just relaxing .".split(" | ")
BACKS = "what about you ? | how about you ? | and you ?".split(" | ")
SHORT = "yes , i do . | no , not really . | sometimes . | a little . | of course . | not yet .".split(" | ")
THANKS = (
    "Thank you. | Great, thanks for your help. | That is all I need, thank you. | Perfect, thanks a lot. | "
    "No, that will be all. Goodbye. | Okay, that is everything. | Awesome, thanks."
).split(" | ")
WELCOMES = (
    "You're welcome. | You are welcome, have a nice day! | Glad I could help. Goodbye. | "
    "Enjoy your day. | Happy to help. Is there anything else you need? | Have a good one, bye."
).split(" | ")
MORE = "Is there anything else I can help you with? | Anything else? | Can I do something else for you?".split(" | ")
THANKED = "Thanks, that helps. | Perfect. | Great, thank you! | I see.".split(" | ")
HUMS = "Mm-hmm. | Yeah. | Right. | Okay. | Hmm, I don't know. | Yeah, exactly. | Uh-huh.".split(" | ")


@dataclass(frozen=True, slots=True)
class Theme:
    kind: str
    name: str
    lines: dict[str, list[str]] = field(default_factory=dict)

    def some(self, key: str, rng: random.Random) -> Iterator[str]:
        """Its lines of one sort, shuffled, each once."""
        return iter(rng.sample(self.lines.get(key, []), len(self.lines.get(key, []))))

    def opening(self, rng: random.Random) -> str:
        return rng.choice(self.lines.get("q", []) + self.lines.get("s", []))


def read_themes(path: Path = HERE / "prior_text.txt") -> list[Theme]:
    themes: list[Theme] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("@"):
            _, kind, name = line.split()
            themes.append(Theme(kind, name))
        elif ": " in line and not line.startswith("#"):
            key, text = line.split(": ", 1)
            themes[-1].lines.setdefault(key, []).append(text)
    return themes


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _maybe(rng: random.Random, chance: float, options: list[str]) -> str:
    return rng.choice(options) if rng.random() < chance else ""


def small_talk(theme: Theme, first: bool, rng: random.Random) -> list[str]:
    """Someone asks or tells, the other answers and asks back; the next theme often rides on a reaction."""
    opening = theme.opening(rng)
    answers, follow_ups = theme.some("a", rng), theme.some("f", rng)
    said = [_joined("" if first else _maybe(rng, 0.6, REACTIONS), opening, _maybe(rng, 0.15, BACKS))]
    asked = opening.endswith("?") or said[-1].endswith("?")
    for _ in range(min(6, int(rng.expovariate(1 / 2.2)) + (1 if asked else 0))):
        answer = next(answers, None)
        if answer is None:
            break
        lead = _maybe(rng, 0.3, SHORT) if asked else _maybe(rng, 0.5, REACTIONS)
        tail = rng.choice([next(follow_ups, ""), rng.choice(BACKS), ""]) if rng.random() < 0.6 else ""
        if not asked and rng.random() < 0.35:
            said.append(_joined(rng.choice(REACTIONS), next(follow_ups, "")))
        else:
            said.append(_joined(lead, answer, tail))
        asked = said[-1].endswith("?")
    return said


def errand(theme: Theme, first: bool, rng: random.Random) -> list[str]:
    """A request, the agent's questions, information, and often thanks; customer and agent take turns."""
    requests, asks, answers = theme.some("q", rng), theme.some("f", rng), theme.some("a", rng)
    said = [_joined(_maybe(rng, 0.15, ["Hi.", "Hello.", "Also,", "Thanks."]), next(requests))]
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3))):
        ask, answer = next(asks, ""), next(answers, "")
        said += [_joined(_maybe(rng, 0.3, ["Sure.", "Certainly.", "I can help with that."]), ask or answer)]
        said += [_joined(_maybe(rng, 0.15, ["Yes please.", "No."]), next(answers, "") if ask else "")]
        said[-1] = said[-1] or "Okay, go on."
    said.append(_joined(next(answers, "It is all set."), _maybe(rng, 0.4, MORE)))
    if rng.random() < 0.6:
        said += [rng.choice(THANKS), rng.choice(WELCOMES)]
    return said


def assistance(theme: Theme, first: bool, rng: random.Random) -> list[str]:
    """A question, a long answer, follow-ups that point back."""
    place = rng.randrange(len(theme.lines["q"]))
    said = [theme.lines["q"][place], theme.lines["a"][place]]
    answers, follow_ups = theme.some("a", rng), theme.some("f", rng)
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3))):
        question, answer = next(follow_ups, None), next(answers, None)
        said += [_joined(_maybe(rng, 0.3, THANKED), question or "Go on."), answer or rng.choice(theme.lines["a"])]
    if rng.random() < 0.15:
        said += [rng.choice(THANKED), rng.choice(WELCOMES)]
    return said


def meeting(theme: Theme, first: bool, rng: random.Random) -> list[str]:
    """Someone brings up a point, several people go on about it, with hums between."""
    answers, follow_ups = theme.some("a", rng), theme.some("f", rng)
    said = [theme.opening(rng)]
    for _ in range(rng.randint(3, 9)):
        draw = rng.random()
        line = rng.choice(HUMS) if draw < 0.3 else next(answers if draw < 0.8 else follow_ups, rng.choice(HUMS))
        said.append(_joined(_maybe(rng, 0.2, HUMS), line))
    return said


KINDS: dict[str, Callable[[Theme, bool, random.Random], list[str]]] = {
    "small": small_talk,
    "task": errand,
    "ask": assistance,
    "meet": meeting,
}


@dataclass(frozen=True, slots=True)
class Dialogue:
    kind: str
    turns: tuple[Turn, ...]
    boundaries: tuple[int, ...]


def _dialogue(kind: str, themes: list[Theme], rng: random.Random) -> Dialogue:
    segments = [KINDS[kind](theme, place == 0, rng) for place, theme in enumerate(themes)]
    if kind == "small" and rng.random() < 0.5:
        segments[0][:0] = [rng.choice(GREETINGS), rng.choice(WELLS)]
    lines = [line for segment in segments for line in segment]
    ends = {sum(map(len, segments[: place + 1])) - 1 for place in range(len(segments) - 1)}
    if kind != "ask":
        return Dialogue(kind, as_turns(lines), tuple(int(place in ends) for place in range(len(lines))))
    roles = ("user", "assistant")
    turns = group_messages(Message(line, role=roles[place % 2]) for place, line in enumerate(lines))
    return Dialogue(kind, turns, tuple(int(2 * place + 1 in ends) for place in range(len(turns))))


def dialogues(count: int, seed: int) -> list[Dialogue]:
    """``count`` dialogues of mixed kinds, one to six segments each; the same for the same seed."""
    rng = random.Random(seed)
    themes = read_themes()
    made = []
    for place in range(count):
        kind = tuple(KINDS)[place % len(KINDS)]
        pool = [theme for theme in themes if theme.kind == kind]
        made.append(_dialogue(kind, rng.sample(pool, min(len(pool), rng.randint(1, 6))), rng))
    return made
