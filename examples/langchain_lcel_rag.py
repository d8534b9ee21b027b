"""One RAG chain for all users: each call says whose memory it reads. Needs the extra "langchain"."""

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from langchain_secom import SecomRetriever
from langchain_secom.convert import to_hits
from secom_core import InvalidScope, MemoryBank
from secom_core.context import render

bank = MemoryBank.open()
for user, session, text in (
    ("alice", "monday", "I will take the green bicycle, the blue one is too tall."),
    ("alice", "tuesday", "Please book the table at Lotte's for four people."),
    ("alice", "friday", "Can I fetch the bicycle on Saturday instead of Friday?"),
    ("bob", "monday", "I will take the red bicycle, with the child seat."),
):
    bank.remember(("acme", user), [{"role": "user", "content": text}], session=session, close=True)

# Best first and at most k of them, which suits rerankers; order="time" suits a reader.
retriever = SecomRetriever(bank=bank, scope_keys=("tenant_id", "user_id"), k=2, order="time")


def quoted(found: list[Document]) -> str:
    """The documents as one numbered block that says that it is quoted, and no instructions."""
    return render(to_hits(found, bank))


prompt = ChatPromptTemplate.from_messages([("system", "You rent out bicycles."), ("human", "{memories}\n\n{question}")])
show = RunnableLambda(lambda value: print(value.to_string()) or value)
model = FakeListChatModel(responses=["The green one, on Saturday.", "The red one."])  # stands for your chat model
chain = {"memories": retriever | quoted, "question": RunnablePassthrough()} | prompt | show | model | StrOutputParser()

for user in ("alice", "bob"):
    print(f"--- {user}")
    config = {"configurable": {"tenant_id": "acme", "user_id": user}}
    print(f"AI: {chain.invoke('Which bicycle do I fetch?', config)}\n")

try:
    chain.invoke("Which bicycle do I fetch?")
except InvalidScope as error:
    print(f"--- nobody\n{error}")
bank.close()
