"""The description of the HTTP API, made from the table of calls and the models of their arguments and answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter

from .. import __version__
from .answers import ErrorAnswer

if TYPE_CHECKING:
    from .application import CallRoute

_REFS: Final = "#/components/schemas/{model}"
_ERRORS: Final = {
    "400": "An argument is wrong; the message says which, with its value.",
    "401": "The token is missing or is none of this server.",
    "403": "The token does not allow it.",
    "404": "There is nothing of that name in the scope.",
    "409": "A message's id belongs to another message already.",
    "413": "The body is too long.",
    "429": "The token asks for too much; Retry-After says when to ask again.",
    "502": "A model gave no usable answer.",
    "503": "The store cannot be used at the moment.",
    "504": "There was no answer in time.",
}


def described(calls: Iterable[CallRoute]) -> dict[str, Any]:
    """The description, as OpenAPI 3.1 has it."""
    schemas: dict[str, Any] = {}
    failed = _schema(TypeAdapter(ErrorAnswer).json_schema(ref_template=_REFS), schemas)
    paths: dict[str, Any] = {}
    for call in calls:
        paths.setdefault(call.path, {})[call.method.lower()] = _call(call, schemas, failed)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "secom",
            "version": __version__,
            "description": "Long-term memory of conversations. Whose memory a call is about follows from its token.",
        },
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
    }


def _call(call: CallRoute, schemas: dict[str, Any], failed: dict[str, Any]) -> dict[str, Any]:
    takes = _schema(call.takes.model_json_schema(ref_template=_REFS), schemas)
    gives = _schema(TypeAdapter(call.gives).json_schema(ref_template=_REFS), schemas)
    says = (call.does.__doc__ or "").partition("\n")[0]
    operation: dict[str, Any] = {
        "operationId": call.does.__name__,
        "summary": says,
        "responses": _answers(gives, failed),
    }
    if call.method == "POST":
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": takes}}}
    else:
        operation["parameters"] = _parameters(call, schemas[call.takes.__name__])
    return operation


def _answers(gives: dict[str, Any], failed: dict[str, Any]) -> dict[str, Any]:
    errors = {
        status: {"description": says, "content": {"application/json": {"schema": failed}}}
        for status, says in _ERRORS.items()
    }
    return {"200": {"description": "Done.", "content": {"application/json": {"schema": gives}}}, **errors}


def _parameters(call: CallRoute, schema: dict[str, Any]) -> list[dict[str, Any]]:
    required = schema.get("required", ())
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": of_type.get("description", ""),
            "schema": of_type,
        }
        for name, of_type in schema.get("properties", {}).items()
    ]


def _schema(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """A reference to the schema, which is kept with those that it refers to."""
    schemas.update(schema.pop("$defs", {}))
    name = schema["title"]
    schemas[name] = schema
    return {"$ref": _REFS.format(model=name)}
