"""How fast keys are denoised by LLMLingua-2, beside the loop of its own package, and whether the words are the same.

    python -m benchmarks.denoising_speed --units 1000 --size base|large|tiny --device cpu|cuda --json OUT

There are no published weights here: the model is XLM-RoBERTa for token classification, of the size named, with
random weights and a tokenizer trained on the spot. Time and equality do not depend on what the weights are. The
package also fetches GPT-3.5's vocabulary from the network; both sides get the same count in its place.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest import mock

from secom_core.denoisers.llmlingua import LLMLingua2
from secom_core.text.terms import count_tokens

FORCE_TOKENS = ("\n", ".", "!", "?")
RATE = 0.75
# layers, hidden size, attention heads, size of the inner layer, vocabulary; "large" and "base" as published.
SIZES = {
    "tiny": (2, 64, 4, 128, 2_000),
    "small": (6, 384, 6, 1536, 8_000),
    "base": (12, 768, 12, 3072, 250_002),
    "large": (24, 1024, 16, 4096, 250_002),
}
NAMES = "Ann Bob Carla Dmitri Elena Farid Grace Hiro Ines Jonas".split()
SYLLABLES = (
    "ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu ra re ri ro ru".split()
)
FUNCTION = "the a of to and in that is was it for on with as at by this we you they have had not but from or".split()


class Encoding:
    """Stands for GPT-3.5's vocabulary, which only the network has."""

    def encode(self, text: str) -> list[int]:
        return [0] * count_tokens(text)


def word_list(size: int, seed: int = 0) -> list[str]:
    """Made-up words, different from each other, in the order of their frequency."""
    dice = random.Random(seed)
    words: dict[str, None] = dict.fromkeys(FUNCTION)
    while len(words) < size:
        words["".join(dice.choices(SYLLABLES, k=dice.randint(2, 4)))] = None
    return list(words)


def make_segments(units: int, seed: int = 0) -> list[str]:
    """Segments of 2 to 8 turns of 3 to 24 words each: about as long as the true segments of DialSeg711."""
    dice = random.Random(seed)
    words = word_list(3000)
    weights = [1 / (rank + 3) for rank in range(len(words))]

    def turn(speaker: str) -> str:
        said = dice.choices(words, weights, k=dice.randint(3, 24))
        said[0] = said[0].capitalize()
        for place in range(7, len(said) - 2, 9):
            said[place] += dice.choice(",.!?")
        return f"{speaker}: {' '.join(said)}{dice.choice('...!?')}"

    segments = []
    for _ in range(units):
        pair = dice.sample(NAMES, 2)
        segments.append("\n".join(turn(pair[place % 2]) for place in range(dice.randint(2, 8))))
    return segments


def sentencepiece_tokenizer(texts: list[str], vocabulary: int) -> Any:
    """A unigram tokenizer with XLM-RoBERTa's conventions, trained on ``texts``."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=vocabulary, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    # XLM-RoBERTa knows the marks that stand alone, too.
    learned = json.loads(tokenizer.to_str())["model"]["vocab"]
    alone = [(f"▁{mark}", -4.0) for mark in ".,!?"]
    tokenizer.model = models.Unigram([*map(tuple, learned), *alone], unk_id=special.index("<unk>"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
    )


def write_model(folder: Path, size: str, texts: list[str], seed: int = 0) -> Path:
    """Write an XLM-RoBERTa token classifier with random weights, in the published format.

    The folder's name holds "xlm-roberta-large", because the package goes by the name.
    """
    import torch
    from transformers import XLMRobertaConfig, XLMRobertaForTokenClassification

    layers, hidden, heads, inner, vocabulary = SIZES[size]
    tokenizer = sentencepiece_tokenizer(texts, min(vocabulary, 8_000))
    config = XLMRobertaConfig(
        vocab_size=max(vocabulary, len(tokenizer)),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=514,
        num_labels=2,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = XLMRobertaForTokenClassification(config)
        # Untrained classifiers give every token nearly the same score; spread them as a trained one does.
        torch.nn.init.normal_(model.classifier.weight, std=2 / hidden**0.5)
    place = folder / f"random-xlm-roberta-large-{size}"
    model.save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


@contextmanager
def without_network() -> Iterator[None]:
    """The package constructs without fetching GPT-3.5's vocabulary."""
    with mock.patch("tiktoken.encoding_for_model", return_value=Encoding()):
        yield


