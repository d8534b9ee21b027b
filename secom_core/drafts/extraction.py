"""What a session says, taken from it by a language model or by its segments, and what of it is not stored yet."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Final, TypeAlias, cast

from ..conversation import USER_ROLES, Message, Turn
from ..errors import BadReply, ContextTooLong, CutOff, ModelError, ModelUnavailable, warn_degraded
from ..llm.flow import Procedure, Prompt
from ..llm.quoting import shortened
from ..llm.replies import Texts
from ..llm.retry import Ask, all_asked_twice
from ..llm.windows import days_of, window_texts, within
from ..memory import Memory
from ..text.non_answers import is_refusal
from ..text.pasted import without_pasted
from ..text.terms import count_tokens, sentences, terms
from .attribution import attributed, without_example
from .grounding import counted_from_0, resting_on

Identity: TypeAlias = tuple[str, str, tuple[int, ...]]
"""Speaker, text, and the indices of the turns."""

_LONGEST: Final = 60
"""Up to how many tokens an utterance is taken as a whole."""
_QUESTION: Final = 0.5
"""What a question is worth beside a statement: it asks for what the answer tells."""
_ANSWER: Final = 0.5
"""What a sentence of an assistant's answer is worth beside what the user tells, which is what happened."""
_HALVINGS: Final = 3
"""How often a question is halved at most where the reply to it was cut off."""
_LEAST: Final = 100
"""How many tokens of conversation a question has room for, at least."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Something that a session says, before it has an id.

    Args:
        text: in a sentence or two; the words of the conversation where no language model wrote it.
        turns: the turns of the session that it rests on, in order; never none.
        speaker: whom it is about; empty where nobody is named, or where that does not matter.
    """

    text: str
    turns: tuple[Turn, ...]
    speaker: str = ""

    @property
    def indices(self) -> tuple[int, ...]:
        """The indices of its turns in the session."""
        return tuple(turn.index for turn in self.turns)

    @property
    def identity(self) -> Identity:
        """All that makes two drafts of a session equal."""
        return self.speaker, self.text, self.indices


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a session says, and whether a language model answered at all."""

    drafts: tuple[Draft, ...]
    answered: bool


@dataclass(frozen=True, slots=True)
class Question:
    """A question about some turns of a session.

    Args:
        window: the turns; the reply names them by their numbers, from 0.
        tokens: the most tokens of conversation in it, estimated; long turns lose their middle.
        ask: writes the prompt about the texts of turns and their days.
        what: what is asked for, for the warning.
        speaker: whom it is about; empty where that does not matter.
        halvings: how often it may yet be halved where its reply is cut off.
    """

    window: Sequence[Turn]
    tokens: int
    ask: Callable[..., Prompt]
    what: str
    speaker: str = ""
    halvings: int = _HALVINGS

    @property
    def asked(self) -> Ask:
        """What writes the prompt."""
        return partial(self.ask, window_texts(self.window, self.tokens), days=days_of(self.window))

    def smaller(self, error: object) -> list[Question]:
        """The same in two halves, where it was too much for the model; nothing where it cannot be made smaller.

        A model that repeats itself up to its limit does so about half of the turns too, so a reply of which nothing is
        whole is a reason to halve once.
        """
        if not isinstance(error, CutOff | ContextTooLong):
            return []
        left = self.halvings
        if isinstance(error, CutOff):
            left = (left if error.kept else min(left, 1)) - 1
        middle, tokens = len(self.window) // 2, max(self.tokens // 2, _LEAST)
        if middle and left >= 0:
            halves = self.window[:middle], self.window[middle:]
            return [replace(self, window=part, tokens=tokens, halvings=left) for part in halves]
        shorter = isinstance(error, ContextTooLong) and tokens < self.tokens
        return [replace(self, tokens=tokens)] if shorter else []


Answered: TypeAlias = "tuple[Question, Texts | ModelError]"


def extract(
    questions: Sequence[Question],
    read: Callable[..., Texts],
    memories: Sequence[Memory],
    *,
    by_speaker: bool = False,
) -> Procedure[Extracted]:
    """Ask all the questions together, and each whose reply cannot be read once more.

    A question that is too long for the model, or whose reply was cut off, is asked again in halves. Where there is no
    reply that can be used, the segments are taken instead, and a `DegradedWarning` names the cause. What no turn says
    is not used (`secom_core.drafts.grounding`), nor a refusal.

    Args:
        questions: about the session's windows.
        read: called with a reply and ``count``, the number of turns shown; gives the texts in it with the numbers of
            their turns, or raises `BadReply`.
        memories: the session's segments.
        by_speaker: take only segments of which the speaker that the question is about says most.
    """
    found = list(chain.from_iterable((yield from _answers(questions, read))))
    _tell_failed(found)
    drafts: list[Draft] = []
    for question, texts in found:
        window = question.window
        if isinstance(texts, ModelError):
            segments = segment_drafts(within(memories, window), by_speaker=by_speaker)
            drafts += [draft for draft in segments if draft.speaker == question.speaker]
        else:
            drafts += [Draft(text, tuple(window[each] for each in turns), question.speaker) for text, turns in texts]
    return Extracted(tuple(drafts), not any(isinstance(texts, ModelUnavailable) for _, texts in found))


def _tell_failed(found: Sequence[Answered]) -> None:
    """One warning for each thing that was asked for, with the cause of the first failure."""
    failed: dict[str, list[tuple[int, ModelError]]] = {}
    for question, texts in found:
        if isinstance(texts, ModelError):
            failed.setdefault(question.what, []).append((len(question.window), texts))
    for what, each in failed.items():
        turns = sum(count for count, _ in each)
        warn_degraded(f"the language model found no {what} in {turns} turns, segments are taken instead", each[0][1])


def _answers(questions: Sequence[Question], read: Callable[..., Texts]) -> Procedure[list[list[Answered]]]:
    """For each question what was read of the reply; of one that was asked in halves, for each of them."""
    asks = [question.asked for question in questions]
    reads = [partial(_grounded, read, question) for question in questions]
    found = yield from all_asked_twice(asks, reads, in_pieces=True)
    halves = [question.smaller(each) for question, each in zip(questions, found, strict=True)]
    again = [each for pair in halves for each in pair]
    answers = iter((yield from _answers(again, read)) if again else ())
    return [
        [answer for _ in pair for answer in next(answers)] if pair else [(question, _kept(each))]
        for question, each, pair in zip(questions, found, halves, strict=True)
    ]


def _grounded(read: Callable[..., Texts], question: Question, reply: str) -> Texts:
    """What is read of the reply and said in the conversation, with the turns that say so; a `BadReply` for the rest."""
    error: BadReply | None = None
    try:
        texts = read(reply, count=len(question.window))
    except BadReply as found:
        texts, error = cast("Texts", found.kept or []), found
    prompt = question.asked(complaint=None).text
    window, speaker = question.window, question.speaker
    texts = counted_from_0(texts, window)
    said = [(without_example(text, window, prompt, speaker), named) for text, named in texts]
    rests = [(text, () if is_refusal(text) else resting_on(text, named, window, prompt)) for text, named in said]
    kept = [(attributed(text, [window[place] for place in places]), places) for text, places in rests if places]
    if error is not None:
        raise type(error)(error.reason, reply, kept if error.kept is not None else None)
    if len(kept) < len(rests):
        strange = next(text for text, places in rests if not places)
        raise BadReply(f"the conversation does not say: {strange}", reply, kept)
    return kept


def _kept(found: Texts | ModelError) -> Texts | ModelError:
    """What is whole of a reply that was cut off, where nothing smaller can be asked."""
    if not isinstance(found, CutOff) or not found.kept:
        return found
    warn_degraded("a reply of the language model was used as far as it is whole", found)
    return cast("Texts", found.kept)


# -- without a language model -----------------------------------------------------------------------------------------


def segment_drafts(memories: Sequence[Memory], *, by_speaker: bool = False) -> list[Draft]:
    """Each segment as a draft: the utterance that says most of what it is about, as it was said, with all its turns.

    Of a long utterance, its best sentence; no code, nor what else a program wrote (`secom_core.text.pasted`). What a
    user tells goes before what an assistant answers, unless it says much less.

    Args:
        memories: the segments of a session, in order.
        by_speaker: about whoever says most in the segment, and in their words; among the users where there are any: it
            is the user's topic, not the assistant's.
    """
    units = [set(terms(memory.value)) for memory in memories]
    spread = Counter(term for unit in units for term in unit)

    def rarity(term: str) -> float:
        return math.log1p(len(units) / (1 + spread[term]))

    drafts = [_best(memory, rarity, by_speaker) for memory in memories]
    return [draft for draft in drafts if draft is not None]


def _best(memory: Memory, rarity: Callable[[str], float], by_speaker: bool) -> Draft | None:
    about = Counter(terms(memory.value))

    def worth(text: str) -> float:
        known = set(terms(text))
        rare = sum(rarity(term) * (1.5 if about[term] > 1 else 1.0) for term in known)
        return rare / math.sqrt(max(len(known), 4)) * (_QUESTION if text.rstrip().endswith(("?", "？")) else 1.0)

    messages = [message for turn in memory.turns for message in turn.messages if message.text.strip()]
    if by_speaker:
        messages = _of_main_speaker(messages, rarity)
    told = [(message, part) for message in messages for part in _parts(without_pasted(message.text))]
    # Where nothing but code was said, it is of that.
    parts = told or [(message, part) for message in messages for part in _parts(message.text)]
    if not parts:
        return None
    users = any(message.role in USER_ROLES for message in messages)

    def weight(message: Message) -> float:
        return _ANSWER if users and message.role == "assistant" and message.speaker is None else 1.0

    message, text = max(parts, key=lambda each: worth(each[1]) * weight(each[0]))
    line = f"{message.label}: {text}" if message.label else text
    return Draft(line, memory.turns, message.label if by_speaker else "")


def _of_main_speaker(messages: Sequence[Message], rarity: Callable[[str], float]) -> list[Message]:
    candidates = [message for message in messages if message.role in USER_ROLES] or messages
    weights: defaultdict[str, float] = defaultdict(float)
    for message in candidates:
        weights[message.label] += sum(map(rarity, set(terms(message.text))))
    main = max(weights, key=lambda label: weights[label], default="")
    return [message for message in candidates if message.label == main]


def _parts(text: str) -> list[str]:
    whole = " ".join(text.split())
    if count_tokens(whole) <= _LONGEST:
        return [whole] if whole else []
    return [shortened(" ".join(part.split()), _LONGEST) for part in sentences(text) or [whole]]
