"""The papers' tables: what each takes, which of our benchmarks computes it, the paper's rows, and what was run here.

A table's rows are named as in `benchmarks.papers.published`; ``{retriever}`` in a name is BM25, or dense with an
embedder, as the papers give a row for each. Figures without numbers in the paper's text have no rows of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from . import published
from .published import Row, rows_in

State = Literal["run", "ready", "not here"]
ANSWERED: Final = ("GPT4Score", "BLEU", "Rouge1", "Rouge2", "RougeL", "BERTScore", "tokens")
UNITS: Final = {"turns": "turn", "segments": "segment", "sessions": "session"}
_ABLATED: Final = {
    "Theanine": "theanine-timelines",
    "without relations": "theanine-without-relations",
    "without refinement": "theanine-unrefined",
    "shuffled": "theanine-shuffled",
    "memory retrieval": "theanine-events",
}


@dataclass(frozen=True)
class Table:
    """One table or figure of a paper.

    Args:
        paper: SeCom, RSum, Theanine or RMM.
        number: as the paper counts it.
        title: what it measures.
        runner: the function of `benchmarks.papers.runs` that computes a row; empty where nothing does.
        columns: of the table, by the names of the measures.
        rows: by label, what is run: a memory's name, or what the runner calls it.
        data: the data sets of the paper, as `benchmarks.datasets` calls them.
        needs: ``"nothing"``, ``"a model"``, or ``"a model, and one that judges"``.
        state: ``run`` here, ``ready`` to run and not run here, or ``not here``.
        about: the sample and the file of a run, or why there is none.
        differs: how our definitions differ from the paper's.
        published: the paper's rows by data set; ``""`` where it is one table for all.
        budget: the tokens of the memories, where the paper has a number.
        answers: whether answers are to be ``short`` or ``full``.
        versus: what the rows are compared with, where two are compared.
    """

    paper: str
    number: str
    title: str
    runner: str = ""
    columns: tuple[str, ...] = ()
    rows: Mapping[str, str] = field(default_factory=dict)
    data: tuple[str, ...] = ()
    needs: str = "a model"
    state: State = "ready"
    about: str = ""
    differs: str = ""
    published: Mapping[str, str] = field(default_factory=dict)
    budget: int = 2000
    answers: str = "short"
    versus: str = ""

    def papers_rows(self, data: str) -> dict[str, Row]:
        """The paper's rows on a data set; none where it has none on it."""
        text = self.published.get(data) or self.published.get("")
        return rows_in(text, self.columns) if text else {}


JUDGED: Final = "a model, and one that judges"
_SECOM_ROWS: Final = {
    "zero history": "none",
    "full history": "full",
    "turns ({retriever})": "turn",
    "sessions ({retriever})": "session",
    "SumMem": "summem",
    "RecurSum": "summary",
    "ConditionMem": "conditionmem",
    "MemoChat": "memochat",
    "SeCom ({retriever})": "secom",
}
_REPLIED: Final = ("MSC", "CareCall")
_KEYS: Final = "keys by `Informativeness` in place of LLMLingua-2; prompts of our own"

