"""A LangGraph graph of your own: one node recalls, one answers, one remembers. Needs the extra "langchain"."""

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph import MessagesState, StateGraph

from langchain_secom.convert import to_messages
from secom_core import MemoryBank
from secom_core.bank import BackgroundWriter

bank = MemoryBank.open()
writer = BackgroundWriter(bank)  # on disk at once; segments and keys are made in a thread
model = FakeListChatModel(responses=["A fine choice.", "Saturday it is.", "The green one."])  # stands for yours


class State(MessagesState):
    memories: str  # what was recalled for the turn at hand


def scope_and_thread() -> tuple[tuple[str, ...], str]:
    """Scope and session of the run. Without a user it fails, rather than read another one's memory."""
    configurable = get_config()["configurable"]
    return (configurable["user_id"],), configurable["thread_id"]


def recall(state: State) -> dict:
    scope, thread = scope_and_thread()
    in_thread = [turn.id for turn in bank.turns(scope, thread)]  # the model sees these anyway
    return {"memories": bank.recall(scope, state["messages"][-1].text, token_budget=500, exclude=in_thread).text}


def answer(state: State) -> dict:
    print(state["memories"] or "(nothing to recall)")
    return {"messages": model.invoke([SystemMessage("Be brief.\n" + state["memories"]), *state["messages"]])}


def remember(state: State) -> None:
    scope, thread = scope_and_thread()
    writer.remember(scope, to_messages(state["messages"][-2:]), session=thread)


builder = StateGraph(State).add_sequence([recall, answer, remember]).set_entry_point("recall")
graph = builder.compile(checkpointer=InMemorySaver())
for thread, text in (("monday", "I take the green bicycle."), ("monday", "On Saturday?"), ("friday", "Which bicycle?")):
    print(f"--- {thread}\nUser: {text}")
    config = {"configurable": {"user_id": "alice", "thread_id": thread}}
    print(f"AI: {graph.invoke({'messages': [('user', text)]}, config)['messages'][-1].text}\n")
writer.close()
