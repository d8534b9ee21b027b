"""What each call takes: one model a call, the same for HTTP and for the tools of agents. What is unknown is refused."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, WithJsonSchema, model_validator

from ..errors import InvalidInput, shorten
from ..readers.moments import read_moment


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("should be a text that is not empty")
    return value


def _moment(value: object) -> datetime | None:
    read = read_moment(value.strip()) if isinstance(value, str) and len(value) < 100 else None
    at = read.on(None) if read else None
    if value is not None and at is None:
        raise ValueError("should be a time such as 2024-05-07T14:05:00Z")
    # Without an offset it is in the server's time zone, which only the bank knows.
    return at.replace(tzinfo=None) if read and at and not (read.clock and read.clock.tzinfo) else at


Text = Annotated[str, PlainValidator(_text), WithJsonSchema({"type": "string", "minLength": 1})]
"""Any text with something in it; half a character of a text that was cut is kept as it is."""
Moment = Annotated[
    datetime | None, PlainValidator(_moment), WithJsonSchema({"type": ["string", "null"], "format": "date-time"})
]
Messages = Annotated[list[dict[str, Any]], Field(description="Messages as chat APIs have them: role and content.")]


class Call(BaseModel):
    """What every call has in common: an argument that is not in its schema, such as a scope, is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


C = TypeVar("C", bound=Call)


class Remember(Call):
    """Messages to remember."""

    messages: Annotated[Messages, Field(min_length=1)]
    session: Annotated[Text, Field(description="The conversation that the messages belong to.")]
    at: Annotated[Moment, Field(description="When they were said, where they do not say so; now unless given.")] = None
    close: Annotated[bool, Field(description="Whether the session ends with them.")] = False
    expires: Annotated[Moment, Field(description="From when on they are forgotten.")] = None


class Recall(Call):
    """A question to the memory."""

    query: Annotated[Text, Field(description="A question, or what was just said.")]
    token_budget: Annotated[int | None, Field(ge=1, le=1_000_000, description="The longest block, in tokens.")] = None
    k: Annotated[int | None, Field(ge=1, le=10_000, description="How many memories at most.")] = None
    layers: Annotated[list[str], Field(description="Layers that take part, such as summaries.")] = []
    only_relevant: Annotated[bool, Field(description="Leave the rest of the budget empty.")] = False
    where: Annotated[dict[str, Any] | None, Field(description='A filter, such as {"role": "user"}.')] = None
    history: Annotated[bool, Field(description="Also bring what holds no more, marked as such.")] = True
    context: Annotated[Messages, Field(description="What was said before the query, oldest first.")] = []
    exclude: Annotated[list[str], Field(description="Ids of turns that need not come back.")] = []
    also: Annotated[list[list[str]], Field(description="Other scopes to search, of those the token allows.")] = []
    now: Annotated[Moment, Field(description="When the query is asked, for 'last week'; now unless given.")] = None
    explain: Annotated[bool, Field(description="Also give each hit's score and signals.")] = False


class Correct(Call):
    """What is so instead of what a turn says."""

    turn_id: Annotated[Text, Field(description="The turn, as a recall names it.")]
    text: Annotated[Text | None, Field(description="What is so instead; null takes the turn back.")]


class Forget(Call):
    """What is deleted: the turns that meet every condition given, or everything with ``all``."""

    session: Annotated[Text | None, Field(description="Only turns of this session.")] = None
    turn_ids: Annotated[list[str] | None, Field(min_length=1, description="Only these turns.")] = None
    before: Annotated[Moment, Field(description="Only turns that began earlier.")] = None
    all: Annotated[bool, Field(description="Everything in the scope.")] = False

    @model_validator(mode="after")
    def _says_what(self) -> Forget:
        conditions = [self.session, self.turn_ids, self.before]
        if self.all == any(each is not None for each in conditions):
            raise ValueError("give session, turn_ids or before, or all: true for the whole scope, and not both")
        return self


class Page(Call):
    """Which part of a list is wanted."""

    limit: Annotated[int, Field(ge=1, le=1_000, strict=False, description="How many at most.")] = 100
    offset: Annotated[int, Field(ge=0, le=10**9, strict=False, description="How many are passed over.")] = 0


class Session(Call):
    """One session by its name."""

    name: Annotated[Text, Field(description="The name, with any characters; percent-encoded, as all of a query.")]


class Turns(Call):
    """Turns by their ids."""

    id: Annotated[list[Text], Field(min_length=1, max_length=1_000, description="The id of a turn; may be repeated.")]


class Nothing(Call):
    """A call without arguments."""


def checked(model: type[C], given: object) -> C:
    """The call that is asked for.

    Raises:
        InvalidInput: the first thing that is wrong, with its place and its value.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"])) or "the request"
        says = first["msg"].removeprefix("Value error, ")
        if first["type"] == "model_type":
            says = "should be an object of JSON, with arguments by name"
        known = f"; it takes {', '.join(model.model_fields)}" if first["type"] == "extra_forbidden" else ""
        raise InvalidInput(f"{place}: {says}{known}, got {shorten(first['input'])}") from error
