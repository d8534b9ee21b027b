"""An LCEL chain that remembers: recall before the model, remember after it. Needs the extra "langchain"."""

from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda

from langchain_secom import SecomMemory
from secom_core import MemoryBank

# Any chat model of LangChain's; this one reads its answers from a list.
model = FakeListChatModel(responses=["A fine choice.", "Then Saturday it is.", "The green one, on Saturday."])
prompt = ChatPromptTemplate.from_template("{history}\n{input}")
bank = MemoryBank.open()


def chat(session: str, text: str) -> str:
    """One exchange of Alice's in one of her sessions."""
    memory = SecomMemory(bank=bank, scope=("acme", "alice"), session=session)
    recall = RunnableLambda(lambda inputs: {**inputs, **memory.load_memory_variables(inputs)})
    show = RunnableLambda(lambda value: print(f"--- {session}\n{value.to_string()}") or value)
    answer = (recall | prompt | show | model | StrOutputParser()).invoke({"input": text})
    memory.save_context({"input": text}, {"output": answer})
    print(f"AI: {answer}\n")
    return answer


chat("monday", "I will take the green bicycle, the blue one is too tall.")
chat("tuesday", "Can I fetch the bicycle on Saturday instead of Friday?")
chat("friday", "Which bicycle do I fetch, and when?")
bank.close()
