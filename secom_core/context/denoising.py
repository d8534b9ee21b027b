"""Denoising of documents: of what was said in them, and not of the lines that say what holds no more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ..protocols import Denoiser

_MARK: Final = re.compile(r"\n?^(→ \(.*\))$\n?", re.MULTILINE)
"""A line of `replacing.text_with_marks`, with its breaks."""


def denoised(denoiser: Denoiser, texts: Sequence[str], are_marked: Sequence[bool]) -> list[str]:
    """Denoise texts, all together; a blank one stays as it is.

    Args:
        denoiser: what drops words.
        texts: the texts of documents.
        are_marked: of each, whether it has lines that say what holds no more. They stay as they are.
    """
    stretches = [_MARK.split(text) if marked else [text] for text, marked in zip(texts, are_marked, strict=True)]
    spoken = [each for parts in stretches for each in parts[::2] if each.strip()]
    keys = iter(denoiser.denoise(spoken) if spoken else ())
    return [_with_keys(parts, keys) for parts in stretches]


def _with_keys(parts: Sequence[str], keys: Iterator[str]) -> str:
    """A text whose parts are in turn what was said and a mark, with the keys in the place of what was said."""
    if len(parts) == 1:
        return next(keys) if parts[0].strip() else parts[0]
    shown = [part if place % 2 else next(keys) if part.strip() else "" for place, part in enumerate(parts)]
    return "\n".join(filter(None, shown))
