"""A running summary over several sessions, and an agent that outgrows its window. Needs "langchain"."""

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda

from langchain_secom import RecursiveSummaryMemory, SecomSummarizer
from secom_core import MemoryBank

llm = FakeListChatModel(responses=["How nice."])  # stands for your chat model
# With model=LangChainChatModel(llm) the model writes the summary; here it is made of sentences of the sessions.
memory = RecursiveSummaryMemory(bank=MemoryBank.open(summaries=True), scope=("acme", "alice"), session="monday")
prompt = PromptTemplate.from_template("{history}\nHuman: {input}\nAI:")
recall = RunnableLambda(lambda inputs: {**inputs, **memory.load_memory_variables(inputs)})
show = RunnableLambda(lambda value: print(f"--- {memory.session}\n{value.text}\n") or value)


def chat(text: str) -> None:
    """One exchange in the current session."""
    answer = (recall | prompt | show | llm | StrOutputParser()).invoke({"input": text})
    memory.save_context({"input": text}, {"output": answer})


chat("I keep a tortoise called Herodotus.")
chat("He sleeps under the stove.")
memory.close_session("friday")  # the summary takes the session in
chat("I play the bassoon in an orchestra.")
memory.close_session("sunday")
chat("What do you know about me?")
memory.bank.close()

# In an agent, the same summary takes the place of old messages.
middleware = SummarizationMiddleware(
    llm,
    trigger=("messages", 4),
    keep=("messages", 1),
    summarizer=SecomSummarizer(),  # SecomSummarizer(llm) asks the model
    trim_tokens_to_summarize=None,
)
agent = create_agent(llm, middleware=[middleware])
messages = []
for text in ("I keep a tortoise.", "He sleeps under the stove.", "I play the bassoon.", "It rains."):
    messages = agent.invoke({"messages": [*messages, HumanMessage(text)]})["messages"]
print("--- what the agent has left", *(message.pretty_repr() for message in messages), sep="\n")
