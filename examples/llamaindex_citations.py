"""A query engine whose answers cite memories, and a bank that records the citations. Needs the extra "llamaindex"."""

from typing import Any

from llama_index.core.llms import CompletionResponse, MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from llamaindex_secom import CITE_QA_TEMPLATE, CitationNumberer, CitationReward, SecomRetriever
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

posts = [CitationNumberer(bank)]  # it goes last
engine = RetrieverQueryEngine.from_args(
    SecomRetriever(bank, alice), llm=CitingLLM(), node_postprocessors=posts, text_qa_template=CITE_QA_TEMPLATE
)
with CitationReward(bank, markers="strip"):  # listens to every engine of the process
    answer = engine.query(QUERY)
print(
    f"--- what the model was shown\n{prompts[-1][prompts[-1].rindex('<memories>') :]}--- what the user sees\n{answer}"
)
(entry,) = bank.citations.log(alice)
print(f"--- what the bank keeps\n{entry.query} {len(entry.cited)} of the {len(entry.numbers)} memories shown")
