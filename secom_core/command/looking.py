"""Recall: what answers a question."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any, Final

from ..context.lines import CLOSE, OPEN
from ..conversation import check_scope
from ..errors import shorten
from ..layers import registered
from ..memory import Hit, Recall, RecallOptions, Section
from ..text.patterns import regex
from .opening import opened, scope_of
from .terminal import Refused, note, show, styled

_DAY: Final = regex(r"\d{4}-\d\d-\d\d \w{3}")
_NUMBER: Final = regex(r"^\[\d+\]")


def recall_(args: Namespace) -> None:
    """Print what answers a question."""
    scope = scope_of(args)
    wanted = registered(args.layer or ())
    for layer in wanted:
        if layer.cost_without_model and not args.without_model and args.settings.model is None:
            raise Refused(
                f"without a language model, {layer.name} make a recall worse ({layer.cost_without_model}), and the "
                "command has no model; give --model, or add --without-model to use them all the same"
            )
    queries = _queries(args.query)
    with opened(args, layers=wanted) as there:
        there.row(scope)
        also = [check_scope(json.loads(each)) for each in args.also or ()]
        for unknown in there.unknown(also):
            note(f"--also: {unknown}")
        for layer in wanted:
            there.bank.layers[layer.name].recall_without_model = args.without_model
        names = [layer.name for layer in wanted]
        options = RecallOptions(args.token_budget, args.k, names, args.only_relevant, args.where, also, args.history)
        recalls = [there.bank.recall(scope, query, now=args.now, **options.arguments) for query in queries]
        missing = [layer.name for layer in wanted if there.behind(scope, layer)]
    rows = [_recall_json(recall) for recall in recalls] if args.json else []
    text = "\n\n".join(each.text for each in recalls if each.text)
    show(args, rows if args.query == "-" else next(iter(rows), None), text, _painted)
    # What is found may be longer than the block may be.
    fits = f" that fits into --token-budget {args.token_budget}" if args.token_budget is not None else ""
    for recall in recalls:
        if not (recall.text or args.json):
            note(f"nothing{fits} is found for {shorten(recall.query) if args.query == '-' else 'that'}")
    for name in missing:
        note(f"not every closed session is in the {name} yet; `secom inspect {name} --make` takes them in")


def _queries(given: str) -> list[str]:
    """The question, or for ``-`` those of standard input, one a line; empty lines are passed over."""
    if given != "-":
        return [given]
    from .files import read_text

    found = [line for each in read_text(given).split("\n") if (line := each.strip())]
    if not found:
        raise Refused("standard input holds no question; give one a line")
    return found


def _painted(text: str) -> str:
    """Blocks as a terminal shows them: their frames faint, dates and numbers set off from what was said."""
    return "\n".join(map(_painted_line, text.split("\n")))


def _painted_line(line: str) -> str:
    if line in (CLOSE, *OPEN.splitlines()):
        return styled(line, "faint")
    if _DAY.fullmatch(line):
        return styled(line, "strong")
    return _NUMBER.sub(lambda found: styled(found[0], "number"), line)


def _recall_json(recall: Recall) -> dict[str, Any]:
    return {
        "query": recall.query,
        "text": recall.text,
        "tokens": recall.tokens,
        "hits": [_hit_json(hit) for hit in recall.hits],
        "sections": [_section_json(section) for section in recall.sections],
    }


def _hit_json(hit: Hit) -> dict[str, Any]:
    from .inspecting import turn_json

    return {
        "number": hit.number,
        "scope": list(hit.scope),
        "score": hit.score,
        "memory": hit.memory.id,
        "topic": hit.memory.summary or None,
        "turns": [turn_json(turn) for turn in hit.turns],
    }


def _section_json(section: Section) -> dict[str, Any]:
    return {
        "layer": section.layer,
        "heading": section.heading,
        "entries": list(section.entries),
        "numbers": list(section.numbers),
        "turn_ids": [list(turn_ids) for turn_ids in section.turn_ids],
    }
