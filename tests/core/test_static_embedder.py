"""Static embeddings, with small tables that are made here, and with the table of wordllama where that is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from secom_core import MemoryBank
from secom_core.bank import Parts
from secom_core.errors import BadReply, InvalidInput, MissingExtra, ModelUnavailable
from secom_core.models import CachedEmbedder, StaticEmbedder
from secom_core.models.static import _PIECE, _pieces
from secom_core.protocols import Embedder
from secom_core.ranking import STATIC
from secom_core.segmenters.lexical import LexicalSegmenter
from secom_core.testing import ScriptedEmbedder

tokenizers = pytest.importorskip("tokenizers", reason="needs the static extra")
safetensors = pytest.importorskip("safetensors.numpy", reason="needs the static extra")
ROOT = Path(__file__).parents[2]

WORDS = ["[UNK]", "my", "dog", "our", "puppy", "the", "tax", "form"]
ROWS = np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype(np.float32)
by_word = dict(zip(WORDS, ROWS, strict=True))


def word_tokenizer(words: list[str] = WORDS) -> Any:
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: place for place, word in enumerate(words)}, "[UNK]"))
    made.normalizer = tokenizers.normalizers.Lowercase()
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return made


def table(folder: Path, tokenizer: Any = None, **tensors: Any) -> Path:
    """A folder as model2vec lays it out."""
    folder.mkdir(parents=True)
    safetensors.save_file(tensors or {"embeddings": ROWS}, folder / "model.safetensors")
    (tokenizer or word_tokenizer()).save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"normalize": False}))
    return folder


def mean(text: str, rows: dict[str, Any] = by_word) -> Any:
    vector = np.mean([rows[word] for word in text.split()], axis=0)
    return vector / np.linalg.norm(vector)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return table(tmp_path_factory.mktemp("static") / "table")


@pytest.fixture(scope="module")
def embedder(folder: Path) -> StaticEmbedder:
    return StaticEmbedder(folder)


# -- vectors


def test_a_text_is_the_mean_of_its_words_with_length_one(embedder):
    assert isinstance(embedder, Embedder)
    rows = embedder.embed(["my dog", "Our PUPPY", "the tax form", "dog dog my"])
    assert rows.shape == (4, 6)
    assert rows.dtype == np.float32
    wanted = [mean("my dog"), mean("our puppy"), mean("the tax form"), mean("dog dog my")]
    np.testing.assert_allclose(rows, wanted, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_a_text_without_known_words_is_zeros_and_unknown_words_count_for_nothing(embedder):
    rows = embedder.embed(["", " \n", "zebra", "my zebra dog zebra", "\0", "\ud800", "你好", "my"])
    assert not rows[[0, 1, 2, 4, 5, 6]].any()
    np.testing.assert_allclose(rows[[3, 7]], [mean("my dog"), mean("my")], atol=1e-6)


def test_no_texts_load_nothing(folder):
    unused = StaticEmbedder(folder)
    assert len(unused.embed([])) == 0
    assert unused._table is None


def test_order_and_company_change_nothing(embedder):
    texts = ["my dog", "", "the tax form " * 400, "zebra", "my dog", "our puppy"]
    rows = np.concatenate([embedder.embed([text]) for text in texts])
    np.testing.assert_allclose(embedder.embed(texts * 60), np.tile(rows, (60, 1)), atol=1e-6)
    np.testing.assert_allclose(embedder.embed(texts[::-1]), rows[::-1], atol=1e-6)


def test_the_end_of_a_huge_text_counts_like_its_beginning(embedder):
    start, end = "the tax form " * 3000, "my dog " * 9000
    np.testing.assert_allclose(embedder.embed([start + end]), [mean("the tax form " + "my dog " * 3)], atol=1e-5)


def test_what_the_tokenizer_says_of_padding_and_cutting_off_is_not_done(tmp_path):
    tokenizer = word_tokenizer()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=32, pad_id=7)
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[UNK] $A form", special_tokens=[("[UNK]", 0), ("form", 7)]
    )
    rows = StaticEmbedder(table(tmp_path / "cut", tokenizer)).embed(["my dog our puppy", "tax"])
    np.testing.assert_allclose(rows, [mean("my dog our puppy"), mean("tax")], atol=1e-6)


@pytest.mark.parametrize(
    "text", ["word " * 5000, "a" * 10_000, " " * 9000, "你" * 9000 + " end", "x" * _PIECE, "x" * (_PIECE + 1)]
)
def test_pieces_are_short_and_hold_the_whole_text(text):
    pieces = list(_pieces(text))
    assert all(len(piece) <= _PIECE for piece in pieces)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
    assert {word for piece in pieces for word in piece.split()} >= {word for word in text.split() if len(word) < _PIECE}


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8])
def test_any_kind_of_number_will_do(tmp_path, kind):
    rows = (ROWS * 40).astype(kind)
    found = StaticEmbedder(table(tmp_path / "table", embeddings=rows)).embed(["my dog"])
    np.testing.assert_allclose(
        found, [mean("my dog", dict(zip(WORDS, rows.astype(np.float64), strict=True)))], atol=1e-6
    )


def test_models_of_parts_of_words_and_of_bytes(tmp_path):
    words = ["<unk>", "d", "o", "g", "do", "dog", *(f"<0x{byte:02X}>" for byte in range(256))]
    model = tokenizers.models.BPE(
        {word: place for place, word in enumerate(words)},
        [("d", "o"), ("do", "g")],
        unk_token="<unk>",
        byte_fallback=True,
    )
    rows = np.random.default_rng(1).normal(size=(len(words), 6))
    found = StaticEmbedder(table(tmp_path / "bpe", tokenizers.Tokenizer(model), embeddings=rows)).embed(["dogdo", "é"])
    wanted = [rows[5] + rows[4], rows[6 + 0xC3] + rows[6 + 0xA9]]
    np.testing.assert_allclose(found, [row / np.linalg.norm(row) for row in wanted], atol=1e-6)


def test_what_a_unigram_model_does_not_know_counts_for_nothing(tmp_path):
    made = tokenizers.Tokenizer(tokenizers.models.Unigram([("a", -1.0), ("?", -9.0), ("b", -1.0)], 1, False))
    found = StaticEmbedder(table(tmp_path / "unigram", made, embeddings=ROWS[:3])).embed(["a!b", "!"])
    np.testing.assert_allclose(found[0], mean("my our", {"my": ROWS[0], "our": ROWS[2]}), atol=1e-6)
    assert not found[1].any()


# -- model2vec's weights and mapping


def test_weights_and_a_mapping_of_tokens_to_rows_are_heeded(tmp_path):
    rows = ROWS[:3]
    mapping = np.array([0, 1, 1, 2, 2, 0, 0, 1])
    weights = np.linspace(0.5, 2, len(WORDS))
    weighted = {word: rows[row] * weight for word, row, weight in zip(WORDS, mapping, weights, strict=True)}
    text = "my dog the puppy form form"
    for given, wanted in (
        ({"mapping": mapping, "weights": weights}, weighted),
        ({"mapping": mapping.astype(np.int32)}, dict(zip(WORDS, rows[mapping], strict=True))),
    ):
        made = table(tmp_path / str(len(given)), embeddings=rows, **given)
        np.testing.assert_allclose(StaticEmbedder(made).embed([text]), [mean(text, wanted)], atol=1e-6)
    made = table(tmp_path / "weights", embeddings=ROWS, weights=weights.astype(np.float16))
    wanted = {word: by_word[word] * weight for word, weight in zip(WORDS, weights, strict=True)}
    np.testing.assert_allclose(StaticEmbedder(made).embed([text]), [mean(text, wanted)], atol=1e-3)


# -- names


def test_a_model_has_one_name_wherever_it_lies(folder, tmp_path):
    name = StaticEmbedder(folder).name
    other = tmp_path / "elsewhere" / "two"
    copytree(folder, other)
    (other / "README.md").write_text("Moved.")
    assert StaticEmbedder(str(other) + "/").name == name
    assert name.startswith("static/")
    assert str(tmp_path) not in name


def test_another_table_or_tokenizer_has_another_name(folder, tmp_path):
    # As large as the other, and different at its beginning alone.
    tail = np.zeros(1 << 16, np.float32)
    one = table(tmp_path / "one", embeddings=ROWS, weights=tail)
    other = table(tmp_path / "other", embeddings=ROWS + 1, weights=tail)
    words = table(tmp_path / "words", word_tokenizer([*WORDS[:-1], "farm"]))
    assert len({StaticEmbedder(each).name for each in (folder, one, other, words)}) == 4


# -- threads, and what is loaded


def test_threads_load_one_table_and_get_what_one_thread_gets(folder):
    shared, texts = StaticEmbedder(folder), ["my dog", "our puppy " * 500, "the tax form"]
    with ThreadPoolExecutor(8) as pool:
        tables = set(map(id, pool.map(lambda _: shared._loaded(), range(32))))
        found = list(pool.map(lambda number: shared.embed(texts[number % 3 :]), range(24)))
    assert len(tables) == 1
    for number, rows in enumerate(found):
        np.testing.assert_allclose(rows, shared.embed(texts)[number % 3 :], atol=1e-6)


@pytest.mark.slow
def test_it_imports_no_network_and_nothing_before_the_first_text(folder):
    _import_in_a_new_process(str(folder))


def _import_in_a_new_process(*given: str) -> None:
    script = (
        "import sys; from secom_core.models import StaticEmbedder as E; e = E(*sys.argv[1:]); e.name; "
        "late = {'tokenizers', 'safetensors'} & set(sys.modules); e.embed(['my dog']); "
        "sys.exit(sorted(late | {'torch', 'transformers', 'wordllama', 'huggingface_hub'} & set(sys.modules)) or 0)"
    )
    subprocess.run([sys.executable, "-c", script, *given], cwd=ROOT, check=True, timeout=60)


def test_a_bank_recalls_with_it(embedder):
    with MemoryBank.open(":memory:", embedder=embedder) as bank:
        for number, text in enumerate(("our puppy", "the tax form")):
            bank.remember(("a",), [{"role": "user", "content": text}], session=str(number), close=True)
        assert bank.recall(("a",), "puppy", k=1).hits[0].text.endswith("our puppy")


# -- errors


def test_a_bank_cuts_and_weighs_as_fits_a_table_of_words(embedder: StaticEmbedder) -> None:
    for each in (embedder, CachedEmbedder(embedder)):
        parts = Parts(embedder=each)
        assert isinstance(parts.segmenter_used, LexicalSegmenter)
        assert parts.weights_used == STATIC
        assert Parts(embedder=each, weights={"passage_dense": 1}).weights_used == {"passage_dense": 1}
    whole = Parts(embedder=ScriptedEmbedder(16))
    assert not isinstance(whole.segmenter_used, LexicalSegmenter)
    assert whole.weights_used is None


@pytest.mark.parametrize("package", ["tokenizers", "safetensors"])
def test_without_the_packages_the_pip_line_is_named(monkeypatch, folder, package):
    made = StaticEmbedder(folder)
    monkeypatch.setitem(sys.modules, package, None)
    for ask in (lambda: StaticEmbedder(folder), lambda: made.embed(["my"])):
        with pytest.raises(MissingExtra, match=r'pip install "secom-memory\[static\]"'):
            ask()


def test_without_wordllama_the_pip_line_is_named(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(MissingExtra, match=r'without a folder needs.*pip install "secom-memory\[static\]"'):
        StaticEmbedder()
    assert StaticEmbedder(folder).embed(["my"]).any()


def test_wordllama_is_found_without_being_run_and_refused_without_its_files(monkeypatch, tmp_path):
    (tmp_path / "wordllama" / "weights").mkdir(parents=True)
    (tmp_path / "wordllama" / "__init__.py").write_text("raise RuntimeError('this was run')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "wordllama", raising=False)
    with pytest.raises(MissingExtra):
        StaticEmbedder()
    safetensors.save_file({"embedding.weight": ROWS}, tmp_path / "wordllama/weights/l2_supercat_256.safetensors")
    (tmp_path / "wordllama" / "tokenizers").mkdir()
    word_tokenizer().save(str(tmp_path / "wordllama/tokenizers/l2_supercat_tokenizer_config.json"))
    np.testing.assert_allclose(StaticEmbedder().embed(["my dog"]), [mean("my dog")], atol=1e-6)


@pytest.mark.parametrize("absent", ["model.safetensors", "tokenizer.json"])
def test_a_folder_without_a_file_is_refused_at_once(folder, tmp_path, absent):
    copytree(folder, tmp_path / "less")
    (tmp_path / "less" / absent).unlink()
    with pytest.raises(
        InvalidInput, match=rf"model.safetensors and tokenizer.json, got .*less' without \['{absent}'\]"
    ):
        StaticEmbedder(tmp_path / "less")


def test_a_name_on_the_hub_is_no_folder():
    with pytest.raises(InvalidInput, match=r"a folder with .* got 'minishlab/potion-base-8M'"):
        StaticEmbedder("minishlab/potion-base-8M")


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ({"vectors": ROWS}, r"no tensor 'embeddings' or 'embedding.weight', only \['vectors'\]"),
        ({"embeddings": ROWS[0]}, r"a row a token, got a tensor of the shape \(6,\)"),
        ({"embeddings": ROWS[:, :0]}, r"got a tensor of the shape \(8, 0\)"),
        ({"embeddings": ROWS[:5]}, r"'form' with the id 7, and the table knows 5 tokens"),
        ({"embeddings": ROWS, "mapping": np.arange(5)}, "'form' with the id 7, and the table knows 5 tokens"),
        ({"embeddings": ROWS[:3], "mapping": np.arange(8)}, "rows 0 to 7, and the table has 3"),
        ({"embeddings": ROWS, "mapping": -np.arange(8)}, "rows -7 to 0"),
        ({"embeddings": ROWS, "mapping": np.zeros(8)}, r"mapping .* got float64 of the shape \(8,\)"),
        ({"embeddings": ROWS, "weights": np.ones(3)}, r"a number for each of 8 tokens, got the shape \(3,\)"),
    ],
)
def test_files_that_do_not_fit_say_what_is_wrong(tmp_path, tensors, said):
    made = StaticEmbedder(table(tmp_path / "wrong", **tensors))
    with pytest.raises(ModelUnavailable, match=rf"the table of StaticEmbedder\('.*wrong'\) cannot be loaded: .*{said}"):
        made.embed(["my dog"])


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("content", [b"", b"{}", b"\xff nonsense"])
def test_files_that_are_none_of_their_kind_are_a_clear_error(folder, tmp_path, name, content):
    copytree(folder, tmp_path / "damaged")
    (tmp_path / "damaged" / name).write_bytes(content)
    with pytest.raises(ModelUnavailable, match="cannot be loaded") as caught:
        StaticEmbedder(tmp_path / "damaged").embed(["my dog"])
    assert caught.value.__cause__ is not None


def test_a_tokenizer_that_cannot_read_a_text_is_a_clear_error(tmp_path):
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"my": 0}, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    with pytest.raises(ModelUnavailable, match=r"the tokenizer cannot read a text: .*UNK"):
        StaticEmbedder(table(tmp_path / "table", made)).embed(["my dog"])


def test_a_table_of_what_is_no_number_is_a_bad_reply(tmp_path):
    made = StaticEmbedder(table(tmp_path / "table", embeddings=np.where(ROWS > 9, 0, np.nan).astype(np.float32)))
    with pytest.raises(BadReply, match=r"static/.* gave no vector for each of 1 texts"):
        made.embed(["my dog"])


# -- the table of wordllama


@pytest.fixture(scope="module")
def english() -> StaticEmbedder:
    if find_spec("wordllama") is None:
        pytest.skip("needs wordllama, of the static extra")
    return StaticEmbedder()


@pytest.mark.models
def test_without_a_folder_related_words_are_near_each_other(english):
    dog, puppy, form = english.embed(["my dog", "our puppy", "the tax form"])
    assert dog.shape == (256,)
    assert dog @ puppy > dog @ form + 0.2
    assert dog @ puppy > puppy @ form + 0.2
    assert repr(english) == "StaticEmbedder()"


@pytest.mark.models
def test_the_table_of_wordllama_is_read_without_importing_it(english):
    _import_in_a_new_process()


@pytest.mark.models
def test_any_text_has_a_vector_in_english(english):
    texts = ["word " * 5000, "a" * 30_000, "你好", "😀", "\u202e", "\0", "a \ud83d\ude00", "\ud800 lone", "<s></s>"]
    np.testing.assert_allclose(np.linalg.norm(english.embed(texts), axis=1), 1, atol=1e-6)
    assert not english.embed(["", "  \n"]).any()


@pytest.mark.models
def test_where_a_long_text_is_cut_is_not_seen(english):
    text = " ".join(f"On day {number} the dog went to the market, and it rained." for number in range(600))
    tokenizer, rows = english._loaded().tokenizer, english._loaded().rows
    whole = rows[tokenizer.encode(text, add_special_tokens=False).ids].astype(np.float64).sum(0)
    assert len(list(_pieces(text))) > 5
    np.testing.assert_allclose(english.embed([text])[0], whole / np.linalg.norm(whole), atol=1e-6)
