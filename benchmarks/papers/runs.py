"""How a row of a table is computed: each runner calls the benchmark that measures it, and gives figures by column."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from benchmarks import answering, denoising, local_model, segmentation, teafarm
from benchmarks.chats import Chat
from benchmarks.evaluation import agreement, judge, paper_judges
from benchmarks.locomo import LocomoQuestion
from benchmarks.memories import __main__ as shown_by
from benchmarks.memories import registry
from benchmarks.memories.memory import Tools
from benchmarks.recorded_model import AskedModel
from benchmarks.retrieval import (
    BUDGETS,
    SCOPE,
    embedder_named,
    locomo_files,
    read_conversation,
    token_counter,
    weights_for,
)
from secom_core.bank import MemoryBank
from secom_core.context import PackMemories
from secom_core.denoisers import Informativeness
from secom_core.denoisers.llmlingua import LLMLingua2
from secom_core.errors import InvalidInput
from secom_core.llm.flow import ChatModel, Metered
from secom_core.protocols import Embedder, Segmenter
from secom_core.segmenters import AdaptiveSegmenter, RubricLearner, ZeroShotSegmenter

from . import measures
from .measures import Answer, Figures
from .table import Table

WHOLE_REPLIES: Final = ("Long-MT-Bench+", "MT-Bench+")
"""The data sets whose questions are answered in full, as an assistant would."""


class LeftOut(Exception):
    """A row that cannot be computed with what there is, and why."""


@dataclass(frozen=True)
class Setting:
    """What a table is run with.

    Args:
        data: a file or folder of a data set.
        work: where what is done is kept.
        model: the model's name; empty where there is none.
        judge: that of the model that judges; empty where there is none.
        url: the endpoint of both.
        embedder: as ``--embedder`` names it.
        tokens: of the memories.
        conversations: how many at most.
        samples: how many questions of each conversation, or dialogues, at most.
        weights: of the bank as it comes, fitted without each conversation.
        bert: a folder with an encoder for BERTScore.
        llmlingua: a folder with LLMLingua-2's weights.
        title: what the data set is called.
        episodes: a file of TeaFarm's episodes; farmed from the data unless given.
        longest: tokens of a reply, at most; as the model ends it unless given.
    """

    data: Path
    work: Path
    model: str = ""
    judge: str = ""
    url: str = ""
    embedder: str = "none"
    tokens: int = 2000
    conversations: int | None = None
    samples: int | None = None
    weights: Path | None = None
    bert: str | None = None
    llmlingua: Path | None = None
    title: str = ""
    episodes: Path | None = None
    longest: int | None = None

    @cached_property
    def chats(self) -> list[Chat]:
        """The conversations of the sample, with all their questions."""
        return answering.chats_in(self.data)[: self.conversations]

    def asked(self, name: str) -> Metered:
        """A client of a model.

        Raises:
            LeftOut: where it is not given.
        """
        if not name:
            raise LeftOut("it asks a model: give --model NAME and --base-url URL, and --judge NAME where one judges")
        options = argparse.Namespace(base_url=self.url, timeout=600.0, retries=2, reply_tokens=self.longest)
        return answering.endpoint(options, name)

    def means(self, chat: Chat | None = None) -> registry.Means:
        """What memories are made with."""
        model = self.asked(self.model) if self.model else None
        weights = weights_for(self.weights, chat.name) if chat is not None else None
        return registry.Means(Tools(_counted, _embedder(self.embedder)), model, weights)

    def path(self, *parts: object) -> Path:
        """A file of its own for what is named, in the folder of work."""
        about = (self.model, self.embedder, self.tokens, self.samples, self.conversations, str(self.data.resolve()))
        named = blake2b("\n".join(map(str, (*about, *parts))).encode(), digest_size=8).hexdigest()
        return self.work / f"{parts[0]}-{named}"


@lru_cache(maxsize=4096)
def _counted(text: str) -> int:
    return token_counter()[0](text)


@lru_cache(maxsize=1)
def _embedder(name: str) -> Embedder | None:
    return embedder_named(name)


# -- answers and replies ----------------------------------------------------------------------------------------------


def answers(table: Table, kind: str, setting: Setting) -> Figures:
    """Answers from a memory, by `benchmarks.answering`, and the measures of the table's columns."""
    found, lines = _answered(table, kind, setting)
    figures = measures.text_figures(found, table.columns, setting.bert)
    if measures.JUDGED & set(table.columns) and setting.judge:
        figures |= measures.judged_figures(found, table.columns, setting.asked(setting.judge))
    for name, key in (("tokens in", "tokens_in"), ("tokens out", "tokens_out")):
        figures[name] = sum(line.get(key, 0) for line in lines) / len(found)
    figures["seconds"] = sum(line.get("seconds", 0) for line in lines) / len(found) + sum(
        each.line["recall_seconds"] + each.line["answer_seconds"] for each in found
    ) / len(found)
    told = [name for name in figures if name == "unread" or name.endswith(" ±")]
    return {name: figures.get(name) for name in (*table.columns, *told)} | {"questions": len(found)}


