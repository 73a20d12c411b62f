"""Between dataclasses and JSON: requests are checked by the types and limits of their fields, answers become objects.

No validation library: the command line and the MCP server start too often to load one. A field may be a text, a number, a
boolean, a list of texts or of dataclasses, another dataclass, or any of these or None.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeVar, get_args, get_origin

from contextd.errors import InvalidInput
from contextd.surfaces.wire.typed import hints, is_required

T = TypeVar("T")

_MOST = 10  # mistakes that are listed at once
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}
_SCALARS = frozenset((type(None), *_TYPES))


def about(
    description: str,
    default: Any = MISSING,
    *,
    name: str = "",
    least: float | None = None,
    most: float | None = None,
    choices: Sequence[str] = (),
    aliases: str = "",
) -> Any:
    """A field of a request: its description, its JSON name if another, its limits, and what else callers name it."""
    metadata = {"about": description, "name": name, "least": least, "most": most, "choices": choices, "aliases": aliases}
    if isinstance(default, type):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def optional(default: Any = None) -> Any:
    """A field of an answer that is left out of its JSON while it is None."""
    return field(default=default, metadata={"omit": True})


def plain(value: Any) -> Any:
    """A value as JSON has it: dataclasses and mappings become objects, sequences lists."""
    kind: type = type(value)
    if kind in _SCALARS:
        return value
    if (shape := _shape(kind)) is not None:
        found = [(name, omit, getattr(value, attribute)) for attribute, name, omit in shape]
        return _object([(name, each) for name, omit, each in found if each is not None or not omit])
    if isinstance(value, Mapping):
        return _object(value.items())
    if isinstance(value, tuple) and hasattr(value, "_asdict"):  # a named tuple
        return _object(value._asdict().items())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    return value


def _object(items: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return an object of JSON. Most values are scalars: they are told here, since a call for each takes twice the time."""
    return {key: each if type(each) in _SCALARS else plain(each) for key, each in items}


@cache
def _shape(kind: type) -> tuple[tuple[str, str, bool], ...] | None:
    """Return the fields of a dataclass: attribute, name in JSON, and whether it is left out while it is None."""
    if not is_dataclass(kind):
        return None
    return tuple((one.name, _name(one), bool(one.metadata.get("omit"))) for one in fields(kind))


def parsed(kind: type[T], values: Mapping[str, Any]) -> T:
    """Return a request from JSON values that a model wrote. Raises `InvalidInput` with a line for each mistake.

    None counts as not given. A text that holds the JSON of the wanted value counts as that value.
    """
    return _request(kind, values, strict=False)


def parsed_strictly(kind: type[T], values: Mapping[str, Any]) -> T:
    """Return a request from JSON values that a program wrote, with exactly the types of the schema. Raises `InvalidInput`."""
    return _request(kind, values, strict=True)


def _request(kind: type[T], values: Mapping[str, Any], *, strict: bool) -> T:
    mistakes: list[str] = []
    request = _Request(kind, strict, mistakes).parsed(kind, values, "")
    if mistakes:
        more = [f"and {len(mistakes) - _MOST} more mistakes"] if len(mistakes) > _MOST else []
        raise InvalidInput("\n".join([*mistakes[:_MOST], *more]))
    return request  # type: ignore[no-any-return]


def lists_of(kind: type) -> frozenset[str]:
    """Return the arguments of a request that are lists."""
    return frozenset(_name(one) for one in fields(kind) if _kind(kind, one).several)


