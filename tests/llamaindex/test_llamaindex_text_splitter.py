"""Text and conversations cut at their topics."""

from __future__ import annotations

import json
import pickle
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")

from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.ingestion import IngestionCache, IngestionPipeline
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.node_parser import HierarchicalNodeParser, NodeParser, TextSplitter
from llama_index.core.schema import (
    Document,
    ImageDocument,
    ImageNode,
    MetadataMode,
    NodeRelationship,
    TextNode,
    TransformComponent,
)
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore

from llamaindex_secom import SegmentNodeParser, SegmentTextSplitter
from llamaindex_secom.text_splitter import segment_id
from secom_core.conversation import Turn
from secom_core.errors import DegradedWarning, InvalidInput
from secom_core.memory import Segment
from secom_core.segmenters.fixed import EachTurn, FixedSize
from secom_core.segmenters.lexical import LexicalSegmenter
from secom_core.testing import Fault, ScriptedServer
from secom_core.text.terms import count_tokens

TALK = "\n".join(
    [
        "Ann: I planted tomatoes in the garden this spring.",
        "Bob: Do the tomatoes in your garden get enough sun?",
        "Ann: The garden gets sun all day, the tomatoes love it.",
        "Bob: My garden has too much shade for tomatoes.",
        "Ann: By the way, the violin concert is on Friday.",
        "Bob: Who plays the violin in the concert?",
        "Ann: A young violin player from Ghent, her first concert.",
        "Bob: I will come to the concert, I love the violin.",
    ]
)


def turn_documents(session: str = "s1") -> list[Document]:
    lines = [line.split(": ", 1) for line in TALK.splitlines()]
    return [
        Document(
            text=words,
            id_=f"{session}-{place}",
            metadata={
                "speaker": name,
                "session": session,
                "timestamp": f"2026-03-01T12:0{place}:00+00:00",
                "channel": "phone",
            },
        )
        for place, (name, words) in enumerate(lines)
    ]


@pytest.mark.parametrize(
    ("kind", "ancestors"),
    [
        (SegmentTextSplitter, {"TextSplitter", "NodeParser", "TransformComponent"}),
        (SegmentNodeParser, {"NodeParser", "TransformComponent"}),
    ],
)
def test_smoke(kind: type[NodeParser], ancestors: set[str]) -> None:
    assert ancestors <= {each.__name__ for each in kind.__mro__}
    assert kind.class_name() == kind.__name__
    assert issubclass(kind, TransformComponent)
    made = kind.from_dict(json.loads(kind(chunk_size=50).to_json()))
    assert type(made) is kind
    assert made.to_dict() == kind(chunk_size=50).to_dict()
    assert isinstance(made.segmenter, LexicalSegmenter)
    assert made.id_func is segment_id


def test_it_splits_at_the_topic() -> None:
    pieces = SegmentTextSplitter().split_text(TALK)
    assert "".join(pieces) == TALK
    assert any(piece.startswith("Ann: By the way") for piece in pieces)
    assert 1 < len(pieces) < 8
    assert SegmentTextSplitter().split_texts([TALK, "", TALK]) == [*pieces, *pieces]


@given(st.text(), st.none() | st.integers(1, 20))
@settings(max_examples=100, deadline=None)
def test_the_pieces_are_the_text(text: str, limit: int | None) -> None:
    pieces = SegmentTextSplitter(FixedSize(2), chunk_size=limit).split_text(text)
    assert "".join(pieces) == (text if text.strip() else "")


REPEATED = "Ann: ab ab ab\nBob: ab ab\nAnn: ab ab ab\nBob: ab ab\n"


@pytest.mark.parametrize("kind", [SegmentTextSplitter, SegmentNodeParser])
def test_pitfall_14_relationships_places_ids_and_embeddings(kind: type[SegmentTextSplitter]) -> None:
    document = Document(
        text=REPEATED, id_="d1", metadata={"title": "t"}, embedding=[1.0, 2.0], excluded_llm_metadata_keys=["title"]
    )
    nodes = kind(EachTurn()).get_nodes_from_documents([document])
    assert "".join(node.get_content() for node in nodes) == REPEATED
    for node in nodes:
        assert isinstance(node, TextNode)
        assert REPEATED[node.start_char_idx : node.end_char_idx] == node.text
    assert [node.start_char_idx for node in nodes] == [0, 14, 25, 39]
    assert {node.ref_doc_id for node in nodes} == {"d1"}
    assert [node.embedding for node in nodes] == [None] * 4
    assert [node.prev_node and node.prev_node.node_id for node in nodes] == [None, *(n.node_id for n in nodes[:-1])]
    assert [node.next_node and node.next_node.node_id for node in nodes] == [*(n.node_id for n in nodes[1:]), None]
    assert all(node.metadata == {"title": "t"} for node in nodes)
    assert "title" not in nodes[0].get_content(MetadataMode.LLM)
    again = kind(EachTurn()).get_nodes_from_documents([document])
    assert [n.node_id for n in again] == [n.node_id for n in nodes]
    assert document.embedding == [1.0, 2.0], "the document given is not changed"


