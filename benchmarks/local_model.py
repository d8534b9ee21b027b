"""What a small language model on this machine makes of every question of ours, recorded so that it can be run again.

    python -m benchmarks.local_model PART [...] --data DIR --recorded FILE --model NAME
        [--base-url URL] [--most N] [--parallel 4] [--json OUT]

DIR holds ``locomo`` and ``segmentation`` (or, for ``citations`` and ``answering``, conversations as `benchmarks.
answering` reads them). Each request to the model at URL, any OpenAI-compatible endpoint, and what came back is a line
of FILE. What is there already is not asked again, so that a run that was cut off goes on; without URL all of it comes
from FILE, and a request that is not there is an error. Everything is asked at temperature 0, with a seed. ``--most``
takes another number of samples, the same ones first. Parts:

- ``citations``: questions about a conversation, answered from 500 tokens of it with the instruction to cite
- ``segmentation``: dialogues cut by `ZeroShotSegmenter`, held to the JSON schema and not, and by a bank as sessions
  end; beside `LexicalSegmenter` on the same ones
- ``rubric``: those of DialSeg711 cut with two rules at most that `RubricLearner` learned from others
- ``summaries``: a running summary over a conversation's first sessions, with retention, without it, without a model
- ``layers``: timelines and topics of the first sessions, and what is recalled with them and without
- ``answering``: questions answered without memory, from the last turns, from ours and from LangChain's vector memory
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Final, TypeVar

from benchmarks import answering as qa
from benchmarks import chats
from benchmarks.evaluation.generation import token_f1
from benchmarks.evaluation.retrieval import evidence_recall
from benchmarks.evaluation.segmentation import evaluate
from benchmarks.locomo import LocomoQuestion
from benchmarks.recorded_model import SEED, AskedModel, Recorder, cost
from benchmarks.retrieval import SCOPE, Conversation
from benchmarks.segmentation import Dialogue, choose_embedder, read_dialogues, versions
from benchmarks.timelines import asked as asked_with_timelines
from secom_core import presets
from secom_core.bank import MemoryBank
from secom_core.citations import Citations, read_citations
from secom_core.companion import _reply_prompt
from secom_core.context import citable
from secom_core.conversation import Message, Session, Turn
from secom_core.denoisers import Informativeness
from secom_core.errors import DegradedWarning, ModelUnavailable
from secom_core.llm.flow import Prompt
from secom_core.memory import Recall, Segment, boundaries_of, segments_of
from secom_core.segmenters import LexicalSegmenter, RubricLearner, ZeroShotSegmenter
from secom_core.summaries import Summarizer
from secom_core.text.terms import count_tokens, terms
from secom_core.timelines import TimelineOptions
from secom_core.topics import TopicOptions

S = TypeVar("S")
T = TypeVar("T")
BUDGET: Final = 500
SETS: Final = {"DialSeg711": ("dialseg711_dev", "dialseg711_dev"), "TIAGE": ("tiage_dev", "tiage_train")}
"""The dialogues that are measured, and those that a rubric is learned from."""
_TRIED: Final = 20  # rows at the beginning of each file, which the prompts may have been tried on
FORMS: Final = {
    "[1]": r"(?<![\])\w])\[\d+\](?!\[\d)",
    "[1][2]": r"(?:\[\d+\]){2,}",
    "[1, 2]": r"\[\d+(?:\s*[,;–-]\s*\d+)+\]",
    "(1)": r"(?<!\w)\(\d{1,2}\)",
    "[Memory 1]": r"\[(?:Memory|memory|Hit|Source)\s*\d+\]",
    "in words": r"(?i)\b(?:memory|memories|number|entry)\s+#?\d+",
    "[NO_CITE]": r"(?i)\[?\bno_?cite\b\]?",
}
"""In which forms an answer cites, by what finds them."""


@dataclass
class Setting:
    """What a part is run with."""

    data: Path
    name: str
    url: str
    recorder: Recorder
    parallel: int
    most: int | None
    told: list[str] = field(default_factory=list)

    def model(self, *, hold_to_schema: bool = True) -> AskedModel:
        """A client of its own, which counts what it is asked."""
        return AskedModel(self.name, self.url, hold_to_schema=hold_to_schema)

    def first(self, samples: int) -> int:
        """How many samples to take."""
        return self.most or samples

    def each(self, made: Callable[[S], T], items: Iterable[S]) -> list[T]:
        """What is made of each item, several at a time."""
        with ThreadPoolExecutor(self.parallel) as pool:
            return list(pool.map(made, items))

    def costing(self, made: Callable[[], T]) -> tuple[T, dict[str, float]]:
        """What is made, and what the model was asked for it."""
        before = len(self.recorder.used)
        found = made()
        return found, cost(self.recorder.used[before:])


def conversation_of(setting: Setting) -> Conversation:
    """LoCoMo 26, or the first conversation in the folder."""
    locomo = setting.data / "locomo" / "26.json"
    return qa.conversations_in(locomo if locomo.is_file() else setting.data)[0]


def drawn(questions: Sequence[LocomoQuestion], count: int) -> list[LocomoQuestion]:
    """So many questions; more of them begin with the same ones."""
    return random.Random(SEED).sample(list(questions), len(questions))[:count]


def rounded(figures: dict[str, Any]) -> dict[str, Any]:
    """The figures to four digits."""
    return {name: round(each, 4) if isinstance(each, float) else each for name, each in figures.items()}


def mean(values: Iterable[float]) -> float:
    """The mean; 0 of nothing."""
    found = list(values)
    return fmean(found) if found else 0.0


# -- citations --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cited:
    """An answer with what it was shown, what it cited, and which numbers hold evidence of the question."""

    question: LocomoQuestion
    answer: str
    read: Citations
    shown: tuple[int, ...]
    evidence: frozenset[int]


def citations(setting: Setting) -> dict[str, Any]:
    conversation, model = conversation_of(setting), setting.model()
    questions = drawn(conversation.questions, setting.first(50))
    with MemoryBank.open() as bank:
        for session in conversation.sessions:
            bank.remember(SCOPE, session, close=True)
        recalls = [bank.recall(SCOPE, each.question, token_budget=BUDGET) for each in questions]
    pairs = zip(questions, recalls, strict=True)
    answers = setting.each(lambda pair: cited(*pair, model), pairs)
    for each in answers:
        numbers = f"cites {list(each.read.numbers)} of {len(each.shown)}, evidence in {sorted(each.evidence)}"
        setting.told.append(f"{each.question.question} ({each.question.answer})\n  {each.answer!r}\n  {numbers}")
    return citation_figures(answers)


def cited(question: LocomoQuestion, recall: Recall, model: AskedModel) -> Cited:
    """Ask as `Companion` does, and read the answer as it does."""
    answer = model.said(_reply_prompt(question.question, [], citable(recall.text)))
    ids = {
        number: {message.id for hit in recall.hits for turn in hit.turns if turn.id in of for message in turn.messages}
        for number, of in recall.cited_turns.items()
    }
    evidence = frozenset(number for number, of in ids.items() if of.intersection(question.evidence))
    return Cited(question, answer, read_citations(answer, recall.numbers), recall.numbers, evidence)


def citation_figures(answers: Sequence[Cited]) -> dict[str, Any]:
    """How many cite, in which forms, and how well (RMM section 8.3: against the turns that hold the evidence)."""
    marked = [each for each in answers if each.read.numbers]
    findable = [each for each in answers if each.evidence]
    numbers = sum(len(each.read.numbers) for each in answers)
    unknown = sum(len(each.read.unknown) for each in answers)
    right = sum(len(each.evidence.intersection(each.read.numbers)) for each in findable)
    cited_there = sum(len(each.read.numbers) for each in findable)
    wanted = sum(len(each.evidence) for each in findable)
    forms = {name: sum(bool(re.search(form, each.answer)) for each in answers) for name, form in FORMS.items()}
    return rounded(
        {
            "answers": len(answers),
            "cite": len(marked),
            "say that none helped": sum(each.read.none_used for each in answers),
            "forms": {name: count for name, count in forms.items() if count},
            "numbers cited": numbers,
            "of numbers that were shown": numbers / max(numbers + unknown, 1),
            "shown a question": mean(len(each.shown) for each in answers),
            "evidence shown": len(findable) / len(answers),
            "precision": right / max(cited_there, 1),
            "recall": right / max(wanted, 1),
            "precision by chance": mean(len(each.evidence) / len(each.shown) for each in findable),
            "token F1": mean(token_f1(each.read.text, each.question.answer or "") for each in answers),
        }
    )


# -- segmentation -----------------------------------------------------------------------------------------------------


@dataclass
class Counting:
    """A segmenter that takes over for another one, and counts the turns for which it has to."""

    segmenter: LexicalSegmenter = field(default_factory=LexicalSegmenter)
    turns: int = 0

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        self.turns += len(turns)
        return self.segmenter.segment(turns)


def dialogues_of(setting: Setting, file: str, count: int) -> list[Dialogue]:
    """So many dialogues of a file, drawn from those that no prompt was tried on."""
    rows = read_dialogues(setting.data / "segmentation" / f"{file}.jsonl")[_TRIED:]
    return random.Random(SEED).sample(rows, len(rows))[:count]


def segmentation(setting: Setting) -> dict[str, Any]:
    return {name: segmentation_of(setting, measured) for name, (measured, _) in SETS.items()}


def rubric(setting: Setting) -> dict[str, Any]:
    return {name: with_rubric(setting, *files) for name, files in SETS.items()}


def segmentation_of(setting: Setting, file: str) -> dict[str, Any]:
    dialogues = dialogues_of(setting, file, setting.first(20))
    return {
        "LexicalSegmenter": scores(dialogues, [LexicalSegmenter().segment(each.turns) for each in dialogues]),
        "in words": cut_by(setting, dialogues, setting.model(hold_to_schema=False)),
        "held to the schema": cut_by(setting, dialogues, setting.model()),
        "live": live(setting, dialogues),
    }


def scores(dialogues: Sequence[Dialogue], cuts: Sequence[Sequence[Segment]]) -> dict[str, Any]:
    """Pk, WindowDiff, F1 and Score, means of dialogues with half of their intervals, and boundaries a turn."""
    score = evaluate([each.boundaries for each in dialogues], [boundaries_of(each) for each in cuts])
    density = {"density": score.density, "true density": score.true_density}
    return rounded({"dialogues": len(dialogues), **score.measures, **density})


def cut_by(setting: Setting, dialogues: Sequence[Dialogue], model: AskedModel, **learned: Any) -> dict[str, Any]:
    """The scores of a language model, how often it was asked again, and how much the local segmenter had to cut."""

    def cut(dialogue: Dialogue) -> tuple[list[Segment], int]:
        fallback = Counting()
        segmenter = ZeroShotSegmenter(model, fallback=fallback, **learned)
        return segmenter.segment(dialogue.turns), fallback.turns

    cuts, spent = setting.costing(lambda: setting.each(cut, dialogues))
    setting.told += [reason for _, reason in model.complaints]
    shares = [turns / len(dialogue.turns) for (_, turns), dialogue in zip(cuts, dialogues, strict=True)]
    return {
        **scores(dialogues, [segments for segments, _ in cuts]),
        "asked again": len(model.complaints),
        "left to the local segmenter": shares.count(1.0),
        "left to it in part": sum(0 < share < 1 for share in shares),
        **spent,
    }


def with_rubric(setting: Setting, measured: str, learned: str) -> dict[str, Any]:
    """Two rules at most, learned from six dialogues that are not measured."""
    dialogues = dialogues_of(setting, measured, setting.first(20))
    taken = {each.turns[0].id for each in dialogues_of(setting, measured, 20)}
    others = [each for each in dialogues_of(setting, learned, 40) if each.turns[0].id not in taken][:6]
    model = setting.model(hold_to_schema=False)
    learner = RubricLearner(model, items=2, top_k=4, limit=setting.parallel, example_tokens=300)
    found, spent = setting.costing(lambda: learner.learn([(each.turns, each.segments) for each in others]))
    setting.told += [f"rule: {item}" for item in found.items]
    parts = {"guidance": found.guidance, "examples": found.examples}
    cut = cut_by(setting, dialogues, setting.model(hold_to_schema=False), **parts)
    return {
        "LexicalSegmenter, the same": scores(dialogues, [LexicalSegmenter().segment(each.turns) for each in dialogues]),
        "in words, with learned rules": {**cut, "rules": len(found.items), "learning": spent},
    }


def live(setting: Setting, dialogues: Sequence[Dialogue]) -> dict[str, Any]:
    """As a bank with SeCom's preset cuts sessions when they end; calls while they are open, and at the end."""
    model = setting.model(hold_to_schema=False)
    open_calls = 0
    cuts = []
    with MemoryBank.open(preset=presets.secom(model, denoiser=Informativeness())) as bank:
        for number, dialogue in enumerate(dialogues):
            before = sum(model.purposes.values())
            for turn in dialogue.turns:
                bank.remember(SCOPE, list(turn.messages), session=f"s{number}")
            open_calls += sum(model.purposes.values()) - before
            bank.close_session(SCOPE, f"s{number}")
            cuts.append(segments_of(bank.memories(SCOPE, f"s{number}")))
    calls = sum(model.purposes.values())
    return {**scores(dialogues, cuts), "calls while open": open_calls, "calls at the end": calls - open_calls}


