"""What is known before a scope has said anything: weights fitted on generated talk by ``benchmarks/train_prior.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

import numpy as np
import numpy.typing as npt

from ..cohesion import COHESION
from ..evidence import centred
from .gaps import CUES, SIMILARITIES, WORDING, SessionView

__all__ = ["UNREAD_AT", "WORDS_AT", "Moments", "Prior", "load_prior", "seen_of"]

Floats = npt.NDArray[np.float64]

WORDS_AT: Final = [place for place, name in enumerate(WORDING) if ":" in name]
UNREAD_AT: Final = [place for place in range(len(WORDING) + len(CUES)) if not 0 <= place < len(COHESION)]
"""What cannot be judged in a language that nothing was fitted on: all but how the words hang together."""
_NEXT_AT: Final = [place for place, name in enumerate(WORDING) if name.startswith("next:")]
# Below this share of gaps with a known small word, the session is not English and those columns say nothing.
_ENGLISH: Final = 0.5
_PSEUDO_GAPS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and spread of similarities, by column; other embedders and other people have others."""

    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, views: Sequence[SessionView], usual: Moments) -> Moments:
        """Those of ``views``, drawn to the ``usual`` ones where there are few gaps."""
        rows = np.vstack([view.alike for view in views]).astype(np.float64)
        if not rows.shape[1]:
            return usual
        total = len(rows) + _PSEUDO_GAPS
        mean = (rows.sum(axis=0) + _PSEUDO_GAPS * usual.mean) / total
        square = (((rows - mean) ** 2).sum(axis=0) + _PSEUDO_GAPS * usual.spread**2) / total
        return cls(mean, np.sqrt(square))


@dataclass(frozen=True, slots=True)
class Prior:
    """Weights over what is seen at a gap.

    Args:
        means: of the wording columns, over the talk that was fitted.
        scales: their spread.
        alike: the usual moments of similarities.
        models: weights and bias for ``words`` and ``vectors`` in English, and for both in any language.
    """

    means: Floats
    scales: Floats
    alike: Moments
    models: Mapping[str, tuple[Floats, float]]

    def evidence(self, seen: npt.NDArray[np.float32]) -> Floats:
        """The log likelihood ratio of a boundary in each gap of one session, for rows of `seen_of`."""
        sight = "words" if seen.shape[1] == len(WORDING) + len(CUES) else "vectors"
        weights, bias = self.models[sight if seen[:, WORDS_AT].any() else f"{sight}, any language"]
        return np.asarray(seen @ weights + bias, dtype=np.float64)


def seen_of(view: SessionView, prior: Prior, moments: Moments) -> npt.NDArray[np.float32]:
    """Features of each gap in comparable units, shape ``(gaps, k)``."""
    wording = centred(view.wording.astype(np.float64), prior.means, prior.scales)
    if view.wording[:, _NEXT_AT].any(axis=1).mean() < _ENGLISH:
        wording[:, WORDS_AT] = 0.0
    alike = (view.alike - moments.mean) / (moments.spread + 1e-6) if view.alike.shape[1] else view.alike
    return np.hstack([0.3 * wording, 0.5 * view.cues, 0.3 * alike]).astype(np.float32)


@lru_cache(maxsize=1)
def load_prior() -> Prior:
    """Read the prior that ships with the package.

    Raises:
        ValueError: if the file was made for other features.
    """
    kept = json.loads(files(__package__).joinpath("prior.json").read_text(encoding="utf-8"))
    if kept["features"] != [*WORDING, *CUES, *SIMILARITIES]:
        raise ValueError("prior.json was made for other features; run python -m benchmarks.train_prior")
    return Prior(
        np.array(kept["means"]),
        np.array(kept["scales"]),
        Moments(np.array(kept["alike_mean"]), np.array(kept["alike_spread"])),
        {name: (np.array(model["weights"]), float(model["bias"])) for name, model in kept["models"].items()},
    )
