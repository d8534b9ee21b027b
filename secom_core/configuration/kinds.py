"""Reads one value of the configuration, from whichever place it comes: text of the environment, or a value of TOML."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, TypeAlias, TypeVar

from ..conversation import Scope, check_scope
from ..errors import InvalidInput, shorten
from ..text.patterns import regex
from ..times import zone_of

T = TypeVar("T")
Reader: TypeAlias = Callable[[str, object], T]
"""Takes a setting's name and the value given, and returns the value to use; raises `InvalidInput` for any other."""

_TRUTH: Final[Mapping[str, bool]] = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_VARIABLE: Final = regex(r"[A-Z_][A-Z0-9_]*")


def option(read: Reader[T], default: T, says: str) -> T:
    """A field of the settings: how its value is read, what it is unless given, and a line of help."""
    made: T = field(default=default, metadata={"read": read, "says": says})
    return made


def text(name: str, value: object) -> str:
    """Text with something in it."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{name} is a text in quotes, got {shorten(value)}")
    return value


def variable(name: str, value: object) -> str:
    """The name of an environment variable. A secret written there by mistake is not repeated in the error."""
    if not isinstance(value, str) or not _VARIABLE.fullmatch(value):
        raise InvalidInput(
            f"{name} is the name of an environment variable that holds the secret, in capital letters, such as "
            "OPENAI_API_KEY; it is not the secret itself"
        )
    return value


def place(name: str, value: object) -> str:
    """The name of a time zone, such as Europe/Brussels."""
    try:
        zone_of(text(name, value))
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}") from error
    return str(value)


def truth(name: str, value: object) -> bool:
    """True or false."""
    read = _TRUTH.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(read, bool):
        raise InvalidInput(f"{name} is true or false, got {shorten(value)}")
    return read


def whole(least: int, most: int) -> Reader[int]:
    """A whole number in a range, both ends included."""

    def read(name: str, value: object) -> int:
        number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 20 else value
        if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
            raise InvalidInput(f"{name} is a whole number from {least:,} to {most:,}, got {shorten(value)}")
        return number

    return read


def seconds(name: str, value: object) -> float:
    """A length of time in seconds, above 0 and of a day at most."""
    try:
        number = float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        number = 0.0
    if not 0 < number <= 86_400:
        raise InvalidInput(f"{name} is a number of seconds above 0 and up to 86400, got {shorten(value)}")
    return number


def choice(*known: str) -> Reader[str]:
    """One of these names."""

    def read(name: str, value: object) -> str:
        if not isinstance(value, str) or value not in known:
            raise InvalidInput(f"{name} is {' or '.join(known)}, got {shorten(value)}")
        return value

    return read


def names(known: Callable[[], tuple[str, ...]]) -> Reader[tuple[str, ...]]:
    """Some of the names that are known: a list, or text with commas between them."""

    def read(name: str, value: object) -> tuple[str, ...]:
        given = texts(name, value)
        unknown = [each for each in given if each not in known()]
        if unknown:
            raise InvalidInput(f"{name} names some of {', '.join(known())}, got {shorten(unknown[0])}")
        return given

    return read


def texts(name: str, value: object) -> tuple[str, ...]:
    """A list of texts, or one text with commas between them."""
    given = [each.strip() for each in value.split(",")] if isinstance(value, str) else value
    if not isinstance(given, (list, tuple)) or not all(isinstance(each, str) and each for each in given):
        raise InvalidInput(f"{name} is a list of texts, got {shorten(value)}")
    return tuple(dict.fromkeys(given))


def scope_parts(name: str, value: object) -> Scope:
    """A scope: a list of texts, the same as JSON, or its parts with a slash between them, such as ``acme/alice``."""
    try:
        return check_scope(_parts(value) if isinstance(value, str) else value)  # type: ignore[arg-type]
    except ValueError as error:
        wanted = f'{name} is a list such as ["acme", "alice"], or its parts with slashes, such as acme/alice'
        raise InvalidInput(f"{wanted}; got {shorten(value)}: {error}") from error


def _parts(value: str) -> object:
    return json.loads(value) if value.lstrip().startswith("[") else tuple(value.split("/"))
