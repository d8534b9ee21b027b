"""A command line that says which word was meant, where one is misspelt."""

from __future__ import annotations

from argparse import Action, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from itertools import groupby
from textwrap import fill
from typing import Any, Final, NoReturn

from ..text.patterns import regex
from ..text.visible import inline

_CHOICE = regex(r"invalid choice: '(.*?)' \((?:choose from|maybe you meant:|possible)")

_WIDEST: Final = 120


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """The end of an error about a word that is none of those known: the nearest one; empty if none is near.

    Args:
        given: the word.
        known: those that there are.
    """
    by_fold = {each.casefold(): each for each in known}
    close = get_close_matches(given.casefold(), by_fold, 1, 0.6)
    return f"; did you mean {inline(by_fold[close[0]])}?" if close else ""


class HelpText(RawDescriptionHelpFormatter):
    """Help with descriptions as wide as the terminal, their examples as they are, and each command in a line.

    `argparse` forgets, as it measures the names of commands, that they stand deeper than options.
    """

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        runs = groupby(super()._fill_text(text, width, indent).splitlines(), lambda line: line[:1].strip() != "")
        return "\n".join(
            fill(" ".join(lines), min(width, _WIDEST), break_on_hyphens=False) if is_prose else "\n".join(lines)
            for is_prose, lines in runs
        )

    def add_argument(self, action: Action) -> None:
        """Measure an option or an argument, and the commands that it stands for."""
        super().add_argument(action)
        for command in self._iter_indented_subactions(action):
            long = len(self._format_action_invocation(command)) + self._current_indent
            self._action_max_length = max(self._action_max_length, long)


class CommandLine(ArgumentParser):
    """An `ArgumentParser` whose errors about a misspelt command, option or choice name the nearest one.

    Args:
        *args: as for `ArgumentParser`.
        **kwargs: as for `ArgumentParser`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.commands: dict[str, CommandLine] = {}
        """The commands by name, of the line above them."""
        self.says = ""
        """What a command is for, in one line."""

    def misspelt(self, words: Sequence[str]) -> NoReturn:
        """End with an error about words that no option or argument takes."""
        options = (f"--{word.partition('=')[0].lstrip('-')}" for word in words if word.startswith("-") and word[2:])
        hints = [did_you_mean(option, self.options) for option in options]
        if not any(word.startswith("-") for word in words):
            each = ", and --scope before each part of a scope" if "--scope" in self.options else ""
            hints.append(f"; put words that belong together in quotes{each}")
        self.error(f"unrecognized arguments: {inline(' '.join(words))}{next(filter(None, hints), '')}")

    @property
    def actions(self) -> Sequence[Action]:
        """The options and arguments that it knows."""
        return self._actions

    @property
    def options(self) -> Collection[str]:
        """The options that it knows, such as ``--scope``."""
        return list(self._option_string_actions)

    def error(self, message: str) -> NoReturn:
        """End with a message and exit code 2."""
        found = _CHOICE.search(message)
        if found is not None:
            lists = (action.choices or () for action in self._actions)
            message += did_you_mean(found[1], [str(each) for choices in lists for each in choices])
        super().error(message)
