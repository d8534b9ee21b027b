"""SeCom's tables and figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from . import published
from .table import JUDGED, UNITS, Table

ANSWERED: Final = ("GPT4Score", "BLEU", "Rouge1", "Rouge2", "RougeL", "BERTScore", "tokens")
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
_ON_LONG_MTBENCH: Final = {"Long-MT-Bench+": 1000}
_KEYS: Final = "keys by `Informativeness` in place of LLMLingua-2; prompts of our own"

SECOM: Final[Mapping[str, Table]] = {
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
        budgets=_ON_LONG_MTBENCH,
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
        budgets=_ON_LONG_MTBENCH,
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
        "355 dialogues of DialSeg711, on half of which our first two were fitted, and 100 of TIAGE, without a model: "
        "`results/papers.json`; 20 of each by a small one: `results/local_model.json`. SuperDialSeg is not here",
        "prompts of our own; the rubric learns from the first `--samples` of the TIAGE training part beside the file",
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
        "run",
        "20 questions on the first five sessions of two conversations by a small model, within 500 tokens: "
        "`results/papers_model.json`",
        _KEYS,
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
        budgets=_ON_LONG_MTBENCH,
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
        "760 questions of five LoCoMo conversations, by BM25 and by static vectors: `results/papers.json`; 231 of two "
        "by all-mpnet-base-v2: `results/papers_model.json`",
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
        "760 questions of five LoCoMo conversations, by BM25 and by static vectors: `results/papers.json`; weights of "
        "LLMLingua-2 are not to be had here",
        "LoCoMo, as Long-MT-Bench+, which the paper has, names no evidence; budgets in tokens where the paper has a "
        "number of segments; the paper's figure has no numbers",
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
        budget=1000,
    ),
}