def _answered(table: Table, kind: str, setting: Setting) -> tuple[list[Answer], list[dict[str, Any]]]:
    setting.asked(setting.model)
    kind, _, examples = kind.partition(" ")
    _check(kind, setting)
    how = "full" if setting.title in WHOLE_REPLIES else "short"
    replies = "theanine" if table.paper == "Theanine" else "rsum"
    out = setting.path("answers", kind, how, examples, replies).with_suffix(".jsonl")
    arguments = ["--data", str(setting.data), "--model", setting.model, "--base-url", setting.url, "--memory", kind]
    arguments += ["--embedder", setting.embedder, "--budget", str(setting.tokens), "--answers", how]
    arguments += ["--out", str(out), "--timeout", "600", "--quiet", "--examples", examples or "0"]
    arguments += ["--replies", replies]
    for name, value in (("questions", setting.samples), ("conversations", setting.conversations)):
        arguments += [f"--{name}", str(value)] if value is not None else []
    arguments += ["--weights", str(setting.weights)] if setting.weights else []
    arguments += ["--reply-tokens", str(setting.longest)] if setting.longest else []
    with redirect_stdout(io.StringIO()) as said:
        try:
            answering.main(arguments)
        except SystemExit as end:
            failed = [line for line in said.getvalue().splitlines() if ": no answer: " in line]
            raise SystemExit("\n".join([*failed[:1], f"{kind}: {end}"])) from end
    lines = [line for line in answering.read_lines(out, _settings(out)) if "taken_in" in line or "question" in line]
    return measures.answers_in(lines, setting.chats), lines


def _settings(out: Path) -> Mapping[str, Any]:
    """The settings that a run wrote into its first line."""
    settings: Mapping[str, Any] = json.loads(out.read_text(encoding="utf-8").splitlines()[0])["settings"]
    return settings


def _check(kind: str, setting: Setting) -> None:
    """Whether there is what a memory needs.

    Raises:
        LeftOut: where it is not there.
    """
    needs = registry.MEMORIES[kind].needs if kind in registry.MEMORIES else "model"
    if needs == "model" and not setting.model:
        raise LeftOut("it asks a model: give --model NAME and --base-url URL")
    if needs == "embedder" and setting.embedder == "none":
        raise LeftOut("it searches by vectors: give --embedder static, minilm or a folder")


def versus(table: Table, kind: str, setting: Setting) -> Figures:
    """How often the paper's memory wins over another one, by a judge of their answers."""
    asked = setting.asked(setting.judge)
    (ours, _), (others, _) = (_answered(table, each, setting) for each in (table.versus, kind))
    by_place = {(each.line["conversation"], each.line["number"]): each for each in others}
    pairs = [
        (each, other)
        for each in ours
        if (other := by_place.get((each.line["conversation"], each.line["number"]))) is not None
    ]
    found = [measures.read(_compared(one, other), asked) for one, other in pairs]
    return measures.shares([each and each.winner for each in found])


def _compared(ours: Answer, other: Answer) -> Any:
    if ours.question.speaker:
        return judge.comparison(ours.text, other.text, context=ours.said, known=ours.question.known)
    return paper_judges.faithful_choice(ours.question.question, ours.text, other.text, ours.history)


def helpfulness(table: Table, kind: str, setting: Setting) -> Figures:
    """How often what the paper's memory brings back helps more than what another one does."""
    asked, found = setting.asked(setting.judge), []
    for chat in setting.chats:
        first, second = (_remembering(each, chat, setting) for each in (table.versus, kind))
        for question in chat.questions[: setting.samples]:
            sought = answering.sought(question)
            said = "\n".join(message.line for message in question.context) or question.question
            speaker = question.speaker or "the assistant"
            blocks = first.context(sought), second.context(sought)
            found.append(measures.read(paper_judges.helpfulness(said, *blocks, speaker=speaker), asked))
    return measures.shares([each and each.winner for each in found])


