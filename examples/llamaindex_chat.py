"""A chat engine that remembers earlier sessions. Needs the extra "llamaindex"."""

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM

from llamaindex_secom import SecomMemory
from secom_core import MemoryBank

bank = MemoryBank.open()


def chat(session: str, message: str) -> None:
    """One message of Alice's in one of her sessions, and what is recalled for it."""
    memory = SecomMemory(bank=bank, scope=("acme", "alice"), session=session)
    engine = SimpleChatEngine.from_defaults(llm=MockLLM(max_tokens=3), memory=memory)  # stands for your LLM
    engine.chat(message)
    print(f"--- {session}\n{message}\n{memory.last_recall.text or '(nothing to recall yet)'}\n")


chat("monday", "I will take the green bicycle, the blue one is too tall.")
chat("tuesday", "Please book the table at Lotte's for four people.")
chat("friday", "Which bicycle do I fetch?")
bank.close()