# -- summaries --------------------------------------------------------------------------------------------------------


def summaries(setting: Setting) -> dict[str, Any]:
    conversation = conversation_of(setting)
    sessions = conversation.sessions[: setting.first(19)]
    kinds = {"retention": True, "no retention": False, "no model": None}
    found = setting.each(lambda retain: summarized(setting, conversation, sessions, retain), kinds.values())
    return dict(zip(kinds, found, strict=True))


def summarized(
    setting: Setting, conversation: Conversation, sessions: Sequence[Session], retain: bool | None
) -> dict[str, Any]:
    """What the summary after the last session holds."""
    model = None if retain is None else setting.model()
    texts = []
    left = 0
    with MemoryBank.open(summaries=Summarizer(model, retain=bool(retain))) as bank:
        for session in sessions:
            bank.remember(SCOPE, session, close=True)
            latest = bank.summaries.latest(SCOPE)
            texts.append(latest.text if latest else "")
            left += latest is not None and latest.provisional
    setting.told.append(f"retain={retain}:\n" + "\n---\n".join(texts))
    facts = facts_of(conversation, sessions)
    purposes = Counter(model.purposes) if model else Counter[str]()
    return rounded(
        {
            "sessions": len(sessions),
            "sentences": len(texts[-1].splitlines()),
            "words": len(texts[-1].split()),
            "facts": len(facts),
            "facts still said": mean(is_said(words, texts[-1]) for _, words in facts),
            "said after their own session": mean(is_said(words, texts[place]) for place, words in facts),
            "words of facts": mean(len(words & {*terms(texts[-1])}) / len(words) for _, words in facts),
            "summaries asked for": purposes["summary"],
            "retention asked for": purposes["retention"],
            "asked again": len(model.complaints) if model else 0,
            "left to the local way": left,
        }
    )


