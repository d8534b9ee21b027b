"""What can be asked of ``secom``, and the help that says so. Every example in the help is run by the tests."""

from __future__ import annotations

import argparse
import importlib
import json
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from .. import __version__
from ..conversation import check_scope
from ..errors import InvalidInput
from ..readers.moments import read_moment

__all__ = ["INSPECTED", "parser"]

INSPECTED: Final = {
    "overview": "how much there is of everything (what is shown unless you say)",
    "sessions": "each session: when, how many turns and segments",
    "segments": "each session as a strip, a letter a turn, with how every segment begins",
    "turns": "the words themselves, with the ids that `secom forget --turn` takes",
    "topics": "topics: whose, what, and the sessions that they rest on",
    "timelines": "events, and which led to which",
    "summary": "the running summary",
    "weights": "what the scope has learned: the weight of every signal, now and at first",
    "log": "the answers that taught it: what was asked, how much was shown, what was cited",
}
_MADE: Final = ("summary", "timelines", "topics")

_FIRST: Final = """\
Long-term memory of conversations, kept in one file. Nothing leaves this machine.

Begin with these three:

  secom remember chat.txt --scope acme --scope alice
  secom recall "Which city did I move to?" --scope acme --scope alice
  secom inspect --scope acme --scope alice

A scope says whose memory it is, and is always given: one --scope for each of its parts. Nothing crosses from one scope
to another. The store is the file memory.db here, unless --store or SECOM_STORE names another one.
"""
_LAST: Final = """\
Each of these has its own help, with examples: secom recall --help.
It ends with 0; with 1 where what was asked for could not be done; with 2 where the command could not be understood.
"""


def parser() -> ArgumentParser:
    """The command line of ``secom``."""
    root = ArgumentParser(
        prog="secom", description=_FIRST, epilog=_LAST, formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False
    )
    root.add_argument("--version", action="version", version=f"secom {__version__}")
    root.set_defaults(act=None)
    commands = root.add_subparsers(title="commands", metavar="COMMAND")
    for add in (_remember, _recall, _inspect, _report, _forget, _export, _import, _move, _backup, _scopes):
        add(commands)
    return root


# -- the commands -----------------------------------------------------------------------------------------------------


def _remember(commands: Any) -> None:
    command = _command(
        commands,
        "remember",
        "take in conversations from files",
        """\
Take in conversations: transcripts ("Ann: Hello" on each line, with times and session headers where there are any),
role/content messages as JSON or JSON lines (with "session" where they are of several), and LoCoMo files. A file may be
remembered again when it has grown: what is known is passed over. Each session is closed at its end.""",
        """\
  secom remember chat.txt --scope acme --scope alice
  secom remember chat.jsonl --session 2024-05-07 --scope acme --scope alice
  secom remember chat.txt --at 2024-05-07 --store work.db --scope acme --scope alice""",
        "changes",
    )
    command.add_argument("file", nargs="+", metavar="FILE", help="a file, or - for standard input")
    command.add_argument(
        "--session",
        metavar="NAME",
        help="the session's name, where the file does not say one; the file's own name without its ending unless given",
    )
    command.add_argument(
        "--at", type=_moment, metavar="TIME", help="when it was said, where the file does not say; now unless given"
    )
    command.add_argument("--sample", metavar="ID", help="which conversation of a LoCoMo file that holds several")
    command.add_argument("--open", action="store_true", help="leave the sessions open: they will go on")
    _common(command, json_too=True)


def _recall(commands: Any) -> None:
    command = _command(
        commands,
        "recall",
        "bring back what answers a question",
        """\
Print what answers a question as the block that goes into a prompt: word for word, in time order, numbered, dated, and
quoted as data. What the scope has learned from citations counts. Without an embedder, words find words.""",
        """\
  secom recall "Which city did I move to?" --scope acme --scope alice
  secom recall "Which city did I move to?" --budget 300 --summary --scope acme --scope alice
  secom recall "Which city did I move to?" -k 3 --json --scope acme --scope alice""",
        "looking",
    )
    command.add_argument("query", metavar="QUERY", help="a question, or what was just said")
    command.add_argument(
        "--budget", type=_number, metavar="TOKENS", help="how long the block may be; 2000 unless this or -k is given"
    )
    command.add_argument("-k", type=_number, metavar="N", help="how many memories at most")
    command.add_argument("--now", type=_moment, metavar="TIME", help='when it is asked, for "last week"')
    command.add_argument("--summary", action="store_true", help="begin with the running summary")
    command.add_argument("--timelines", action="store_true", help="end with timelines of what is found")
    command.add_argument("--topics", action="store_true", help="search by topic, and show whole topics")
    _common(command, json_too=True)


