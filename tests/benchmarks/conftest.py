"""What the benchmarks change of their process is undone after each test."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _logging_goes_on() -> Iterator[None]:
    """Benchmarks silence warnings in the log, which tests of other parts look for afterwards."""
    yield
    logging.disable(logging.NOTSET)
