"""The prompt for a reply from timelines (Theanine section 2.3, Phase III; Figure 24)."""

from __future__ import annotations

from typing import Final

from ..drafts.language import language_told
from ..llm.flow import Prompt
from ..llm.prompt_texts import PromptTexts
from ..llm.quoting import quoted

_TEXTS: Final = PromptTexts(__package__, "response_prompt.txt")


def response_prompt(dialogue: str, timelines: str, *, speaker: str = "the assistant") -> Prompt:
    """Ask for the next reply of a conversation, with the timelines that belong to it.

    Args:
        dialogue: the conversation so far, with speakers; its last line is what is replied to.
        timelines: the refined timelines, such as ``recall(…, layers=["timelines"]).text``; empty where there are none.
        speaker: who replies.
    """
    language = language_told([dialogue])
    text = _TEXTS.part(
        "respond",
        speaker=quoted(speaker),
        guidance=_TEXTS.part("guidance"),
        timelines=quoted(timelines),
        dialogue=quoted(dialogue),
        language=f", in {language}" if language else "",
    )
    return _TEXTS.prompt(text, "respond")


def response_instructions(*, speaker: str = "the assistant") -> str:
    """Tell an agent to reply as `response_prompt` does, where a framework puts the timelines beside it.

    For the ``system_prompt`` of an agent or a chat engine.

    Args:
        speaker: who replies.
    """
    return _TEXTS.part("instructions", speaker=quoted(speaker), guidance=_TEXTS.part("guidance"))