def _inspect(commands: Any) -> None:
    listed = "\n".join(f"  {name:<10} {what}" for name, what in INSPECTED.items())
    command = _command(
        commands,
        "inspect",
        "look at what is kept",
        f"""\
Look at what is kept of a scope.

{listed}

Topics, timelines and the summary are there only where a bank keeps them. Looking never makes them; --make does, from
the closed sessions that are not in them yet, without a language model. Leave --make to your program where that has a
model: what is made without one stays.""",
        """\
  secom inspect --scope acme --scope alice
  secom inspect segments --session chat --scope acme --scope alice
  secom inspect timelines --make --scope acme --scope alice
  secom inspect summary --make --json --scope acme --scope alice""",
        "inspecting",
    )
    command.add_argument("what", nargs="?", choices=INSPECTED, default="overview", metavar="WHAT", help="one of these")
    command.add_argument("--session", metavar="NAME", help="only this session (segments, turns)")
    command.add_argument("--last", type=_number, metavar="N", help="only the latest so many (turns, log)")
    command.add_argument("--make", action="store_true", help="make what is missing (topics, timelines, summary)")
    _common(command, json_too=True)


def _report(commands: Any) -> None:
    command = _command(
        commands,
        "report",
        "write a page of all that a scope remembers",
        """\
Write one HTML page of all that a scope remembers: sessions and how they were cut, topics, timelines, the summary, and
what was learned. It runs no script and loads nothing; it holds people's words, so keep it as you keep the store.""",
        """\
  secom report -o report.html --scope acme --scope alice
  secom report -o report.html --make --turns 500 --scope acme --scope alice""",
        "reporting",
    )
    command.add_argument("-o", "--output", required=True, metavar="FILE", help="where it goes; - for standard output")
    command.add_argument(
        "--turns",
        type=_number,
        default=2000,
        metavar="N",
        help="how many turns are shown word for word, the latest; 2000 unless given",
    )
    command.add_argument("--title", metavar="TEXT", help="what stands above it; the scope unless given")
    command.add_argument(
        "--make",
        action="store_true",
        help="make the topics, timelines and summary that are missing, without a language model, and keep them",
    )
    _common(command)


def _forget(commands: Any) -> None:
    command = _command(
        commands,
        "forget",
        "delete turns and all that was made from them",
        """\
Delete turns and all that was made from them; say how many are gone. At a terminal you are asked first. Where several
conditions are given, only what meets all of them goes. `secom inspect turns` shows the ids.""",
        """\
  secom forget --session chat --scope acme --scope alice
  secom forget --before 2024-01-01 --session diary --scope acme --scope alice
  secom forget --all --yes --scope acme --scope alice""",
        "changes",
    )
    command.add_argument("--session", metavar="NAME", help="turns of this session")
    command.add_argument("--turn", action="append", metavar="ID", help="this turn; may be given again")
    command.add_argument("--before", type=_moment, metavar="TIME", help="turns that began earlier")
    command.add_argument("--all", action="store_true", help="the whole scope")
    command.add_argument("-y", "--yes", action="store_true", help="do not ask")
    _common(command, json_too=True, check=_check_forget)


def _export(commands: Any) -> None:
    command = _command(
        commands,
        "export",
        "write a scope as JSON lines",
        "Write a scope as JSON lines: every turn word for word, and the segments made from them.",
        """\
  secom export -o alice.jsonl --scope acme --scope alice
  secom export -o alice.jsonl --scope acme --scope alice --damaged""",
        "changes",
    )
    command.add_argument(
        "--damaged", action="store_true", help="read the turns that are left in a file that SQLite cannot read any more"
    )
    command.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="where it goes; standard output unless given"
    )
    _common(command)


def _import(commands: Any) -> None:
    command = _command(
        commands,
        "import",
        "take in what export wrote",
        "Take in what `secom export` wrote. Turns that are there already are passed over.",
        """\
  secom import alice.jsonl
  secom import alice.jsonl --store other.db --scope acme --scope bob""",
        "changes",
    )
    command.add_argument("file", metavar="FILE", help="an export, or - for standard input")
    _common(command, json_too=True, scope="the scope that was exported unless given")


