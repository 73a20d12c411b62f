"""Links of the documents that may answer: what they define, refer to and import."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import apsw

from contextd.stores.sqlite.links import defined_as, defined_in, imports_by_stem, imports_of, references_to
from contextd.stores.sqlite.masks import Masks
from contextd.stores.sqlite.snapshot import Snapshot
from contextd.values.document import IMPORT, Definition, Site


class SqliteLinks:
    """Definitions, references and imports of one workspace at one moment, as one reader may see them."""

    def __init__(self, connection: apsw.Connection, snapshot: Snapshot, masks: Masks) -> None:
        self._connection, self._snapshot, self._masks = connection, snapshot, masks

    def defining(self, names: Collection[str]) -> list[tuple[int, Definition]]:
        """Document and definition of everything whose last part is one of these names."""
        found = defined_as(self._connection, self._snapshot.workspace, names)
        return [(document, one) for content, one in found for document in self._having.get(content, ())]

    def outline(self, documents: Collection[int]) -> list[tuple[int, Definition]]:
        """Document and definition of everything that some documents define."""
        contents = self._contents(documents)
        found = defined_in(self._connection, self._snapshot.workspace, contents)
        return [
            (document, one) for content, one in found for document in self._having.get(content, ()) if document in documents
        ]

    def references(self, names: Collection[str]) -> list[Site]:
        """Where some names are called or inherited from."""
        found = references_to(self._connection, self._snapshot.workspace, names)
        return [
            Site(document, name, kind, tuple(lines))
            for name, kind, content, lines in found
            for document in self._having.get(content, ())
        ]

    def imports(self, documents: Collection[int]) -> list[Site]:
        """What some documents import."""
        contents = self._contents(documents)
        found = imports_of(self._connection, self._snapshot.workspace, contents)
        return [site for site in self._imported(found) if site.document in documents]

    def importing(self, stems: Collection[str]) -> list[Site]:
        """Imports whose last part is one of these."""
        return self._imported(imports_by_stem(self._connection, self._snapshot.workspace, stems))

    def _contents(self, documents: Collection[int]) -> set[int]:
        """The ids of the contents of some documents."""
        return {row[3] for document in documents if (row := self._snapshot.documents.row(document))}

    def _imported(self, found: Sequence[tuple[int, str, int]]) -> list[Site]:
        return [
            Site(document, target, IMPORT, (line,))
            for content, target, line in found
            for document in self._having.get(content, ())
        ]

    @cached_property
    def _having(self) -> Mapping[int, list[int]]:
        """The documents that may answer, by content."""
        found: dict[int, list[int]] = {}
        for row in self._snapshot.documents.by_uri(self._masks.candidates):
            found.setdefault(row[3], []).append(row[0])
        return found
