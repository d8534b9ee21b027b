"""What led to what, in a query engine, and as a property graph. Needs the extra "llamaindex"."""

from datetime import datetime, timezone

from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from llamaindex_secom import SecomRetriever, TimelinePostprocessor, TimelineRetriever, to_property_graph
from secom_core import MemoryBank
from secom_core.timelines import TimelineOptions

alice = ("acme", "alice")
MESSAGES = {
    3: "I want to learn the violin, with a teacher in Ghent.",
    10: "My violin teacher in Ghent moved away, so the violin lessons stopped.",
    17: "A new violin teacher in Ghent gives me violin lessons now.",
    24: "The tomatoes on the balcony are ripe at last.",
}

# With model=LlamaIndexChatModel(llm), events, relations such as Cause or Changed, and the retelling are your LLM's.
bank = MemoryBank.open(timelines=TimelineOptions(recall_without_model=True))
for day, text in MESSAGES.items():
    at = datetime(2025, 3, day, tzinfo=timezone.utc)
    bank.remember(alice, [{"role": "user", "content": text}], session=f"march-{day}", at=at, close=True)

query = "What became of my violin lessons?"
engine = RetrieverQueryEngine.from_args(TimelineRetriever(bank, alice, k=1), llm=MockLLM())  # stands for your LLM
print("--- the nodes in the prompt of the engine's model")
for node in engine.query(query).source_nodes:
    print(node.get_content(), "\nturns:", node.metadata["turn_ids"])

nodes = SecomRetriever(bank, alice, k=2).retrieve(query)
replaced = TimelinePostprocessor(bank, alice).postprocess_nodes(nodes, query_str=query)
print(f"\n--- {len(nodes)} nodes of another retriever are {len(replaced)} timeline")

store = to_property_graph(bank, alice)
print("\n--- as a property graph")
triplets = store.get_triplets(relation_names=["SameTopic"])
for earlier, relation, later in sorted(triplets, key=lambda each: each[0].properties["at"]):
    print(earlier.properties["session"], relation.label, later.properties["session"])

print("\n--- beside the turns, in one budget")
print(bank.recall(alice, query, token_budget=300, layers=["timelines"]).text)
bank.close()
