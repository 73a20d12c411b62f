"""Requests and answers as dataclasses: what is refused, what becomes of JSON, and the schema."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from contextd.errors import InvalidInput
from contextd.surfaces.wire.convert import about, optional, parsed, plain, schema
from contextd.surfaces.wire.requests import QueryContext, QueryFilters, QueryScope


def test_a_request_has_the_types_of_its_fields_and_defaults_for_the_rest() -> None:
    asked = {"query": "x", "k": 3, "scope": {"paths": ["src"]}, "filters": {"minScore": 1, "maxTokens": 900.0}}
    assert parsed(QueryContext, asked) == QueryContext("x", 3, QueryScope(("src",)), QueryFilters(1, 900), "text")
    assert parsed(QueryContext, {"query": "x", "k": None, "scope": None}) == QueryContext("x")


def test_json_inside_a_text_is_read_where_no_text_is_wanted() -> None:
    asked = {"query": '"7"', "k": "7", "scope": '{"paths": "[\\"src\\"]"}'}
    assert parsed(QueryContext, asked) == QueryContext('"7"', 7, QueryScope(("src",)))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "argument 'query' is missing"),
        ({"query": 5}, "argument 'query' must be a string"),
        ({"query": "x", "k": 0}, "argument 'k' must be at least 1"),
        ({"query": "x", "k": True}, "argument 'k' must be a whole number"),
        ({"query": "x", "k": 1.5}, "argument 'k' must be a whole number"),
        ({"query": "x", "filters": {"minScore": float("nan")}}, "argument 'filters.minScore' must be at least 0"),
        ({"query": "x", "filters": {"minScore": 2}}, "argument 'filters.minScore' must be at most 1"),
        ({"query": "x", "filters": 3}, "argument 'filters' must be an object"),
        ({"query": "x", "scope": {"paths": [1]}}, "argument 'scope.paths' must be a list of strings"),
        ({"query": "x", "format": "yaml"}, "argument 'format' must be one of text, json"),
        ({"query": "x", "budget": 5}, "unknown argument 'budget'; did you mean filters.maxTokens?"),
        ({"query": "x", "scope": {"lang": ["go"]}}, "unknown argument 'scope.lang'; did you mean scope.languages?"),
        ({"query": "x", "exclude_patterns": []}, "unknown argument 'exclude_patterns'; did you mean scope.excludePatterns?"),
        ({"query": "x", "zzz": 1}, "the arguments are query, k, scope.paths"),
    ],
)
def test_a_mistake_is_named_with_its_argument(asked: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        parsed(QueryContext, asked)
    assert message in str(raised.value)


def test_several_mistakes_are_told_at_once_and_many_are_counted() -> None:
    with pytest.raises(InvalidInput) as raised:
        parsed(QueryContext, {"k": 0, **{f"zzz{n}": n for n in range(20)}})
    lines = str(raised.value).splitlines()
    assert len(lines) == 11 and lines[0] == "argument 'k' must be at least 1" and lines[-1] == "and 12 more mistakes"


def test_the_schema_says_what_is_checked() -> None:
    made = schema(QueryContext)
    assert made["required"] == ["query"] and made["additionalProperties"] is False
    assert made["properties"]["k"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 100,
        "description": "Maximum number of results.",
    }
    assert made["properties"]["format"]["enum"] == ["text", "json"]
    scope = made["properties"]["scope"]
    assert scope["type"] == "object" and scope["description"] == "Where to look." and scope["required"] == []
    assert scope["properties"]["excludePatterns"]["items"] == {"type": "string"}
    json.dumps(made)


@dataclass(frozen=True, slots=True)
class Inner:
    numbers: tuple[int, ...]
    note: str | None = optional()


@dataclass(frozen=True, slots=True)
class Outer:
    inner: Inner
    by_name: dict[str, Inner]
    nothing: str | None
    renamed: str = about("", "x", name="otherName")


def test_an_answer_becomes_plain_json_and_only_optional_fields_are_left_out() -> None:
    value = Outer(Inner((1, 2)), {"a": Inner((), "said")}, None)
    assert plain(value) == {
        "inner": {"numbers": [1, 2]},
        "by_name": {"a": {"numbers": [], "note": "said"}},
        "nothing": None,
        "otherName": "x",
    }
