"""Values by their type hints: from JSON back to dataclasses, and their JSON schema for the API document."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}
_LISTS = (list, tuple, set, frozenset, Sequence)


def decoded(kind: type[T], value: Any) -> T:
    """Return a value of a type from its JSON. The JSON comes from our own service and is not checked."""
    return _decoded(kind, value)  # type: ignore[no-any-return]


def _decoded(kind: Any, value: Any) -> Any:
    if value is None or kind is Any:
        return value
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _decoded(next(one for one in inner if one is not types.NoneType), value)
    if origin in (list, Sequence) or origin in _LISTS:
        return _sequence(kind if origin is None else origin, inner, value)
    if origin in (dict, Mapping):
        return {key: _decoded(inner[1], each) for key, each in value.items()}
    made = origin if is_record(origin) else kind
    if is_record(made):
        names = json_names(made)
        return made(**{name: _decoded(hint, value[names[name]]) for name, hint in hints(kind).items() if names[name] in value})
    return value


def _sequence(origin: Any, inner: tuple[Any, ...], values: Any) -> Any:
    if origin is tuple and inner[-1] is not Ellipsis:
        return tuple(_decoded(one, value) for one, value in zip(inner, values, strict=True))
    made = (_decoded(inner[0], value) for value in values)
    return list(made) if origin in (list, Sequence) else origin(made)


@cache
def hints(kind: Any) -> dict[str, Any]:
    """Return the fields of a dataclass or named tuple with their types. `Page[X]` has X in place of its variable."""
    made = get_origin(kind) or kind
    chosen = dict(zip(getattr(made, "__parameters__", ()), get_args(kind), strict=False))
    found = get_type_hints(made)
    names = [one.name for one in fields(made)] if is_dataclass(made) else list(getattr(made, "_fields", ()))
    return {name: _substituted(found[name], chosen) for name in names}


def _substituted(hint: Any, chosen: Mapping[Any, Any]) -> Any:
    variables = getattr(hint, "__parameters__", ())
    return hint[tuple(chosen[one] for one in variables)] if variables and chosen else hint


@cache
def json_names(kind: type) -> dict[str, str]:
    """Return the name of each field in JSON."""
    if not is_dataclass(kind):
        return {name: name for name in hints(kind)}
    return {one.name: one.metadata.get("name") or one.name for one in fields(kind)}


def is_record(kind: Any) -> bool:
    """Return whether a type is a dataclass or a named tuple."""
    return isinstance(kind, type) and (is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields")))


def answer_schema(kind: Any, components: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a type. Dataclasses go to `components`, by name, and are referred to."""
    if kind is Any:
        return {}
    if kind is types.NoneType:
        return {"type": "null"}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [answer_schema(one, components) for one in inner]}
    if origin is tuple and inner[-1] is not Ellipsis:
        return {"type": "array", "prefixItems": [answer_schema(one, components) for one in inner]}
    if origin in _LISTS:
        return {"type": "array", "items": answer_schema(inner[0], components)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": answer_schema(inner[1], components)}
    return _reference(kind, components)


def _reference(kind: Any, components: dict[str, Any]) -> dict[str, Any]:
    made = get_origin(kind) or kind
    name = "Of".join(one.__name__ for one in (made, *get_args(kind)))
    if name not in components:
        components[name] = {}  # against endless recursion
        names = json_names(made)
        components[name] = {
            "type": "object",
            "description": (made.__doc__ or "").split("\n")[0],
            "properties": {names[field]: answer_schema(hint, components) for field, hint in hints(kind).items()},
            "required": [names[field] for field in hints(kind) if field not in _omitted(made)],
        }
    return {"$ref": f"#/components/schemas/{name}"}


def _omitted(kind: type) -> set[str]:
    """Return the fields that are left out of the JSON while they are None."""
    return {one.name for one in fields(kind) if one.metadata.get("omit")} if is_dataclass(kind) else set()


def is_required(field: Any) -> bool:
    """Return whether a field of a dataclass has no default."""
    return field.default is MISSING and field.default_factory is MISSING
