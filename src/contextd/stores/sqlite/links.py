"""References between contents, in tables of the index: written with a content, read by keys of names."""

from __future__ import annotations

from array import array
from functools import lru_cache

import apsw

from contextd.text.paths import parts_of_target
from contextd.text.terms import key
from contextd.values.document import IMPORT, Parsed

_REFERENCE = "insert or replace into reference values (?, ?, ?, ?, ?)"
_DEFINITION = "insert or replace into definition values (?, ?, ?, ?, ?, ?, ?)"
_IMPORT = "insert or replace into import values (?, ?, ?, ?, ?)"


@lru_cache(maxsize=1 << 14)  # names repeat often
def name_key(name: str) -> int:
    """Return the key of a name that is looked up ignoring case: 63 bits of a hash of its lower-case form."""
    return key(name.lower()) >> 1


@lru_cache(maxsize=1 << 14)
def exact_key(name: str) -> int:
    """Return the key of a called name: `Option` and `option` differ."""
    return key(name) >> 1


def stem_of_target(target: str) -> str:
    """Return the last part of an import target, without extension: C, y and b for `a.b.C`, `./x/y.js` and `a::b`."""
    parts = parts_of_target(target)
    return parts[-1] if parts else ""


def put_links(connection: apsw.Connection, workspace: int, content: int, parsed: Parsed) -> None:
    """Store the definitions, references and imports of a content."""
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
