"""Definitions, references and imports of the candidate documents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from contextd.stores.search.masks import Masks
from contextd.stores.search.reading import Reading
from contextd.stores.search.snapshot import Snapshot
from contextd.values.document import IMPORT, Definition, Site


class SnapshotLinks:
    """Definitions, references and imports of one snapshot, as one reader may see them."""

    def __init__(self, reading: Reading, snapshot: Snapshot, masks: Masks) -> None:
        self._reading, self._snapshot, self._masks = reading, snapshot, masks

    def defining(self, names: Collection[str]) -> list[tuple[int, Definition]]:
        """Return document and definition of each definition whose last part is one of the names."""
        found = self._reading.definitions_of(names)
        return [(document, one) for content, one in found for document in self._documents_by_content.get(content, ())]

    def outline(self, documents: Collection[int]) -> list[tuple[int, Definition]]:
        """Return document and definition of each definition in some documents."""
        contents = self._contents(documents)
        found = self._reading.definitions_in(contents)
        return [
            (document, one)
            for content, one in found
            for document in self._documents_by_content.get(content, ())
            if document in documents
        ]

    def references(self, names: Collection[str]) -> list[Site]:
        """Return where the names are called or inherited from."""
        found = self._reading.references_to(names)
        return [
            Site(document, name, kind, tuple(lines))
            for name, kind, content, lines in found
            for document in self._documents_by_content.get(content, ())
        ]

    def imports(self, documents: Collection[int]) -> list[Site]:
        """Return the imports of some documents."""
        contents = self._contents(documents)
        found = self._reading.imports_in(contents)
        return [site for site in self._imported(found) if site.document in documents]

    def importing(self, stems: Collection[str]) -> list[Site]:
        """Return the imports whose last part is one of the stems."""
        return self._imported(self._reading.imports_of(stems))

    def _contents(self, documents: Collection[int]) -> set[int]:
        """Return the content ids of some documents."""
        return {row[3] for document in documents if (row := self._snapshot.documents.row(document))}

    def _imported(self, found: Iterable[tuple[int, str, int]]) -> list[Site]:
        return [
            Site(document, target, IMPORT, (line,))
            for content, target, line in found
            for document in self._documents_by_content.get(content, ())
        ]

    @cached_property
    def _documents_by_content(self) -> Mapping[int, list[int]]:
        """The candidate documents, by content id."""
        found: dict[int, list[int]] = {}
        for row in self._snapshot.documents.by_uri(self._masks.candidates):
            found.setdefault(row[3], []).append(row[0])
        return found
