"""Check the arguments of a tool against its schema: types, limits, names. Errors are written for the calling model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from contextd.errors import InvalidInput

_MOST = 10  # errors reported at once
# What models and other tools call an argument, besides similar names.
_ALIASES = {
    "query": "q question text prompt search",
    "k": "limit count topk n maxresults numresults results",
    "scope.paths": "path file files filepath directory folder include",
    "scope.languages": "lang language filetype",
    "scope.kinds": "kind type types",
    "filters.minScore": "threshold score minrelevance",
    "filters.maxTokens": "budget tokens tokenbudget maxtokens tokenlimit",
    "scope.excludePatterns": "exclude excludes excluded ignore excludepaths",
    "filters.mmrLambda": "lambda diversity diversityweight mmr",
    "format": "template output outputformat",
}


def checked(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments in their proper types, flat by dotted name, without missing and null ones.

    Raises InvalidInput, with a line for each mistake.
    """
    found: dict[str, Any] = {}
    wrong = list(_mistakes(arguments, schema, "", schema, found))
    wrong += [f"argument {name!r} is missing" for name in schema["required"] if arguments.get(name) is None]
    if wrong:
        more = [f"and {len(wrong) - _MOST} more mistakes"] if len(wrong) > _MOST else []
        raise InvalidInput("\n".join([*wrong[:_MOST], *more]))
    return found


def _mistakes(
    values: Mapping[str, Any], part: Mapping[str, Any], prefix: str, schema: Mapping[str, Any], found: dict[str, Any]
) -> Iterator[str]:
    """Yield the mistakes in an object, and add valid values to `found`."""
    for key, given in values.items():
        name, about = f"{prefix}{key}", part["properties"].get(key)
        if about is None:
            yield f"unknown argument {name[:80]!r}; {_suggestion(key, schema)}"
            continue
        value = _converted(given, about["type"])
        if value is None:
            continue
        if isinstance(value, dict) and about["type"] == "object":
            yield from _mistakes(value, about, f"{name}.", schema, found)
        elif problem := _problem(value, about):
            yield f"argument {name!r} {problem}"
        else:
            found[name] = value


def _converted(value: Any, kind: str) -> Any:
    """Return the value. A text that holds JSON of the wanted type is parsed, since some models send it so."""
    if isinstance(value, str) and kind != "string":
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    return int(value) if kind == "integer" and isinstance(value, float) and value.is_integer() else value


def _problem(value: Any, about: Mapping[str, Any]) -> str:
    """Return what is wrong with a value; empty if it is valid."""
    kind = about["type"]
    if kind == "object":
        return "must be an object"
    if kind == "array":
        fits = isinstance(value, list) and all(isinstance(one, str) for one in value)
        return "" if fits else "must be a list of strings"
    if kind == "string":
        return _text_problem(value, about)
    if isinstance(value, bool) or not isinstance(value, int if kind == "integer" else int | float):
        return "must be a whole number" if kind == "integer" else "must be a number"
    least, most = about.get("minimum"), about.get("maximum")
    if least is not None and not value >= least:
        return f"must be at least {least}"
    return f"must be at most {most}" if most is not None and not value <= most else ""


def _text_problem(value: Any, about: Mapping[str, Any]) -> str:
    if not isinstance(value, str):
        return "must be a string"
    return f"must be one of {', '.join(about['enum'])}" if value not in about.get("enum", [value]) else ""


def _suggestion(key: str, schema: Mapping[str, Any]) -> str:
    """Return which argument was probably meant; all of them if none is similar."""
    names = {_plain(name.rpartition(".")[2]): name for name in _names(schema)}
    aliases = {alias: name for name, ones in _ALIASES.items() for alias in ones.split()}
    wanted = _plain(key)
    near = get_close_matches(wanted, [*names, *aliases], 1, 0.75)
    name = names.get(wanted) or aliases.get(wanted) or (near and (names.get(near[0]) or aliases[near[0]]))
    return f"did you mean {name}?" if name else f"the arguments are {', '.join(names.values())}"


def _names(schema: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, about in schema["properties"].items():
        if about["type"] == "object":
            yield from _names(about, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
