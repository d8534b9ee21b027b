"""A query engine that shows timelines and learns from what its answers cite. Needs the extra "llamaindex"."""

from datetime import datetime, timezone
from typing import Any

from llama_index.core.llms import CompletionResponse, MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from llamaindex_secom import CITE_QA_TEMPLATE, CitationNumberer, CitationReward, SecomRetriever, TimelinePostprocessor
from secom_core import MemoryBank

alice = ("acme", "alice")
MESSAGES = {
    3: "My dog Bello has a sore paw since our walk in the woods.",
    5: "The vet took a thorn out of Bello's sore paw and bandaged it.",
    8: "Marta teaches me the violin on Fridays.",
    19: "The bandage is off, and Bello's paw has healed.",
}


class CitingLLM(MockLLM):
    """Stands for your LLM: it prints the memories in its prompt, and cites two of them."""

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        print(prompt[prompt.rindex("<memories>") :].partition("\n\nQuestion")[0])
        return CompletionResponse(text="The vet took a thorn out [3], and the paw has healed [1].")


bank = MemoryBank.open(timelines=True, citations=True)
for day, text in MESSAGES.items():
    at = datetime(2025, 3, day, tzinfo=timezone.utc)
    bank.remember(alice, [{"role": "user", "content": text}], session=f"march-{day}", at=at, close=True)

posts = [
    TimelinePostprocessor(bank, alice, keep_nodes=True),  # what came before and after; a citation of it teaches nothing
    CitationNumberer(bank),  # goes last
]
engine = RetrieverQueryEngine.from_args(
    SecomRetriever(bank, alice, k=3), llm=CitingLLM(), node_postprocessors=posts, text_qa_template=CITE_QA_TEMPLATE
)
with CitationReward(bank, markers="strip"):  # listens to every engine of the process
    answer = engine.query("What happened to Bello's paw?")
print(f"\n--- what the user sees\n{answer}\n")
[entry] = bank.citations.log(alice)
print(f"--- what the bank learns from: cited: {tuple(sorted(entry.cited))} of {entry.numbers}, for {entry.query!r}")
bank.close()
