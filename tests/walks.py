"""Walks at random through what a user may do, as long as the environment says: ``WALKS=500 STEPS=80 pytest …``."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings


def walks(examples: int, steps: int) -> settings:
    """So many walks of so many steps, the same each time, unless ``WALKS`` and ``STEPS`` ask for others, drawn anew."""
    return settings(
        max_examples=int(os.environ.get("WALKS", examples)),
        stateful_step_count=int(os.environ.get("STEPS", steps)),
        derandomize="WALKS" not in os.environ,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],  # a shorter walk to what fails is looked for in minutes
        print_blob=True,
    )