def test_nodes_of_nodes_point_to_the_document() -> None:
    document = Document(text=REPEATED, id_="d1")
    halves = SegmentTextSplitter(FixedSize(2)).get_nodes_from_documents([document])
    quarters = SegmentTextSplitter(EachTurn()).get_nodes_from_documents(halves)  # type: ignore[arg-type]
    assert {node.ref_doc_id for node in quarters} == {"d1"}
    assert len({node.node_id for node in quarters}) == 4
    assert quarters[1].next_node is not None
    assert quarters[1].next_node.node_id == quarters[2].node_id


@pytest.mark.parametrize("kind", [SegmentTextSplitter, SegmentNodeParser])
def test_short_and_long_nodes_of_one_document_stand_side_by_side(kind: type[SegmentTextSplitter]) -> None:
    """An index of nodes of several lengths holds them all: small ones that lead to the large one they are part of."""
    page = Document(text="\n\n".join(f"Section {n}. " + "The violin lessons are on Friday. " * 9 for n in range(6)))
    messages = turn_documents()
    for documents in ([page], messages):
        parsers = [*(kind(chunk_size=size) for size in (20, 60, None)), kind(FixedSize(2)), kind(WholeRun())]
        cut = [parser.get_nodes_from_documents(documents) for parser in parsers]
        ids = [node.node_id for nodes in cut for node in nodes]
        assert len(set(ids)) == len(ids) > len(parsers)
        again = [node.node_id for parser in parsers for node in parser.get_nodes_from_documents(documents)]
        assert again == ids


@pytest.mark.parametrize("kind", [SegmentTextSplitter, SegmentNodeParser])
def test_a_picture_without_words_stays_a_node(kind: type[SegmentTextSplitter]) -> None:
    documents = [Document(text=" "), ImageDocument(image="iVBORw0KGgo=", metadata={"file": "a.png"}, id_="p")]
    [node] = kind(chunk_size=50).get_nodes_from_documents(documents)
    assert isinstance(node, ImageNode)
    assert (node.image, node.metadata, node.ref_doc_id) == ("iVBORw0KGgo=", {"file": "a.png"}, "p")


def test_neighbours_and_metadata_can_be_left_out() -> None:
    document = Document(text=REPEATED, metadata={"title": "t"})
    parser = SegmentTextSplitter(EachTurn(), include_prev_next_rel=False, include_metadata=False)
    nodes = parser.get_nodes_from_documents([document])
    assert all(set(node.relationships) == {NodeRelationship.SOURCE} for node in nodes)
    assert all(node.metadata == {} for node in nodes)


def test_turn_documents_become_topics_with_their_turns() -> None:
    nodes = SegmentNodeParser(FixedSize(4)).get_nodes_from_documents(turn_documents())
    assert "\n".join(node.get_content() for node in nodes) == TALK
    assert [json.loads(node.metadata["turn_ids"]) for node in nodes] == [
        [f"s1-{place}" for place in range(4)],
        [f"s1-{place}" for place in range(4, 8)],
    ]
    first, second = nodes
    assert first.ref_doc_id == "s1-0"
    assert second.ref_doc_id == "s1-4"
    assert first.next_node is not None
    assert first.next_node.node_id == second.node_id
    assert second.prev_node is not None
    assert first.metadata["begin"] == "2026-03-01T12:00:00+00:00"
    assert first.metadata["end"] == "2026-03-01T12:03:00+00:00"
    assert first.metadata["channel"] == "phone"
    assert "speaker" not in first.metadata, "of the turns' metadata, what they share is kept"
    assert json.loads(first.metadata["speakers"]) == ["Ann", "Bob"]
    assert "turn_ids" not in first.get_content(MetadataMode.LLM)
    assert "begin" not in first.get_content(MetadataMode.EMBED)


