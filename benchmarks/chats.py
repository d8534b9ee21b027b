"""How much of the evidence a block shows, on chats of a user with an assistant whose replies are long.

    python -m benchmarks.chats --data DIR [DIR …] --embedder none|static|minilm|PATH [--budgets 500 1000 2000 4000]
        [--weights FILE] [--peers] [--only NAME …] [--json OUT]

A chat is a file ``{"name", "sessions": [{"session", "date", "messages": [{"id", "role", "content"}]}], "questions":
[{"ability" or "kind", "question", "gold", "evidence": [message ids], "context": […]}]}``. Each goes into a `MemoryBank`
of its own; each question with evidence is asked under each budget, and the block that would reach the prompt is
measured as `benchmarks.evaluation.coverage` says. The budget is that of the whole block.

``--peers`` (extra ``peers``) measures others in the same run. Each ranks its units for the question alone; they are
shown best first, and one that does not fit is passed over, the kindest rule where units are long. Those that search by
vectors are measured where there is an embedder. BM25 of LangChain and of rank_bm25 split at white space, as their users
have it, which makes one word of a Chinese clause.

``--weights`` takes other weights than the ones that ship: a mapping, or one a chat, as `benchmarks.fit_weights` writes
them, so that no chat is measured with weights that it helped to fit.

``--only`` measures the systems whose name holds one of the texts. Times are medians, without embedding the question.

Nothing in the chat answers a question of the kind ``abstention``. Where a recall tells its confidence, how well that
tells these from the others is printed as the area under the ROC curve, at the largest budget.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks import peers
from benchmarks.evaluation.coverage import coverage
from benchmarks.retrieval import BUDGETS, embedder_named, token_counter, versions, weights_for
from secom_core.bank import MemoryBank
from secom_core.conversation import Message, Session, Turn, group_messages
from secom_core.memory import Recall
from secom_core.protocols import Embedder

SCOPE = ("benchmark", "chats")
OURS = "ours"
CHUNK = 1000  # characters of a chunk at most
CHUNK_TOKENS = 250  # the same as LlamaIndex counts

Show = Callable[["Question", int], str]  # the block for a question under a budget
Rank = Callable[[str], Sequence[str]]  # a peer's units for a query, best first
Peer = Callable[["Chat", Any], Rank]  # from a chat and an embedder
Told = tuple[bool, float]  # whether the chat answers a question, and how sure the recall was


@dataclass(frozen=True)
class Question:
    kind: str
    question: str
    gold: str
    evidence: tuple[str, ...]  # the texts of the messages that answer it
    context: tuple[Any, ...]
    at: datetime | None
    turns: tuple[str, ...] = ()  # the ids of the turns that these messages are of
    speaker: str = ""  # who replies, where what is asked for is a reply: the context is then the session so far
    known: str = ""  # what people wrote down about the speakers


@dataclass(frozen=True)
class Chat:
    name: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]

    @property
    def turns(self) -> list[Turn]:
        return [turn for session in self.sessions for turn in session.turns]

    @property
    def lines(self) -> list[str]:
        return [message.line for turn in self.turns for message in turn.messages if message.text.strip()]


@dataclass(frozen=True)
class Asked:
    """One question under one budget."""

    kind: str
    budget: int
    coverage: float
    whole: float
    tokens: int
    seconds: float


def chat_files(data: Sequence[Path]) -> list[Path]:
    """The chats of folders, and the files given."""
    found = [file for path in data for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    if not found:
        raise SystemExit(f"no chat (*.json) in {', '.join(map(str, data))}")
    return found


def read_chat(file: Path) -> Chat:
    read = json.loads(file.read_text(encoding="utf-8"))
    sessions = tuple(map(_session, read["sessions"]))
    said = {str(each.id): (turn.id, each.text) for one in sessions for turn in one.turns for each in turn.messages}
    return Chat(read["name"], sessions, tuple(_question(row, said) for row in read["questions"]))


def _session(row: Mapping[str, Any]) -> Session:
    at, name = _moment(row.get("date")), str(row["session"])
    messages = [Message(each["content"], each["role"], id=str(each["id"]), at=at) for each in row["messages"]]
    return Session(name, group_messages(messages, name))


def _question(row: Mapping[str, Any], said: Mapping[str, tuple[str, str]]) -> Question:
    kind, context = row.get("ability") or row["kind"], row.get("context") or ()
    found = [said[each] for each in dict.fromkeys(map(str, row["evidence"]))]
    turns, evidence = tuple(dict.fromkeys(turn for turn, _ in found)), tuple(text for _, text in found)
    return Question(kind, row["question"], row["gold"], evidence, tuple(context), _moment(row.get("at")), turns)


def _moment(date: str | None) -> datetime | None:
    read = datetime.fromisoformat(date) if date else None
    return read.replace(tzinfo=timezone.utc) if read is not None and read.tzinfo is None else read


def measure(chat: Chat, show: Show, budgets: Sequence[int]) -> list[Asked]:
    """Every question with evidence under every budget."""
    scored = [question for question in chat.questions if question.evidence]
    return [ask(question, show, budget) for question in scored for budget in budgets]


def ask(question: Question, show: Show, budget: int) -> Asked:
    begin = time.perf_counter()
    block = show(question, budget)
    seconds = time.perf_counter() - begin
    covered, whole = coverage(block, question.question, question.gold, question.evidence)
    return Asked(question.kind, budget, covered, whole, token_counter()[0](block), seconds)


def recall(bank: MemoryBank, question: Question, budget: int) -> Recall:
    follow_up: dict[str, Any] = {"context": list(question.context)} if question.context else {}
    return bank.recall(SCOPE, question.question, token_budget=budget, now=question.at, **follow_up)


def confidences(bank: MemoryBank, chat: Chat, budget: int) -> list[Told]:
    """Of each question that the chat is known to answer, or not to; where recalls tell it."""
    known = [question for question in chat.questions if question.evidence or question.kind == "abstention"]
    told = [(bool(each.evidence), getattr(recall(bank, each, budget), "confidence", None)) for each in known]
    return [(answered, float(value)) for answered, value in told if value is not None]


def area(told: Sequence[Told]) -> float | None:
    """In what share of their pairs an answerable question's confidence is above an unanswerable one's."""
    high, low = [value for answered, value in told if answered], [value for answered, value in told if not answered]
    pairs = [(one > other) + (one == other) / 2 for one in high for other in low]
    return round(fmean(pairs), 4) if pairs else None


def run_ours(
    chats: Sequence[Chat], open_bank: Callable[[Chat], MemoryBank], budgets: Sequence[int]
) -> tuple[list[Asked], list[Told]]:
    asked: list[Asked] = []
    told: list[Told] = []
    for chat in chats:
        with open_bank(chat) as bank:
            for session in chat.sessions:
                bank.remember(SCOPE, session, close=True)
            asked += measure(chat, lambda question, budget: recall(bank, question, budget).text, budgets)
            told += confidences(bank, chat, max(budgets))
    return asked, told


def run_peer(peer: Peer, chats: Sequence[Chat], embedder: Embedder | None, budgets: Sequence[int]) -> list[Asked]:
    return [row for chat in chats for row in measure(chat, shown(peer(chat, embedder)), budgets)]


def shown(rank: Rank) -> Show:
    """How a peer's units become a block: best first, and one that does not fit is passed over."""
    tokens = cache(token_counter()[0])

    def show(question: Question, budget: int) -> str:
        kept: list[str] = []
        for unit in dict.fromkeys(rank(question.question)):
            if tokens(unit) <= budget:
                kept.append(unit)
                budget -= tokens(unit)
        return "\n\n".join(kept)

    return show


