"""Does a new turn go on with the topic, or open another? The incremental decision of SeCom section 2.2."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ..errors import BadReply
from ..flow import Prompt
from .quoting import without_thoughts
from .segmentation import SYSTEM

__all__ = ["joining_prompt", "read_joining"]

_TASK: Final = """\
The conversation below is about one topic so far. Does the new exchange go on with it, or does it turn to something \
else?
{rubric}
<conversation>
{exchanges}

[New exchange]: {new}
</conversation>

Reply with one word: yes, if the new exchange goes on with the topic, and no, if it opens another.\
"""

_RUBRIC: Final = """
Rules that were learned from people's own segmentations:
<rubric>
{guidance}
</rubric>
"""

_AGAIN: Final = "\n\nAn earlier answer could not be used: {complaint}. Reply with the single word yes or no."
_WORD: Final = re.compile(r"[^\W_]+")
_ANSWERS: Final = {"yes": True, "true": True, "no": False, "false": False}


def joining_prompt(
    texts: Sequence[str], new: str, *, guidance: str | None = None, complaint: str | None = None
) -> Prompt:
    """Ask whether an exchange continues a segment.

    Args:
        texts: the segment's exchanges, quoted, in order.
        new: the exchange that comes after them, quoted.
        guidance: a learned rubric.
        complaint: what was wrong with an earlier reply.
    """
    shown = "\n\n".join(f"[Exchange {number}]: {text or '(nothing)'}" for number, text in enumerate(texts))
    rubric = _RUBRIC.format(guidance=guidance) if guidance else ""
    text = _TASK.format(exchanges=shown, new=new or "(nothing)", rubric=rubric)
    return Prompt(text + _AGAIN.format(complaint=complaint) if complaint else text, system=SYSTEM, purpose="join")


def read_joining(reply: str) -> bool:
    """Whether the reply says yes, with its first word or its last.

    Raises:
        BadReply: where neither is yes or no, or they differ.
    """
    words = _WORD.findall(without_thoughts(reply).casefold())
    said = {_ANSWERS[word] for word in (*words[:1], *words[-1:]) if word in _ANSWERS}
    if len(said) != 1:
        raise BadReply("the reply is neither yes nor no", reply)
    return said.pop()
