"""What other memories hold, moved into a bank with its times. Needs the extras "langchain" and "llamaindex"."""

import warnings
from datetime import datetime, timezone

from langchain_classic.memory import ConversationSummaryMemory, VectorStoreRetrieverMemory
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer

from langchain_secom.convert import to_messages as from_langchain
from llamaindex_secom.convert import to_messages as from_llamaindex
from secom_core import MemoryBank, Message

# What you have. Upstream says that the first two are deprecated; that is why you are here.
warnings.filterwarnings("ignore", message="The class `.*Memory` was deprecated")
summary = ConversationSummaryMemory(llm=FakeListChatModel(responses=["Alice takes the green bicycle."]))
summary.save_context({"input": "I take the green bicycle."}, {"output": "A fine choice."})
store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
vectors = VectorStoreRetrieverMemory(retriever=store.as_retriever())
vectors.save_context({"input": "I fetch the bicycle on Friday."}, {"output": "After 10, please."})
stamp = {"timestamp": "2025-06-04T09:30:00Z"}
buffer = ChatMemoryBuffer.from_defaults(token_limit=3000)
buffer.put(ChatMessage("I fetch the bicycle on Saturday, not on Friday.", additional_kwargs=stamp))

alice = ("acme", "alice")
bank = MemoryBank.open()

# The messages that it summed up, where they are still there; else its summary, as nobody's words. It keeps no times:
# say what you know, or everything was said just now.
said = from_langchain(summary.chat_memory.messages) or [Message(summary.buffer, role="", speaker="Summary")]
bank.remember(alice, said, session="summary memory", at=datetime(2025, 6, 2, tzinfo=timezone.utc), close=True)

# A document an exchange, "input: …\noutput: …"; every store lists its documents in a way of its own.
for entry in store.store.values():
    question, _, answer = entry["text"].removeprefix("input: ").partition("\noutput: ")
    at = entry["metadata"].get("created_at", datetime(2025, 6, 3, tzinfo=timezone.utc))
    bank.remember(alice, [("user", question), ("assistant", answer)], session="vector memory", at=at)
bank.close_session(alice, "vector memory")

# get_all, as get gives only what fits its window. Messages bring their times, where they have them.
bank.remember(alice, from_llamaindex(buffer.get_all()), session="chat buffer", close=True)

print(bank.recall(alice, "When do I fetch which bicycle?").text)
bank.close()
