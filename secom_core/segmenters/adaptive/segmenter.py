"""The segmenter that learns its scope."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...conversation import Turn
from ...errors import DegradedWarning, InvalidInput
from ...memory import Segment, boundaries_of, check_partition, segments_from
from ...protocols import Embedder
from .gaps import SessionView, view_of
from .learning import (
    COLD_SHARE,
    COLD_THRESHOLD,
    Learned,
    chances_of,
    cold_lengths,
    gaps_of,
    learn,
    learn_labelled,
    loaded,
    saved,
)
from .prior import Moments, load_prior, seen_of

__all__ = ["AdaptiveSegmenter"]

Floats = npt.NDArray[np.float64]

_FORMAT: Final = 2
_FIRST_TRAINING: Final = 100
_GROWTH: Final = 1.5


class AdaptiveSegmenter:
    """Cuts where the people of this scope change topics: learns from their unlabelled sessions, or from a few labels.

    With neither it already cuts by what the package knows of talk in general. Not thread-safe while it learns.

    One object can serve many scopes: `for_scope` makes each its own, `learn` teaches it, `state` is kept with the
    scope. There is no asking about one turn (``joins``): a gap is judged by the turns after it too, so that the
    unsettled end of a session is cut again when a turn comes.

    Args:
        embedder: any embedder; without one it reads words alone.
        seed: which sessions are kept when there are too many, and how labelled ones are dealt to folds.
        remembered: how many turns are kept to learn from, at most; a uniform sample of sessions beyond that.

    Raises:
        InvalidInput: for room for less than two turns.
    """

    def __init__(self, embedder: Embedder | None = None, *, seed: int = 0, remembered: int = 6000) -> None:
        if remembered < 2:
            raise InvalidInput(f"remembered is at least 2 turns, got {remembered}")
        self.embedder = embedder
        self.learned: Learned | None = None
        self._seed = seed
        self._remembered = remembered
        self._draws = random.Random(seed)
        self._views: dict[object, tuple[float, SessionView]] = {}
        self._observed = 0
        self._due = _FIRST_TRAINING

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        """Ranges that cover ``turns``; none where there are none."""
        return self.segment_all([turns])[0]

    def segment_all(self, sessions: Sequence[Sequence[Turn]]) -> list[list[Segment]]:
        """The segments of each session. All are embedded together, which is quicker than one after another."""
        views = iter(self._seen([turns for turns in sessions if len(turns) > 1]))
        return [segments_from(self._cuts(next(views)) if len(turns) > 1 else [], len(turns)) for turns in sessions]

    def _cuts(self, view: SessionView) -> list[int]:
        threshold = self.learned.threshold if self.learned else COLD_THRESHOLD
        return np.flatnonzero(self._chances(view) > threshold).tolist()  # type: ignore[no-any-return]

    def scores(self, turns: Sequence[Turn]) -> Floats:
        """The strength of a boundary in each gap, shape ``(len(turns) - 1,)``: log odds, above 0 where it is cut."""
        threshold = self.learned.threshold if self.learned else COLD_THRESHOLD
        chances = np.clip(self.chances(turns), 1e-9, 1 - 1e-9)
        return np.asarray(np.log(chances / (1 - chances)) - np.log(threshold / (1 - threshold)))

    def chances(self, turns: Sequence[Turn]) -> Floats:
        """The chance of a boundary in each gap, shape ``(len(turns) - 1,)``."""
        if len(turns) < 2:
            return np.zeros(0)
        return self._chances(self._seen([turns])[0])

    def _chances(self, view: SessionView) -> Floats:
        prior, learned = load_prior(), self.learned
        seen = seen_of(view, prior, learned.moments if learned else Moments.of([view], prior.alike))
        known = prior.evidence(seen)
        if learned is None:
            return chances_of([view], COLD_SHARE * known, cold_lengths([view]))
        scores = learned.head.scores(gaps_of([view], [seen], known))
        return chances_of([view], learned.evidence(scores, known), learned.lengths)

    def for_scope(self, state: str | None = None) -> AdaptiveSegmenter:
        """A learner of its own for one scope, with this one's embedder and options.

        Args:
            state: what `state` gave for the scope. Without it, the scope begins with what this one learned, or with
                the prior that ships. What this one was taught by labels goes before what a scope learned without.

        Raises:
            InvalidInput: for a state that is no JSON object.

        Warns:
            DegradedWarning: if the state was made with another embedder or by another version; the scope begins anew.
        """
        made = AdaptiveSegmenter(self.embedder, seed=self._seed, remembered=self._remembered)
        made._go_on_from(self.learned)
        kept = {} if state is None else _parsed(state)
        if not kept or (self.learned and self.learned.labelled and not _is_labelled(kept)):
            return made
        if (kept.get("format"), kept.get("embedder")) != (_FORMAT, self._embedder_name):
            warnings.warn(
                f"what embedder {kept.get('embedder')!r} taught in format {kept.get('format')!r} does not fit "
                f"embedder {self._embedder_name!r} in format {_FORMAT}: the segmenter begins anew",
                DegradedWarning,
                stacklevel=2,
            )
            return made
        made._go_on_from(None if kept["learned"] is None else loaded(kept["learned"]))
        return made

    def state(self) -> str:
        """What was learned, as a JSON string for `for_scope`; weights only, about 10 kB."""
        return json.dumps(self.to_dict())

    def learn(self, sessions: Sequence[Sequence[Turn]]) -> bool:
        """Learn anew from unlabelled sessions of the scope, and from these alone.

        Nothing is kept of them but weights. The cost is bounded: of all turns only the last ``remembered`` are used.

        Args:
            sessions: the scope's, oldest first; those with less than two turns are passed over.

        Returns:
            Whether anything was learned: not from less than 100 turns, and not where labels were fitted.
        """
        recent = self._recent(sessions)
        turns = sum(map(len, recent))
        if turns < _FIRST_TRAINING or (self.learned and self.learned.labelled):
            return False
        self._learned(learn(self._seen(recent), load_prior()))
        return True

    def observe(self, sessions: Sequence[Sequence[Turn]]) -> None:
        """Learn from unlabelled sessions of the scope.

        Training runs again each time half as many turns have come in as before, on a bounded sample: the cost of a
        turn does not grow with the history. What was fitted on labels stays. A named session that is seen again
        takes the place of its earlier state.

        Args:
            sessions: each with its turns in order; those with less than two are passed over.
        """
        for view in self._seen([session for session in sessions if len(session) > 1]):
            key = view.session[0].session or object()
            draw, earlier = self._views.get(key, (self._draws.random(), None))
            self._observed += len(view) - (len(earlier) if earlier else 0)
            self._views[key] = (draw, view)
        self._forget_most()
        if self._observed >= self._due:
            self.train()

    def train(self) -> None:
        """Learn now from what was observed, whether it is due or not; nothing happens where labels were fitted."""
        views = [view for _, view in self._views.values()]
        if views and not (self.learned and self.learned.labelled):
            self._learned(learn(views, load_prior()))
        self._due = max(_FIRST_TRAINING, int(self._observed * _GROWTH))

    def fit(self, labelled: Sequence[tuple[Sequence[Turn], Sequence[Segment]]]) -> None:
        """Learn from sessions whose segments people have marked; some 20 to 100 are enough.

        What was observed before is made use of. Fitting again starts from the labels given now alone.

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
        before = self.learned if self.learned and not self.learned.labelled else None
        truth = np.concatenate([marks for _, marks in pairs]).astype(np.float64)
        views = self._seen([turns for turns, _ in pairs])
        self._learned(learn_labelled(views, truth, load_prior(), before, self._seed))

    def to_dict(self) -> dict[str, Any]:
        """What was learned, as plain JSON. No text and no word of the scope is in it, only weights.

        The sample of sessions is not kept: after loading, `observe` them again to learn further.
        """
        learned = None if self.learned is None else saved(self.learned)
        return {"format": _FORMAT, "embedder": self._embedder_name, "learned": learned}

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any], embedder: Embedder | None = None, **options: int) -> AdaptiveSegmenter:
        """A segmenter that goes on from `to_dict`.

        Args:
            kept: what `to_dict` gave.
            embedder: the same as then.
            options: ``seed`` and ``remembered``.

        Raises:
            InvalidInput: for another format, or another embedder than then.
        """
        made = cls(embedder, **options)
        if kept.get("format") != _FORMAT:
            raise InvalidInput(f"what an adaptive segmenter learned has format {_FORMAT}, got {kept.get('format')!r}")
        if kept["embedder"] != made._embedder_name:
            raise InvalidInput(f"this was learned with embedder {kept['embedder']!r}, got {made._embedder_name!r}")
        made._go_on_from(None if kept["learned"] is None else loaded(kept["learned"]))
        return made

    def _learned(self, learned: Learned) -> None:
        """Take what was learned, rounded as it is kept, so that it cuts the same before and after a restart."""
        self.learned = loaded(saved(learned))

    def _go_on_from(self, learned: Learned | None) -> None:
        self.learned = learned
        self._due = max(_FIRST_TRAINING, int(learned.gaps * _GROWTH) if learned else 0)

    def _recent(self, sessions: Sequence[Sequence[Turn]]) -> list[Sequence[Turn]]:
        """The last sessions with ``remembered`` turns at most, the first of them cut short where need be."""
        kept: list[Sequence[Turn]] = []
        room = self._remembered
        for turns in reversed(sessions):
            if room < 2:
                break
            part = turns[-room:]
            room -= len(part)
            kept += [part] if len(part) > 1 else []
        return kept[::-1]

    @property
    def _embedder_name(self) -> str | None:
        return None if self.embedder is None else self.embedder.name

    def _seen(self, sessions: Sequence[Sequence[Turn]]) -> list[SessionView]:
        if self.embedder is None or not sessions:
            return [view_of(turns, None) for turns in sessions]
        texts = [turn.content for turns in sessions for turn in turns]
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        vectors = np.asarray(self.embedder.embed(list(places)), dtype=np.float32)
        ends = np.cumsum([len(turns) for turns in sessions])
        parts = np.split(vectors[[places[text] for text in texts]], ends[:-1])
        return [view_of(turns, part) for turns, part in zip(sessions, parts, strict=True)]

    def _forget_most(self) -> None:
        """Keep the sessions with the lowest draws, which is a uniform sample of all that were seen."""
        total = sum(len(view.session) for _, view in self._views.values())
        for key, (_, view) in sorted(self._views.items(), key=lambda item: -item[1][0]):
            if total <= self._remembered or len(self._views) == 1:
                return
            total -= len(view.session)
            del self._views[key]


def _parsed(state: str) -> dict[str, Any]:
    try:
        kept = json.loads(state)
    except ValueError as error:
        raise InvalidInput(f"a segmenter's state is a JSON object, got {state[:100]!r}") from error
    if not isinstance(kept, dict):
        raise InvalidInput(f"a segmenter's state is a JSON object, got {state[:100]!r}")
    return kept


def _is_labelled(kept: Mapping[str, Any]) -> bool:
    return bool(kept.get("learned") and kept["learned"].get("labelled"))
