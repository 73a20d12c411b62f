"""A store with a short way to put texts into it, through its port alone."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from contextd.chunking.cut import Limits
from contextd.chunking.parse import parse
from contextd.models.tokens import Estimate
from contextd.ports.store import Applied, Batch
from contextd.text.terms import DEFINED, NAME, STEM, key
from contextd.values.answer import Found
from contextd.values.document import DocumentRow, Stamp, access_list_id
from contextd.values.query import Reader, Scope
from tests.stores.asking import words

WORKSPACE = 77
SOURCE = 5
OWNER = Reader("owner")
SPACE = "static/test/4/1"


class HeldForTests:
    """A lease that is never lost."""

    def check(self) -> None:
        """Nothing to check."""


HELD = HeldForTests()


def number_of(*parts: str) -> int:
    """A 62-bit id, the same in every process."""
    return int.from_bytes(blake2b("\n".join(parts).encode(), digest_size=8).digest(), "little") >> 2


class Shelf:
    """A store of one workspace; `fold` folds it after every write."""

    def __init__(self, store: Any, *, fold: bool) -> None:
        self.store, self._fold = store, fold

    def put(
        self,
        uri: str,
        text: str,
        principals: frozenset[str] = frozenset({"owner"}),
        vector: list[float] | None = None,
        *,
        source: int = SOURCE,
    ) -> int:
        """Write one document; its id."""
        return self.put_all({uri: text}, principals, vector, source=source)[0]

    def put_all(
        self,
        texts: Mapping[str, str],
        principals: frozenset[str] = frozenset({"owner"}),
        vector: list[float] | None = None,
        *,
        source: int = SOURCE,
    ) -> list[int]:
        """Write some documents in one batch; their ids."""
        written = []
        for uri, text in texts.items():
            language = "python" if uri.endswith(".py") else "text"
            parsed = parse(text.encode(), language, Limits(small=0), Estimate().count)
            number, content = number_of("document", str(source), uri), number_of("content", text)
            acl, stamp = access_list_id(principals), Stamp(1, 2, 3, 4)
            row = DocumentRow(number, source, uri, content, acl, "python", stamp, b"digest", 1_000_000)
            vectors = {SPACE: np.array([vector] * len(parsed.pieces), np.float32)} if vector else {}
            written.append((row, parsed, vectors))
        held = [row for row, _, _ in written if self.store.holds(row.content)]
        fresh = [one for one in written if one[0] not in held]
        self.apply(Batch(fresh, held, granted=[principals]))
        return [row.id for row, _, _ in written]

    def remove(self, *uris: str) -> None:
        """Take documents out."""
        known = self.store.documents(SOURCE)
        self.apply(Batch(removed=[known[uri].id for uri in uris if uri in known]))

    def apply(self, batch: Batch) -> int:
        """Write a batch; its position."""
        applied: Applied = self.store.apply(batch, HELD)
        if self._fold:
            self.store.fold(HELD)
        return applied.position

    def settle(self) -> None:
        """End a run."""
        self.store.settle(HELD)

    def words(self, query: str, reader: Reader = OWNER, field: str = "chunk", **scope: object) -> list[Found]:
        """The best by the words of a field."""
        salt = {"name": NAME, "stem": STEM, "defined": DEFINED}.get(field, "")
        with self.store.view(Scope((WORKSPACE,), reader, **scope)) as view:  # type: ignore[arg-type]
            return list(words(view, {key(term, salt): 1.0 for term in query.split()}, 10, field=field))

    def texts(self, query: str, reader: Reader = OWNER, **scope: object) -> list[str]:
        """The texts of the best chunks by words."""
        with self.store.view(Scope((WORKSPACE,), reader, **scope)) as view:  # type: ignore[arg-type]
            found = words(view, {key(term): 1.0 for term in query.split()}, 10, field="chunk")
            return [chunk.text for chunk in view.get([hit.chunk for hit in found])]