def _move(commands: Any) -> None:
    command = _command(
        commands,
        "move",
        "copy every scope into another store",
        """\
Copy every scope with all that was made from it into another store: a file, or a PostgreSQL database. What arrives is
compared with what was sent. A move that was cut short is begun again: what is there already is passed over. The store
that it comes from stays as it is.""",
        """\
  secom move other.db
  secom move other.db --store memory.db""",
        "keeping",
    )
    command.add_argument("target", metavar="TO", help="a file, or postgresql://user@host/database")
    _store(command, json_too=True)


def _backup(commands: Any) -> None:
    command = _command(
        commands,
        "backup",
        "copy the store's file while it is in use",
        """\
Copy the store's file as it is at one moment, while others go on writing. A file of that name is replaced once the copy
is whole.""",
        """\
  secom backup copy.db
  secom backup copy.db --store memory.db""",
        "keeping",
    )
    command.add_argument("target", metavar="FILE", help="where the copy goes")
    _store(command, json_too=False)


def _scopes(commands: Any) -> None:
    command = _command(
        commands,
        "scopes",
        "list the scopes of a store",
        "List the scopes of a store, each with its turns and sessions, as they are given to the other commands.",
        """\
  secom scopes
  secom scopes --store memory.db --json""",
        "inspecting",
    )
    _store(command, json_too=True)


# -- what they share --------------------------------------------------------------------------------------------------


def _command(commands: Any, name: str, short: str, description: str, examples: str, module: str) -> ArgumentParser:
    command: ArgumentParser = commands.add_parser(
        name,
        help=short,
        description=description,
        epilog=f"Examples:\n\n{examples}\n",
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(act=_later(module, name))
    return command


def _later(module: str, name: str) -> Callable[[Namespace], int]:
    """What does the work, loaded when there is work to do: help should not wait for a database."""

    def act(asked: Namespace) -> int:
        asked.check(asked)
        done: int = getattr(importlib.import_module(f".{module}", __package__), f"{name}_")(asked)
        return done

    return act


def _common(
    command: ArgumentParser,
    *,
    json_too: bool = False,
    scope: str = "",
    check: Callable[[Namespace], None] = lambda asked: None,
) -> None:
    group = command.add_argument_group("whose memory, and where")
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--scope",
        action="append",
        metavar="PART",
        help=(
            f"a part of the scope, from the outermost on, any text; give one --scope for each part"
            f"{scope and '; '}{scope}"
        ),
    )
    which.add_argument(
        "--scope-json",
        type=_json_scope,
        metavar="LIST",
        help=('the same as JSON, \'["acme", "alice"]\', for parts that no shell can hold'),
    )
    _store(group, json_too=json_too)

    def checked(asked: Namespace) -> None:
        if not scope and asked.scope is None and asked.scope_json is None:
            command.error(
                "whose memory? Give the scope, one --scope for each part, such as: --scope acme --scope alice "
                "(`secom scopes` lists those that there are)"
            )
        if asked.scope is not None and not all(asked.scope):
            command.error("a part of a scope is not empty: --scope acme --scope alice")
        try:
            check(asked)
        except InvalidInput as error:
            command.error(str(error))

    command.set_defaults(check=checked)


def _store(command: Any, *, json_too: bool) -> None:
    command.add_argument("--store", metavar="FILE", help="the store; SECOM_STORE, else memory.db here, unless given")
    if json_too:
        command.add_argument("--json", action="store_true", help="print JSON, exact in every character")
    command.set_defaults(check=lambda asked: None)


def _check_forget(asked: Namespace) -> None:
    conditions = [name for name in ("session", "turn", "before") if getattr(asked, name) is not None]
    if asked.all and conditions:
        raise InvalidInput(f"--all is the whole scope; leave it out, or --{conditions[0]}")
    if not (asked.all or conditions):
        raise InvalidInput("forget what? Give --session, --turn or --before, or --all for the whole scope")


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number from 1 on, not {text!r}")
    return int(text)


def _moment(text: str) -> datetime:
    read = read_moment(text.strip())
    at = read.on(None) if read else None
    if at is None:
        raise argparse.ArgumentTypeError(f"a date such as 2024-05-07 or 2024-05-07T14:05Z (UTC), not {text!r}")
    return at


def _json_scope(text: str) -> str:
    try:
        read = json.loads(text)
        check_scope(read if isinstance(read, list) else text)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f'a JSON list of strings, such as \'["acme", "alice"]\': {error}') from error
    return text
