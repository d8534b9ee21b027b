"""The document denoiser, with a denoiser of the core."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

import pytest

pytest.importorskip("langchain_core", reason="needs the extra 'langchain'")

from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.runnables import RunnableLambda

from langchain_secom import LLMLinguaDenoiser, SecomRetriever
from langchain_secom.denoiser import ORIGINAL_TEXT
from secom_core.bank import MemoryBank
from secom_core.denoisers.informativeness import Informativeness
from secom_core.errors import InvalidInput
from secom_core.protocols import Statistics


class FirstWord:
    """Keeps the first word, and the batches it was given."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def denoise(self, texts: Sequence[str], statistics: Statistics | None = None) -> list[str]:
        self.batches.append(list(texts))
        return [text.split()[0] for text in texts]


def given() -> list[Document]:
    return [
        Document("Bello barks a lot", id="d1", metadata={"source": "chat", "tags": ["a"]}),
        Document("   ", id="d2"),
        Document("Bread needs flour", id="d3"),
    ]


async def test_sync_and_async_transforms_agree_and_keep_ids_metadata_and_order() -> None:
    documents = given()
    denoiser = LLMLinguaDenoiser(FirstWord())
    assert isinstance(denoiser, BaseDocumentTransformer)
    done = denoiser.transform_documents(documents)
    assert [(each.id, each.page_content) for each in done] == [("d1", "Bello"), ("d2", "   "), ("d3", "Bread")]
    assert done[0].metadata == {"source": "chat", "tags": ["a"], ORIGINAL_TEXT: "Bello barks a lot"}
    assert list(await denoiser.atransform_documents(documents)) == done


async def test_it_is_the_compressor_of_a_retriever() -> None:
    retrievers = pytest.importorskip("langchain_classic.retrievers")
    found: RunnableLambda[str, list[Document]] = RunnableLambda(lambda query: given())
    shorter = retrievers.ContextualCompressionRetriever(
        base_compressor=LLMLinguaDenoiser(FirstWord()), base_retriever=found
    )
    assert [each.page_content for each in shorter.invoke("Bello")] == ["Bello", "   ", "Bread"]
    assert await shorter.ainvoke("Bello") == shorter.invoke("Bello")


def test_what_is_said_to_hold_no_more_stays_so() -> None:
    with MemoryBank.open(changes=True, granularity="session") as bank:
        for day, text in {3: "My rent is 900 euros a month.", 9: "My rent is 950 euros a month now."}.items():
            at = datetime(2026, 3, day, 12, tzinfo=timezone.utc)
            bank.remember(("acme", "ann"), [("user", text), ("assistant", "Fine.")], session="s", at=at, close=day == 9)
        documents = SecomRetriever(bank=bank, scope=("acme", "ann")).invoke("What is my rent?")
    [shorter] = LLMLinguaDenoiser(Informativeness()).transform_documents(documents)
    before, mark, after = shorter.page_content.partition(
        '\n→ ("My rent is 900 euros a month." replaced on 2026-03-09)\n'
    )
    assert mark
    assert "900" in before
    assert "950" in after
    assert len(shorter.page_content) < len(documents[0].page_content)


def test_a_misspelt_argument_is_refused() -> None:
    with pytest.raises(TypeError, match="original"):
        LLMLinguaDenoiser(FirstWord(), original="raw")  # type: ignore[call-arg]


def test_the_documents_given_are_not_changed() -> None:
    documents = given()
    done = LLMLinguaDenoiser(FirstWord()).transform_documents(documents)
    done[0].metadata["tags"].append("b")
    assert documents == given()
    assert all(new is not old for new, old in zip(done, documents, strict=True))


def test_all_texts_go_together_and_blank_ones_not_at_all() -> None:
    words = FirstWord()
    LLMLinguaDenoiser(words).transform_documents(given())
    LLMLinguaDenoiser(words).transform_documents([Document(" ")])
    assert words.batches == [["Bello barks a lot", "Bread needs flour"]]


def test_the_original_text_is_kept_where_asked() -> None:
    [elsewhere] = LLMLinguaDenoiser(FirstWord(), original_key="raw").transform_documents(given()[:1])
    assert elsewhere.metadata["raw"] == "Bello barks a lot"
    [nowhere] = LLMLinguaDenoiser(FirstWord(), original_key=None).transform_documents(given()[:1])
    assert nowhere.metadata == given()[0].metadata


def test_denoising_twice_denoises_the_first_words() -> None:
    words = FirstWord()
    denoiser = LLMLinguaDenoiser(words)
    once = denoiser.transform_documents(given())
    assert denoiser.transform_documents(once) == once
    assert words.batches[0] == words.batches[1]


def test_what_is_no_denoiser_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'llmlingua'"):
        LLMLinguaDenoiser("llmlingua")  # type: ignore[arg-type]


def test_informativeness_is_accepted() -> None:
    informativeness = pytest.importorskip("secom_core.denoisers.informativeness")
    text = "Hello there! Well, you know, my dog Bello was born on 4 March 2019 in Ghent."
    [done] = LLMLinguaDenoiser(informativeness.Informativeness()).transform_documents([Document(text)])
    assert "Bello" in done.page_content
    assert "2019" in done.page_content
    assert done.metadata[ORIGINAL_TEXT] == text
