"""What led to what: timelines as a LangChain retriever. Needs the extra "langchain"."""

from datetime import datetime, timezone

from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from langchain_secom import TimelineRetriever
from secom_core import MemoryBank
from secom_core.timelines import TimelineOptions

ALICE = ("acme", "alice")
MESSAGES = {
    "2025-03-03": "My dog Bello has a sore paw since our walk in the woods.",
    "2025-03-05": "The vet took a thorn out of Bello's sore paw and bandaged it.",
    "2025-03-08": "Marta teaches me the violin on Fridays.",
    "2025-03-19": "The bandage is off, and Bello's paw has healed.",
}

# With model=LangChainChatModel(your chat model), events, relations and wording are the model's; here events are
# segments of the sessions, linked where they are similar and near in time, and a recall shows them only on request.
bank = MemoryBank.open(timelines=TimelineOptions(recall_without_model=True))
for day, text in MESSAGES.items():
    at = datetime.fromisoformat(day).replace(tzinfo=timezone.utc)
    bank.remember(ALICE, [("user", text)], session=day, at=at, close=True)

retriever = TimelineRetriever(bank=bank, scope=ALICE, k=1)
question = "What happened to Bello's paw?"
[document] = retriever.invoke(question)
print(f"--- one document\n{document.page_content}\n")
print(
    f"rests on the turns of {', '.join(document.metadata['sessions'])}; relations: {document.metadata['relations']}\n"
)

model = FakeListChatModel(responses=["A thorn was taken out, and it has healed."])  # stands for your chat model
prompt = ChatPromptTemplate.from_template("{timelines}\n\n{question}")
chain = (
    {"timelines": retriever | (lambda found: found[0].page_content), "question": RunnablePassthrough()}
    | prompt
    | model
    | StrOutputParser()
)
print(f"--- in a chain\n{chain.invoke(question)}\n")

print(f"--- or beside the turns, in one block\n{bank.recall(ALICE, question, layers=['timelines']).text}")
bank.close()
