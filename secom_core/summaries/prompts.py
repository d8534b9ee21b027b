"""The memory of all sessions so far, brought up to date with one more; and the reply that rests on it.

RSum, sections 4.1 and 4.2: the tasks of Tables 1 and 2, the retrieved utterances of Table 14, the examples of Table 15.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..errors import InvalidInput
from ..llm.flow import Prompt
from ..llm.prompt_texts import PromptTexts
from ..llm.quoting import quoted

_TEXTS: Final = PromptTexts(__package__, "prompts.txt")
_NONE: Final = "none"


def summary_prompt(
    session: str,
    previous: str,
    *,
    limit: int = 20,
    part: tuple[int, int] | None = None,
    examples: Sequence[str] = (),
    max_tokens: int | None = None,
    complaint: str | None = None,
) -> Prompt:
    """Ask for the memory after a session (RSum equation 2, Table 1).

    Args:
        session: what was said.
        previous: the memory before it; empty where there is none.
        limit: the most sentences it may have.
        part: which part of how many ``session`` is, from 1, where it did not fit in one call.
        examples: memories brought up to date, as `summary_example` writes them.
        max_tokens: the longest reply that is of use.
        complaint: what was wrong with an earlier reply.
    """
    examples_text = "\n\n".join(examples)
    text = _TEXTS.part(
        "update",
        limit=limit,
        examples=_TEXTS.part("examples", examples=examples_text) if examples_text else "",
        previous=quoted(previous) or _NONE,
        part=' part="{} of {}"'.format(*part) if part else "",
        session=quoted(session),
    )
    return _TEXTS.prompt(text, "summary", complaint=complaint, max_tokens=max_tokens)


def summary_example(previous: str, session: str, updated: str) -> str:
    """A memory brought up to date, to learn from.

    Args:
        previous: the memory before the session; empty where there was none.
        session: what was said.
        updated: the memory after it.
    """
    return (
        f"<memory>\n{quoted(previous) or _NONE}\n</memory>\n<session>\n{quoted(session)}\n</session>\n"
        f"Reply:\n<memory>\n{quoted(updated)}\n</memory>"
    )


def continued_prompt(prompt: Prompt, written: Sequence[str]) -> Prompt:
    """Ask for the rest of a memory that was cut off at the model's limit.

    Args:
        prompt: what was asked, as `summary_prompt` gives it.
        written: the whole sentences that came.
    """
    return replace(prompt, text=prompt.text + _TEXTS.part("continued", written=quoted("\n".join(written))))


def retention_prompt(lost: Sequence[str], memory: str, session: str) -> Prompt:
    """Ask which statements of the old memory, that the new one seems to lack, no longer hold.

    Args:
        lost: the statements.
        memory: the new memory.
        session: what was said, which the new memory took in.
    """
    numbered = "\n".join(f"{number}. {quoted(each)}" for number, each in enumerate(lost, start=1))
    text = _TEXTS.part("retention", lost=numbered, memory=quoted(memory), session=quoted(session))
    return _TEXTS.prompt(text, "retention")


def response_prompt(
    current: str, memory: str, *, speaker: str = "the assistant", retrieved: str = "", examples: Sequence[str] = ()
) -> Prompt:
    """Ask for the reply that rests on the latest memory and the current session (RSum equation 3, Table 2).

    Args:
        current: the current session so far, with speakers; its last line is what is replied to.
        memory: the latest summary; empty where there is none.
        speaker: who replies.
        retrieved: what a search of earlier sessions brought back (Table 14).
        examples: replies that used a memory, as `response_example` writes them (Tables 7 and 15).
    """
    text = _TEXTS.part(
        "respond",
        speaker=quoted(speaker),
        guidance=_TEXTS.part("guidance"),
        retrieved_too=", and what was found in them" if retrieved else "",
        examples=_examples_of_replies(examples),
        memory=quoted(memory) or _NONE,
        retrieved=_TEXTS.part("retrieved", retrieved=quoted(retrieved)) if retrieved else "",
        current=quoted(current),
    )
    return _TEXTS.prompt(text, "respond")


def response_instructions(*, speaker: str = "the assistant", examples: Sequence[str] = ()) -> str:
    """Tell an agent to reply from its memory as `response_prompt` does, where a framework puts the memory beside it.

    For the ``system_prompt`` of an agent or a chat engine; the framework's memory brings the summary and the session.

    Args:
        speaker: who replies.
        examples: replies that used a memory, as `response_example` writes them (Tables 7 and 15).
    """
    return _TEXTS.part(
        "instructions",
        speaker=quoted(speaker),
        guidance=_TEXTS.part("guidance"),
        examples=_examples_of_replies(examples),
    ).strip()


def _examples_of_replies(examples: Sequence[str]) -> str:
    if isinstance(examples, str) or not all(isinstance(each, str) for each in examples):
        raise InvalidInput(f"examples is a list of texts, as response_example writes them, got {examples!r:.100}")
    return _TEXTS.part("replies", examples="\n\n".join(examples)) if examples else ""


def response_example(memory: str, current: str, reply: str) -> str:
    """A reply that used a memory, to learn from (RSum Table 15).

    Args:
        memory: the memory that it was given.
        current: the session up to there.
        reply: the reply.
    """
    return (
        f"<memory>\n{quoted(memory)}\n</memory>\n<current>\n{quoted(current)}\n</current>\n"
        f"Reply:\n<reply>\n{quoted(reply)}\n</reply>"
    )
