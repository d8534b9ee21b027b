"""LLMLingua-2 through real tokenizers and real (tiny, random) models, beside its own package word for word."""

from __future__ import annotations

import os
import random
import socket
import struct
import subprocess
import sys
import threading
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secom_core.errors import DegradedWarning, InvalidInput, MissingExtra, ModelUnavailable
from secom_core.text.terms import count_tokens

torch = pytest.importorskip("torch", reason="LLMLingua2 needs the llmlingua extra")
transformers = pytest.importorskip("transformers", reason="LLMLingua2 needs the llmlingua extra")
pytestmark = pytest.mark.models

from secom_core.denoisers.llmlingua import LLMLingua2  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.denoising_speed import make_segments, sentencepiece_tokenizer  # noqa: E402

CHAT = [
    "Ann: Hi Bob, how was Lisbon?\nBob: Great! We took tram 28, ate pastéis de nata & saw the sea.",
    "Nothing here has a newline or an end",
    "我上周去了杭州西湖，天气很好！ Then we drank tea.",
    "(a) e-mail: ann@example.org; #42 -- ok... \U0001f642 fine?!",
    "One",
    "One two",
    "again and again and again and again",
    " \n leading and trailing \n\n ",
    "Line one\nLine two\n\nLine four\r\nLine five",
    "café naïve Straße İstanbul ﬁne",
    "x" * 3000,
    "New York, New York. The New York tram!",
]
TRAINING = [*CHAT, *make_segments(60, seed=5)]


