"""Every memory by its name, what it is, and what it cannot do without."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks import chats
from secom_core.errors import InvalidInput
from secom_core.llm.flow import ChatModel
from secom_core.testing import ScriptedModel

from . import bank, frameworks
from .comedy import Comedy
from .condition_mem import ConditionMem
from .histories import FullHistory, LastTurns, Nothing
from .ld_agent import LDAgent
from .memo_chat import MemoChat
from .memory import Memory, Tools
from .memory_bank import MemoryBankMemory
from .memory_update import MemoryUpdate
from .sum_mem import SumMem
from .timelines import Timelines


@dataclass(frozen=True)
class Means:
    """What there is to make a memory with.

    Args:
        tools: the counter and the embedder.
        model: the language model; none where there is none.
        weights: those of the bank as it comes, fitted without the conversation; the ones that ship unless given.
        path: where a bank lies.
    """

    tools: Tools = field(default_factory=Tools)
    model: ChatModel | None = None
    weights: Mapping[str, float] | None = None
    path: Path | str = ":memory:"

    @property
    def asked(self) -> ChatModel:
        """The model; one that knows no answer where there is none."""
        return self.model or ScriptedModel({})


@dataclass(frozen=True)
class Kind:
    """A memory that can be made.

    Args:
        make: makes an empty one.
        needs: "" or what it cannot do without: ``"model"`` or ``"embedder"``.
        unbounded: whether it shows as much as it likes, whatever the budget.
        ablation: whether it is another one without one of its parts, and only measured by name.
    """

    make: Callable[[Means], Memory]
    needs: str = ""
    unbounded: bool = False
    ablation: bool = False


def _tooled(made: Callable[..., Memory], needs: str = "", unbounded: bool = False, **options: bool) -> Kind:
    return Kind(lambda means: made(means.tools, **options), needs, unbounded)


def _units(granularity: bank.Granularity) -> Kind:
    return Kind(lambda means: bank.whole_units(granularity, means.tools, means.path))


def _preset(name: str, rate: float = 0.75, ablation: bool = False) -> Kind:
    return Kind(
        lambda means: bank.preset(name, means.asked, means.tools, means.path, rate=rate), "model", ablation=ablation
    )


def _timelines(linking: str = "relations", refined: bool = True, shuffled: bool = False, hits: int = 3) -> Kind:
    options = {"linking": linking, "refined": refined, "shuffled": shuffled, "hits": hits}
    return Kind(lambda means: Timelines(means.model, means.tools, means.path, **options), ablation=True)  # type: ignore[arg-type]


def _peer(name: str, needs: str = "embedder") -> Kind:
    return _tooled(partial(frameworks.Ranked, (chats.WORDS | chats.VECTORS)[name]), needs)


MEMORIES: dict[str, Kind] = {
    "ours": Kind(lambda means: bank.as_it_comes(means.tools, means.weights, means.path)),
    "turn": _units("turn"),
    "segment": _units("segment"),
    "session": _units("session"),
    **{name: _preset(name) for name in ("secom", "rsum", "theanine", "rmm")},
    "secom-raw-keys": _preset("secom", rate=1.0, ablation=True),
    "theanine-timelines": _timelines(),
    "theanine-without-relations": _timelines(linking="likeness"),
    "theanine-without-links": _timelines(linking="none"),
    "theanine-unrefined": _timelines(refined=False),
    "theanine-shuffled": _timelines(shuffled=True),
    "theanine-events": _timelines(linking="none", refined=False, hits=6),
    "summem": _tooled(SumMem, "model"),
    "conditionmem": _tooled(ConditionMem, "model"),
    "memochat": _tooled(MemoChat, "model"),
    "comedy": _tooled(Comedy, "model"),
    "memorybank": _tooled(MemoryBankMemory, "model", summarised=True),
    "memorybank-turns": _tooled(MemoryBankMemory, summarised=False),
    "memorybank-turns-kept": _tooled(MemoryBankMemory, summarised=False, forgetting=False),
    "ld-agent": _tooled(LDAgent, "model", events=True),
    "ld-agent-turns": _tooled(LDAgent, events=False),
    "memory-update": _tooled(MemoryUpdate, "model"),
    "memory-retrieval": _tooled(MemoryUpdate, "model", updating=False),
    "full": _tooled(FullHistory, unbounded=True),
    "last": _tooled(LastTurns),
    "none": Kind(lambda _: Nothing()),
    "langchain-buffer": Kind(lambda _: frameworks.langchain_buffer(), unbounded=True),
    "langchain-window": Kind(lambda _: frameworks.langchain_window(), unbounded=True),
    "langchain-summary": Kind(lambda means: frameworks.langchain_summary(means.asked), "model", True),
    "langchain-vectors": _peer("LangChain VectorStoreRetrieverMemory"),
    "langchain-ensemble": _peer("LangChain Ensemble, chunks"),
    "llamaindex-memory": _tooled(frameworks.LlamaIndexMemory, "embedder"),
    "llamaindex-vectors": _peer("LlamaIndex VectorMemoryBlock"),
    "llamaindex-fusion": _peer("LlamaIndex QueryFusion, chunks"),
    "langmem": _tooled(frameworks.LangMem, "embedder"),
    "mem0": _peer("mem0, no LLM, Qdrant hybrid"),
}

_MISSING = {
    "model": "the memory {name!r} asks a language model: give --model NAME and --base-url URL, or leave it out",
    "embedder": "the memory {name!r} searches by vectors: give --embedder static, minilm or a folder, or leave it out",
}


def make(name: str, means: Means) -> Memory:
    """An empty memory.

    Raises:
        InvalidInput: for a name that there is not, or one that needs what is not there.
        ImportError: if its package is not installed.
    """
    if name not in MEMORIES:
        raise InvalidInput(f"no memory is called {name!r}; there are {', '.join(MEMORIES)}")
    kind = MEMORIES[name]
    if kind.needs in lacking(means):
        raise InvalidInput(_MISSING[kind.needs].format(name=name))
    return kind.make(means)


def lacking(means: Means) -> list[str]:
    """What is not there: of a model and an embedder."""
    there = {"model": means.model, "embedder": means.tools.embedder}
    return [name for name, part in there.items() if part is None]


def possible(means: Means) -> list[str]:
    """The names of the memories that can be made with what is there, without the ablations."""
    return [name for name, kind in MEMORIES.items() if kind.needs not in lacking(means) and not kind.ablation]
