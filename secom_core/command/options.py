"""The command line of ``secom``. Its help stands in the folder ``help``; every example in there is run by the tests."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import Any, Final

from .. import __version__
from ..bank import parts as _parts  # noqa: F401 - announces the layers
from ..conversation import check_scope
from ..errors import InvalidInput, shorten
from ..filters import checked_filter
from ..layers import Layer, names_taking_part, registered
from .configured import settings_of
from .line import CommandLine, HelpText
from .times import moment, read_in_zone

SHELLS: Final = ("bash", "zsh", "fish")
"""The shells that complete the words of the command."""
INSPECTED: Final = {
    "overview": "how much there is of everything (what is shown unless you say)",
    "sessions": "each session: when, how many turns and segments",
    "segments": "each session as a strip, a letter a turn, with how every segment begins",
    "turns": "the words themselves, with the ids that `secom correct` and `secom forget --turn` take",
}
"""What `secom inspect` shows of every bank; layers have listings of their own."""


def parser(words: Sequence[str] | None = None) -> CommandLine:
    """The command line of ``secom``.

    Args:
        words: what follows ``secom``: only the command that they ask for gets its options. Every one does unless given.
    """
    asked = _COMMANDS if words is None else [word for word in words if not word.startswith("-")][:1]
    root = CommandLine(prog="secom", **_help("secom"))
    root.add_argument("--version", action="version", version=f"secom {__version__}")
    root.set_defaults(act=None)
    commands = root.add_subparsers(title="commands", metavar="COMMAND")
    for name, (module, options) in _COMMANDS.items():
        more = _help(name) if name in asked else {}
        says = _text(name).partition("\n")[0]
        command: CommandLine = commands.add_parser(name, help=says, **more)
        root.commands[name], command.says = command, says
        if name in asked:
            command.set_defaults(act=partial(_act, module, name), check=partial(_check, command), line=command)
            options(command)
    return root


def _act(module: str, name: str, args: Namespace) -> None:
    """What does the work is loaded when there is work to do: help should not wait for it."""
    args.check(args)
    getattr(importlib.import_module(f".{module}", __package__), f"{name}_")(args)


# -- help ------------------------------------------------------------------------------------------------------------


def _text(name: str) -> str:
    return (files(__package__) / "help" / f"{name}.txt").read_text(encoding="utf-8")


def _help(name: str) -> dict[str, Any]:
    description, head, examples = _text(name).partition("\n\n")[2].partition("Examples:")
    if "{listed}" in description:
        rows = (f"  {each:<10} {what}" for each, what in _listed().items())
        description = description.replace("{listed}", "\n".join(rows))
    return {
        "description": description,
        "epilog": head + examples,
        "formatter_class": HelpText,
        "allow_abbrev": False,
    }


def _listed() -> dict[str, str]:
    """What `secom inspect` can show, each with a line of help."""
    of_layers = {name: what for layer in registered() for name, what in _listings(layer).items()}
    return {**INSPECTED, **of_layers}


def listed_layer(what: str) -> type[Layer] | None:
    """The layer that `secom inspect` shows under this name; nothing where it is what every bank has."""
    return next((layer for layer in registered() if what in _listings(layer)), None)


def _listings(layer: type[Layer]) -> Mapping[str, str]:
    return layer.listings or {layer.name: f"what the layer {layer.name} holds"}


# -- the options of each command -------------------------------------------------------------------------------------


def _remember(command: ArgumentParser) -> None:
    from ..readers import FORMATS

    add = command.add_argument
    add("file", nargs="+", metavar="FILE", help="a file, a folder, a zip, or - for standard input")
    add("--session", metavar="NAME", help="the session's name, where the file does not say; the file's unless given")
    add("--at", type=moment, metavar="TIME", help="when it was said, where the file does not say; now unless given")
    add("--open", action="store_true", help="leave the sessions open: they will go on")
    what = command.add_argument_group("what the files are")
    names = ", ".join(each.name for each in FORMATS)
    what.add_argument("--format", metavar="NAME", help=f"the format, recognised unless given: {names}")
    what.add_argument("--me", metavar="NAME", help="your own name in a chat between people; of a mail, your address")
    _timezone(what, "the zone of times that carry none")
    dates = "which number of 03/05/2024 is the day; told from the whole file unless given"
    what.add_argument("--dates", choices=("day-first", "month-first"), help=dates)
    columns = "what a column of a table is, such as text=body speaker=who at=sent session=thread; guessed unless given"
    what.add_argument("--columns", nargs="+", type=_column, metavar="WHAT=COLUMN", help=columns)
    what.add_argument("--partial", action="store_true", help="of a damaged file, remember what can be read")
    _scope(command, json_too=True)
    _models(command)


def _recall(command: ArgumentParser) -> None:
    add = command.add_argument
    add("query", metavar="QUERY", help="a question, or what was just said; - reads a question a line")
    budget = "how many tokens the block may have; unless given 2000, or 4000 with -k"
    add("--token-budget", type=_number, metavar="N", help=budget)
    add("-k", type=_number, metavar="N", help="how many memories at most")
    add("--only-relevant", action="store_true", help="show only what answers, and leave the rest of the block empty")
    add("--no-history", dest="history", action="store_false", help="leave out what no longer holds")
    add("--now", type=moment, metavar="TIME", help='when the question is asked, for "last week"')
    _timezone(command, 'your time zone, for "yesterday"')
    add("--layer", action="append", choices=names_taking_part(), help="a layer that takes part; may be given again")
    without = "let it take part without a language model, although the recall then finds less"
    add("--without-model", action="store_true", help=without)
    add("--where", type=_json_filter, metavar="JSON", help='only what passes a filter, such as \'{"role": "user"}\'')
    more = 'another scope that is searched too, as JSON, such as \'["acme", "team"]\'; may be given again'
    add("--also", type=_json_scope, action="append", metavar="LIST", help=more)
    _scope(command, json_too=True)
    _models(command)


def _inspect(command: ArgumentParser) -> None:
    add = command.add_argument
    add("what", nargs="?", choices=_listed(), default="overview", metavar="WHAT", help="one of these")
    add("--session", metavar="NAME", help="only this session (segments, turns)")
    add("--last", type=_number, metavar="N", help="only the latest so many (of segments: sessions)")
    add("--make", action="store_true", help="make what is missing of closed sessions")
    _scope(command, json_too=True)
    _models(command)


def _report(command: ArgumentParser) -> None:
    add = command.add_argument
    add("-o", "--output", required=True, metavar="FILE", help="where it goes; - for standard output")
    turns = "how many turns are shown, the latest; 2000 unless given"
    add("--turns", type=_number, default=2000, metavar="N", help=turns)
    add("--title", metavar="TEXT", help="what stands above it; the scope unless given")
    add("--make", action="store_true", help="make what is missing of closed sessions, and keep it")
    _scope(command)
    _models(command)


def _forget(command: ArgumentParser) -> None:
    add = command.add_argument
    add("--session", metavar="NAME", help="turns of this session")
    add("--turn", action="append", metavar="ID", help="this turn; may be given again")
    add("--before", type=moment, metavar="TIME", help="turns that began earlier")
    add("--all", action="store_true", help="the whole scope")
    add("-y", "--yes", action="store_true", help="do not ask")
    _scope(command, json_too=True)


def _marked(command: ArgumentParser) -> None:
    command.add_argument("turn", metavar="ID", help="the turn, as `secom inspect turns` shows it")
    _marking(command)


def _correct(command: ArgumentParser) -> None:
    command.add_argument("turn", metavar="ID", help="the turn, as `secom inspect turns` shows it")
    command.add_argument("text", metavar="TEXT", help="what is so instead")
    _marking(command)


def _marking(command: ArgumentParser) -> None:
    command.add_argument("-y", "--yes", action="store_true", help="do not ask")
    _scope(command, json_too=True)


def _export(command: ArgumentParser) -> None:
    add = command.add_argument
    add("--damaged", action="store_true", help="read what turns are left in a file that SQLite cannot read any more")
    add("-o", "--output", default="-", metavar="FILE", help="where it goes; standard output unless given")
    _scope(command)


def _import(command: ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="an export, or - for standard input")
    _scope(command, json_too=True, required=False, unless="the scope that was exported")


def _move(command: ArgumentParser) -> None:
    command.add_argument("target", metavar="TO", help="a file, or postgresql://user@host/database")
    _new_key(command, "the key that TO has, or gets where there is none")
    command.add_argument("--plain", action="store_true", help="let TO be plain, where the store is encrypted")
    _store(command, json_too=True)


def _backup(command: ArgumentParser) -> None:
    command.add_argument("target", metavar="FILE", help="where the copy goes")
    _store(command)


def _serve(command: ArgumentParser) -> None:
    add = command.add_argument
    add("--mcp", action="store_true", help="serve one agent on standard input and output, and not over HTTP")
    add("--read-only", action="store_true", help="let callers only read; the tokens of the file keep their own rights")
    add("--host", metavar="ADDRESS", help="where to listen; 127.0.0.1 unless given")
    add("--port", metavar="N", help="the port; 8765 unless given, and 0 takes one that is free")
    _timezone(command, 'the time zone of the users, for "yesterday"')
    _tokens(command)
    _models(command)


def _token(command: ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", help="what the token is called, such as the machine that uses it")
    command.add_argument("--read-only", action="store_true", help="let it read, and not remember, correct or forget")
    also = "another scope that a recall with it may search too, as JSON; may be given again"
    command.add_argument("--also", type=_json_scope, action="append", metavar="LIST", help=also)
    _tokens(command)


def _tokens(command: ArgumentParser) -> None:
    command.add_argument("--tokens-file", metavar="FILE", help="the file with the tokens that `secom token` makes")
    _scope(command, required=False)


def _rekey(command: ArgumentParser) -> None:
    command.add_argument("store", metavar="FILE", help="the encrypted store")
    _new_key(command, "the new key")
    _key(command)


def _doctor(command: ArgumentParser) -> None:
    _store(command, json_too=True)
    _models(command)


def _completion(command: ArgumentParser) -> None:
    command.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"one of {', '.join(SHELLS)}")


def _prepare(command: ArgumentParser) -> None:
    _store(command, json_too=True)
    _models(command)


def _check_store(command: ArgumentParser) -> None:
    command.add_argument("--repair", action="store_true", help="repair the errors that can be repaired")
    _store(command, json_too=True)


_COMMANDS: Final[Mapping[str, tuple[str, Callable[[ArgumentParser], None]]]] = {
    "remember": ("changes", _remember),
    "recall": ("looking", _recall),
    "inspect": ("inspecting", _inspect),
    "report": ("reporting", _report),
    "correct": ("marking", _correct),
    "retract": ("marking", _marked),
    "undo": ("marking", _marked),
    "pin": ("marking", _marked),
    "unpin": ("marking", _marked),
    "forget": ("changes", _forget),
    "sweep": ("marking", lambda command: _store(command, json_too=True)),
    "compact": ("changes", lambda command: _store(command, json_too=True)),
    "export": ("changes", _export),
    "import": ("changes", _import),
    "check": ("checking", _check_store),
    "prepare": ("changes", _prepare),
    "move": ("changes", _move),
    "backup": ("changes", _backup),
    "rekey": ("changes", _rekey),
    "serve": ("serving", _serve),
    "token": ("serving", _token),
    "scopes": ("inspecting", lambda command: _store(command, json_too=True)),
    "doctor": ("doctor", _doctor),
    "completion": ("completion", _completion),
}
"""Each command with the module that does the work, and what adds its options."""


def _scope(
    command: ArgumentParser, *, json_too: bool = False, required: bool = True, unless: str = "the configured scope"
) -> None:
    command.set_defaults(needs_scope=required)
    group = command.add_argument_group("whose memory, and where")
    which = group.add_mutually_exclusive_group()
    part = (
        f"a part of the scope, from the outermost on, any text; give one --scope for each part; {unless} unless given"
    )
    which.add_argument("--scope", action="append", metavar="PART", help=part)
    as_json = 'the same as JSON, \'["acme", "alice"]\', for parts that no shell can hold'
    which.add_argument("--scope-json", type=_json_scope, metavar="LIST", help=as_json)
    _store(group, json_too=json_too)


def _store(command: Any, *, json_too: bool = False) -> None:
    command.add_argument("--store", metavar="FILE", help="the store; the configured one, else memory.db, unless given")
    command.add_argument("--config", metavar="FILE", help="the configuration; secom.toml here unless given")
    _key(command)
    if json_too:
        command.add_argument("--json", action="store_true", help="print JSON, exact in every character")


def _models(command: ArgumentParser) -> None:
    group = command.add_argument_group("models; the configured ones, else none, unless given")
    embedder = "none, static, minilm, a model's folder, sentence-transformers:NAME, fastembed:NAME, or openai:NAME"
    group.add_argument("--embedder", metavar="NAME", help=embedder)
    group.add_argument("--model", metavar="NAME", help="a chat model at an OpenAI-compatible endpoint")
    group.add_argument("--base-url", metavar="URL", help="the endpoint, such as http://localhost:11434/v1")


def _timezone(command: Any, what: str) -> None:
    help_ = f"{what}, such as Europe/Brussels; the configured one, else UTC, unless given"
    command.add_argument("--timezone", metavar="ZONE", help=help_)


def _key(command: Any) -> None:
    given = "a file that holds the key of an encrypted store, or - to be asked; SECOM_KEY unless given"
    command.add_argument("--key-file", metavar="FILE", help=given)


def _new_key(command: ArgumentParser, what: str) -> None:
    given = f"a file that holds {what}, or - to be asked; SECOM_NEW_KEY unless given"
    command.add_argument("--new-key-file", metavar="FILE", help=given)


# -- what the options say together -----------------------------------------------------------------------------------


def _check(command: ArgumentParser, args: Namespace) -> None:
    if not all(getattr(args, "scope", None) or ()):
        command.error("a part of a scope is not empty: --scope acme --scope alice")
    if hasattr(args, "before"):
        _check_conditions(command, args)
    args.settings = settings_of(args)
    read_in_zone(args, args.settings.timezone)
    if getattr(args, "needs_scope", False) and args.settings.scope is None:
        command.error(
            "whose memory? Give the scope, one --scope for each part, such as: --scope acme --scope alice, or "
            "SECOM_SCOPE=acme/alice (`secom scopes` lists those that there are)"
        )


def _check_conditions(command: ArgumentParser, args: Namespace) -> None:
    conditions = [name for name in ("session", "turn", "before") if getattr(args, name) is not None]
    if args.all and conditions:
        command.error(f"--all is the whole scope; leave it out, or --{conditions[0]}")
    if not (args.all or conditions):
        command.error("forget what? Give --session, --turn or --before, or --all for the whole scope")
    if args.all and not args.yes and not sys.stdin.isatty():
        command.error(
            "--all deletes the whole scope, and nobody can be asked without a terminal; add --yes if it is meant"
        )


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number from 1 on, not {text!r}")
    return int(text)


def _column(text: str) -> tuple[str, str]:
    what, mark, name = text.partition("=")
    if not (what and mark and name):
        raise argparse.ArgumentTypeError(f"a column is given as text=body, not {text!r}")
    return what, name


def _json_filter(text: str) -> dict[str, Any] | None:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        wanted = 'a filter is a JSON object, such as \'{"role": "user"}\''
        raise argparse.ArgumentTypeError(f"{wanted}, got {shorten(text)}: {error}") from error
    try:
        return checked_filter(read)
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _json_scope(text: str) -> str:
    try:
        read = json.loads(text)
        check_scope(read if isinstance(read, list) else text)
    except (ValueError, RecursionError) as error:
        wanted = 'a JSON list of strings, such as \'["acme", "alice"]\''
        raise argparse.ArgumentTypeError(f"{wanted}, got {shorten(text)}: {error}") from error
    return text
