"""The reply to what somebody just said, from what was recalled and the conversation at hand (RMM, appendix D.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..flow import Prompt
from .citing import CITE_INSTRUCTION
from .quoting import quoted

__all__ = ["reply_prompt"]

_TASK: Final = (
    "You take part in a conversation. What was said in it so far stands between <conversation> and </conversation>; "
    "reply to what stands after it, in the same language, and write nothing but the reply."
)


def reply_prompt(said: str, conversation: Sequence[str], recalled: str, *, instructions: str = "") -> Prompt:
    """Ask for a reply that cites.

    Args:
        said: what was just said.
        conversation: the lines of the session so far, with speakers.
        recalled: the block of `secom_core.context.render`; empty where nothing was found.
        instructions: who replies, and how.
    """
    so_far = "\n".join(map(quoted, conversation))
    parts = [recalled.strip(), f"<conversation>\n{so_far}\n</conversation>" if so_far else "", said]
    system = "\n\n".join(part for part in (instructions, _TASK, CITE_INSTRUCTION if recalled else "") if part)
    return Prompt("\n\n".join(part for part in parts if part), system=system, purpose="reply")
