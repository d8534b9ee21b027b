"""Remember a conversation of nine months through LangChain and through LlamaIndex, then ask what it said.

It needs no API key and no network. With the extra ``static``, it also searches by meaning, with a table of word vectors
and no neural network; without this extra, by words alone. Run it from a clone::

    python examples/quickstart.py
"""

from __future__ import annotations

import json
import sys
import textwrap
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from llama_index.core.llms import ChatMessage

import langchain_secom
import llamaindex_secom
from llamaindex_secom.convert import turn_ids_of
from secom_core import MemoryBank
from secom_core.errors import MissingExtra
from secom_core.memory import segments_of
from secom_core.models import StaticEmbedder
from secom_core.pictures import segmentation_strip
from secom_core.text.terms import count_tokens

DATA = Path(__file__).parent / "data"
BUDGET = 800  # tokens; the whole conversation has about eight times as many
BUDGETS = (400, 800, 1200, 1600)
SHOWN = 4  # questions shown with their memories; the others are counted
WIDTH = 96

Row = Mapping[str, Any]


def main() -> None:
    began = time.perf_counter()
    sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show Chinese shows question marks
    rows = read_rows("mara")
    heading("A conversation")
    describe(rows)
    embedder = static_embedder()
    with TemporaryDirectory() as folder, MemoryBank.open(Path(folder) / "memory.db", embedder=embedder) as bank:
        heading("Remembered, in one file")
        for remember in (through_langchain, through_llamaindex):
            remember(bank, rows)
        size = Path(str(bank.storage.path)).stat().st_size / 1024
        print(f"{'on disk':<11} memory.db, {size:,.0f} KiB; two scopes, kept apart")
        heading("Cut into segments: a column is an exchange; above its true topic, below the letter of its segment")
        show_segments(bank, rows)
        heading(f"Questions, with {BUDGET} tokens for the memories ('>' marks the turns that hold the answer)")
        ask(bank, rows, read_questions("mara"))
        heading("For how many questions the budget holds the whole answer")
        compare(bank, embedder, read_questions("mara"))
        heading("What reaches the prompt: SecomMemory.load_memory_variables")
        show_prompt(bank, "Where and when is my sister's wedding?")
        heading("另一段对话：中文 (the same in Chinese)")
        chinese(bank)
    print(f"\nDone in {time.perf_counter() - began:.1f} s, without a key or a network.")
    next_steps()


def static_embedder() -> StaticEmbedder | None:
    try:
        return StaticEmbedder()
    except MissingExtra as error:
        print(f"Searching by words alone, because {error}")
        return None


# -- the data ---------------------------------------------------------------------------------------------------------


