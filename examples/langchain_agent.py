"""Memory for an agent that you already have: only the lines marked with "+" are new. Needs the extra "langchain"."""

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_secom import SecomMiddleware  # +
from secom_core import MemoryBank  # +

# Any chat model of LangChain's; this one reads its answers from a list.
answers = ["A fine choice.", "It is yours on Saturday.", "The green one, on Saturday."]
model = FakeMessagesListChatModel(responses=[AIMessage(answer) for answer in answers])


@wrap_model_call  # type: ignore[arg-type]
def show(request: Any, handler: Any) -> Any:
    """Prints what the model is given; stands last, so that it sees what the others have added."""
    print("Prompt's last message:", *(block["text"] for block in request.messages[-1].content_blocks), sep="\n")
    return handler(request)


bank = MemoryBank.open()  # +
memory = SecomMiddleware(bank, scope_keys=("user_id",))  # +
agent = create_agent(
    model,
    system_prompt="You rent out bicycles.",
    middleware=[memory, show],  # +
    checkpointer=InMemorySaver(),
)


def chat(user: str, thread: str, text: str) -> None:
    """One exchange in one of a user's threads."""
    print(f"--- {user}, {thread}\nUser: {text}")
    config: Any = {"configurable": {"user_id": user, "thread_id": thread}}
    print(f"AI: {agent.invoke({'messages': [('user', text)]}, config)['messages'][-1].text}\n")


chat("alice", "alice-1", "I will take the green bicycle, the blue one is too tall.")
chat("alice", "alice-1", "Can I fetch it on Saturday instead of Friday?")
chat("alice", "alice-2", "Which bicycle do I fetch, and when?")
memory.close()
bank.close()
