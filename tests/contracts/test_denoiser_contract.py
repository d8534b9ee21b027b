"""What every denoiser promises, whatever the texts hold."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from secom_core.denoisers.informativeness import Informativeness
from secom_core.indexes.bm25 import BM25
from secom_core.protocols import Denoiser
from secom_core.text.terms import count_tokens, word_spans

hypothesis = pytest.importorskip("hypothesis", reason="the property tests need hypothesis")
st = hypothesis.strategies

sys.path.insert(0, str(Path(__file__).parents[2]))

TEXTS = [
    "Ann: Hi Bob, how was Lisbon?\nBob: Great! We took tram 28 and saw the sea from the old castle.",
    "Hello!",
    "the of and",
    "Thanks, thanks, thank you so much!",
    "我上周去了杭州西湖，天气很好！",
    "昨日、友達と京都へ行きました。",
    "지난주에 부산에서 해산물을 먹었어요.",
    "Вчера мы ездили на дачу.",
    "\U0001f642\U0001f642",
    "?!",
    "x" * 2000,
    "a \ud800 b",
    "\0",
]


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not all(importlib.util.find_spec(needed) for needed in ("torch", "transformers")):
        pytest.skip("LLMLingua2 needs the llmlingua extra")
    from benchmarks.denoising_speed import make_segments, write_model

    return write_model(tmp_path_factory.mktemp("model"), "tiny", make_segments(40))


@pytest.fixture(
    scope="module",
    params=[
        "informativeness",
        "informativeness-half",
        *(pytest.param(name, marks=pytest.mark.models) for name in ("llmlingua", "llmlingua-half")),
    ],
)
def make(request: pytest.FixtureRequest) -> Callable[[], Denoiser]:
    name, _, half = request.param.partition("-")
    rate = 0.5 if half else 0.75
    if name == "informativeness":
        return lambda: Informativeness(rate)
    model = request.getfixturevalue("tiny_model")

    def llmlingua() -> Denoiser:
        from secom_core.denoisers.llmlingua import LLMLingua2

        return LLMLingua2(model, rate=rate, device="cpu", token_count=count_tokens)

    return llmlingua


@pytest.fixture(scope="module")
def denoiser(make: Callable[[], Denoiser]) -> Denoiser:
    return make()


@pytest.fixture(scope="module")
def statistics() -> BM25:
    index = BM25()
    index.add(range(60), [text for text in TEXTS[:8] for _ in range(8)][:60])
    return index


def test_fits_the_seam(denoiser: Denoiser) -> None:
    assert isinstance(denoiser, Denoiser)


def test_one_key_a_text_in_order(denoiser: Denoiser, statistics: BM25) -> None:
    together = denoiser.denoise(TEXTS, statistics)
    assert len(together) == len(TEXTS)
    assert together == [denoiser.denoise([text], statistics)[0] for text in TEXTS]
    assert denoiser.denoise([]) == []


@pytest.mark.parametrize("known", [True, False])
def test_never_empty_where_the_text_was_not(denoiser: Denoiser, statistics: BM25, known: bool) -> None:
    for text, key in zip(TEXTS, denoiser.denoise(TEXTS, statistics if known else None), strict=True):
        assert bool(key.strip()) == bool(text.strip())
    assert denoiser.denoise(["", " \n "])[0] == ""


def test_the_same_every_time(make: Callable[[], Denoiser], statistics: BM25) -> None:
    assert make().denoise(TEXTS, statistics) == make().denoise(TEXTS, statistics)


def test_something_goes(denoiser: Denoiser, statistics: BM25) -> None:
    assert len(word_spans(denoiser.denoise(TEXTS[:1], statistics)[0])) < len(word_spans(TEXTS[0]))


def characters(text: str) -> list[str]:
    return re.findall(r"\w", text)


def is_subsequence(short: list[str], long: list[str]) -> bool:
    rest = iter(long)
    return all(item in rest for item in short)


@pytest.mark.slow
@hypothesis.settings(
    max_examples=60, deadline=None, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
@hypothesis.given(
    text=st.lists(
        st.one_of(
            st.sampled_from(
                "the a not I hello thanks Ann tram castle 28 3.5 , . ! ? \n ( ) 你好 杭州西湖 了 のは".split(" ")
            ),
            st.text(st.characters(codec="utf-8"), max_size=6),
        ),
        max_size=30,
    ).map(" ".join)
)
@pytest.mark.parametrize("known", [True, False])
def test_informativeness_only_leaves_out(statistics: BM25, known: bool, text: str) -> None:
    """Nothing is added, changed or moved: what stays is a subsequence of what was said."""
    key = Informativeness(0.5).denoise([text], statistics if known else None)[0]
    assert is_subsequence(characters(key), characters(text))
    assert bool(key.strip()) == bool(text.strip())
