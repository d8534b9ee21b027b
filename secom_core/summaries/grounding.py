"""A memory beside what it was made from: small models repeat a session under one name, and write what nobody said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ..conversation import Turn
from ..drafts.grounding import SAID, language_of, stands_in
from ..text.speech import asks
from ..text.terms import latin_language_of, sentences, terms
from .statements import SPEAKERS, unlabelled

_MEMORY: Final = "<memory>"
"""What stands in a prompt between its instructions and the material, in which no such tag is left."""


@dataclass(frozen=True)
class Sources:
    """What a memory was made from.

    Args:
        turns: the part of the session.
        session: the same as text.
        previous: the memory before it.
        prompt: the request, without a complaint.
    """

    turns: Sequence[Turn]
    session: str
    previous: str
    prompt: str

    def told(self, statements: Sequence[str]) -> list[str]:
        """The statements that tell something, each under who said it and under no heading that is the prompt's own.

        A model that copies the session writes the user's name before everything, the answers and questions too.
        """
        found = [self._under_who_said_it(self._without_own_heading(each)) for each in statements]
        return list(dict.fromkeys(filter(None, found)))

    def _without_own_heading(self, statement: str) -> str:
        label, bare = unlabelled(statement)
        is_own = " " in label and label.casefold() in self._instructions.casefold()
        return bare if is_own and statement not in self._known_lines else statement

    def _under_who_said_it(self, statement: str) -> str:
        label, bare = unlabelled(statement)
        said_by = self._said.get(_folded(bare), ()) if label else ()
        if not said_by or statement in self._known_lines:
            return statement
        if asks(bare):
            return ""
        # A name that nobody here goes by may be that of a user who said so long ago.
        others = {name.casefold() for name in self._labels} - {each.casefold() for each in said_by}
        is_wrong = SPEAKERS[1] in said_by or label.casefold() in others
        return f"{said_by[0]}: {bare}" if is_wrong and not self._ends_with(label, said_by) else statement

    @staticmethod
    def _ends_with(label: str, names: Sequence[str]) -> bool:
        return any(label.casefold().endswith(name.casefold()) for name in names)

    def strange(self, statements: Sequence[str]) -> list[str]:
        """The statements that nothing bears out: the prompt's own sentences, and those of words that nobody said.

        What is in another language than the session cannot be compared with it, and is believed.
        """
        return [each for each in statements if each not in self._known_lines and self._is_strange(each)]

    def shares_words(self, text: str) -> bool:
        """Whether a text has a word of the session or of the former memory, where these have any."""
        written = set(terms(text, language=self._language))
        return not (self._words and written and self._words.isdisjoint(written))

    def _is_strange(self, statement: str) -> bool:
        phrase = terms(statement, language=self._language)
        words = set(phrase) - self._names
        known = words & self._words
        if not words:
            return False
        if len(phrase) > 1 and known != words and stands_in(terms(statement), self._instruction_terms):
            return True
        return len(known) < SAID * len(words) and language_of(statement) == language_of(self.session)

    @cached_property
    def _known_lines(self) -> frozenset[str]:
        return frozenset(self.previous.splitlines())

    @cached_property
    def _language(self) -> str:
        # A sentence or two are taken for another language too easily.
        return latin_language_of(f"{self.session}\n{self.previous}")

    @cached_property
    def _words(self) -> set[str]:
        return set(terms(f"{self.session}\n{self.previous}", language=self._language))

    @cached_property
    def _names(self) -> set[str]:
        speakers = [name for turn in self.turns for name in turn.speakers]
        return {term for name in (*SPEAKERS, *speakers) for term in terms(name, language=self._language)}

    @cached_property
    def _labels(self) -> set[str]:
        return {message.label for turn in self.turns for message in turn.messages if message.label}

    @cached_property
    def _instructions(self) -> str:
        return self.prompt.rpartition(_MEMORY)[0]

    @cached_property
    def _instruction_terms(self) -> list[str]:
        return terms(self._instructions)

    @cached_property
    def _said(self) -> dict[str, list[str]]:
        """Who said each sentence, and each whole message."""
        found: dict[str, list[str]] = {}
        for message in (message for turn in self.turns for message in turn.messages if message.label):
            for each in (message.text, *sentences(message.text)):
                found.setdefault(_folded(each), []).append(message.label)
        return found


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!。！")
