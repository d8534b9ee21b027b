"""Memory for a classic AgentExecutor: only the lines marked with "+" are new. Needs the extra "langchain"."""

from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, get_buffer_string
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.tools import tool

from langchain_secom import SecomMemory  # +
from secom_core import MemoryBank  # +


class Model(FakeMessagesListChatModel):
    """Stands for your chat model: it reads its answers from a list, and prints what it is given."""

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, *rest, **kwargs):
        print(f"[to the model]\n{get_buffer_string(messages)}")
        return super()._generate(messages, *rest, **kwargs)


@tool
def opening_hours(day: str) -> str:
    """When the shop is open."""
    return f"On {day} from 10 to 4."


call = {"name": "opening_hours", "args": {"day": "Saturday"}, "id": "1"}
model = Model(responses=[AIMessage("Good."), AIMessage("", tool_calls=[call]), AIMessage("The green one, before 4.")])
prompt = ChatPromptTemplate(
    [
        ("system", "You rent out bicycles."),
        MessagesPlaceholder("history"),  # +
        ("human", "{input}"),
        MessagesPlaceholder("agent_scratchpad"),
    ]
)
agent = create_tool_calling_agent(model, [opening_hours], prompt)
bank = MemoryBank.open()  # +
for session, text in (
    ("monday", "I take the green bicycle."),
    ("friday", "Which bicycle on Saturday, and until when?"),
):
    print(f"--- {session}")
    memory = SecomMemory(bank=bank, scope=("acme", "alice"), session=session, return_messages=True)  # +
    executor = AgentExecutor(agent=agent, tools=[opening_hours], memory=memory)  # +
    print(f"[to the user] {executor.invoke({'input': text})['output']}\n")
bank.close()
