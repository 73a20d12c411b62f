"""The OpenAPI 3.1 document of the API, made from the table of routes."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from contextd import __version__
from contextd.surfaces.http.problems import MEDIA_TYPE, PROBLEM_SCHEMA
from contextd.surfaces.wire.convert import schema
from contextd.surfaces.wire.routes import ROUTES, Route
from contextd.surfaces.wire.typed import answer_schema

_IN_PATH = re.compile(r"\{(\w+)\}")
_ERRORS = {
    "400": "The request is invalid.",
    "401": "No valid access token.",
    "403": "The token may not do this.",
    "404": "No such object, or the reader may not see it.",
    "405": "The method is not possible here.",
    "408": "The body did not arrive in time.",
    "409": "A name is taken, or the same work is in progress.",
    "413": "The body or a value is too large.",
    "415": "The body is not JSON.",
    "421": "The Host header does not name this service.",
    "429": "Too many requests at once.",
    "431": "Too many headers.",
    "503": "A part is missing or busy; try again.",
    "504": "The timeout has passed.",
    "507": "The disk is full.",
}


@cache
def document() -> dict[str, Any]:
    """Return the document."""
    components: dict[str, Any] = {"Problem": PROBLEM_SCHEMA}
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "contextd", "version": __version__, "description": "Context for any AI, from your own machine."},
        "servers": [{"url": "http://127.0.0.1:8710"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route, components: dict[str, Any]) -> dict[str, Any]:
    whole = schema(route.request, nullable=route.has_body)
    in_path = _IN_PATH.findall(route.path)
    fields = {name: one for name, one in whole["properties"].items() if name not in in_path}
    required = [name for name in whole["required"] if name not in in_path]
    parameters = [_parameter(name, whole["properties"][name], "path", required=True) for name in in_path]
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "description": f"{route.summary} Needs the right {route.may}.",
        "responses": {"200": _success(route, components), **{code: _error(text) for code, text in _ERRORS.items()}},
    }
    if route.has_body:
        body = {**whole, "properties": fields, "required": required}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    else:
        parameters += [_parameter(name, one, "query", required=name in required) for name, one in fields.items()]
    return {**operation, **({"parameters": parameters} if parameters else {})}


def _parameter(name: str, one: dict[str, Any], where: str, *, required: bool) -> dict[str, Any]:
    shape = {key: value for key, value in one.items() if key != "description"}
    return {"name": name, "in": where, "required": required, "description": one.get("description", ""), "schema": shape}


def _success(route: Route, components: dict[str, Any]) -> dict[str, Any]:
    found = answer_schema(route.answer, components)
    return {"description": "The answer.", "content": {"application/json": {"schema": found}}}


def _error(text: str) -> dict[str, Any]:
    return {"description": text, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
