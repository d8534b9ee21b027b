"""The segmenter that learns the habits of each scope."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from ...conversation import Turn
from ...errors import InvalidInput, warn_degraded
from ...memory import Segment, boundaries_of, check_partition, segments_from
from ...protocols import Embedder
from ..evidence import load_prior
from ..partition import CUT_EVERY, Floats
from .gaps import PRIOR, SessionView, view_of
from .learning import COLD_THRESHOLD, Learned, chances_in, learn, learn_labelled, loaded, saved

_FORMAT: Final = 2
_LEAST: Final = 100  # turns that are learned from


class AdaptiveSegmenter:
    """Cuts where the people of a scope change the subject: learns from their unlabelled sessions, or from a few labels.

    With neither it already cuts by what the package knows of talk in general. Not thread-safe while it learns.

    A bank makes each scope a learner of its own (`for_scope`), lets it `learn` from the scope's sessions, and keeps
    its `state` with the scope. A gap is judged by the turns after it too, so that the end of an open session is cut
    again as turns come.

    Args:
        embedder: any embedder; without one it reads words alone.
        seed: how labelled sessions are dealt to folds.
    """

    cut_every: ClassVar[int] = CUT_EVERY

    def __init__(self, embedder: Embedder | None = None, *, seed: int = 0) -> None:
        self.embedder = embedder
        self.learned: Learned | None = None
        self._seed = seed

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        """Ranges that cover ``turns``; none where there are none."""
        return self.segment_all([turns])[0]

    def segment_all(self, sessions: Sequence[Sequence[Turn]]) -> list[list[Segment]]:
        """The segments of each session. All are embedded together, which is quicker than one after another."""
        threshold = self.learned.threshold if self.learned else COLD_THRESHOLD
        chances = map(self._chances, self._views([turns for turns in sessions if len(turns) > 1]))
        return [
            segments_from(np.flatnonzero(next(chances) > threshold) if len(turns) > 1 else [], len(turns))
            for turns in sessions
        ]

    def chances(self, turns: Sequence[Turn]) -> Floats:
        """The chance of a boundary in each gap, shape ``(len(turns) - 1,)``."""
        return self._chances(self._views([turns])[0]) if len(turns) > 1 else np.zeros(0)

    def _chances(self, view: SessionView) -> Floats:
        return chances_in(view, load_prior(PRIOR), self.learned)

    def for_scope(self, state: str | None = None) -> AdaptiveSegmenter:
        """A learner of its own for one scope, with this one's embedder and options.

        Args:
            state: the scope's `state`. Without it, the scope begins with what this one learned, or with the prior that
                ships. What this one was taught by labels goes before what a scope learned without.

        Raises:
            InvalidInput: for a state that is no JSON object.

        Warns:
            DegradedWarning: if the state was made with another embedder or by another version; the scope begins anew.
        """
        made = AdaptiveSegmenter(self.embedder, seed=self._seed)
        made.learned = self.learned
        kept = {} if state is None else _parsed(state)
        if not kept or (self._is_labelled and not (kept.get("learned") or {}).get("labelled")):
            return made
        given = f"embedder {kept.get('embedder')!r} in format {kept.get('format')!r}"
        ours = f"embedder {self._embedder_name!r} in format {_FORMAT}"
        if given != ours:
            cause = f"the state of {given} does not fit {ours}: the segmenter begins anew"
            warn_degraded(cause)
            return made
        made.learned = None if kept["learned"] is None else loaded(kept["learned"])
        return made

    def state(self) -> str:
        """What was learned, as a JSON string for `for_scope`: weights only, no word of the scope, about 10 kB."""
        learned = None if self.learned is None else saved(self.learned)
        return json.dumps({"format": _FORMAT, "embedder": self._embedder_name, "learned": learned})

    def learn(self, sessions: Sequence[Sequence[Turn]]) -> bool:
        """Learn anew from unlabelled sessions of the scope, and from these alone; only weights are kept of them.

        Args:
            sessions: the scope's, oldest first; those with less than two turns are passed over.

        Returns:
            Whether anything was learned: not from less than 100 turns, and not where labels were fitted.
        """
        used = [turns for turns in sessions if len(turns) > 1]
        if sum(map(len, used)) < _LEAST or self._is_labelled:
            return False
        self._take(learn(self._views(used), load_prior(PRIOR)))
        return True

    def fit(self, labelled: Sequence[tuple[Sequence[Turn], Sequence[Segment]]]) -> None:
        """Learn from sessions whose segments people have marked; some 20 to 100 are enough.

        What `learn` learned before is made use of. Fitting again starts from the labels given now alone.

        Args:
            labelled: sessions with their segments, which cover them.

        Raises:
            InvalidInput: where there is no session of two turns or more, or segments do not cover their session.
        """
        for turns, segments in labelled:
            check_partition(segments, len(turns))
        pairs = [(turns, boundaries_of(segments)[:-1]) for turns, segments in labelled if len(turns) > 1]
        if not pairs:
            raise InvalidInput("fit needs at least one labelled session of two turns or more, got none")
        before = None if self._is_labelled else self.learned
        truth = np.concatenate([marks for _, marks in pairs]).astype(np.float64)
        views = self._views([turns for turns, _ in pairs])
        self._take(learn_labelled(views, truth, load_prior(PRIOR), before, self._seed))

    def _take(self, learned: Learned) -> None:
        # Rounded as it is saved, so that it cuts the same before and after a restart.
        self.learned = loaded(saved(learned))

    @property
    def _is_labelled(self) -> bool:
        return self.learned is not None and self.learned.labelled

    @property
    def _embedder_name(self) -> str | None:
        return None if self.embedder is None else self.embedder.name

    def _views(self, sessions: Sequence[Sequence[Turn]]) -> list[SessionView]:
        if self.embedder is None or not sessions:
            return [view_of(turns, None) for turns in sessions]
        texts = list(dict.fromkeys(turn.content for turns in sessions for turn in turns))
        vectors = dict(zip(texts, np.asarray(self.embedder.embed(texts), dtype=np.float32), strict=True))
        return [view_of(turns, np.stack([vectors[turn.content] for turn in turns])) for turns in sessions]


def _parsed(state: str) -> Mapping[str, Any]:
    try:
        kept = json.loads(state)
    except ValueError:
        kept = None
    if not isinstance(kept, dict):
        raise InvalidInput(f"a segmenter's state is a JSON object, got {state[:100]!r}")
    return kept
