"""References between contents, in the tables of the index: written with a document, read by the keys of names."""

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