def facts_of(conversation: Conversation, sessions: Sequence[Session]) -> list[tuple[int, set[str]]]:
    """For each question that these sessions answer: the place of the last that does, and what tells the answer.

    That is the words of the answer that its evidence has and the question has not, or else all such of the evidence.
    """
    said = {turn.id: (place, turn.content) for place, each in enumerate(sessions) for turn in each.turns}
    found = []
    for question in conversation.questions:
        if not set(question.evidence) <= said.keys():
            continue
        held = {term for each in question.evidence for term in terms(said[each][1])} - {*terms(question.question)}
        words = held & {*terms(question.answer or "")} or held
        if words:
            found.append((max(said[each][0] for each in question.evidence), words))
    return found


def is_said(words: set[str], text: str) -> bool:
    """Whether a text has at least half of the words."""
    return 2 * len(words & {*terms(text)}) >= len(words)


# -- timelines and topics ---------------------------------------------------------------------------------------------


def layers(setting: Setting) -> dict[str, Any]:
    conversation, model = conversation_of(setting), setting.model()
    sessions = conversation.sessions[: setting.first(3)]
    parts: dict[str, Any] = {
        "timelines": TimelineOptions(refined=False, dialogue_tokens=200, concurrency=setting.parallel),
        "topics": TopicOptions(concurrency=setting.parallel),
    }
    found: dict[str, Any] = {"sessions": len(sessions)}
    with MemoryBank.open(model=model, **parts) as bank, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for session in sessions:
            bank.remember(SCOPE, session, close=True)
        events, links = bank.timelines.events(SCOPE), bank.timelines.links(SCOPE)
        topics = bank.topics.all(SCOPE)
        known = {turn.id for each in sessions for turn in each.turns}
        questions = [each for each in conversation.questions if set(each.evidence) <= known]
        texts = {turn.id: " ".join(turn.content.split()) for each in sessions for turn in each.turns}
        found |= {
            "events": len(events),
            "links": len(links),
            "relations": dict(Counter(link.relation.value for link in links)),
            "topics": len(topics),
            "asked": dict(model.purposes),
            "asked again": dict(Counter(reason_of(reason) for _, reason in model.complaints)),
            "degraded": sum(issubclass(each.category, DegradedWarning) for each in told),
            "questions": len(questions),
            "recall": {str(budget): recalled(bank, questions, budget, texts) for budget in (250, 500, 1000)},
        }
        setting.told += [f"{event.text}" for event in events] + [
            f"{topic.speaker}: {topic.summary}" for topic in topics
        ]
        setting.told += [f"{purpose}: {reason}" for purpose, reason in model.complaints]
    return found