def schema(kind: type, description: str = "", *, nullable: bool = False) -> dict[str, Any]:
    """Return the JSON schema of a request. `nullable` says of optional fields that they may be null."""
    properties = {_name(one): _field_schema(one, _kind(kind, one), nullable) for one in fields(kind)}
    return {
        "type": "object",
        "properties": properties,
        **({"description": description} if description else {}),
        "required": [_name(one) for one in fields(kind) if is_required(one)],
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class _Kind:
    """The type of a field: `of` is a plain type or a dataclass; `several` for a list of them."""

    of: type
    several: bool = False
    optional: bool = False


def _kind(kind: type, one: Field[Any]) -> _Kind:
    hint = hints(kind)[one.name]
    optional = get_origin(hint) is types.UnionType
    if optional:
        hint = next(each for each in get_args(hint) if each is not types.NoneType)
    if get_origin(hint) is tuple:
        return _Kind(get_args(hint)[0], several=True, optional=optional)
    return _Kind(hint, optional=optional)


def _name(one: Field[Any]) -> str:
    return one.metadata.get("name") or one.name


def _field_schema(one: Field[Any], kind: _Kind, nullable: bool) -> dict[str, Any]:
    made = _value_schema(one, kind, nullable)
    if nullable and kind.optional:
        made |= {"type": [made["type"], "null"]} | ({"enum": [*made["enum"], None]} if "enum" in made else {})
    return made


def _value_schema(one: Field[Any], kind: _Kind, nullable: bool) -> dict[str, Any]:
    text = one.metadata.get("about", "")
    if kind.several:
        items = schema(kind.of, nullable=nullable) if is_dataclass(kind.of) else {"type": _TYPES[kind.of]}
        return {"type": "array", "items": items, "description": text}
    if is_dataclass(kind.of):
        return schema(kind.of, text, nullable=nullable)
    limits = {"minimum": one.metadata.get("least"), "maximum": one.metadata.get("most"), "enum": one.metadata.get("choices")}
    extra = {key: list(value) if key == "enum" else value for key, value in limits.items() if value not in (None, ())}
    return {"type": _TYPES[kind.of], **extra, "description": text}


@dataclass(frozen=True, slots=True)
class _Request:
    """A request that is checked: its type, how strictly, and the mistakes so far."""

    root: type
    strict: bool
    mistakes: list[str]

    def parsed(self, kind: type, values: Mapping[str, Any], prefix: str) -> Any:
        """Return the request or a part of it; None if it has mistakes."""
        known, found = {_name(one): one for one in fields(kind)}, dict[str, Any]()
        before = len(self.mistakes)
        for key, given in values.items():
            if key not in known:
                self.mistakes.append(f"unknown argument {(prefix + key)[:80]!r}; {_suggestion(key, self.root)}")
                continue
            one = known[key]
            form = _kind(kind, one)
            value = given if self.strict else _converted(given, form)
            if value is None and (form.optional or not self.strict):
                continue
            found[one.name] = self._checked(one, form, value, f"{prefix}{key}")
        missing = [name for name, one in known.items() if is_required(one) and one.name not in found]
        self.mistakes.extend(f"argument {prefix + name!r} is missing" for name in missing)
        return kind(**found) if len(self.mistakes) == before else None

    def _checked(self, one: Field[Any], kind: _Kind, value: Any, name: str) -> Any:
        if is_dataclass(kind.of):
            if kind.several and isinstance(value, list) and all(isinstance(each, dict) for each in value):
                return tuple(self.parsed(kind.of, each, f"{name}[{at}].") for at, each in enumerate(value))
            if not kind.several and isinstance(value, dict):
                return self.parsed(kind.of, value, f"{name}.")
        if problem := _problem(value, kind, one.metadata):
            self.mistakes.append(f"argument {name!r} {problem}")
            return None
        return tuple(value) if kind.several else value


def _converted(value: Any, kind: _Kind) -> Any:
    """Return the value. If a text holds the JSON of what is wanted, return its content: some models write it so."""
    if isinstance(value, str) and (kind.several or kind.of is not str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    return int(value) if kind.of is int and isinstance(value, float) and value.is_integer() else value


def _problem(value: Any, kind: _Kind, limits: Mapping[str, Any]) -> str:
    """Return what is wrong with a value; empty if it fits."""
    if kind.several:
        fits = isinstance(value, list) and not any(_problem(one, _Kind(kind.of), {}) for one in value)
        return "" if fits else f"must be a list of {_TYPES.get(kind.of, 'object')}s"
    if kind.of is str:
        return _text_problem(value, limits.get("choices", ()))
    if kind.of is bool:
        return "" if isinstance(value, bool) else "must be true or false"
    if kind.of in (int, float):
        return _number_problem(value, kind.of, limits)
    return "must be an object"


def _text_problem(value: Any, choices: Sequence[str]) -> str:
    if not isinstance(value, str):
        return "must be a string"
    if not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
        return "contains half a character (a surrogate)"
    return f"must be one of {', '.join(choices)}" if choices and value not in choices else ""


def _number_problem(value: Any, kind: type, limits: Mapping[str, Any]) -> str:
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        return "must be a whole number" if kind is int else "must be a number"
    least, most = limits.get("least"), limits.get("most")
    if least is not None and not value >= least:
        return f"must be at least {least}"
    return f"must be at most {most}" if most is not None and not value <= most else ""


def _suggestion(key: str, root: type) -> str:
    """Which argument was probably meant; all of them if none is near."""
    names = dict(_names(root))
    wanted = _folded(key)
    near = get_close_matches(wanted, list(names), 1, 0.75)
    name = names.get(wanted) or (near and names[near[0]])
    every = dict.fromkeys(names.values())
    return f"did you mean {name}?" if name else f"the arguments are {', '.join(every)}"


def _names(kind: type, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Every name and alias of an argument without case and hyphens, and the argument it stands for."""
    for one in fields(kind):
        inner, name = _kind(kind, one), f"{prefix}{_name(one)}"
        if is_dataclass(inner.of):
            yield from _names(inner.of, f"{name}.")
        else:
            yield _folded(_name(one)), name
            yield from ((alias, name) for alias in one.metadata.get("aliases", "").split())


def _folded(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
