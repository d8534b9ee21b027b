"""The retriever: the framework's conformance suite, scopes, arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs the extra 'langchain'")
pytest.importorskip("langchain_tests.integration_tests", reason="needs langchain-tests")

from asking import each_way, found
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import create_retriever_tool
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from langchain_secom import SecomRetriever
from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.errors import InvalidInput, InvalidScope

ANN, BOB = ("acme", "ann"), ("acme", "bob")
FACTS = [
    ("monday", 1, "My dog Bello barks at the postman."),
    ("tuesday", 2, "The dog Bello ate my shoes."),
    ("friday", 3, "Bread dough needs rye flour."),
    ("sunday", 4, "The vet says my dog is healthy, a healthy dog with a loud bark for a dog."),
]


def filled(path: str | Path = ":memory:") -> MemoryBank:
    bank = MemoryBank.open(path)
    for session, day, text in FACTS:
        at = datetime(2024, 5, day, tzinfo=timezone.utc)
        bank.remember(ANN, [Message(text, id=f"{session}-1", at=at)], session=session, close=True)
    bank.remember(BOB, [Message("My dog is called Rex.")], session="monday", close=True)
    return bank


@pytest.fixture
def bank() -> Iterator[MemoryBank]:
    with filled() as bank:
        yield bank


class TestConformance(RetrieversIntegrationTests):
    bank = filled()

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return SecomRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"bank": self.bank, "scope": ANN}

    @property
    def retriever_query_example(self) -> str:
        return "What does my dog do?"


@pytest.mark.slow
@each_way
async def test_every_way_of_asking_finds_the_same(bank: MemoryBank, how: str) -> None:
    documents = await found(how, SecomRetriever(bank=bank, scope=ANN, k=2), "rye flour for bread")
    assert documents[0].page_content == "user: Bread dough needs rye flour."
    assert documents[0].metadata["session"] == "friday"


@pytest.mark.slow
@each_way
async def test_both_the_sync_and_the_async_method_accept_k(bank: MemoryBank, how: str) -> None:
    retriever = SecomRetriever(bank=bank, scope=ANN, k=1)
    assert len(await found(how, retriever, "dog")) == 1
    assert len(await found(how, retriever, "dog", k=3)) == 3
    assert len(await found(how, retriever, "dog", k=None)) == 1
    with pytest.raises(InvalidInput, match="got 0"):
        await found(how, retriever, "dog", k=0)


@pytest.mark.slow
@each_way
async def test_configurable_is_seen_in_a_direct_call(bank: MemoryBank, how: str) -> None:
    retriever = SecomRetriever(bank=bank, scope_keys=("tenant", "user_id"))
    config = {"configurable": {"tenant": "acme", "user_id": "bob"}}
    documents = await found(how, retriever, "dog", config)
    assert [document.metadata["scope"] for document in documents] == [["acme", "bob"]]
    whole = {"configurable": {"scope": ("acme", "bob")}}
    assert await found(how, retriever, "dog", whole) == documents
    both = {"configurable": {"scope": ("acme", "bob"), "tenant": "acme", "user_id": "bob"}}
    assert await found(how, retriever, "dog", both) == documents


@each_way
@pytest.mark.parametrize("parts", [{"tenant": "acme", "user_id": "ann"}, {"tenant": "evil"}, {"user_id": "ann"}])
async def test_a_whole_scope_does_not_go_before_the_parts_that_a_server_sets(
    bank: MemoryBank, how: str, parts: dict[str, str]
) -> None:
    retriever = SecomRetriever(bank=bank, scope_keys=("tenant", "user_id"))
    with pytest.raises(InvalidScope, match="give one of the two, or the same in both"):
        await found(how, retriever, "dog", {"configurable": {"scope": ("acme", "bob"), **parts}})


@pytest.mark.slow
@each_way
@pytest.mark.parametrize(
    "configurable", [{}, {"tenant": "acme"}, {"tenant": "acme", "user_id": ""}, {"tenant": "acme", "user_id": 7.5}]
)
async def test_it_fails_closed_without_a_scope(bank: MemoryBank, how: str, configurable: dict[str, Any]) -> None:
    retriever = SecomRetriever(bank=bank, scope_keys=("tenant", "user_id"))
    with pytest.raises(InvalidScope):
        await found(how, retriever, "dog", {"configurable": configurable})


async def test_a_scope_in_a_chains_configuration_reaches_the_retriever(bank: MemoryBank) -> None:
    chain = RunnableLambda(lambda query: query) | SecomRetriever(bank=bank, scope_keys=("user_id",))
    bank.remember(("eve",), [Message("My dog is called Ada.")], session="s")
    config: Any = {"configurable": {"user_id": "eve"}}
    assert "Ada" in chain.invoke("dog", config)[0].page_content
    assert "Ada" in (await chain.ainvoke("dog", config))[0].page_content
    with pytest.raises(InvalidScope, match="user_id"):
        chain.invoke("dog")


async def test_a_retriever_tool_takes_the_scope_from_the_configuration_around_it(bank: MemoryBank) -> None:
    tool = create_retriever_tool(SecomRetriever(bank=bank, scope_keys=("tenant", "user_id")), "recall", "Recalls.")
    agent = RunnableLambda(lambda query: tool.invoke({"query": query}), lambda query: tool.ainvoke({"query": query}))
    config: Any = {"configurable": {"tenant": "acme", "user_id": "bob"}}
    assert agent.invoke("dog", config) == "user: My dog is called Rex."
    assert await agent.ainvoke("dog", config) == "user: My dog is called Rex."
    with pytest.raises(InvalidScope):
        tool.invoke({"query": "dog"})


async def test_a_bound_retriever_gives_no_other_scope(bank: MemoryBank) -> None:
    retriever = SecomRetriever(bank=bank, scope=ANN)
    with pytest.raises(InvalidScope, match="bound to"):
        retriever.invoke("dog", {"configurable": {"scope": BOB}})
    with pytest.raises(InvalidScope, match="bound to"):
        await retriever.ainvoke("dog", scope=BOB)
    for document in retriever.invoke("What is Rex, my dog, called?", {"configurable": {"user_id": "bob"}}):
        assert document.metadata["scope"] == list(ANN)


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["ann", (), ("acme", "")])
def test_a_scope_that_is_none_is_refused_at_construction(bank: MemoryBank, scope: Any) -> None:
    with pytest.raises(ValidationError, match="scope"):
        SecomRetriever(bank=bank, scope=scope)


def test_a_scope_given_in_a_call_is_checked_too(bank: MemoryBank) -> None:
    with pytest.raises(InvalidScope):
        SecomRetriever(bank=bank).invoke("dog", scope=())
    assert SecomRetriever(bank=bank).invoke("dog", scope=BOB)[0].metadata["scope"] == list(BOB)


async def test_a_misspelt_argument_does_not_pass_silently(bank: MemoryBank) -> None:
    with pytest.raises(ValidationError, match="top_k"):
        SecomRetriever(bank=bank, scope=ANN, top_k=3)  # type: ignore[call-arg]
    retriever = SecomRetriever(bank=bank, scope=ANN)
    with pytest.raises(TypeError, match="top_k"):
        retriever.invoke("dog", top_k=3)
    with pytest.raises(TypeError, match="top_k"):
        await retriever.ainvoke("dog", top_k=3)


@pytest.mark.parametrize(
    ("argument", "hint"),
    [
        ("search_kwargs", "k and token_budget say how much comes back, and where filters it"),
        ("similarity_top_k", "k says how many documents come back at most"),
        ("filter", "where filters, and langchain_secom.filters.where_of makes it"),
        ("score_threshold", "only_relevant leaves out"),
        ("session_id", 'where={"session": …} searches one session'),
    ],
)
async def test_an_argument_of_another_retriever_gets_a_hint(bank: MemoryBank, argument: str, hint: str) -> None:
    said = re.escape(f"SecomRetriever takes no {argument}: {hint}")
    given: dict[str, Any] = {argument: "x"}
    with pytest.raises(ValidationError, match=said):
        SecomRetriever(bank=bank, scope=ANN, **given)
    with pytest.raises(TypeError, match=said):
        SecomRetriever(bank=bank, scope=ANN).invoke("dog", **given)
    with pytest.raises(TypeError, match=said):
        await SecomRetriever(bank=bank, scope=ANN).ainvoke("dog", **given)


def test_best_first_or_oldest_first(bank: MemoryBank) -> None:
    best = SecomRetriever(bank=bank, scope=ANN, k=3).invoke("healthy dog")
    scores = [document.metadata["score"] for document in best]
    assert scores == sorted(scores, reverse=True)
    assert best[0].metadata["session"] == "sunday"
    oldest = SecomRetriever(bank=bank, scope=ANN, k=3, order="time").invoke("healthy dog")
    assert [document.metadata["number"] for document in oldest] == [1, 2, 3]
    assert {document.id for document in oldest} == {document.id for document in best}


def test_the_token_budget_is_kept(bank: MemoryBank) -> None:
    retriever = SecomRetriever(bank=bank, scope=ANN, token_budget=45)
    few, many = retriever.invoke("dog"), retriever.invoke("dog", token_budget=2000)
    assert 1 <= len(few) < len(many)


def test_an_empty_scope_gives_no_documents(bank: MemoryBank) -> None:
    assert SecomRetriever(bank=bank, scope=("nobody",)).invoke("dog") == []


class Recorder(BaseCallbackHandler):
    def __init__(self) -> None:
        self.metadata: list[dict[str, Any]] = []
        self.found: list[int] = []

    def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
        self.metadata.append(kwargs["metadata"])

    def on_retriever_end(self, documents: Any, **kwargs: Any) -> None:
        self.found.append(len(documents))


def test_traces_name_the_retriever(bank: MemoryBank) -> None:
    recorder = Recorder()
    SecomRetriever(bank=bank, scope=ANN, k=2).invoke("dog", {"callbacks": [recorder]})
    assert recorder.metadata[0]["ls_retriever_name"] == "secom"
    assert recorder.found == [2]


def test_pitfall_14_is_lc_serializable_stays_false(bank: MemoryBank) -> None:
    assert SecomRetriever.is_lc_serializable() is False


@pytest.mark.slow
@pytest.mark.parametrize("how", ["batch", "abatch"])
async def test_a_batch_with_a_configuration_each_works_or_says_what_does(how: str) -> None:
    from langchain_classic.retrievers import ContextualCompressionRetriever

    from langchain_secom import CitationReranker

    users, query = ["ann", "bob"], "Where do I live?"
    configs: list[Any] = [{"configurable": {"user_id": user}} for user in users]

    async def texts(runnable: Any) -> list[str]:
        asked = [query] * len(users)
        found = runnable.batch(asked, configs) if how == "batch" else await runnable.abatch(asked, configs)
        return [documents[0].page_content for documents in found]

    with MemoryBank.open(citations=True) as bank:
        for user in users:
            bank.remember((user,), [("user", f"I am {user} and live in Ghent.")], session="s")  # type: ignore[list-item]
        plain = SecomRetriever(bank=bank)
        wrapper = ContextualCompressionRetriever(
            base_retriever=plain, base_compressor=CitationReranker(bank=bank, top_n=1)
        )
        with pytest.raises(InvalidScope, match=r"call RunnableLambda\(wrapper\.invoke\) in its place"):
            await texts(wrapper)
        for runnable in (plain, RunnableLambda(wrapper.invoke, wrapper.ainvoke)):
            assert await texts(runnable) == [f"user: I am {user} and live in Ghent." for user in users]
        with pytest.raises(InvalidScope) as refused:
            plain.invoke(query)
        assert "RunnableLambda" not in str(refused.value)


def test_a_wrapper_that_drops_arguments_takes_the_scope_from_a_configuration() -> None:
    from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever, MergerRetriever

    from langchain_secom import CitationReranker

    with MemoryBank.open(citations=True) as bank:
        bank.remember(("ann",), [("user", "I live in Ghent.")], session="s")
        plain = SecomRetriever(bank=bank)
        passing = ContextualCompressionRetriever(base_retriever=plain, base_compressor=CitationReranker(bank=bank))
        assert len(passing.invoke("Ghent", scope=("ann",))) == 1  # type: ignore[arg-type]
        ensemble = EnsembleRetriever(retrievers=[plain], weights=[1.0])
        dropping: list[Any] = [MergerRetriever(retrievers=[plain]), ensemble]
        for wrapper in dropping:
            with pytest.raises(InvalidScope, match="a wrapper that passes arguments on also takes scope"):
                wrapper.invoke("Ghent", scope=("ann",))
            around = RunnableLambda(wrapper.invoke, wrapper.ainvoke)
            assert len(around.invoke("Ghent", {"configurable": {"user_id": "ann"}})) == 1


def test_a_document_says_what_holds_no_more() -> None:
    with MemoryBank.open() as bank:
        bank.remember(ANN, [Message("Our rent is 1,450 euros.", id="rent")], session="one", close=True)
        bank.remember(ANN, [Message("Our car is a red Golf.", id="car")], session="two", close=True)
        newer = bank.correct(ANN, "rent", "Our rent is 1,700 euros.", at=datetime(2025, 6, 1, tzinfo=timezone.utc))
        bank.corrections.retract(ANN, "car", at=datetime(2025, 6, 2, tzinfo=timezone.utc))
        documents = SecomRetriever(bank=bank, scope=ANN, k=5).invoke("What are our rent and our car?")
        found = {document.metadata["turn_ids"][0]: document for document in documents}
        assert found["rent"].page_content == "user: Our rent is 1,450 euros.\n→ (replaced on 2025-06-01)"
        assert found["car"].page_content == "user: Our car is a red Golf.\n→ (retracted on 2025-06-02)"
        assert [(each["kind"], each["newer"]) for each in found["rent"].metadata["replaced"]] == [("corrected", newer)]
        assert found[newer].page_content == "user: Our rent is 1,700 euros."
        assert "replaced" not in found[newer].metadata
        now = SecomRetriever(bank=bank, scope=ANN, k=5, history=False).invoke("What are our rent and our car?")
        assert [document.page_content for document in now] == ["user: Our rent is 1,700 euros."]


def test_the_question_that_is_being_asked_is_no_find() -> None:
    question = "Where does my dog Bello swim?"
    with MemoryBank.open() as bank:
        bank.remember(("ann",), [("user", "My dog Bello swims in the Leie.")], session="monday", close=True)
        bank.remember(("ann",), [("user", question)], session="friday", later=True)
        retriever = SecomRetriever(bank=bank, scope=("ann",), k=3)
        assert [each.page_content for each in retriever.invoke(question)] == ["user: My dog Bello swims in the Leie."]
        bank.remember(("ann",), [("assistant", "In the Leie, you said.")], session="friday")
        assert len(retriever.invoke(question)) == 2
        assert "Bello swims" in retriever.invoke("My dog Bello swims in the Leie.")[0].page_content


def served(runnable: Any, configurable: dict[str, Any]) -> Any:
    """A configuration as a server takes it from a client: of what the schema lists, and nothing else."""
    return runnable.config_schema(include=["configurable"])(configurable=configurable).model_dump()


def test_what_serves_a_retriever_hands_the_scope_on() -> None:
    from langchain_core.runnables import RunnablePassthrough

    query = "Where does the dog swim?"
    with MemoryBank.open() as bank:
        bank.remember(ANN, [("user", "My dog swims in the Leie.")], session="s")
        bank.remember(("acme", "team"), [("user", "The team's dog swims in the Scheldt.")], session="s")
        shared = SecomRetriever(bank=bank, scope_keys=("tenant_id", "user_id"), also_keys=(("tenant_id", "team_id"),))
        chain: Any = RunnablePassthrough() | shared
        ann = {"tenant_id": "acme", "user_id": "ann"}

        found = [chain.invoke(query, served(chain, given)) for given in (ann, {**ann, "team_id": "team"})]
        assert [sorted(each.metadata["scope"][1] for each in documents) for documents in found] == [
            ["ann"],
            ["ann", "team"],
        ]
        with pytest.raises(InvalidScope, match="whose memories"):
            chain.invoke(query, served(chain, {"user_id": "ann"}))
        assert SecomRetriever(bank=bank, scope=ANN).config_specs == []


def test_an_application_may_describe_the_user_as_well() -> None:
    from langchain_core.runnables import ConfigurableFieldSpec
    from langchain_core.runnables.utils import get_unique_config_specs

    from langchain_secom import SessionHistories

    own = ConfigurableFieldSpec(id="user_id", annotation=str, name="User", description="Who asks.", default="")
    with MemoryBank.open() as bank:
        ours = [*SecomRetriever(bank=bank).config_specs, *SessionHistories(bank).specs]
        for specs in ([own, *ours], [*ours, own]):
            assert [each.id for each in get_unique_config_specs(specs)] == ["session_id", "user_id"]
