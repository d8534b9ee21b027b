"""What a shell needs to complete the words of the command: a script made of the command line itself."""

from __future__ import annotations

import sys
from argparse import Action, Namespace
from collections.abc import Iterator, Mapping
from importlib.resources import files
from string import Template

from .line import CommandLine
from .options import parser


def completion_(args: Namespace) -> None:
    """Print the script for a shell."""
    sys.stdout.write(script_for(args.shell))


def script_for(shell: str) -> str:
    """The script for bash, zsh or fish."""
    lines = parser().commands
    text = (files(__package__) / "completion_scripts" / f"{shell}.txt").read_text(encoding="utf-8")
    made = _fish(lines) if shell == "fish" else _cases(lines)
    return Template(text).substitute(commands=" ".join(lines), made="\n".join(made))


def _cases(lines: Mapping[str, CommandLine]) -> Iterator[str]:
    """For bash and zsh: of each command, its options and the values of those that have a list of them."""
    for name, line in lines.items():
        known = [*_values(_positional(line)), *line.options]
        yield f"    {name}) known='{' '.join(known)}' ;;"
    values = {
        option: " ".join(_values(action))
        for line in lines.values()
        for action in line.actions
        if action.choices
        for option in action.option_strings
    }
    for option, listed in values.items():
        yield f"    :{option}) known='{listed}' ;;"


def _fish(lines: Mapping[str, CommandLine]) -> Iterator[str]:
    for name, line in lines.items():
        yield f"complete -c secom -n __fish_use_subcommand -a {name} -d {_quoted(line.says)}"
        here = f"complete -c secom -n '__fish_seen_subcommand_from {name}'"
        if known := _values(_positional(line)):
            yield f"{here} -f -a {_quoted(' '.join(known))}"
        for action in line.actions:
            if action.option_strings:
                yield f"{here} {_as_fish(action)}"


def _as_fish(action: Action) -> str:
    names = [f"-l {each[2:]}" if each.startswith("--") else f"-s {each[1:]}" for each in action.option_strings]
    takes = [] if action.nargs == 0 else ["-r"]
    known = ["-f", "-a", _quoted(" ".join(_values(action)))] if action.choices else []
    return " ".join([*names, *takes, *known, "-d", _quoted((action.help or "").partition(";")[0])])


def _positional(line: CommandLine) -> Action | None:
    return next((action for action in line.actions if not action.option_strings and action.choices), None)


def _values(action: Action | None) -> list[str]:
    return [str(each) for each in (action.choices if action is not None else None) or ()]


def _quoted(text: str) -> str:
    r"""As fish reads it: in single quotes only ``\`` and the quote itself mean something."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