@pytest.mark.parametrize("kind", [SegmentTextSplitter, SegmentNodeParser])
@pytest.mark.parametrize("metadata", [{"channel": "phone"}, {"channel": "phone", "speaker": "Ann"}])
def test_nodes_show_metadata_as_their_document_does(kind: type[NodeParser], metadata: dict[str, str]) -> None:
    document = Document(
        text="Hello.",
        metadata={**metadata, "line": "two"},
        excluded_llm_metadata_keys=["speaker"],
        metadata_template="{key}={value}",
        metadata_separator="; ",
        text_template="<{metadata_str}> {content}",
    )
    [node] = kind().get_nodes_from_documents([document])
    assert node.get_content(MetadataMode.LLM).startswith("<channel=phone; line=two> ")


def test_a_long_message_is_cut_by_a_splitter_after_the_parser() -> None:
    """No node is longer than an embedding model reads, and each names the messages that it is of."""
    reply = " ".join(f"Scale {n} is played slowly on the violin." for n in range(200))
    talk = [Document(text=words, metadata={"role": role}) for role, words in (("user", "How?"), ("assistant", reply))]
    [whole] = SegmentNodeParser(chunk_size=64).get_nodes_from_documents(talk)
    pipeline = IngestionPipeline(transformations=[SegmentNodeParser(chunk_size=64), SegmentTextSplitter(chunk_size=64)])
    nodes = pipeline.run(documents=talk)
    assert "".join(node.get_content() for node in nodes) == whole.get_content() == f"user: How?\nassistant: {reply}"
    assert max(count_tokens(node.get_content()) for node in nodes) <= 64
    assert {node.metadata["turn_ids"] for node in nodes} == {json.dumps([each.node_id for each in talk])}


def test_the_model_sees_the_end_of_a_segment_that_ends_on_another_day() -> None:
    first, *others, last = turn_documents()
    (same_day,) = SegmentNodeParser(WholeRun()).get_nodes_from_documents([first, *others, last])
    last.metadata["timestamp"] = "2026-03-09T10:00:00Z"
    (longer,) = SegmentNodeParser(WholeRun()).get_nodes_from_documents([first, *others, last])
    assert "end: 2026-03-09T10:00:00+00:00" in longer.get_content(MetadataMode.LLM)
    assert "2026" not in longer.get_content(MetadataMode.EMBED)
    assert "end:" not in same_day.get_content(MetadataMode.LLM)


def test_what_was_made_of_messages_is_no_message() -> None:
    notes = [
        Document(text=f"Bread needs rye, note {place}.", id_=f"n{place}", metadata={"speaker": "Ann", "session": "s"})
        for place in range(3)
    ]
    parser = SegmentNodeParser()
    (node,) = parser(notes)
    (again,) = parser([node])
    assert again.get_content() == node.get_content()
    assert again.metadata == node.metadata


def test_each_level_of_a_hierarchy_names_a_speaker_once() -> None:
    levels = {"large": SegmentNodeParser(), "small": SegmentNodeParser(chunk_size=100)}
    hierarchy = HierarchicalNodeParser.from_defaults(node_parser_ids=list(levels), node_parser_map=levels)
    large, small = hierarchy.get_nodes_from_documents(turn_documents()[:1])
    assert large.get_content() == small.get_content() == TALK.splitlines()[0]


def test_speakers_that_are_numbered_from_nought_are_named() -> None:
    said = [Document(text=f"I sing {n}.", id_=str(n), metadata={"speaker": n % 2, "session": "s1"}) for n in range(4)]
    [node] = SegmentNodeParser(WholeRun()).get_nodes_from_documents(said)
    assert node.get_content() == "0: I sing 0.\n1: I sing 1.\n0: I sing 2.\n1: I sing 3."
    assert json.loads(node.metadata["speakers"]) == ["0", "1"]


def test_sessions_are_cut_apart_and_other_documents_come_along() -> None:
    documents = [*turn_documents("s1"), *turn_documents("s2"), Document(text="Prose. More prose.", id_="p")]
    nodes = SegmentNodeParser(segmenter=WholeRun()).get_nodes_from_documents(documents)
    assert [node.metadata.get("session") for node in nodes] == ["s1", "s2", None]
    assert nodes[0].next_node is None
    assert nodes[1].prev_node is None
    assert nodes[2].get_content() == "Prose. More prose."


