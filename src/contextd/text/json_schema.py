"""Check a JSON value against a schema, as far as schemas for language models go: types, enums, limits, required fields."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
}


def fault_in(value: Any, schema: Mapping[str, Any], place: str = "the answer") -> str:
    """Return the first fault of a value; empty if it conforms. Fields that the schema does not name are faults."""
    kind = schema.get("type", "object")
    if not isinstance(value, _TYPES[kind]) or isinstance(value, bool) != (kind == "boolean"):
        return f"{place} is no {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{place} is none of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, dict):
        return _of_fields(value, schema, place)
    if isinstance(value, list):
        if len(value) > schema.get("maxItems", math.inf):
            return f"{place} has too many entries"
        return next((fault for one in value if (fault := fault_in(one, schema["items"], f"an entry of {place}"))), "")
    if isinstance(value, str):
        return f"{place} is too long" if len(value) > schema.get("maxLength", math.inf) else ""
    if kind in ("number", "integer") and not schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf):
        return f"{place} is out of range"
    return ""


def _of_fields(value: Mapping[str, Any], schema: Mapping[str, Any], place: str) -> str:
    known = schema.get("properties", {})
    if missing := [name for name in schema.get("required", ()) if name not in value]:
        return f"{missing[0]} of {place} is missing"
    if unknown := [name for name in value if name not in known]:
        return f"{place} has an unknown field {unknown[0][:40]!r}"
    return next((fault for name, one in value.items() if (fault := fault_in(one, known[name], name))), "")