def reason_of(complaint: str) -> str:
    """What kind of fault a complaint names: what stands before its first colon or number."""
    return re.split(r"[:\d]", complaint)[0].strip()


def recalled(
    bank: MemoryBank, questions: Sequence[LocomoQuestion], budget: int, texts: dict[str, str]
) -> dict[str, float]:
    """Evidence recall inside a budget, as `benchmarks.timelines` measures it, and with topics."""
    rows: dict[str, list[float]] = {}
    for question in questions:
        named = {f"timelines {name}": ids for name, ids in asked_with_timelines(bank, question.question, budget, texts)}
        with_topics = bank.recall(SCOPE, question.question, token_budget=budget, layers=["topics"])
        for name, ids in {**named, "topics on": [turn.id for turn in with_topics.turns]}.items():
            rows.setdefault(name, []).append(evidence_recall(ids, question.evidence))
    return rounded({name: mean(values) for name, values in rows.items()})


# -- answering --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Peer:
    """LangChain's `VectorStoreRetrieverMemory`: the best turns for a question that fit."""

    rank: chats.Rank

    def context(self, query: str) -> str:
        lines: list[str] = []
        for text in self.rank(query):
            if sum(map(count_tokens, [*lines, text])) <= BUDGET:
                lines.append(text)
        return "<memories>\n" + "\n".join(lines) + "\n</memories>"


