"""What tells the files of one model from those of another, wherever they lie."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Final

_BLOCK: Final = 1 << 20


def fingerprint(files: Mapping[str, Path], sample: int = sys.maxsize) -> str:
    """A digest of files by their names, sizes and bytes.

    Args:
        files: where each file lies, by the name that it has in its model; their order counts.
        sample: how many bytes at the end of each file are read, so that no gigabytes need be.
    """
    digest = blake2b(digest_size=8)
    for name, path in files.items():
        size = path.stat().st_size
        digest.update(f"{name}\0{size}\0".encode())
        with path.open("rb") as file:
            file.seek(max(0, size - sample))
            for block in iter(partial(file.read, _BLOCK), b""):
                digest.update(block)
    return digest.hexdigest()