def langchain_chunks(chat: Chat) -> list[str]:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(chunk_size=CHUNK, chunk_overlap=0)
    return [chunk for line in chat.lines for chunk in splitter.split_text(line)]


def llamaindex_chunks(chat: Chat) -> list[str]:
    from llama_index.core.node_parser import SentenceSplitter

    splitter = SentenceSplitter(chunk_size=CHUNK_TOKENS, chunk_overlap=0)
    return [chunk for line in chat.lines for chunk in splitter.split_text(line)]


def on_units(search_turns: Callable[[list[Turn], Any], peers.Search], cut: Callable[[Chat], list[str]]) -> Peer:
    """A peer of `benchmarks.peers`, which ranks turns, on what a chat is cut into."""

    def peer(chat: Chat, embedder: Any) -> Rank:
        units = {str(place): unit for place, unit in enumerate(cut(chat))}
        search = search_turns([Turn((Message(unit, ""),), id=place) for place, unit in units.items()], embedder)
        return lambda query: [units[place] for place in search(query)]

    return peer


def langchain_bm25(chat: Chat, _: Embedder | None) -> Rank:
    from langchain_community.retrievers import BM25Retriever

    words = BM25Retriever.from_texts(langchain_chunks(chat), k=peers.DEEP, preprocess_func=_words)
    return lambda query: [found.page_content for found in words.invoke(query)]