def answering(setting: Setting) -> dict[str, Any]:
    conversation, model = conversation_of(setting), setting.model()
    questions = drawn(conversation.questions, setting.first(40))
    embedder = choose_embedder("static")
    made = {kind: qa.open_memory(kind, conversation.sessions, model=model, embedder=embedder, budget=BUDGET,
                                 window=BUDGET) for kind in ("none", "full", "ours")}  # fmt: skip
    for memory in made.values():
        memory.remember()
    peer = Peer(chats.langchain_memory(as_chat(conversation), embedder))  # type: ignore[arg-type]
    today = made["none"].today
    contexts: dict[str, Callable[[str], str]] = {
        "no memory": made["none"].context,
        "the last turns": made["full"].context,
        "ours": made["ours"].context,
        "LangChain VectorStoreRetrieverMemory": peer.context,
    }
    return {name: answered(setting, questions, show, model, today) for name, show in contexts.items()}


def as_chat(conversation: Conversation) -> chats.Chat:
    """The conversation for a memory that takes exchanges: each turn as what a user said, under the speaker's name."""
    turns = [Turn((Message(turn.text, "user"),), id=turn.id) for each in conversation.sessions for turn in each.turns]
    return chats.Chat(conversation.name, (Session("all", tuple(turns)),), ())


