"""The topic splitter: exact places, nothing lost, ids and metadata kept."""

from __future__ import annotations

import re
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_text_splitters", reason="needs the extra 'langchain'")

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_text_splitters import TextSplitter

from langchain_secom import SegmentTextSplitter
from langchain_secom.models import LangChainEmbedder
from secom_core.errors import InvalidInput
from secom_core.segmenters.embedding import EmbeddingSegmenter
from secom_core.segmenters.fixed import EachTurn, FixedSize, WholeSession

TRANSCRIPT = """Ann: My dog Bello barks at the postman every morning.
Bob: Our dog barked at the postman too, the bark was terrible.
Ann: Does your dog bark at other dogs, or only at postmen?
Bob: Only at the postman. Dogs are strange.
Ann: I baked sourdough bread, the dough needed more flour.
Bob: Which flour do you take for your bread dough?
Ann: Rye flour. The bread bakes for an hour, and the dough rests a day.
Bob: An hour of baking makes good bread.
"""
REPEATED = "The same line again. The same line again. The same line again."


def test_it_is_a_text_splitter_and_cuts_a_transcript_between_topics() -> None:
    splitter = SegmentTextSplitter()
    assert isinstance(splitter, TextSplitter)
    chunks = splitter.split_text(TRANSCRIPT)
    assert 2 <= len(chunks) <= 4
    assert any(chunk.startswith("Ann: I baked sourdough") for chunk in chunks)


def test_start_index_is_exact_even_where_text_is_repeated() -> None:
    documents = SegmentTextSplitter(EachTurn(), chunk_size=None, add_start_index=True).create_documents([REPEATED])
    assert [document.metadata["start_index"] for document in documents] == [0, 21, 42]
    for document in documents:
        start = document.metadata["start_index"]
        assert REPEATED[start : start + len(document.page_content)] == document.page_content


@pytest.mark.slow
@pytest.mark.parametrize("segmenter", [None, EachTurn(), WholeSession(), FixedSize(2)])
@pytest.mark.parametrize("size", [1, 7, 60, 4000])
@given(text=st.text(alphabet="ab.:\n Ann狗。", max_size=200) | st.just(TRANSCRIPT) | st.just(REPEATED))
@settings(max_examples=25, deadline=None)
def test_text_is_never_lost_and_chunk_size_is_kept(segmenter: Any, size: int, text: str) -> None:
    whole = SegmentTextSplitter(segmenter, chunk_size=size, strip_whitespace=False).split_text(text)
    assert "".join(whole) == (text if text.strip() else "")
    assert all(len(chunk) <= size for chunk in whole)
    stripped = SegmentTextSplitter(segmenter, chunk_size=size).split_text(text)
    assert "".join("".join(stripped).split()) == "".join(text.split())
    assert all(chunk and chunk == chunk.strip() for chunk in stripped)


def test_chunk_size_is_counted_by_length_function() -> None:
    chunks = SegmentTextSplitter(chunk_size=12, length_function=lambda text: len(text.split())).split_text(TRANSCRIPT)
    assert len(chunks) > 2
    assert all(len(chunk.split()) <= 12 for chunk in chunks)


def test_split_documents_keeps_metadata() -> None:
    about = {"source": "chat.txt", "tags": ["a"]}
    whole, blank = Document("One line.", metadata=about), Document(" ")
    long = Document(TRANSCRIPT, metadata=about)
    parts = SegmentTextSplitter(FixedSize(4)).split_documents([whole, blank, long])
    assert [part.id for part in parts] == [None] * 3
    assert parts[1].metadata == about
    parts[1].metadata["tags"].append("b")
    assert about["tags"] == ["a"]
    assert parts[2].metadata == {"source": "chat.txt", "tags": ["a"]}


@pytest.mark.parametrize("id_", ["033dba12-c610-4b5e-b23b-63db48a9d937", "d1", "42", "https://example.org/a.html"])
def test_pieces_of_a_document_with_an_id_have_uuids(id_: str) -> None:
    # Qdrant, among others, takes no other id.
    documents = [Document("One line.", id=id_), Document(TRANSCRIPT, id=id_), Document(TRANSCRIPT, id=f"{id_[:-1]}0")]
    ids = [str(part.id) for part in SegmentTextSplitter(FixedSize(4)).split_documents(documents)]
    assert [str(uuid.UUID(each)) for each in ids] == ids
    assert len(set(ids)) == 5
    assert (ids[0] == id_) == (len(id_) == 36)
    again = SegmentTextSplitter(FixedSize(4)).split_documents([Document(TRANSCRIPT, id=id_)])
    assert [part.id for part in again] == ids[1:3]