def _words(text: str) -> list[str]:
    return text.lower().split()


def langchain_memory(chat: Chat, embedder: Embedder) -> Rank:
    """Each exchange is saved as what the user said and what was answered."""
    from langchain_classic.memory import VectorStoreRetrieverMemory
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(peers.langchain_embeddings(embedder))
    retriever = store.as_retriever(search_kwargs={"k": peers.DEEP})
    memory: Any = VectorStoreRetrieverMemory(retriever=retriever, return_docs=True)
    for turn in chat.turns:
        memory.save_context({"input": _said(turn, "user")}, {"output": _said(turn, "assistant")})
    return lambda query: [found.page_content for found in memory.load_memory_variables({"prompt": query})["history"]]


def _said(turn: Turn, role: str) -> str:
    return "\n".join(message.text for message in turn.messages if message.role == role)


def llamaindex_bm25(chat: Chat, _: Embedder | None) -> Rank:
    from llama_index.core.schema import TextNode
    from llama_index.retrievers.bm25 import BM25Retriever

    nodes = [TextNode(text=chunk) for chunk in llamaindex_chunks(chat)]
    words = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=min(peers.DEEP, len(nodes)))
    return lambda query: [found.node.get_content() for found in words.retrieve(query)]


def llamaindex_memory(chat: Chat, embedder: Embedder) -> Rank:
    """Each exchange is put; the ranking is read where the block reads it, in its store."""
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import VectorMemoryBlock

    found: list[str] = []

    class Watched(peers.llamaindex_vectors()):  # type: ignore[misc]
        def query(self, query: Any, **arguments: Any) -> Any:
            result: Any = super().query(query, **arguments)
            found[:] = [node.text for node in result.nodes]
            return result

    vectors = peers.llamaindex_embedding(embedder)
    block = VectorMemoryBlock(vector_store=Watched(), embed_model=vectors, similarity_top_k=peers.DEEP)
    for turn in chat.turns:
        asyncio.run(block.aput([ChatMessage(each.text, role=each.role) for each in turn.messages]))

    def rank(query: str) -> list[str]:
        asyncio.run(block.aget([ChatMessage(query, role="user")]))
        return list(found)

    return rank


def plain_bm25(chat: Chat, _: Embedder | None) -> Rank:
    from rank_bm25 import BM25Okapi

    lines = chat.lines
    words = BM25Okapi(list(map(_words, lines)))
    return lambda query: words.get_top_n(_words(query), lines, n=peers.DEEP)


def plain_cosine(chat: Chat, embedder: Embedder) -> Rank:
    import numpy as np

    lines = chat.lines
    vectors = embedder.embed(lines)
    lengths = np.linalg.norm(vectors, axis=1) + 1e-12
    return lambda query: [lines[place] for place in np.argsort(-(vectors @ embedder.embed([query])[0]) / lengths)]


WORDS: dict[str, Peer] = {
    "LangChain BM25, chunks": langchain_bm25,
    "LlamaIndex BM25, chunks": llamaindex_bm25,
    "plain BM25, messages": plain_bm25,
}
VECTORS: dict[str, Peer] = {
    "LangChain Ensemble, chunks": on_units(peers.langchain_ensemble, langchain_chunks),
    "LlamaIndex QueryFusion, chunks": on_units(peers.llamaindex_fusion, llamaindex_chunks),
    "LangChain VectorStoreRetrieverMemory": langchain_memory,
    "LlamaIndex VectorMemoryBlock": llamaindex_memory,
    "plain cosine, messages": plain_cosine,
    "mem0, no LLM, Qdrant hybrid": on_units(peers.mem0_hybrid, lambda chat: chat.lines),
}


