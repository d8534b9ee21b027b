"""What the vector of a text is kept under."""

from __future__ import annotations

import hashlib


def digest(text: str) -> str:
    """A name for the text that does not tell its words."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