def seconds(task: Callable[[], list[str]], device: str) -> tuple[float, list[str]]:
    """How long ``task`` takes, and what it gives."""
    import torch

    begin = time.perf_counter()
    found = task()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - begin, found


def measure(
    units: int, size: str, device: str, seed: int = 0, batch_size: int = 32, *, singly: bool = True
) -> dict[str, Any]:
    """Time both on the same segments; the package all in one call and, unless not ``singly``, one text a call."""
    import torch
    from llmlingua import PromptCompressor

    segments = make_segments(units, seed)
    warm = make_segments(64, seed + 1)
    options: dict[str, Any] = {"rate": RATE, "force_tokens": list(FORCE_TOKENS), "use_context_level_filter": False}
    with tempfile.TemporaryDirectory() as folder, without_network():
        place = write_model(Path(folder), size, make_segments(500, seed + 2), seed)
        package = PromptCompressor(str(place), device_map=device, use_llmlingua2=True)
        ours = LLMLingua2(place, rate=RATE, force_tokens=FORCE_TOKENS, device=device, batch_size=batch_size)

        def together(texts: list[str]) -> list[str]:
            return package.compress_prompt(list(texts), **options)["compressed_prompt_list"]

        def each(texts: list[str]) -> list[str]:
            return [package.compress_prompt([text], **options)["compressed_prompt"] for text in texts]

        for task in (together, ours.denoise):
            task(warm[: max(2, min(64, units // 10))])
        own, theirs_batched = seconds(lambda: together(segments), device)
        single, theirs = seconds(lambda: each(segments), device) if singly else (None, None)
        mine, kept = seconds(lambda: ours.denoise(segments), device)
    lengths = [len(ours._loaded._tokenizer.tokenize(text)) for text in segments] if ours._loaded else []
    spent = {"one call": own} | ({} if single is None else {"a call a text": single})
    differing = {"one call": differences(kept, theirs_batched)}
    if theirs is not None:
        differing["a call a text"] = differences(kept, theirs)
        differing["the package from itself"] = differences(theirs, theirs_batched)
    return {
        "units": units,
        "size": size,
        "device": torch.cuda.get_device_name() if device.startswith("cuda") else device,
        "seed": seed,
        "batch_size": batch_size,
        "mean_tokens": round(sum(lengths) / len(lengths), 1),
        "max_tokens": max(lengths),
        "kept": round(sum(len(text.split()) for text in kept) / sum(len(text.split()) for text in segments), 3),
        "seconds": {"ours": mine} | {f"llmlingua, {name}": took for name, took in spent.items()},
        "ratio": {name: took / mine for name, took in spent.items()},
        "units_that_differ": differing,
        "word_for_word": differing["one call"] == 0,
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("torch", "transformers", "llmlingua")},
    }


def differences(one: list[str], other: list[str]) -> int:
    """How many texts have other words in one than in the other."""
    return sum(a.split() != b.split() for a, b in zip(one, other, strict=True))


def table(result: dict[str, Any]) -> str:
    """The result for the terminal."""
    rows = [
        f"{result['units']} segments of {result['mean_tokens']} tokens on average (at most {result['max_tokens']}), "
        f"XLM-RoBERTa {result['size']} with random weights, {result['device']}",
        f"{'':28}{'seconds':>10}{'times ours':>12}{'texts that differ':>20}",
        f"{'ours':28}{result['seconds']['ours']:10.2f}{1:12.1f}",
    ]
    for name, ratio in result["ratio"].items():
        spent, differ = result["seconds"][f"llmlingua, {name}"], result["units_that_differ"][name]
        rows.append(f"{'llmlingua, ' + name:28}{spent:10.2f}{ratio:12.1f}{differ:20d}")
    return "\n".join([*rows, f"word for word equal: {'yes' if result['word_for_word'] else 'no'}"])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=1000, help="how many segments")
    parser.add_argument("--size", choices=SIZES, default="base")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch-size", type=int, default=32, help="chunks that go through our model together")
    parser.add_argument("--one-call-only", action="store_true", help="leave out the package's loop of a call a text")
    parser.add_argument("--json", type=Path, help="where the result is written")
    options = parser.parse_args(arguments)
    result = measure(
        options.units,
        options.size,
        options.device,
        options.seed,
        options.batch_size,
        singly=not options.one_call_only,
    )
    print(table(result))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
