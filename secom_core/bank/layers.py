"""The layers of one bank: asked for by name, and brought up to the closed sessions of a scope."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..conversation import ITEMS, Scope
from ..derived.progress import begin_again, claim, guesses, pending
from ..derived.segments import memories_of
from ..errors import InvalidInput, warn_degraded
from ..layers import (
    ClosedSession,
    Layer,
    LayerContext,
    LayerFactory,
    Ranker,
    layer_names,
    names_taking_part,
    registered,
)
from ..llm.flow import Cost, Metered
from ..stores.rows import ScopeRow, SessionRow
from .portions import Portion
from .standing import Standing

_TRIES: Final = 3
"""How often a session that changes while it is taken in is begun again at once; later the next close does it."""
_SILENT: Final = 3
"""After how many sessions in a row of which the language model said nothing the others wait for the next occasion."""


class Layers(Mapping[str, Layer]):
    """The layers that a bank was opened with, in the order in which they take part in a recall.

    Args:
        factories: what makes them.
        context: what the bank lends them.

    Raises:
        InvalidInput: two have one name, or one is not registered.
    """

    def __init__(self, factories: Sequence[LayerFactory], context: LayerContext) -> None:
        self._layers: dict[str, Layer] = {}
        self._context = context
        for factory in factories:
            layer = factory(context)
            if type(layer) not in registered([getattr(layer, "name", "")]) or layer.name in self._layers:
                raise InvalidInput(
                    f"the layer {layer!r} is not registered, or is given twice; see secom_core.layers.register"
                )
            self._layers[layer.name] = layer

    def __getitem__(self, name: str) -> Layer:
        if name not in self._layers:
            known = sorted(layer_names())
            if name not in known:
                raise InvalidInput(f"no layer is called {name!r}; there are {', '.join(known)}")
            opened = ", ".join(self._layers) or "none"
            raise InvalidInput(
                f"this bank was opened without {name!r} (it has: {opened}); open it with {name}=True, or with "
                "layers=[…] for a layer of your own"
            )
        return self._layers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._layers)

    def __len__(self) -> int:
        return len(self._layers)

    def __contains__(self, name: object) -> bool:
        return name in self._layers

    @property
    def has_model(self) -> bool:
        """Whether a language model makes them."""
        return self._context.model is not None

    @property
    def cost(self) -> Cost:
        """The calls and estimated tokens of the bank's ``model`` so far."""
        model = self._context.model
        return model.cost if isinstance(model, Metered) else Cost()

    def check(self, names: Sequence[str]) -> list[Layer]:
        """The layers of these names that take part in a recall, in the bank's order.

        Raises:
            InvalidInput: the bank was opened without one, or one should take no part as it was opened.
        """
        known = names_taking_part()
        for name in (each for each in names if each not in known):
            if name in layer_names():
                raise InvalidInput(f"the layer {name!r} adds nothing to a recall that asks for it: leave it out")
            raise InvalidInput(f"no layer is called {name!r}; a recall may name {', '.join(sorted(known))}")
        wanted = [self[name] for name in names]
        for layer in wanted:
            layer.check_recall()
        return [layer for layer in self._layers.values() if layer in wanted]

    @property
    def ranker(self) -> Ranker | None:
        """That of the first layer that has one."""
        return next((layer.ranker for layer in self._layers.values() if layer.ranker is not None), None)

    # -- closed sessions ------------------------------------------------------------------------------------------

    def behind(self, scope: Scope, name: str) -> int:
        """How many ended sessions the layer has not yet processed, or will ask about again.

        Whether the bank was opened with it or not.
        """
        row = self._conversation(scope)
        return len(pending(self._context.store, row.id, name)) if row is not None else 0

    def catch_up(self, scope: Scope, portion: Portion) -> int:
        """Take in what is pending, a layer after the other; how many times a layer took a session in.

        Args:
            scope: whose sessions.
            portion: how many of them.

        Warns:
            DegradedWarning: a layer failed; the session is taken in at the next occasion.
        """
        row = self._conversation(scope)
        if row is None:
            return 0
        return sum(self._catch_up(layer, scope, row.id, portion) for layer in self._layers.values())

    def begin_again(self, scope: Scope, portion: Portion) -> int:
        """Make every layer again from the raw turns; how many times a layer took a session in."""
        row = self._conversation(scope)
        if row is None:
            return 0
        for layer in self._layers.values():
            if layer.takes_in_sessions:
                begin_again(self._context.store, row.id, layer.progress_names or (layer.name,))
                layer.begin_again(row.id)
        return self.catch_up(scope, portion)

    def _conversation(self, scope: Scope) -> ScopeRow | None:
        """The scope's row, where it holds a conversation."""
        return self._context.store.scope(scope) if scope[0] != ITEMS else None

    def _catch_up(self, layer: Layer, scope: Scope, scope_id: int, portion: Portion) -> int:
        times: Counter[int] = Counter()
        # Where the model gives no answer, what it was to be asked again waits.
        taken, begun, since, away, silent = 0, 0, time.monotonic(), self._is_paused, 0
        try:
            while new := self._pending(layer, scope_id, times):
                for number, row in enumerate(portion.bar(new, layer.name, unit="session")):
                    times[row.id] += 1
                    if silent == _SILENT:
                        self._tell_waiting(layer, new[number:])
                        return taken
                    if away and self._guesses(layer, row):
                        continue
                    if portion.is_over(begun, since):
                        portion.left[layer.name] = len(new) - number
                        return taken
                    calls, paused = self.cost.calls, self._is_paused
                    taken, begun = taken + self._take_in(layer, scope, row), begun + 1
                    guessed = self._guesses(layer, row) > 0
                    silent = (silent + (paused or self.cost.calls > calls)) if guessed else 0
                    away = away or guessed
                    # What is left of it now waits for the next occasion.
                    times[row.id] += bool(pending(self._context.store, scope_id, layer.name, session=row.id))
        except Exception as error:  # noqa: BLE001 - a layer may be anybody's, and what was said is stored
            warn_degraded(
                f"the layer {layer.name!r} failed; it is made when a session next ends, or by bank.derive: "
                f"{type(error).__name__}: {error}"
            )
        return taken

    @property
    def _is_paused(self) -> bool:
        model = self._context.model
        return isinstance(model, Metered) and model.is_paused

    def _tell_waiting(self, layer: Layer, sessions: Sequence[SessionRow]) -> None:
        """Warn of those that were not asked about; what was guessed of a session waits in any case."""
        if waiting := sum(not self._guesses(layer, row) for row in sessions):
            warn_degraded(
                f"the language model gave no answer about {_SILENT} sessions in a row; {waiting} more wait until a "
                f"session next ends, or for bank.derive, before the layer {layer.name!r} takes them in"
            )

    def _pending(self, layer: Layer, scope_id: int, times: Mapping[int, int]) -> list[SessionRow]:
        """The sessions that the layer is to take in, new ones first: they show whether the model is back.

        One that is made again may give back those that rested on it, even such as were taken in a moment ago.
        """
        if not layer.takes_in_sessions:
            return []
        rows = [row for row, _ in pending(self._context.store, scope_id, layer.name) if times[row.id] < 2]
        return sorted(rows, key=lambda row: self._guesses(layer, row) > 0)

    def _guesses(self, layer: Layer, session: SessionRow) -> int:
        return guesses(self._context.store, session.id, layer.name)

    def _take_in(self, layer: Layer, scope: Scope, session: SessionRow) -> bool:
        for _ in range(_TRIES):
            self._context.derivation.derive(session.id, scope)
            behind = pending(self._context.store, session.scope_id, layer.name, session=session.id)
            if not behind:
                return False
            closed = self._closed(scope, *behind[0], self._guesses(layer, session))
            if layer.make(closed) if closed.turns else self._passed_over(layer, closed):
                return True
        return False

    def _closed(self, scope: Scope, row: SessionRow, taken: int, guesses: int) -> ClosedSession:
        """The session without what was corrected or taken back in it by hand."""
        turns, derivation = tuple(self._context.store.turns(row)), self._context.derivation
        rows = derivation.rows(scope, row, turns)
        gone = Standing(self._context.store).of(row.scope_id, [turn.id for turn in turns])
        whole = ClosedSession(scope, row, turns, tuple(memories_of(row.name, rows, turns)), taken, guesses)
        if gone.keys().isdisjoint(turn.id for turn in turns):
            return whole
        doomed = {turn.index for turn in turns if turn.id in gone}
        left = tuple(turn for turn in turns if turn.index not in doomed)
        memories = memories_of(row.name, derivation.shrunk(rows, left, doomed, scope), left)
        return replace(whole, turns=left, memories=tuple(memories), since=whole.new_turns[0].index)

    def _passed_over(self, layer: Layer, session: ClosedSession) -> bool:
        """Note that the layer has nothing to make of the session; whether it stood."""
        with self._context.store.transaction(durable=False, scope=session.row.scope_id) as connection:
            names = layer.progress_names or (layer.name,)
            return all(claim(connection, session.row, name, session.taken) for name in names)

    # -- forgetting -----------------------------------------------------------------------------------------------

    def drop(self, scope: Scope) -> None:
        """Let every layer go of what it holds of the scope in memory."""
        for layer in self._layers.values():
            layer.drop(scope)
