"""RunnableWithMessageHistory over a bank, with memories of other sessions. Needs "langchain"."""

import warnings

from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory

from langchain_secom import SecomChatMessageHistory, SessionHistories, recalled_memories
from secom_core import MemoryBank

# LangChain would rather have you use LangGraph, see langgraph_memory.py; existing chains go on.
warnings.filterwarnings("ignore", message="RunnableWithMessageHistory is deprecated")
bank = MemoryBank.open()
histories = SessionHistories(bank, scope_keys=("user_id",))  # gives each call its SecomChatMessageHistory
prompt = ChatPromptTemplate.from_messages(
    [("system", "You rent out bicycles."), MessagesPlaceholder("history"), ("human", "{memories}\n\n{question}")]
)
show = RunnableLambda(lambda value: print(value.to_string()) or value)
# Any chat model of LangChain's; this one reads its answers from a list.
model = FakeListChatModel(responses=["A fine choice.", "Hello again.", "The green one."])
chat = RunnableWithMessageHistory(
    RunnablePassthrough.assign(memories=recalled_memories("question")) | prompt | show | model | StrOutputParser(),
    histories,
    input_messages_key="question",
    history_messages_key="history",
    history_factory_config=histories.specs,
)

for session, question in (
    ("monday", "I will take the green bicycle, the blue one is too tall."),
    ("friday", "Hello, it is me, Alice."),
    ("friday", "Which bicycle do I fetch?"),
):
    print(f"--- {session}")
    config = {"configurable": {"user_id": "alice", "session_id": session}}
    print(f"AI: {chat.invoke({'question': question}, config)}\n")

friday = SecomChatMessageHistory(bank, scope=("alice",), session="friday")
print("--- the session's messages: nothing that was recalled is among them")
print(*(f"{message.type}: {message.text}" for message in friday.messages), sep="\n")
bank.close()