def test_pieces_go_into_qdrant() -> None:
    qdrant = pytest.importorskip("langchain_qdrant").QdrantVectorStore
    store = qdrant.construct_instance(
        DeterministicFakeEmbedding(size=8), client_options={"location": ":memory:"}, collection_name="pieces"
    )
    pieces = SegmentTextSplitter(FixedSize(4)).split_documents(
        [Document(TRANSCRIPT, id="chat-7"), Document("One line.", id="short")]
    )
    store.add_documents(pieces)
    store.add_documents(pieces)
    assert store.client.count("pieces").count == len(pieces) == 3


def test_create_documents_gives_each_text_its_own_metadata() -> None:
    parts = SegmentTextSplitter().create_documents(["One.", "Two."], [{"n": 1}, {"n": 2}])
    assert [(part.page_content, part.metadata) for part in parts] == [("One.", {"n": 1}), ("Two.", {"n": 2})]
    with pytest.raises(InvalidInput, match="got 1 of them for 2 texts"):
        SegmentTextSplitter().create_documents(["One.", "Two."], [{"n": 1}])


async def test_sync_and_async_transforms_agree() -> None:
    splitter = SegmentTextSplitter(add_start_index=True)
    documents = [Document(TRANSCRIPT, id="d")]
    assert list(splitter.transform_documents(documents)) == list(await splitter.atransform_documents(documents))
    assert splitter.split_documents(documents) == list(splitter.transform_documents(documents))


def test_embeddings_of_the_framework_cut_where_the_meaning_changes() -> None:
    embeddings = LangChainEmbedder(DeterministicFakeEmbedding(size=16), name="fake")
    splitter = SegmentTextSplitter(embeddings=embeddings, strip_whitespace=False)
    assert isinstance(splitter.segmenter, EmbeddingSegmenter)
    assert "".join(splitter.split_text(TRANSCRIPT)) == TRANSCRIPT
    # Those that name no model too.
    unnamed = SegmentTextSplitter(embeddings=DeterministicFakeEmbedding(size=16), strip_whitespace=False)
    assert unnamed.split_text(TRANSCRIPT) == splitter.split_text(TRANSCRIPT)


def test_arguments_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidInput, match="200"):
        SegmentTextSplitter(chunk_overlap=200)
    with pytest.raises(InvalidInput, match="'lexical'"):
        SegmentTextSplitter("lexical")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="chunk_size"):
        SegmentTextSplitter(chunk_size=0)
    with pytest.raises(TypeError):
        SegmentTextSplitter(chunk_sise=10)  # type: ignore[call-arg]


PAGES = sorted(Path(__file__).resolve().parents[2].glob("docs/*.md"))


def torn(chunks: list[str]) -> int:
    return sum(len(re.findall(r"^\s*(?:```|~~~)", chunk, re.MULTILINE)) % 2 for chunk in chunks)


@pytest.mark.parametrize("size", [4000, 8000])
def test_pages_of_markdown_keep_their_code_and_fill_their_chunks(size: int) -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        chunks = SegmentTextSplitter(chunk_size=size, strip_whitespace=False).split_text(text)
        assert "".join(chunks) == text
        assert torn(chunks) == 0, page.name
        assert max(map(len, chunks)) <= size
        assert len(chunks) <= 1 + len(text) / (0.6 * size), page.name


def test_without_a_chunk_size_each_segment_is_a_piece() -> None:
    text = " ".join(f"Sentence {number} about herons." for number in range(400))
    assert len(SegmentTextSplitter(FixedSize(4), chunk_size=None).split_text(text)) == 100
    assert len(SegmentTextSplitter(FixedSize(4)).split_text(text)) == 3


@pytest.mark.slow
def test_a_megabyte_is_split_in_under_five_seconds() -> None:
    text = ("\n".join(page.read_text(encoding="utf-8") for page in PAGES) * 20)[:1_000_000]
    began = time.process_time()
    chunks = SegmentTextSplitter().split_text(text)
    assert time.process_time() - began < 5
    assert torn(chunks) <= 1, "the end of the text may be cut inside code"


def test_captions_are_cut_between_cues() -> None:
    cues = [f"00:0{at}.000 --> 00:0{at}.900\n<v Ann>Herons eat fish, {at}.\n" for at in range(8)]
    text = "WEBVTT\n\n" + "\n".join(cues)
    chunks = SegmentTextSplitter(EachTurn(), chunk_size=200).split_text(text)
    assert len(chunks) > 1
    assert all(re.match(r"WEBVTT|00:0\d\.000 -->", chunk) for chunk in chunks)