TABLES: Final[Mapping[str, Table]] = {
    "secom-1": Table(
        "SeCom",
        "Table 1",
        "answers by unit and memory",
        "answers",
        ANSWERED,
        _SECOM_ROWS,
        ("LoCoMo", "Long-MT-Bench+"),
        JUDGED,
        about="LoCoMo's own questions, where the paper had GPT-4 write some (see Table 6)",
        differs=_KEYS,
        published={"LoCoMo": published.SECOM_1_LOCOMO, "Long-MT-Bench+": published.SECOM_1_LONG_MTBENCH},
        budget=4000,
    ),
    "secom-2": Table(
        "SeCom",
        "Table 2",
        "answers with and without denoised keys",
        "answers",
        ("GPT4Score", "BLEU", "Rouge2", "BERTScore"),
        {"SeCom ({retriever})": "secom", "without denoising ({retriever})": "secom-raw-keys"},
        ("LoCoMo", "Long-MT-Bench+"),
        JUDGED,
        about="what needs no model of it is Figure 3",
        differs=_KEYS,
        published={"LoCoMo": published.SECOM_2_LOCOMO, "Long-MT-Bench+": published.SECOM_2_LONG_MTBENCH},
        budget=4000,
    ),
    "secom-3": Table(
        "SeCom",
        "Table 3",
        "the same answers by Mistral-7B",
        "answers",
        ANSWERED,
        {name: kind for name, kind in _SECOM_ROWS.items() if kind in ("full", "turn", "session", "secom")},
        ("Long-MT-Bench+",),
        JUDGED,
        about="give Mistral-7B as `--model`",
        differs=_KEYS,
        published={"": published.SECOM_3},
        answers="full",
        budget=1000,
    ),
    "secom-4": Table(
        "SeCom",
        "Table 4",
        "segmentation",
        "segmentation",
        ("Pk", "WindowDiff", "F1", "Score"),
        {
            "ours, lexical": "lexical",
            "ours, embedding": "embedding",
            "ours, adaptive": "adaptive",
            "SeCom, zero-shot": "zero-shot",
            "SeCom, rubric from TIAGE": "rubric",
        },
        ("DialSeg711", "SuperDialSeg", "TIAGE"),
        "nothing; a model for the zero-shot and rubric rows",
        "run",
        "without a model, 355 dialogues of DialSeg711 and 100 of TIAGE: `results/papers.json`; 20 of each by a small "
        "model: `results/local_model.json`. SuperDialSeg is not here",
        "prompts of our own; the rubric learns from the first `--samples` of the folder's TIAGE training part",
        published.SECOM_4,
    ),
    "secom-5": Table(
        "SeCom",
        "Table 5",
        "tokens and seconds of a question",
        "answers",
        ("tokens in", "tokens out", "seconds", "GPT4Score"),
        {"sessions": "session", "MemoChat": "memochat", "SeCom": "secom"},
        ("Long-MT-Bench+",),
        JUDGED,
        differs="taking in is shared out over the questions; tokens are counted by the package's estimate",
        published={"": published.SECOM_5},
        answers="full",
        budget=1000,
    ),
    "secom-6": Table(
        "SeCom",
        "Table 6",
        "answers to LoCoMo's own questions",
        "answers",
        ANSWERED,
        {name: kind for name, kind in _SECOM_ROWS.items() if kind in ("full", "memochat", "turn", "session", "secom")},
        ("LoCoMo",),
        JUDGED,
        differs=_KEYS,
        published={"": published.SECOM_6},
        budget=4000,
    ),
    "secom-8": Table(
        "SeCom", "Tables 8, 9", "CoQA and Persona-Chat", state="not here", about="neither data set is read here"
    ),
    "secom-10": Table(
        "SeCom", "Table 10", "people's judgement of answers", state="not here", about="needs ten annotators"
    ),
    "secom-11": Table(
        "SeCom",
        "Table 11",
        "smaller models that cut",
        "answers",
        ANSWERED,
        {"ours, local cuts ({retriever})": "segment", "SeCom ({retriever})": "secom"},
        ("LoCoMo", "Long-MT-Bench+"),
        JUDGED,
        about="our local segmenter in place of the trained RoBERTa; give Mistral-7B as `--model` for its row",
        differs=_KEYS,
        published={"LoCoMo": published.SECOM_11},
        budget=4000,
    ),
    "secom-f2": Table(
        "SeCom",
        "Figure 2",
        "DCG and recall by unit",
        "shown",
        ("DCG", "recall", "coverage"),
        UNITS,
        ("LoCoMo", "Long-MT-Bench+"),
        "nothing",
        "run",
        "all five LoCoMo conversations: `results/papers.json`",
        "units of the same tokens where the paper has the same number of turns; local cuts; raw keys. The paper's "
        "figure has no numbers",
        budget=4000,
    ),
    "secom-f3": Table(
        "SeCom",
        "Figure 3",
        "recall by the rate of denoising",
        "denoising",
        ("recall at 500", "recall at 1000", "recall at 2000", "recall at 4000", "DCG"),
        {
            "raw keys": "1.0",
            **{f"Informativeness, {rate}": str(rate) for rate in (0.9, 0.8, 0.75, 0.7, 0.6, 0.5)},
            **{f"LLMLingua-2, {rate}": f"llmlingua {rate}" for rate in (0.9, 0.8, 0.75, 0.7, 0.6, 0.5)},
        },
        ("LoCoMo",),
        "nothing; `--llmlingua FOLDER` for its rows",
        "run",
        "all five LoCoMo conversations, BM25, `Informativeness`: `results/papers.json`; there are no weights of "
        "LLMLingua-2 to be had here",
        "budgets in tokens where the paper has a number of segments; the paper's figure has no numbers",
    ),
    "secom-f4": Table(
        "SeCom",
        "Figure 4",
        "answers compared in pairs",
        "versus",
        ("win", "tie", "lose"),
        {name: kind for name, kind in _SECOM_ROWS.items() if kind not in ("none", "secom")},
        ("LoCoMo",),
        JUDGED,
        about="the paper's figure has no numbers",
        differs=_KEYS,
        budget=4000,
        versus="secom",
    ),
    "secom-f5": Table(
        "SeCom",
        "Figure 5",
        "answers by unit and budget",
        "answers",
        ("GPT4Score", "tokens"),
        {f"{name}": kind for name, kind in UNITS.items()},
        ("Long-MT-Bench+",),
        JUDGED,
        about="run it once for each `--memory-tokens`; the paper's figure has no numbers",
        differs=_KEYS,
        answers="full",
        budget=1000,
    ),
    "rsum-3": Table(
        "RSum",
        "Table 3",
        "replies in the last session",
        "answers",
        ("F1", "BLEU-1", "BLEU-2", "BERTScore"),
        {
            "full history": "full",
            "turns ({retriever})": "turn",
            "MemoChat": "memochat",
            "MemoryBank": "memorybank",
            "RSum": "summary",
        },
        _REPLIED,
        "a model",
        about="MSC and CareCall are not here; without people's judgement",
        differs="words are told apart by us; the summary keeps what an update drops",
        published={"MSC": published.RSUM_3_MSC, "CareCall": published.RSUM_3_CARECALL},
    ),
    "rsum-4": Table(
        "RSum",
        "Table 4",
        "three aspects of replies, judged",
        "answers",
        ("engagingness", "coherence", "consistency"),
        {"full history": "full", "MemoryBank": "memorybank", "MemoChat": "memochat", "RSum": "summary"},
        ("MSC",),
        JUDGED,
        about="MSC is not here",
        differs="a question for each aspect, where the paper's prompt asks for one number",
        published={"": published.RSUM_4},
    ),
    "rsum-f4": Table(
        "RSum",
        "Figure 4",
        "replies compared in pairs",
        "versus",
        ("win", "tie", "lose"),
        {"full history": "full", "MemoChat": "memochat", "MemoryBank": "memorybank"},
        ("MSC",),
        JUDGED,
        about="MSC is not here",
        differs="asked in both orders; where they differ it is a tie",
        published={"": published.RSUM_F4},
        versus="summary",
    ),
    "rsum-5": Table(
        "RSum",
        "Table 5",
        "replies without memory, and from memories that people wrote",
        "answers",
        ("BERTScore", "F1", "BLEU-1", "BLEU-2"),
        {"RSum": "summary", "zero history": "none", "golden memory": "golden"},
        ("MSC",),
        about="MSC is not here",
        published={"": published.RSUM_5},
    ),
    "rsum-6": Table("RSum", "Table 6", "errors in summaries", state="not here", about="counted by people"),
    "rsum-7": Table(
        "RSum",
        "Table 7",
        "replies with examples",
        state="not here",
        about="no MSC; the code path is `Summarizer(response_examples=…)`",
    ),
    "rsum-8": Table(
        "RSum",
        "Table 8",
        "the summary and what is retrieved, together",
        "answers",
        ("F1", "coherence", "consistency"),
        {"full history": "full", "turns ({retriever})": "turn", "RSum and turns ({retriever})": "rsum"},
        ("MSC",),
        JUDGED,
        about="MSC is not here",
        published={"": published.RSUM_8},
    ),
    "rsum-9": Table(
        "RSum",
        "Table 9",
        "the same with models of long context",
        state="not here",
        about="run rsum-8 with such a model",
    ),
    "theanine-1": Table(
        "Theanine",
        "Tables 1, 9",
        "replies in sessions 3 to 5",
        "answers",
        ("BLEU", "RougeL", "Mauve", "BERTScore"),
        {
            "full history": "full",
            "memory retrieval": "memory-retrieval",
            "memory update": "memory-update",
            "RSum": "summary",
            "MemoChat": "memochat",
            "COMEDY": "comedy",
            "Theanine": "theanine-timelines",
        },
        ("MSC", "Conversation Chronicles"),
        about="neither data set is here. Mauve has no figures, as its package is not installed",
        differs="of Conversation Chronicles all sessions from the third on; of MSC the session of the file",
        published={"MSC": published.THEANINE_1_MSC, "Conversation Chronicles": published.THEANINE_1_CC},
    ),
    "theanine-2": Table(
        "Theanine",
        "Table 2",
        "replies without one part of it",
        "answers",
        ("BLEU", "RougeL", "Mauve", "BERTScore"),
        _ABLATED,
        ("MSC", "Conversation Chronicles"),
        about="neither data set is here; by what is retrieved it is Table 3",
        published={"": published.THEANINE_2},
    ),
    "theanine-3": Table(
        "Theanine",
        "Table 3",
        "whether the golden memory is retrieved",
        "shown",
        ("recall", "DCG", "coverage"),
        _ABLATED,
        ("LoCoMo",),
        "nothing",
        "run",
        "all five LoCoMo conversations, events and links without a model: `results/papers.json`",
        "evidence of LoCoMo's questions where people looked at 50 replies; without a model nothing is refined and "
        "relations are likeness and date, so no row of the paper stands beside",
        budget=1000,
    ),
    "theanine-4": Table(
        "Theanine",
        "Table 4",
        "TeaFarm: counterfactual questions",
        "teafarm",
        ("success",),
        {
            "memory retrieval": "memory-retrieval",
            "memory update": "memory-update",
            "RSum": "summary",
            "MemoChat": "memochat",
            "COMEDY": "comedy",
            "Theanine": "theanine-timelines",
            "without relations": "theanine-without-relations",
            "without refinement": "theanine-unrefined",
        },
        ("MSC", "Conversation Chronicles"),
        JUDGED,
        about="on any conversation of two",
        differs="episodes are farmed anew from the data given, with prompts of our own",
        published=published.THEANINE_4,
    ),
    "theanine-5": Table(
        "Theanine",
        "Table 5",
        "retrieval of as many memories",
        state="not here",
        about="here all memories have the same number of tokens, which is the same question",
    ),
    "theanine-8": Table(
        "Theanine",
        "Table 8",
        "what an episode costs",
        "answers",
        ("tokens in", "tokens out"),
        _ABLATED,
        ("MSC", "Conversation Chronicles"),
        about="tokens in place of dollars; neither data set is here",
    ),
    "theanine-f5": Table(
        "Theanine",
        "Figure 5",
        "which memory helps more",
        "helpfulness",
        ("win", "tie", "lose"),
        {
            "memory retrieval": "memory-retrieval",
            "memory update": "memory-update",
            "RSum": "summary",
            "MemoChat": "memochat",
            "COMEDY": "comedy",
        },
        ("MSC", "Conversation Chronicles"),
        JUDGED,
        about="neither data set is here; the paper's figure has no numbers",
        versus="theanine-timelines",
    ),
    "theanine-f6": Table(
        "Theanine",
        "Figure 6",
        "whether replies entail the past",
        "answers",
        ("entails", "neutral", "contradicts"),
        {
            "memory retrieval": "memory-retrieval",
            "memory update": "memory-update",
            "RSum": "summary",
            "MemoChat": "memochat",
            "COMEDY": "comedy",
            "Theanine": "theanine-timelines",
        },
        ("MSC", "Conversation Chronicles"),
        JUDGED,
        about="neither data set is here",
        differs="a model judges where people did",
        published={"": published.THEANINE_F6},
    ),
    "rmm-1": Table(
        "RMM",
        "Tables 1, 5, 4",
        "replies on MSC, answers on LongMemEval",
        "answers",
        ("METEOR", "BERTScore", "judged right"),
        {
            "zero history": "none",
            "full history": "full",
            "turns (dense)": "turn",
            "MemoryBank": "memorybank",
            "LD-Agent": "ld-agent",
            "RMM": "rmm",
        },
        ("MSC", "LongMemEval"),
        JUDGED,
        about="neither data set is here; the model is given as `--model`",
        differs="METEOR without synonyms; BERTScore is not rescaled; the reranker has learned nothing, its learning is "
        "`benchmarks.learning`",
        published=published.RMM_1,
    ),
    "rmm-1r": Table(
        "RMM",
        "Table 1",
        "what is retrieved on LongMemEval",
        "shown",
        ("recall", "DCG", "coverage"),
        {"turns (dense)": "turn", "MemoryBank": "memorybank-turns-kept", "LD-Agent": "ld-agent-turns", "RMM": "rmm"},
        ("LongMemEval",),
        "nothing; a model for RMM's row",
        about="LongMemEval is not here",
        differs="recall inside `--memory-tokens` where the paper has five units",
        published={"LongMemEval": published.RMM_1_RECALL},
        budget=2000,
    ),
    "rmm-2": Table(
        "RMM",
        "Table 2, 6; Figures 5, 6",
        "without either reflection",
        state="not here",
        about="rmm-1 has its first and second row; how the reranker learns is `benchmarks.learning`",
    ),
    "rmm-3": Table(
        "RMM",
        "Table 3",
        "whether what is cited was of use",
        "citations",
        ("precision", "recall", "F1"),
        {"useful": "useful", "not useful": "not useful", "overall": "overall"},
        ("LongMemEval",),
        JUDGED,
        about="LongMemEval is not here; how citations are read is `benchmarks.citations`, run on answers of our own",
        published={"": published.RMM_3},
        budget=1000,
    ),
    "rmm-f4": Table(
        "RMM",
        "Figure 4",
        "turns, sessions and topics",
        "shown",
        ("recall", "DCG", "coverage"),
        {**UNITS, "RMM": "rmm"},
        ("LongMemEval",),
        "nothing; a model for RMM's row",
        about="LongMemEval is not here; the paper's figure has no numbers",
        budget=2000,
    ),
    "rmm-7": Table("RMM", "Table 7", "agreement of people", state="not here", about="needs annotators; see `judges`"),
    "judge-free": Table(
        "-",
        "-",
        "coverage of the evidence by every memory",
        "shown",
        ("coverage", "recall", "DCG", "precision", "drift", "tokens"),
        {},
        ("LoCoMo", "chats, such as BEAM", "QMSum"),
        "nothing",
        "run",
        "`benchmarks.memories` in one run over LoCoMo and BEAM: `results/memories.json`. QMSum is not here",
        "no paper has it",
    ),
    "judges": Table(
        "-",
        "-",
        "how far each judge agrees with labels",
        "judges",
        ("share", "kappa", "unread", "cases"),
        {},
        (),
        "a model",
        about="56 cases of our own; RMM's people agree with a model to a kappa of 0.69 and 0.71 (Table 7)",
        differs="no paper has it but RMM, of other cases",
    ),
}
"""Every table, by what ``--table`` calls it."""
