"""A cross-encoder of one small layer, with random weights, as sentence-transformers saves it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

with_cross_encoders = pytest.mark.skipif(
    not (find_spec("sentence_transformers") and find_spec("torch")),
    reason="needs the packages sentence-transformers and torch (extra 'dense')",
)


def cross_encoder(folder: Path, texts: Sequence[str], labels: int = 1) -> Path:
    """Make one that knows the words of these texts."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    folder.mkdir()
    words = sorted(
        {*re.findall(r"\w+", " ".join(texts).lower()), *"user the garden at home needs and time : . ?".split()}
    )
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    tokenizer = BertTokenizer(str(folder / "vocab.txt"), model_max_length=64)
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    config.num_labels, config.initializer_range = labels, 1.0
    model = BertForSequenceClassification(config)
    torch.nn.init.normal_(model.classifier.weight)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