class Counts:
    """Stands for GPT-3.5's vocabulary, which only the network has; long words weigh more."""

    def encode(self, text: str) -> list[int]:
        return [0] * (1 + len(text) // 4)


def wordpiece_tokenizer(texts: list[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(
        texts, trainers.WordPieceTrainer(vocab_size=900, special_tokens=special, show_progress=False)
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token="[MASK]",
    )


def save(folder: Path, tokenizer: Any, kind: str, seed: int) -> Path:
    """A token classifier of two layers with random weights, in the published format."""
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=514,
        num_labels=2,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = getattr(transformers, f"{kind}ForTokenClassification")(config)
        torch.nn.init.normal_(model.classifier.weight, std=0.4)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def sentencepiece(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # The package goes by the name of the model.
    folder = tmp_path_factory.mktemp("models") / "tiny-xlm-roberta-large"
    return save(folder, sentencepiece_tokenizer(TRAINING, 900), "XLMRoberta", seed=1)


@pytest.fixture(scope="module")
def wordpiece(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny-bert-base-multilingual-cased"
    return save(folder, wordpiece_tokenizer(TRAINING), "Bert", seed=2)


@pytest.fixture(params=["sentencepiece", "wordpiece"])
def model(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


@pytest.fixture
def vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the package, and we after it, would fetch from the network."""
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken comes with the llmlingua extra")
    monkeypatch.setattr(tiktoken, "encoding_for_model", lambda name: Counts())


def package_words(model: Path, texts: list[str], rate: float, force_tokens: tuple[str, ...]) -> list[str]:
    llmlingua = pytest.importorskip("llmlingua", reason="llmlingua is the oracle")
    with torch.random.fork_rng():
        state = random.getstate(), np.random.get_state()
        package = llmlingua.PromptCompressor(str(model), device_map="cpu", use_llmlingua2=True)
        random.setstate(state[0])
        np.random.set_state(state[1])
    found = []
    for text in texts:
        try:
            result = package.compress_prompt([text], rate=rate, force_tokens=list(force_tokens))
        except IndexError:
            # The package fails on a text of unknown tokens alone; like one that it empties, it should stay whole.
            result = {"compressed_prompt": ""}
        found.append(result["compressed_prompt"])
    return found


LONG = ["\n".join(make_segments(14, seed=9)), " ".join(f"word{place}" for place in range(900))]


@pytest.mark.pairwise
@pytest.mark.usefixtures("vocabulary")
@pytest.mark.parametrize("rate", [0.75, 0.4])
@pytest.mark.parametrize("force_tokens", [("\n", ".", "!", "?"), (), ("New York", "tram", "\n")])
def test_word_for_word_as_the_package(model: Path, rate: float, force_tokens: tuple[str, ...]) -> None:
    texts = CHAT + LONG + make_segments(30, seed=11)
    expected = package_words(model, texts, rate, force_tokens)
    found = LLMLingua2(model, rate=rate, force_tokens=force_tokens, device="cpu", batch_size=7).denoise(texts)
    for text, ours, theirs in zip(texts, found, expected, strict=True):
        # One word alone is never above its own percentile: the package then leaves nothing, we leave the text.
        assert ours == (theirs if theirs.strip() else text)
    shorter = sum(len(ours) < len(text) for ours, text in zip(found, texts, strict=True))
    assert shorter > 0.8 * len(texts)


@pytest.mark.usefixtures("vocabulary")
def test_long_texts_take_several_chunks(model: Path) -> None:
    loaded = LLMLingua2(model, device="cpu")
    loaded.denoise(["x y"])
    tokens = loaded._loaded._tokens([LONG[0]])[0]
    assert len(tokens) > 2 * 512
    assert len(list(loaded._loaded._chunks(tokens))) > 2


@pytest.mark.usefixtures("vocabulary")
def test_force_tokens_stay(model: Path) -> None:
    texts = make_segments(20, seed=3)
    for text, kept in zip(texts, LLMLingua2(model, rate=0.3, device="cpu").denoise(texts), strict=True):
        assert kept.count("\n") == text.count("\n")
        assert kept.count("?") == text.count("?")


def test_the_batch_size_changes_nothing(model: Path) -> None:
    texts = CHAT + make_segments(20, seed=4)
    answers = [
        LLMLingua2(model, device="cpu", batch_size=size, token_count=count_tokens).denoise(texts) for size in (1, 3, 64)
    ]
    assert answers[0] == answers[1] == answers[2]


def test_no_generator_is_touched(model: Path) -> None:
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.random.get_rng_state().tolist()
    LLMLingua2(model, device="cpu", token_count=count_tokens).denoise(CHAT)
    assert before == (random.getstate(), np.random.get_state()[1].tolist(), torch.random.get_rng_state().tolist())


def test_nothing_is_loaded_before_the_first_use() -> None:
    denoiser = LLMLingua2("no/such/model")
    assert denoiser.denoise([]) == []
    assert denoiser.denoise(["", "  \n"]) == ["", "  \n"]
    assert LLMLingua2("no/such/model", rate=1.0).denoise(["Hello there"]) == ["Hello there"]


def test_a_model_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelUnavailable, match="'no/such-model' could not be loaded") as failure:
        LLMLingua2("no/such-model", device="cpu").denoise(["Hello there"])
    for advice in ("hf download no/such-model", "pass the folder as model=", "HF_HUB_OFFLINE=1", "Informativeness"):
        assert advice in str(failure.value)
    assert failure.value.__cause__ is not None
    with pytest.raises(ModelUnavailable, match="could not be loaded"):
        LLMLingua2(tmp_path, device="cpu").denoise(["Hello there"])


def test_a_model_that_is_not_there_is_not_asked_for_at_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[str] = []

    def refuse(name: str, device: str | None) -> Any:
        attempts.append(name)
        raise ModelUnavailable("no network")

    clock = [1000.0]
    monkeypatch.setattr("secom_core.denoisers.llmlingua._load", refuse)
    monkeypatch.setattr("secom_core.denoisers.llmlingua.time.monotonic", lambda: clock[0])
    denoiser = LLMLingua2("no/model")
    for later, expected in [(0, 1), (59, 1), (2, 2)]:
        clock[0] += later
        with pytest.raises(ModelUnavailable, match="no network"):
            denoiser.denoise(["Hello there"])
        assert len(attempts) == expected


@contextmanager
def hub(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """A hub whose only model is the folder's, and what it is asked for. While there is no folder, it hangs up."""
    asked: list[str] = []

    class Hub(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            asked.append(self.path)
            if not folder.exists():
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                return
            file = folder / Path(self.path).name
            is_there = "/resolve/" in self.path and file.is_file()
            body = file.read_bytes() if is_there else b""
            self.send_response(200 if is_there else 404)
            about = {"X-Repo-Commit": "a" * 40, "ETag": f'"{file.name}"', "Content-Length": str(len(body))}
            for name, value in (about if is_there else {**about, "X-Error-Code": "EntryNotFound"}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body if self.command == "GET" else b"")

        do_GET = do_HEAD

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


THREE = """
import sys
from pathlib import Path
from secom_core.denoisers.llmlingua import LLMLingua2
from secom_core.errors import ModelUnavailable

def denoise(name):
    return LLMLingua2(name, device="cpu", token_count=len).denoise(["Ann: Hi Bob, how was Lisbon? We took tram 28."])

first = denoise("ann/tiny")
Path(sys.argv[1]).unlink()
assert denoise("ann/tiny") == first
try:
    denoise("ann/large")
except ModelUnavailable as error:
    print(first[0], error, sep="\\n")
"""


def test_a_model_that_is_here_is_not_asked_for_and_a_hub_that_is_away_hardly(wordpiece: Path, tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.symlink_to(wordpiece)
    with hub(served) as (url, asked):
        env = {name: value for name, value in os.environ.items() if not name.endswith("_OFFLINE")}
        env |= {"HF_ENDPOINT": url, "HF_HOME": str(tmp_path / "cache"), "NO_PROXY": "*", "no_proxy": "*"}
        ran = subprocess.run([sys.executable, "-c", THREE, served], env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    words, error = ran.stdout.splitlines()
    assert [words] == LLMLingua2(wordpiece, device="cpu", token_count=len).denoise(
        ["Ann: Hi Bob, how was Lisbon? We took tram 28."]
    )
    assert "'ann/large' could not be loaded (no answer from http://127.0.0.1" in error
    weights = next(place for place, path in enumerate(asked) if path.endswith("/model.safetensors"))
    assert asked[weights + 2 :] == ["/ann/large/resolve/main/config.json"] * 2


def test_a_model_of_another_kind(tmp_path: Path, wordpiece: Path) -> None:
    config = transformers.BertConfig.from_pretrained(wordpiece)
    config.architectures = ["BertForMaskedLM"]
    config.save_pretrained(tmp_path)
    with pytest.raises(InvalidInput, match=r"no token-classification model; its config names \['BertForMaskedLM'\]"):
        LLMLingua2(tmp_path, device="cpu").denoise(["Hello there"])


def test_texts_are_compressed_once(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    denoiser = LLMLingua2(model, device="cpu", cache_size=3, token_count=count_tokens)
    first = denoiser.denoise([CHAT[0], CHAT[2], CHAT[0]])
    assert first[0] == first[2]
    seen: list[str] = []
    compress = type(denoiser._loaded).compress
    monkeypatch.setattr(
        type(denoiser._loaded), "compress", lambda self, texts, size: seen.extend(texts) or compress(self, texts, size)
    )
    assert denoiser.denoise([CHAT[2], CHAT[0]]) == [first[1], first[0]]
    assert seen == []
    denoiser.denoise([CHAT[3], CHAT[3], CHAT[8], CHAT[0]])
    assert seen == [CHAT[3], CHAT[8]]
    # CHAT[2] was used longest ago, and only three fit.
    denoiser.denoise([CHAT[0], CHAT[2]])
    assert seen == [CHAT[3], CHAT[8], CHAT[2]]


def test_without_a_cache(model: Path) -> None:
    denoiser = LLMLingua2(model, device="cpu", cache_size=0, token_count=count_tokens)
    assert denoiser.denoise(CHAT) == denoiser.denoise(CHAT)
    assert not denoiser._cache


def test_without_gpts_vocabulary_it_says_so(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(name: str) -> Any:
        raise ConnectionError("no network")

    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken comes with the llmlingua extra")
    monkeypatch.setattr(tiktoken, "encoding_for_model", refused)
    denoiser = LLMLingua2(model, device="cpu")
    with pytest.warns(DegradedWarning, match="ConnectionError: no network.*token_count="):
        found = denoiser.denoise(CHAT)
    assert all(kept.strip() for kept in found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        denoiser.denoise(["Another text, later."])


def test_odd_characters_do_no_harm(model: Path) -> None:
    texts = ["a \ud800 b", "\0 null", "<s> [CLS] </s> [SEP] [NEW0]", "<|endoftext|> said Ann", "\U0001f642" * 9]
    found = LLMLingua2(model, device="cpu", token_count=count_tokens).denoise(texts)
    assert all(kept.strip() for kept in found)


def test_threads_share_one_model(model: Path) -> None:
    denoiser = LLMLingua2(model, device="cpu", token_count=count_tokens)
    texts = make_segments(16, seed=6)
    answers: dict[int, list[str]] = {}

    def work(number: int) -> None:
        answers[number] = denoiser.denoise(texts[number:] + texts[:number])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(sorted(found) == sorted(answers[0]) for found in answers.values())
    assert len(answers) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0}, "got 0"),
        ({"rate": 1.5}, r"got 1\.5"),
        ({"force_tokens": ["x"] * 101}, "got 101"),
        ({"batch_size": 0}, "got 0 and"),
        ({"cache_size": -1}, "and -1"),
    ],
)
def test_values_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        LLMLingua2(**options)


@pytest.mark.parametrize("missing", ["torch", "transformers"])
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    found = types.SimpleNamespace()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == missing else found)
    with pytest.raises(MissingExtra, match=r'LLMLingua2.*pip install "secom-memory\[llmlingua\]"'):
        LLMLingua2()