def answered(
    setting: Setting, questions: Sequence[LocomoQuestion], show: Callable[[str], str], model: AskedModel, today: Any
) -> dict[str, Any]:
    shown = [show(each.question) for each in questions]
    prompts = [
        Prompt(
            qa.ASK.format(context=context, today=today, question=each.question, how=qa.HOW["short"]),
            qa.SYSTEM,
            "answer",
        )
        for each, context in zip(questions, shown, strict=True)
    ]
    replies, spent = setting.costing(lambda: setting.each(model.said, prompts))
    pairs = list(zip(questions, replies, strict=True))
    setting.told += [f"{each.question} ({each.answer}): {str(reply)!r}" for each, reply in pairs]
    return rounded(
        {
            "questions": len(questions),
            "token F1": mean(token_f1(reply.strip(), each.answer or "") for each, reply in pairs),
            "unknown": mean("unknown" in reply.lower() for reply in replies),
            "context tokens": mean(map(count_tokens, shown)),
            **spent,
        }
    )


# -- the command ------------------------------------------------------------------------------------------------------

PARTS: Final[dict[str, Callable[[Setting], dict[str, Any]]]] = {
    "citations": citations,
    "segmentation": segmentation,
    "rubric": rubric,
    "summaries": summaries,
    "layers": layers,
    "answering": answering,
}


def measured(parts: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    """The figures of each part, and what the model was asked for it.

    Raises:
        SystemExit: where something was asked that is not in the file, and there is no model, or it gave no answer.
    """
    recorder = Recorder(options.recorded, options.base_url)
    found: dict[str, Any] = {}
    with recorder.serving() as url:
        for part in parts:
            setting = Setting(options.data, options.model, url, recorder, options.parallel, options.most)
            recorder.part = part
            figures, spent = setting.costing(lambda part=part, setting=setting: run_of(part, setting))
            if options.verbose:
                print("\n".join(setting.told))
            found[part] = {**figures, "cost": spent}
            print(json.dumps({part: found[part]}, indent=1, ensure_ascii=False), flush=True)
    return found


def run_of(part: str, setting: Setting) -> dict[str, Any]:
    missing = setting.recorder.missing
    try:
        figures = PARTS[part](setting)
    except ModelUnavailable:
        if not missing:
            raise
    if missing:
        raise SystemExit(
            f"{part}: {len(missing)} requests are not in the file and got no answer, the first begins with "
            f"{missing[0]!r}; give --base-url of a model that answers"
        )
    return figures


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=[*PARTS], metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--recorded", type=Path, required=True)
    parser.add_argument("--model", required=True, help="the model's name")
    parser.add_argument("--base-url", help="its endpoint; everything comes from the file unless given")
    parser.add_argument("--most", type=int, help="how many samples of each part; those recorded unless given")
    parser.add_argument("--parallel", type=int, default=4, help="requests in flight at once")
    parser.add_argument("--verbose", action="store_true", help="print what the model wrote")
    parser.add_argument("--server", default="", help="what serves the model, in words, for the results")
    parser.add_argument("--json", type=Path)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegradedWarning)
        found = measured(options.parts, options)
    if options.json:
        about = {"model": options.model, "server": options.server, "seed": SEED, "versions": versions("openai")}
        options.json.write_text(json.dumps(about | found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
