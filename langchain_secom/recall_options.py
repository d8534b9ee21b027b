"""The options of a part's recalls, checked when the part is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from secom_core.bank import MemoryBank, check_bank
from secom_core.memory import RecallOptions, refuse_citing

from .identity import checked_also_keys


def recall_options(
    bank: MemoryBank,
    token_budget: int | None,
    k: int | None,
    layers: Sequence[str],
    only_relevant: bool,
    where: Mapping[str, Any] | None,
    also: Sequence[Sequence[str]],
    history: bool,
    *,
    also_keys: Sequence[Sequence[str]] = (),
    cite: bool = False,
) -> RecallOptions:
    """The options of `MemoryBank.recall`, of a bank that has the layers; other scopes may come by ``also_keys``.

    Raises:
        InvalidInput: an option is none, or the bank was opened without a layer, or so that it has no part in recalls;
            or answers are to ``cite`` several scopes.
    """
    options = RecallOptions(token_budget, k, layers, only_relevant, where, also, history)
    # What cannot go with other scopes cannot go with those that a run will name.
    refuse_citing(replace(options, also=(*options.also, *checked_also_keys(also_keys))), cite=cite)
    check_bank(bank, "a recall").layers.check(options.layers)
    return options
