"""Models of the Hugging Face hub that are loaded from this machine where it has them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

T = TypeVar("T")

_ANSWERS_WITHIN: Final = 5.0  # seconds; it is asked twice


def local_first(load: Callable[..., T], source: str) -> T:
    """What is loaded from this machine, or else from the hub, if that answers.

    Args:
        load: loads from a source; with ``local_files_only=True`` it looks on this machine alone.
        source: a model's name on the hub, or the folder that holds it.

    Raises:
        OSError: the hub does not answer; else what ``load`` raises.
    """
    try:
        return load(source, local_files_only=True)
    except (OSError, ValueError, RuntimeError):
        if Path(source).exists() or Path(source).is_absolute():
            raise
    _check_answers(source)
    return load(source)


def _check_answers(source: str) -> None:
    """Raise where no hub can be reached: loading asks it for each of several files, six times with pauses."""
    from huggingface_hub import hf_hub_url
    from huggingface_hub.utils import http_backoff

    url = hf_hub_url(source, "config.json")
    try:
        http_backoff("HEAD", url, max_retries=1, retry_on_status_codes=(), timeout=_ANSWERS_WITHIN)
    except Exception as error:  # its releases raise the errors of different packages
        raise ConnectionError(f"no answer from {url}: {error}") from error
