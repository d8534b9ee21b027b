"""A running summary of messages that no longer fit into LlamaIndex's ``Memory``. Needs the extra "llamaindex"."""

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import Memory

from llamaindex_secom import RecursiveSummaryMemoryBlock
from secom_core import MemoryBank

alice = ("acme", "alice")
# With model=LlamaIndexChatModel(llm) your LLM writes the summary; without one, it is made of sentences of the messages.
bank = MemoryBank.open(summaries=True)
block = RecursiveSummaryMemoryBlock(scope=alice, bank=bank)


def session(name: str, *messages: str) -> Memory:
    """A chat of Alice's; its window is small, so that it overflows."""
    memory = Memory.from_defaults(session_id=name, token_limit=100, token_flush_size=20, memory_blocks=[block])
    engine = SimpleChatEngine.from_defaults(llm=MockLLM(max_tokens=3), memory=memory)  # stands for your LLM
    for text in messages:
        engine.chat(text)
    return memory


monday = session(
    "monday",
    "I will take the green bicycle, the blue one is too tall for me.",
    "My violin teacher is called Marta, she lives by the canal.",
    "Please book the table at Lotte's for four people on Friday.",
    "The tomatoes on the balcony did not ripen, it rained all week.",
)
summary = block.end_session(monday)  # what the window still holds is taken in too
print(f"{len(bank.summaries.versions(alice))} versions, made of {len(summary.turn_ids)} turns\n")

friday = session("friday", "Which bicycle do I fetch?")
for message in friday.get():
    print(f"[{message.role.value}] {message.content.strip()}")

bank.forget(alice, turn_ids=summary.turn_ids[:1])
bank.derive(alice)
print(f"\nThe bicycle is forgotten; it is in the summary: {'bicycle' in bank.summaries.latest(alice).text}")
bank.close()