def summary(asked: Sequence[Asked], budgets: Sequence[int]) -> dict[str, Any]:
    of_kinds = {kind: [row for row in asked if row.kind == kind] for kind in sorted({row.kind for row in asked})}
    return {
        "coverage": _by_budget(asked, budgets, "coverage"),
        "whole": _by_budget(asked, budgets, "whole"),
        "empty": {str(budget): sum(row.budget == budget and not row.tokens for row in asked) for budget in budgets},
        "mean_tokens": _by_budget(asked, budgets, "tokens"),
        "by_ability": {kind: _by_budget(rows, budgets, "coverage") for kind, rows in of_kinds.items()},
        "questions": len(asked) // len(budgets),
        "milliseconds": round(median(row.seconds for row in asked) * 1000, 2),
    }


def _by_budget(asked: Sequence[Asked], budgets: Sequence[int], field: str) -> dict[str, float]:
    rows = {str(budget): [getattr(row, field) for row in asked if row.budget == budget] for budget in budgets}
    return {budget: round(fmean(values), 4) for budget, values in rows.items()}


def report(results: Mapping[str, Mapping[str, Any]], budgets: Sequence[int]) -> str:
    head = "".join(f"{budget:>7}" for budget in budgets)
    titles = " |".join(f"{title:>{len(head)}}" for title in ("coverage", "whole", "empty"))
    lines = [f"{'':<38}{titles} |", f"{'tokens':<38}{head} |{head} |{head} |     ms"]
    for name, result in results.items():
        cells = " |".join([_cells(result["coverage"]), _cells(result["whole"]), _cells(result["empty"], "7d")])
        lines.append(f"{name:<38}{cells} |{result['milliseconds']:>7.1f}")
    for kind, values in results.get(OURS, {}).get("by_ability", {}).items():
        lines.append(f"  {kind:<36}{_cells(values)}")
    return "\n".join(lines)


def _cells(values: Mapping[str, float], form: str = "7.3f") -> str:
    return "".join(f"{value:{form}}" for value in values.values())


def chosen(with_peers: bool, embedder: Embedder | None, only: Sequence[str]) -> list[str]:
    """The names of what is measured, ours first."""
    names = [OURS, *(WORDS if with_peers else ()), *(VECTORS if with_peers and embedder is not None else ())]
    found = [name for name in names if not only or any(part.lower() in name.lower() for part in only)]
    if not found:
        raise SystemExit(f"--only names none of: {'; '.join(names)}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", action="extend", required=True)
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--budgets", type=int, nargs="+", default=list(BUDGETS))
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    logging.disable(logging.WARNING if options.peers else logging.NOTSET)
    (counter, counter_name), embedder, budgets = token_counter(), embedder_named(options.embedder), options.budgets
    chats = [read_chat(file) for file in chat_files(options.data)]

    def open_bank(chat: Chat) -> MemoryBank:
        weights = weights_for(options.weights, chat.name)
        return MemoryBank.open(embedder=embedder, weights=weights, token_counter=counter)

    results: dict[str, Any] = {}
    told: list[Told] = []
    for name in chosen(options.peers, embedder, options.only):
        if name == OURS:
            asked, told = run_ours(chats, open_bank, budgets)
        else:
            asked = run_peer((WORDS | VECTORS)[name], chats, embedder, budgets)
        results[name] = summary(asked, budgets)
    settings = {
        "embedder": embedder.name if embedder else None,
        "token_counter": counter_name,
        "weights": options.weights.name if options.weights else "as shipped",
        "chats": [chat.name for chat in chats],
        "confidence_area": area(told),
        "seed": None,
        "versions": versions(*peers.PACKAGES),
    }
    print(f"tokens: {counter_name}; embedder: {settings['embedder']}; chats: {len(chats)}")
    print(report(results, budgets))
    if settings["confidence_area"] is not None:
        print(f"confidence tells answerable questions from others: area {settings['confidence_area']} of {len(told)}")
    if options.json:
        options.json.write_text(json.dumps({"results": results, **settings}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