@pytest.mark.parametrize("key", ["session", "session_id", "conversation_id", "thread_id", "chat_id"])
def test_conversations_of_several_users_are_no_one_conversation(key: str) -> None:
    documents = [
        Document(text=text, metadata={"role": role, "user_id": user, "session": "", key: f"{user}-1"})
        for user, asked, said in (("ann", "My PIN is 4711.", "Noted."), ("bob", "Which PIN?", "Yours?"))
        for role, text in (("user", asked), ("assistant", said))
    ]
    nodes = SegmentNodeParser(segmenter=WholeRun()).get_nodes_from_documents(documents)
    assert [node.get_content() for node in nodes] == [
        "user: My PIN is 4711.\nassistant: Noted.",
        "user: Which PIN?\nassistant: Yours?",
    ]
    assert [(node.metadata["session"], node.metadata["user_id"]) for node in nodes] == [
        ("ann-1", "ann"),
        ("bob-1", "bob"),
    ]


class WholeRun:
    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        return [Segment(0, len(turns))] if turns else []


def test_roles_make_exchanges_of_turn_documents() -> None:
    roles = ["user", "assistant", "user", "assistant"]
    documents = [Document(text=f"m{i}", id_=str(i), metadata={"role": role}) for i, role in enumerate(roles)]
    nodes = SegmentNodeParser(EachTurn()).get_nodes_from_documents(documents)
    assert [node.get_content() for node in nodes] == ["user: m0\nassistant: m1", "user: m2\nassistant: m3"]


def test_roles_of_chat_messages_are_roles_and_no_session_is_none() -> None:
    said = [ChatMessage("Hello.", role="user"), ChatMessage("Hi!", role="assistant")]
    documents = [Document(text=str(each.content), metadata={"role": each.role, "session": None}) for each in said]
    (node,) = SegmentNodeParser(EachTurn()).get_nodes_from_documents(documents)
    assert node.get_content() == "user: Hello.\nassistant: Hi!"
    assert (node.metadata["session"], node.metadata["speakers"]) == ("", '["user", "assistant"]')


@pytest.mark.parametrize("kind", [SegmentTextSplitter, SegmentNodeParser])
@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("\n\n".join(f"# Part {n}\n\n- a pump\n- a valve\n\nAll of hall {n}." for n in range(300)), 100),
        ("{" + ", ".join(f'"k{n}": "hall {n}"' for n in range(2000)) + "}", 100),
        ("\n".join(f"{name}: The pump of hall {n} leaks." for n in range(400) for name in ("Ann", "Bob")), 1),
    ],
    ids=["Markdown", "JSON", "transcript"],
)
def test_nodes_of_a_long_document_fit_a_model(
    kind: type[SegmentTextSplitter | SegmentNodeParser], text: str, least: int
) -> None:
    sizes = [count_tokens(node.get_content()) for node in kind().get_nodes_from_documents([Document(text=text)])]
    assert least <= min(sizes) <= max(sizes) <= 1024


def test_each_segment_is_a_node_where_no_length_is_wanted() -> None:
    words = ["The pump leaks. ", "The valve is new. ", "The crew comes. ", "It rains."]
    assert SegmentTextSplitter(FixedSize(2), chunk_size=None).split_text("".join(words)) == [
        "The pump leaks. The valve is new. ",
        "The crew comes. It rains.",
    ]
    [whole] = SegmentNodeParser(WholeRun(), chunk_size=None).get_nodes_from_documents([Document(text="word " * 3000)])
    assert count_tokens(whole.get_content()) > 1024


@pytest.mark.parametrize(
    ("metadata", "joined"),
    [
        ({"role": "admin"}, False),
        ({"role": "engineer", "session": None}, False),
        ({"role": "Human"}, True),
        ({"role": MessageRole.ASSISTANT}, True),
        ({"role": "engineer", "session": "s1"}, True),
        ({"speaker": "Ann", "role": "engineer"}, True),
        ({"speaker": "Ann"}, True),
    ],
)
def test_a_role_that_may_read_a_document_makes_it_no_message(metadata: dict[str, Any], joined: bool) -> None:
    documents = [Document(text=text, metadata=metadata) for text in ("# Pumps\n\nThey leak.", "# Cranes\n\nThey lift.")]
    nodes = SegmentNodeParser(WholeRun()).get_nodes_from_documents(documents)
    assert len(nodes) == (1 if joined else 2)
    assert joined or [node.get_content() for node in nodes] == [document.text for document in documents]
    assert joined or [node.metadata for node in nodes] == [metadata, metadata]


