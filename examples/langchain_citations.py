"""A LangChain chain whose answers cite memories, and a bank that records the citations. Needs the extra "langchain"."""

import re
from datetime import datetime, timezone

from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda

from langchain_secom import with_citation_feedback
from secom_core import MemoryBank

ALICE = ("acme", "alice")
ANIMALS = ("cat", "dog", "hen", "fox")
bank = MemoryBank.open(citations=True)
for day, animal in enumerate(ANIMALS, start=1):
    for year, kind, text in (
        (2024, "show", f"The {animal} went to the {animal} show."),
        (2025, "book", f"I read a book on where a {animal} may go, in May, June or July."),
    ):
        at = datetime(year, 5, day, tzinfo=timezone.utc)
        bank.remember(ALICE, [("user", text)], session=f"{animal} {kind}", at=at, close=True)


def model(prompt):
    """Stands for your chat model: it cites what tells of the animal that it is asked about."""
    block, question = (message.text for message in prompt.messages)
    [animal] = [each for each in ANIMALS if each in question]
    numbers = re.findall(rf"^\[(\d+)\].*\b{animal}\b", block, re.M)
    return AIMessage(f"I looked up the {animal} {''.join(f'[{number}]' for number in numbers)}.")


prompt = ChatPromptTemplate.from_messages([("system", "{context}"), ("human", "{question}")])
chain = with_citation_feedback(prompt | RunnableLambda(model), bank, scope=ALICE, markers="strip", k=8)

question = "Where did the hen go in May?"
print(f"--- what the prompt shows\n{bank.recall(ALICE, question, k=8).text}\n")
answer = chain.invoke(question)
print(f"--- what the user sees\n{answer.text}\n")
print(f"--- what it cites\n{answer.response_metadata['secom_citations']}\n")

for animal in ANIMALS:
    chain.invoke(f"Where did the {animal} go in June?")
print("--- what the bank keeps")
for entry in bank.citations.log(ALICE):
    print(f"{entry.query} {len(entry.cited)} of the {len(entry.numbers)} memories shown")
