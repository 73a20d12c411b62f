"""Editing JSON that others wrote: everything but the entry stays, comments included."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextd.app.json_edit import entry, with_entry, without_entry
from contextd.errors import InvalidInput

COMMENTED = """{
  // the theme I like
  "theme": "dark", /* not light */
  "context_servers": {
    "other": { "command": "x" }, // keep
  },
}
"""


def test_an_entry_is_added_beside_others_and_comments_stay() -> None:
    made = with_entry(COMMENTED, ("context_servers", "contextd"), {"command": "/bin/contextd", "args": ["mcp"]})
    assert "// the theme I like" in made and "/* not light */" in made and "// keep" in made
    assert entry(made, ("context_servers", "contextd", "args")) == ["mcp"] and entry(made, ("context_servers", "other")) == {
        "command": "x"
    }
    assert with_entry(made, ("context_servers", "contextd"), {"command": "/bin/contextd", "args": ["mcp"]}) == made
    gone = without_entry(made, ("context_servers", "contextd"))
    assert entry(gone, ("context_servers", "contextd")) is None and "// keep" in gone and "// the theme I like" in gone


def test_an_empty_file_and_missing_parents_are_filled() -> None:
    assert json.loads(with_entry("", ("a", "b", "c"), 1)) == {"a": {"b": {"c": 1}}}
    assert json.loads(with_entry('{"a": {}}', ("a", "b"), [1])) == {"a": {"b": [1]}}


@pytest.mark.parametrize("text", ["[]", "{", '{"a": 1} x', '{"a" 1}', "nonsense", '{"a": [}', '{"a": {"b": 1}', "[" * 5000])
def test_a_file_that_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        with_entry(text, ("a", "b"), 1)


def test_an_entry_below_something_that_is_no_object_is_refused() -> None:
    with pytest.raises(InvalidInput, match="not an object"):
        with_entry('{"a": 3}', ("a", "b"), 1)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("abcd"), _VALUES, max_size=4), st.sampled_from([None, 2]), _VALUES)
def test_adding_and_removing_changes_nothing_else(document: dict[str, object], indent: int | None, value: object) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    made = with_entry(text, ("new", "contextd"), value)
    assert json.loads(made) == {**document, "new": {"contextd": value}}
    assert json.loads(without_entry(made, ("new",))) == document