def test_chunk_size_bounds_topics_of_turns() -> None:
    nodes = SegmentNodeParser(WholeRun(), chunk_size=30).get_nodes_from_documents(turn_documents())
    assert len(nodes) > 3
    assert "\n".join(node.get_content() for node in nodes) == TALK
    assert len({node.node_id for node in nodes}) == len(nodes)


async def test_async_gives_the_same() -> None:
    documents = turn_documents()
    parser = SegmentNodeParser()
    assert await parser.acall(documents) == parser(documents)
    assert await parser.aget_nodes_from_documents(documents) == parser.get_nodes_from_documents(documents)
    text = Document(text=TALK, id_="d")
    assert await SegmentTextSplitter().acall([text]) == SegmentTextSplitter()([text])


class Waiting(EachTurn):
    """Waits, as a segmenter that asks a model does."""

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        time.sleep(0.001)
        return super().segment(turns)


@pytest.mark.parametrize("kind", [SegmentTextSplitter, SegmentNodeParser])
async def test_async_calls_do_not_block_the_event_loop(kind: type[SegmentTextSplitter]) -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    splitter, document = kind(Waiting()), Document(text=TALK)
    with blockbuster.blockbuster_ctx():
        with pytest.raises(blockbuster.BlockingError):
            splitter([document])
        assert await splitter.acall([document])
        assert await splitter.aget_nodes_from_documents([document])


def test_pitfall_15_the_ingestion_cache_tells_segmenters_apart() -> None:
    cache = IngestionCache()
    document = Document(text=REPEATED, id_="d1")

    def ingest(segmenter: object) -> int:
        pipeline = IngestionPipeline(transformations=[SegmentTextSplitter(segmenter)], cache=cache)  # type: ignore[arg-type]
        return len(pipeline.run(documents=[document]))

    assert (ingest(EachTurn()), ingest(FixedSize(2)), ingest(FixedSize(3)), ingest(EachTurn())) == (4, 2, 2, 4)
    labels = {SegmentTextSplitter(each).model_version for each in (EachTurn(), FixedSize(2), FixedSize(3), WholeRun())}
    assert len(labels) == 4
    assert SegmentTextSplitter(model_version="v7").to_dict()["model_version"] == "v7"


async def test_it_works_in_an_async_pipeline() -> None:
    nodes = await IngestionPipeline(transformations=[SegmentNodeParser(FixedSize(4))]).arun(documents=turn_documents())
    assert len(nodes) == 2


def test_an_edited_conversation_takes_the_place_of_the_old_one_in_a_docstore() -> None:
    vectors = SimpleVectorStore()
    pipeline = IngestionPipeline(
        transformations=[SegmentNodeParser(FixedSize(4)), MockEmbedding(embed_dim=2)],
        docstore=SimpleDocumentStore(),
        vector_store=vectors,
    )
    before = pipeline.run(documents=[Document(text=TALK, id_="talk")])
    assert pipeline.run(documents=[Document(text=TALK, id_="talk")]) == []
    edited = TALK.replace("Friday", "Sunday")
    after = pipeline.run(documents=[Document(text=edited, id_="talk")])
    assert "".join(node.get_content() for node in after) == edited != TALK
    assert set(vectors.data.embedding_dict) == {node.node_id for node in after}
    assert len(before) == len(after) > 1


def test_pitfall_15_workers_get_it_by_pickle() -> None:
    parser = pickle.loads(pickle.dumps(SegmentNodeParser(FixedSize(3), chunk_size=40)))
    assert parser.segmenter == FixedSize(3)
    assert parser.chunk_size == 40
    document = Document(text=TALK, id_="d")
    assert parser([document]) == SegmentNodeParser(FixedSize(3), chunk_size=40)([document])


def test_json_cannot_hold_a_segmenter_so_it_is_asked_for_again() -> None:
    data = SegmentTextSplitter(FixedSize(2)).to_dict()
    with pytest.raises(InvalidInput, match=r"FixedSize\(size=2\).*pass segmenter= again"):
        SegmentTextSplitter.from_dict(data)
    assert SegmentTextSplitter.from_dict(data, segmenter=FixedSize(2)).split_text(REPEATED) == [
        REPEATED[:25],
        REPEATED[25:],
    ]


def numbered(i: int, doc: object) -> str:
    return f"n{i}"