def read_rows(name: str) -> list[Row]:
    """One message a row: session, id, at, role, content, and what it is about as we wrote it."""
    with (DATA / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_questions(name: str) -> list[Row]:
    return json.loads((DATA / "questions.json").read_text(encoding="utf-8"))[name]


def sessions_of(rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    return [(name, list(group)) for name, group in groupby(rows, key=lambda row: row["session"])]


def describe(rows: Sequence[Row]) -> None:
    turns = sum(row["role"] == "user" for row in rows)
    tokens = sum(count_tokens(row["content"]) for row in rows)
    print(f"Mara and an assistant: {len(sessions_of(rows))} sessions, {turns} exchanges, about {tokens:,} tokens,")
    print(f"{day(rows[0]['at'])} to {day(rows[-1]['at'])}. Her plans change on the way: the trip moves, the worktop")
    print("changes twice, so does the dog's food. Asked later, the memory must bring back what holds now.")


# -- remember ---------------------------------------------------------------------------------------------------------

LANGCHAIN = ("quickstart", "langchain", "mara")
LLAMAINDEX = ("quickstart", "llamaindex", "mara")


def through_langchain(bank: MemoryBank, rows: Sequence[Row]) -> None:
    """Each exchange as a chain saves it."""
    began = time.perf_counter()
    for name, group in sessions_of(rows):
        memory = langchain_secom.SecomMemory(bank=bank, scope=LANGCHAIN, session=name)
        for said, answered in zip(group[::2], group[1::2], strict=True):
            user = HumanMessage(said["content"], id=said["id"], additional_kwargs={"timestamp": said["at"]})
            reply = AIMessage(answered["content"], id=answered["id"], additional_kwargs={"timestamp": answered["at"]})
            memory.save_context({"input": user}, {"output": reply})
        bank.close_session(LANGCHAIN, name)
    report("LangChain", "SecomMemory.save_context", bank, LANGCHAIN, began)


def through_llamaindex(bank: MemoryBank, rows: Sequence[Row]) -> None:
    """The same as a chat engine puts it."""
    began = time.perf_counter()
    for name, group in sessions_of(rows):
        memory = llamaindex_secom.SecomMemory(bank=bank, scope=LLAMAINDEX, session=name)
        for pair in zip(group[::2], group[1::2], strict=True):
            memory.put_messages([as_chat(row) for row in pair])
        bank.close_session(LLAMAINDEX, name)
    report("LlamaIndex", "SecomMemory.put_messages", bank, LLAMAINDEX, began)


def as_chat(row: Row) -> ChatMessage:
    extra = {"id": row["id"], "timestamp": row["at"]}
    return ChatMessage(role=row["role"], content=row["content"], additional_kwargs=extra)


def report(framework: str, call: str, bank: MemoryBank, scope: tuple[str, ...], began: float) -> None:
    seconds, held = time.perf_counter() - began, bank.stats(scope)
    print(f"{framework:<11} {call:<26} {held.turns} turns -> {held.memories} memories, {seconds:.1f} s")


# -- look and ask -----------------------------------------------------------------------------------------------------


def show_segments(bank: MemoryBank, rows: Sequence[Row]) -> None:
    strips = []
    for name, group in sessions_of(rows):
        topics = [row["topic"] for row in group if row["role"] == "user"]
        strips.append(
            segmentation_strip(bank.turns(LANGCHAIN, name), segments_of(bank.memories(LANGCHAIN, name)), width=WIDTH)
        )
        print(f"{name}  {day(group[0]['at'])}  {written(topics)}\n{'':16}{strips[-1].splitlines()[0]}")
    print(f"\nThe first session in detail:\n{strips[0]}")


def written(topics: Sequence[str]) -> str:
    """``job··|wedd·|``: each topic's name over its columns."""
    runs = [(topic, len(list(run)) - 1) for topic, run in groupby(topics)]
    return "".join(f"{topic[:room]:·<{room}}|" for topic, room in runs)


def ask(bank: MemoryBank, rows: Sequence[Row], questions: Sequence[Row]) -> None:
    chain = langchain_secom.SecomRetriever(bank=bank, scope=LANGCHAIN, token_budget=BUDGET, order="time")
    index = llamaindex_secom.SecomRetriever(bank, LLAMAINDEX, token_budget=BUDGET, order="time")
    words = {row["id"]: row["content"] for row in rows}
    alike, missed = 0, []
    for place, row in enumerate(questions):
        memories = [document.metadata for document in chain.invoke(row["question"])]
        shown = [id_ for about in memories for id_ in about["turn_ids"]]
        alike += shown == [id_ for node in index.retrieve(row["question"]) for id_ in turn_ids_of(node)]
        if not set(row["evidence"]) <= set(shown):
            missed.append(row["question"])
        if place < SHOWN:
            print(f"{row['question']}\n  {row['answer']}")
            show_memories(memories, words, set(row["evidence"]))
    found = len(questions) - len(missed)
    print(f"Of all {len(questions)} questions, the budget holds the whole answer for {found}.", end=" ")
    print(f"LangChain and LlamaIndex return the same turns for {alike}.")
    print(textwrap.fill(f"Found in part or not at all: {' '.join(missed)}", WIDTH))


def compare(bank: MemoryBank, embedder: StaticEmbedder | None, questions: Sequence[Row]) -> None:
    print(f"{'tokens for the memories':<26}" + "".join(f"{budget:>8,}" for budget in BUDGETS))
    with MemoryBank.open() as words:
        words.storage.import_(bank.storage.export(LANGCHAIN))
        banks = {"words alone": words, "with StaticEmbedder": bank if embedder is not None else None}
        for name, each in banks.items():
            if each is not None:
                found = [sum(is_answered(each, row, budget) for row in questions) for budget in BUDGETS]
                print(f"{name:<26}" + "".join(f"{count:>8}" for count in found) + f"   of {len(questions)}")


def is_answered(bank: MemoryBank, row: Row, budget: int) -> bool:
    recall = bank.recall(LANGCHAIN, row["question"], token_budget=budget)
    return set(row["evidence"]) <= {id_ for hit in recall.hits for id_ in hit.turn_ids}


def show_memories(memories: Sequence[Mapping[str, Any]], words: Mapping[str, str], evidence: set[str]) -> None:
    for about in memories:
        ids = about["turn_ids"]
        told = next((id_ for id_ in ids if id_ in evidence), None)
        span = ids[0] if len(ids) == 1 else f"{ids[0]}..{ids[-1]}"
        number = f"[{about['number']}]"
        head = f"{'>' if told else ' ':>3} {number:>4} {day(about['begin'])}  {span:<13}  "
        print(head + clipped(words[told or ids[0]], WIDTH - len(head)))
    print()


def show_prompt(bank: MemoryBank, question: str) -> None:
    memory = langchain_secom.SecomMemory(bank=bank, scope=LANGCHAIN, session="today", token_budget=300)
    for line in memory.load_memory_variables({"input": question})["history"].splitlines():
        print(textwrap.fill(line, WIDTH, initial_indent="  | ", subsequent_indent="  |   "))


def chinese(bank: MemoryBank) -> None:
    scope = ("quickstart", "llamaindex", "lin")
    for name, group in sessions_of(read_rows("lin")):
        memory = llamaindex_secom.SecomMemory(bank=bank, scope=scope, session=name)
        memory.put_messages([as_chat(row) for row in group])
    retriever = llamaindex_secom.SecomRetriever(bank, scope, k=1)
    for row in read_questions("lin"):
        (best,) = retriever.retrieve(row["question"])
        mark = ">" if set(turn_ids_of(best)) & set(row["evidence"]) else " "
        print(f"{row['question']}\n{mark} {day(best.metadata['begin'])}  {clipped(best.text, WIDTH // 2)}")


# -- the terminal -----------------------------------------------------------------------------------------------------


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * WIDTH}")


def day(iso: str) -> str:
    return f"{datetime.fromisoformat(iso.replace('Z', '+00:00')):%Y-%m-%d}"


def clipped(text: str, width: int) -> str:
    line = " / ".join(text.splitlines())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def next_steps() -> None:
    print(
        """
Next
  your own     bank = MemoryBank.open("memory.db"); pass it to SecomMemory or SecomRetriever
  better       an embedder, a language model or LLMLingua-2: one argument each (docs/recipes.md)
  measured     python -m benchmarks.retrieval --help; python -m benchmarks.segmentation --help
  the data     examples/data/mara.jsonl, examples/data/questions.json"""
    )


if __name__ == "__main__":
    main()
