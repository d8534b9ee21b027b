"""How close an answer is to a reference: token F1, BLEU, ROUGE, METEOR and BERTScore, all from 0 to 1.

BLEU comes from sacrebleu, ROUGE from rouge-score, METEOR from nltk (the extra ``eval``). Words are told apart as
rouge-score does it, in lower case and without punctuation; Chinese, Japanese, Korean and Thai by character.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from secom_core.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from secom_core.protocols import Vectors

__all__ = ["bert_score", "bleu", "meteor", "rouge", "token_f1", "tokens"]

_SINGLE: Final = r"\u0e00-\u0eff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
_TOKEN: Final = re.compile(rf"[{_SINGLE}]|[^\W_{_SINGLE}]+")
_ARTICLES: Final = frozenset({"a", "an", "the"})


def tokens(text: str) -> list[str]:
    """The words of ``text`` in lower case, without punctuation; of scripts without spaces the characters."""
    return _TOKEN.findall(text.lower())


def token_f1(prediction: str, reference: str) -> float:
    """The F1 of the words that both have, articles left out, as question answering counts it (SQuAD, LoCoMo).

    1 where neither has any word, 0 where only one has.
    """
    ours, theirs = (Counter(word for word in tokens(text) if word not in _ARTICLES) for text in (prediction, reference))
    common = sum((ours & theirs).values())
    if not ours or not theirs:
        return float(ours == theirs)
    return 2 * common / (sum(ours.values()) + sum(theirs.values()))


def bleu(predictions: Sequence[str], references: Sequence[str], *, order: int = 4) -> float:
    """BLEU of a corpus (Papineni et al., 2002); RSum gives orders 1 and 2, Theanine 4.

    Args:
        predictions: the answers.
        references: one for each.
        order: the longest run of words that is counted.

    Raises:
        MissingExtra: without sacrebleu.
        InvalidInput: for no answers, or another number of references.
    """
    _check(predictions, references)
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise MissingExtra("bleu", "eval") from error
    # Split beforehand, as its own tokenizers know one language each.
    ours, theirs = ([" ".join(tokens(text)) for text in texts] for texts in (predictions, references))
    measure = BLEU(tokenize="none", max_ngram_order=order, effective_order=len(predictions) == 1, force=True)
    return float(measure.corpus_score(ours, [theirs]).score) / 100


def rouge(
    predictions: Sequence[str],
    references: Sequence[str],
    *,
    kinds: Sequence[str] = ("rouge1", "rouge2", "rougeL"),
) -> dict[str, float]:
    """The mean ROUGE F1 by kind (Lin, 2004), with Porter stems.

    Raises:
        MissingExtra: without rouge-score.
        InvalidInput: for no answers, or another number of references.
    """
    _check(predictions, references)
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise MissingExtra("rouge", "eval") from error
    scorer = RougeScorer(list(kinds), tokenizer=_Stemming())
    found = [scorer.score(theirs, ours) for ours, theirs in zip(predictions, references, strict=True)]
    return {kind: float(np.mean([each[kind].fmeasure for each in found])) for kind in kinds}


def meteor(predictions: Sequence[str], references: Sequence[str]) -> float:
    """The mean METEOR (Lavie & Agarwal, 2007) with exact and stem matches, as nltk computes it.

    Synonyms are left out, as they need the WordNet data, which no package brings; so it is at most the full METEOR.

    Raises:
        MissingExtra: without nltk.
        InvalidInput: for no answers, or another number of references.
    """
    _check(predictions, references)
    try:
        from nltk.translate.meteor_score import single_meteor_score
    except ImportError as error:
        raise MissingExtra("meteor", "eval") from error
    scores = [
        single_meteor_score(tokens(theirs), tokens(ours), wordnet=_NoSynonyms())
        for ours, theirs in zip(predictions, references, strict=True)
    ]
    return float(np.mean(scores))


def bert_score(
    predictions: Sequence[str], references: Sequence[str], *, model: str, layer: int = -1, batch_size: int = 32
) -> float:
    """The mean BERTScore F1 (Zhang et al., 2020), without idf and rescaling.

    Each token of one text is matched with the most similar one of the other, by the cosine of their hidden states. A
    few lines over transformers, as the bert-score package is not kept any more.

    Args:
        predictions: the answers.
        references: one for each.
        model: a folder with the weights of an encoder, or its name where they may be fetched.
        layer: whose hidden states are compared; the last unless given. The package takes the 9th of 12 for
            bert-base, the 17th of 24 for roberta-large.
        batch_size: how many texts go through the model at once.

    Raises:
        MissingExtra: without transformers and torch.
        InvalidInput: for no answers, or another number of references.
    """
    _check(predictions, references)
    distinct = list(dict.fromkeys([*predictions, *references]))
    states = dict(zip(distinct, _hidden_states(distinct, model, layer, batch_size), strict=True))
    return float(
        np.mean(
            [_greedy_f1(states[ours], states[theirs]) for ours, theirs in zip(predictions, references, strict=True)]
        )
    )


def _greedy_f1(ours: tuple[Vectors, Vectors], theirs: tuple[Vectors, Vectors]) -> float:
    """F1 of the best matches of words; special tokens can be matched with, as in the package, but do not count."""
    (mine, my_words), (yours, your_words) = ours, theirs
    if not len(my_words) or not len(your_words):
        return 0.0
    precision, recall = (my_words @ yours.T).max(axis=1).mean(), (your_words @ mine.T).max(axis=1).mean()
    return float(2 * precision * recall / (precision + recall)) if precision + recall > 0 else 0.0


def _hidden_states(texts: Sequence[str], model: str, layer: int, batch_size: int) -> list[tuple[Vectors, Vectors]]:
    """For each text the states of its tokens, each of length 1, with and without the special tokens."""
    tokenizer, encoder, torch = _encoder(model)
    found: list[tuple[Vectors, Vectors]] = []
    for start in range(0, len(texts), batch_size):
        batch = list(texts[start : start + batch_size])
        coded = tokenizer(batch, padding=True, truncation=True, return_tensors="pt", return_special_tokens_mask=True)
        special = coded.pop("special_tokens_mask").bool()
        with torch.inference_mode():
            states = encoder(**coded, output_hidden_states=True).hidden_states[layer]
        states = torch.nn.functional.normalize(states.float(), dim=-1)
        rows = zip(states, coded["attention_mask"].bool(), special, strict=True)
        found += [(state[held].numpy(), state[~mask].numpy()) for state, held, mask in rows]
    return found


@lru_cache(maxsize=1)
def _encoder(model: str) -> tuple[Any, Any, Any]:
    try:
        import torch
        from transformers import AutoModel, AutoTokenizer
    except ImportError as error:
        raise MissingExtra("bert_score", "llmlingua") from error
    return AutoTokenizer.from_pretrained(model), AutoModel.from_pretrained(model).eval(), torch


class _NoSynonyms:
    """Stands where nltk would look words up in WordNet."""

    def synsets(self, word: str) -> tuple[()]:
        """None."""
        return ()


class _Stemming:
    """Tokens as rouge-score stems them: Porter, words of more than three letters."""

    def __init__(self) -> None:
        from nltk.stem.porter import PorterStemmer

        self._stemmer = PorterStemmer()

    def tokenize(self, text: str) -> list[str]:
        """Stems, in order."""
        return [self._stemmer.stem(word) if len(word) > 3 and word.isascii() else word for word in tokens(text)]


def _check(predictions: Sequence[str], references: Sequence[str]) -> None:
    if not predictions or len(predictions) != len(references):
        raise InvalidInput(
            f"each answer needs a reference, and there has to be one; got {len(predictions)} answers and "
            f"{len(references)} references"
        )
