"""References between contents, in the tables of the index: written with a document, read by name."""

from __future__ import annotations

import json
from array import array
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

import apsw

from contextd.text.paths import parts_of_target
from contextd.text.terms import key
from contextd.values.document import IMPORT, Definition, Parsed

_REFERENCE = "insert or replace into reference values (?, ?, ?, ?, ?)"
_DEFINITION = "insert or replace into definition values (?, ?, ?, ?, ?, ?, ?)"
_DEFINED_AS = """
select content_id, label, kind, line, end_line from definition
where workspace_id = ? and name_key in (select value from json_each(?))"""
_DEFINED_IN = """
select content_id, label, kind, line, end_line from definition
where workspace_id = ? and content_id in (select value from json_each(?))"""
_IMPORT = "insert or replace into import values (?, ?, ?, ?, ?)"
_BY_NAME = """
select name_key, kind, content_id, lines from reference
where workspace_id = ? and name_key in (select value from json_each(?))"""
_BY_STEM = """
select content_id, target, line from import where workspace_id = ? and stem_key in (select value from json_each(?))"""
_OF_CONTENT = """
select content_id, target, line from import where workspace_id = ? and content_id in (select value from json_each(?))"""


@lru_cache(maxsize=1 << 14)  # names are used again and again
def name_key(name: str) -> int:
    """A name that is looked up in any case, as it is stored: 63 bits of its lower-case form."""
    return key(name.lower()) >> 1


@lru_cache(maxsize=1 << 14)
def exact_key(name: str) -> int:
    """A name that is called, as it is stored: `Option` and `option` are two."""
    return key(name) >> 1


def stem_of_target(target: str) -> str:
    """The last part of what is imported, without an ending: `a.b.C`, `./x/y.js` and `a::b` are known as C, y and b."""
    parts = parts_of_target(target)
    return parts[-1] if parts else ""


def put_links(connection: apsw.Connection, workspace: int, content: int, parsed: Parsed) -> None:
    """Keep what a content defines and refers to."""
    defined = [
        (workspace, name_key(one.label.rpartition(".")[2]), content, one.line, one.end_line, one.kind, one.label)
        for one in parsed.definitions
    ]
    connection.executemany(_DEFINITION, defined)
    called, imported = [], []
    for name, kind, lines in parsed.references:
        if kind == IMPORT:
            imported.append((workspace, content, name, lines[0], name_key(stem_of_target(name))))
        else:
            called.append((workspace, exact_key(name), kind, content, array("I", lines).tobytes()))
    connection.executemany(_REFERENCE, sorted(called))
    connection.executemany(_IMPORT, imported)


def references_to(
    connection: apsw.Connection, workspace: int, names: Collection[str]
) -> Iterator[tuple[str, int, int, Sequence[int]]]:
    """Name, kind, content and lines of every reference to some names."""
    wanted = {exact_key(name): name for name in names}
    for number, kind, content, data in connection.execute(_BY_NAME, (workspace, json.dumps(list(wanted)))):
        lines = array("I")
        lines.frombytes(data)
        yield wanted[number], kind, content, lines


def imports_by_stem(connection: apsw.Connection, workspace: int, stems: Collection[str]) -> list[tuple[int, str, int]]:
    """Content, target and line of every import whose last part is one of these."""
    keys = json.dumps([name_key(stem) for stem in stems])
    return [(content, target, line) for content, target, line in connection.execute(_BY_STEM, (workspace, keys))]


def imports_of(connection: apsw.Connection, workspace: int, contents: Collection[int]) -> list[tuple[int, str, int]]:
    """Content, target and line of every import in some contents."""
    wanted = json.dumps(list(contents))
    return [(content, target, line) for content, target, line in connection.execute(_OF_CONTENT, (workspace, wanted))]


def defined_as(connection: apsw.Connection, workspace: int, names: Collection[str]) -> list[tuple[int, Definition]]:
    """Content and definition of everything whose last part is one of these names."""
    keys = json.dumps([name_key(name) for name in names])
    return [(content, Definition(*rest)) for content, *rest in connection.execute(_DEFINED_AS, (workspace, keys))]


def defined_in(connection: apsw.Connection, workspace: int, contents: Collection[int]) -> list[tuple[int, Definition]]:
    """Content and definition of everything that some contents define."""
    wanted = json.dumps(list(contents))
    return [(content, Definition(*rest)) for content, *rest in connection.execute(_DEFINED_IN, (workspace, wanted))]