def _remembering(kind: str, chat: Chat, setting: Setting) -> answering.Memory:
    _check(kind, setting)
    memory = answering.open_memory(
        kind,
        chat.sessions,
        model=setting.asked(setting.model),
        embedder=_embedder(setting.embedder),
        budget=setting.tokens,
        weights=weights_for(setting.weights, chat.name),
    )
    memory.remember()
    return memory


def fooled(table: Table, kind: str, setting: Setting) -> Figures:
    """TeaFarm over a memory, by `benchmarks.teafarm`."""
    setting.asked(setting.model)
    _check(kind, setting)
    out = setting.path("teafarm", setting.episodes or "")
    arguments = ["--data", str(setting.data), "--model", setting.model, "--base-url", setting.url, "--memory", kind]
    arguments += ["--embedder", setting.embedder, "--budget", str(setting.tokens), "--out", str(out), "--quiet"]
    arguments += ["--timeout", "600", "--judge", setting.judge or setting.model]
    arguments += ["--conversations", str(setting.conversations)] if setting.conversations is not None else []
    arguments += ["--episodes", str(setting.episodes)] if setting.episodes else []
    arguments += ["--questions", str(setting.samples)] if setting.samples else []
    arguments += ["--reply-tokens", str(setting.longest)] if setting.longest else []
    with redirect_stdout(io.StringIO()) as said:
        try:
            teafarm.main(arguments)
        except SystemExit as end:
            raise SystemExit(f"{said.getvalue()}{kind}: {end}") from end
    verdicts = out / f"verdicts-{kind}.jsonl"
    lines = answering.read_lines(verdicts, _settings(verdicts))
    correct = [teafarm.verdict_of(line).correct for line in lines]
    return measures.within("success", correct) | {"unread": correct.count(None), "questions": len(lines)}


# -- without a judge --------------------------------------------------------------------------------------------------


def shown(table: Table, kind: str, setting: Setting) -> Figures:
    """What a memory shows of the evidence, by `benchmarks.memories`."""
    _check(kind, setting)
    asked = []
    for chat in setting.chats:
        evident = tuple(each for each in chat.questions if each.evidence)
        kept = replace(chat, questions=_spread(evident, setting.samples))
        means = setting.means(chat)
        try:
            asked += shown_by.measure(registry.make(kind, means), kept, means, [setting.tokens])[0]
        except InvalidInput as error:
            raise LeftOut(str(error)) from error
    if not asked:
        raise LeftOut("the data names no evidence")
    found = shown_by.summary(asked, [setting.tokens])
    figures: Figures = {"questions": found["questions"]}
    for name in table.columns:
        values = [getattr(each, name.lower()) for each in asked]
        figures |= measures.within(name, values) if None not in values else {name: None}
    return figures