def test_ids_can_be_ones_own_and_are_asked_for_again() -> None:
    splitter = SegmentTextSplitter(EachTurn(), id_func=numbered)
    assert [node.node_id for node in splitter([Document(text=REPEATED)])] == ["n0", "n1", "n2", "n3"]
    with pytest.raises(InvalidInput, match="numbered"):
        SegmentTextSplitter.from_dict(splitter.to_dict(), segmenter=EachTurn())
    kept = SegmentTextSplitter.from_dict(splitter.to_dict(), segmenter=EachTurn(), id_func=numbered)
    assert kept.id_func is numbered


@pytest.mark.parametrize("kind", [SegmentTextSplitter, SegmentNodeParser])
def test_what_is_no_segmenter_is_refused(kind: type[SegmentTextSplitter]) -> None:
    with pytest.raises(ValueError, match=r"a segmenter has a segment method.*got 3"):
        kind(3)  # type: ignore[arg-type]


def test_a_segmenter_that_loses_turns_is_refused() -> None:
    class Loses:
        def segment(self, turns: Sequence[Turn]) -> list[Segment]:
            return [Segment(0, 1)]

    with pytest.raises(InvalidInput, match="segments end at turn 1"):
        SegmentTextSplitter(Loses()).split_text(REPEATED)


def test_an_embedding_model_of_llamaindex_cuts_too() -> None:
    http_models = pytest.importorskip("http_models", reason="needs the extra 'openai'")
    with ScriptedServer() as server:
        model = http_models.HttpEmbedding(base_url=server.base_url)
        splitter = SegmentTextSplitter.from_defaults(embed_model=model)
        assert "".join(splitter.split_text(TALK)) == TALK
        assert server.embedding_requests
        assert "HttpEmbedding" in splitter.model_version


def test_a_language_model_of_llamaindex_cuts_too() -> None:
    http_models = pytest.importorskip("http_models", reason="needs the extra 'openai'")
    ranges = "\n".join(
        json.dumps({"segment_id": i, "start_exchange_number": a, "end_exchange_number": b, "num_exchanges": 4})
        for i, (a, b) in enumerate([(0, 3), (4, 7)])
    )
    with ScriptedServer(f"<segmentation>\n{ranges}\n</segmentation>") as server:
        splitter = SegmentTextSplitter.from_defaults(llm=http_models.HttpLLM(base_url=server.base_url))
        pieces = splitter.split_text(TALK)
        assert len(server.requests) == 1
    assert [piece.count("\n") for piece in pieces] == [4, 3]


def test_a_language_model_that_fails_degrades_to_words() -> None:
    http_models = pytest.importorskip("http_models", reason="needs the extra 'openai'")
    with ScriptedServer(Fault(status=500)) as server:
        splitter = SegmentTextSplitter.from_defaults(llm=http_models.HttpLLM(base_url=server.base_url))
        with pytest.warns(DegradedWarning, match="500"):
            pieces = splitter.split_text(TALK)
    assert pieces == SegmentTextSplitter().split_text(TALK)


def test_only_one_way_to_cut_is_taken() -> None:
    with pytest.raises(InvalidInput, match="one of segmenter, embed_model and llm"):
        SegmentNodeParser.from_defaults(EachTurn(), embed_model=MockEmbedding(embed_dim=2))
    assert isinstance(SegmentNodeParser.from_defaults().segmenter, LexicalSegmenter)
    assert issubclass(SegmentTextSplitter, TextSplitter)


def test_a_misspelt_argument_is_an_error() -> None:
    with pytest.raises(ValueError, match="model_versoin"):
        SegmentTextSplitter(EachTurn(), model_versoin="2")


@pytest.mark.slow
def test_pages_of_markdown_keep_their_code_and_fill_their_nodes_in_time() -> None:
    pages = [page.read_text(encoding="utf-8") for page in sorted(Path(__file__).resolve().parents[2].glob("docs/*.md"))]
    text = "\n".join(pages)
    text *= 1 + 1_000_000 // len(text)
    began = time.thread_time()
    nodes = SegmentTextSplitter(chunk_size=1024).get_nodes_from_documents([Document(text=text)])
    assert time.thread_time() - began < 5 * len(text) / 1_000_000
    pieces = [node.get_content() for node in nodes]
    assert "".join(pieces) == text
    assert not [piece for piece in pieces if len(re.findall(r"^\s*(?:```|~~~)", piece, re.MULTILINE)) % 2]
    sizes = [count_tokens(piece) for piece in pieces]
    assert max(sizes) <= 1024
    assert sum(sizes) / len(sizes) > 0.6 * 1024
