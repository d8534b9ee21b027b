"""Memory that learns from what answers cite, in a query engine. Needs the extra "llamaindex"."""

from typing import Any

from llama_index.core.llms import CompletionResponse, MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from llamaindex_secom import CITE_QA_TEMPLATE, CitationNumberer, CitationReranker, CitationReward, SecomRetriever
from secom_core import MemoryBank

alice = ("acme", "alice")
QUERY = "Who is my violin teacher?"
MESSAGES = (
    "My violin teacher is Marta.",
    "The violin teacher who was ill is back, and we met by the canal in the rain.",
    "The strings of a violin are dear.",
    "A teacher of maths moved in next door.",
    "My sister plays the violin in an orchestra.",
    "The violin is in its case.",
)


class CitingLLM(MockLLM):
    """Stands for your LLM: it cites the memory that mentions the canal."""

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        prompts.append(prompt)
        number = prompt.split("by the canal")[0].rsplit("\n[", 1)[1].split("]")[0]
        return CompletionResponse(text=f"The one you met by the canal [{number}].")


prompts: list[str] = []
bank = MemoryBank.open(citations=True)
for number, text in enumerate(MESSAGES, start=1):
    bank.remember(alice, [{"role": "user", "content": text}], session=f"day-{number}", close=True)

posts = [CitationReranker(bank), CitationNumberer(bank)]  # the numberer goes last
engine = RetrieverQueryEngine.from_args(
    SecomRetriever(bank, alice), llm=CitingLLM(), node_postprocessors=posts, text_qa_template=CITE_QA_TEMPLATE
)
with CitationReward(bank, markers="strip"):  # listens to every engine of the process
    for count in range(1, 61):
        answer = engine.query(QUERY)
        if count in (1, 60):  # the model's prompt, and what the user sees
            print(f"--- query {count}\n{prompts[-1][prompts[-1].rindex('<memories>') :]}{answer}")
            print(f"cited: {bank.citations.log(alice)[-1].cited}\n")
learned = bank.citations.weights_of(alice)
print(f"learned from {learned.answers} answers:")
for name in sorted(learned.weights, key=lambda name: -abs(learned.weights[name] - learned.base[name]))[:3]:
    print(f"{name}: {learned.base[name]:.2f} → {learned.weights[name]:.2f}")