def _spread(items: tuple[Any, ...], most: int | None) -> tuple[Any, ...]:
    """At most so many of the items, evenly spread."""
    return items[:: max(1, -(-len(items) // most))] if most else items


def denoised(table: Table, rate: str, setting: Setting) -> Figures:
    """Evidence recall with whole segments ranked by denoised keys, by `benchmarks.denoising`."""
    embedder = _embedder(setting.embedder)
    (weights, _), *_ = denoising.rankings(embedder).values()
    conversations = [read_conversation(file) for file in locomo_files(setting.data)][: setting.conversations]
    kept = [replace(each, questions=_spread(each.questions, setting.samples)) for each in conversations]
    found = denoising.run(kept, embedder, weights, PackMemories(), _denoiser(rate, setting.llmlingua))
    recall: Figures = {f"recall at {budget}": found["recall"][str(budget)] for budget in BUDGETS}
    return recall | {"DCG": found["dcg"][str(BUDGETS[-1])], "questions": found["questions"]}


def _denoiser(rate: str, folder: Path | None) -> Any:
    name, _, number = rate.rpartition(" ")
    if name != "llmlingua":
        return None if float(number) == 1 else Informativeness(float(number))
    if folder is None:
        raise LeftOut("there are no weights of LLMLingua-2: give --llmlingua FOLDER")
    if not folder.is_dir():
        raise LeftOut(f"--llmlingua {folder} is no folder")
    return LLMLingua2(folder, rate=float(number))


def cut(table: Table, name: str, setting: Setting) -> Figures:
    """How well a segmenter cuts, by `benchmarks.segmentation`."""
    dialogues = segmentation.read_dialogues(setting.data)[: setting.samples]
    ours = local_model.Counting()
    score, seconds = segmentation.measure(_segmenter(name, setting, dialogues, ours), dialogues)
    turns = sum(len(each.turns) for each in dialogues)
    measured = segmentation.figures(score, seconds)
    wanted = {*table.columns, *(f"{column} ±" for column in table.columns)}
    figures: Figures = {name: each for name, each in measured.items() if name in wanted}
    # Where a model's reply cannot be used, our local segmenter cuts in its place.
    left = {"left to ours": ours.turns / turns} if name in ("zero-shot", "rubric") else {}
    return figures | left | {"dialogues": len(dialogues)}


def _segmenter(name: str, setting: Setting, dialogues: Sequence[segmentation.Dialogue], ours: Segmenter) -> Segmenter:
    if name in ("zero-shot", "rubric"):
        model = setting.asked(setting.model)
        return ZeroShotSegmenter(model, fallback=ours, **(_rubric(model, setting) if name == "rubric" else {}))
    embedder = _embedder(setting.embedder)
    if name == "embedding" and embedder is None:
        raise LeftOut("it looks at vectors: give --embedder static, minilm or a folder")
    made = segmentation.choose_segmenters(name, embedder)[name]
    if isinstance(made, AdaptiveSegmenter):
        segmentation.learn(made, dialogues)
    return made


def _rubric(model: ChatModel, setting: Setting) -> dict[str, Any]:
    source = next(iter(sorted(setting.data.parent.glob("tiage*train*"))), None)
    if source is None:
        raise LeftOut(f"there is no training part of TIAGE (tiage…train…) beside {setting.data.name} to learn from")
    learned = segmentation.read_dialogues(source)[: setting.samples or 100]
    found = RubricLearner(model).learn([(each.turns, each.segments) for each in learned])
    return {"guidance": found.guidance, "examples": found.examples}


# -- citations and judges ---------------------------------------------------------------------------------------------


def cited(table: Table, row: str, setting: Setting) -> Figures:
    """Whether the memories that an answer cites are those that a judge finds of use for it."""
    asked = setting.asked(setting.judge)
    model = AskedModel(setting.model, setting.url)
    pairs = [pair for chat in setting.chats for pair in _citations(chat, model, asked, setting)]
    useful = _agreement(pairs)
    useless = _agreement([(not found, not right) for found, right in pairs])
    if row == "overall":
        share = sum(right for _, right in pairs) / max(len(pairs), 1)
        return {name: share * (useful[name] or 0) + (1 - share) * (useless[name] or 0) for name in useful}
    return dict(useful if row == "useful" else useless)


def _citations(chat: Chat, model: AskedModel, asked: ChatModel, setting: Setting) -> list[tuple[bool, bool]]:
    """For each memory that was shown, whether it was cited, and whether it was of use."""
    found = []
    with MemoryBank.open(embedder=_embedder(setting.embedder)) as bank:
        for session in chat.sessions:
            bank.remember(SCOPE, session, close=True)
        for question in chat.questions[: setting.samples]:
            recall = bank.recall(SCOPE, question.question, token_budget=setting.tokens)
            asked_for = LocomoQuestion(question.question, question.gold, question.turns, 0)
            read = local_model.cited(asked_for, recall, model).read
            for hit in recall.hits:
                useful = measures.read(paper_judges.usefulness(question.question, hit.text, read.text), asked)
                if useful is not None:
                    found.append((hit.number in read.numbers, useful))
    return found


def _agreement(pairs: Sequence[tuple[bool, bool]]) -> Figures:
    """Precision, recall and F1 of the first of each pair against the second, in percent."""
    both = sum(found and right for found, right in pairs)
    marked, there = sum(found for found, _ in pairs), sum(right for _, right in pairs)
    precision, recall = both / marked if marked else 0.0, both / there if there else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"precision": 100 * precision, "recall": 100 * recall, "F1": 100 * f1}


def judges(table: Table, name: str, setting: Setting) -> Figures:
    """How far a model agrees with the labelled cases of a judge."""
    asked = setting.asked(setting.judge or setting.model)
    cases = [case for case in agreement.labelled_cases() if case.judge == name]
    found = agreement.agreement_of(cases, [agreement.judged(case, asked) for case in cases])
    return {"share": found.share, "kappa": found.kappa, "unread": found.unread, "cases": found.cases}


Runner = Callable[[Table, str, Setting], Figures]
RUNNERS: Final[Mapping[str, Runner]] = {
    "answers": answers,
    "versus": versus,
    "helpfulness": helpfulness,
    "teafarm": fooled,
    "shown": shown,
    "denoising": denoised,
    "segmentation": cut,
    "citations": cited,
    "judges": judges,
}
"""By the name that a table has."""
