"""Find the files that depend on a file or a name, and the tests among them: callers and importers, step by step."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from contextd.chunking.comments import code_of
from contextd.linking.resolve import Places, resolve, stems_of
from contextd.linking.symbols import PACKAGE_IS_FOLDER, definitions, folder, language_by_name, uses
from contextd.ports.store import View
from contextd.text.paths import is_test, names_file
from contextd.values.structure import Dependent

_MOST = 500


def importers(view: View, targets: Iterable[str]) -> dict[str, str]:
    """Return the files that import one of the targets, with the import."""
    wanted, uris = set(targets), view.uris()
    places = Places(uris.values())
    stems = {stem for uri in wanted for stem in stems_of(uri)}
    found: dict[str, str] = {}
    for site in view.links.importing(stems):
        uri = uris[site.document]
        if uri not in wanted and uri not in found and wanted & set(resolve(uri, language_by_name(uri), site.name, places)):
            found[uri] = f"imports {site.name} (line {site.lines[0]})"
    return _mates(view, wanted, uris) | found


def _mates(view: View, targets: Collection[str], uris: Mapping[int, str]) -> dict[str, str]:
    """Return files of the same package that mention a name the targets define, besides comments."""
    found: dict[str, str] = {}
    for here in {folder(uri) for uri in targets if uri.endswith(PACKAGE_IS_FOLDER)}:
        package = {document: uri for document, uri in uris.items() if folder(uri) == here and uri.endswith(PACKAGE_IS_FOLDER)}
        defined: dict[str, set[str]] = {}
        for document, one in view.links.outline(list(package)):
            defined.setdefault(package[document], set()).add(one.label)
        definers = Counter(name for labels in defined.values() for name in {_own(label) for label in labels})
        labels = {label for uri in targets for label in defined.get(uri, ())}
        own = {_own(label) for label in labels if "." not in label or definers[_own(label)] == 1}
        for document, uri in (package | _elsewhere(view, targets, package, labels, uris)).items():
            names = sorted(own - {_own(label) for label in defined.get(uri, ())})
            if names and uri not in targets:
                mention = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")
                if match := mention.search(code_of(view.text(document), language_by_name(uri))):
                    found[uri] = f"mentions {match[0]}"
    return found


def _elsewhere(
    view: View, targets: Collection[str], package: Mapping[int, str], labels: Collection[str], uris: Mapping[int, str]
) -> dict[int, str]:
    """Return files in other folders that declare the same package and refer to a class or function of the targets."""
    declared = {_declared(uri, view.text(document)) for document, uri in package.items() if uri in targets} - {""}
    if not declared:
        return {}
    others = {site.document for site in view.links.references([label for label in labels if "." not in label])} - set(package)
    near = {document: uris[document] for document in others if uris[document].endswith(PACKAGE_IS_FOLDER)}
    return {document: uri for document, uri in near.items() if _declared(uri, view.text(document)) in declared}


_DECLARED = re.compile(r"^\s*(?:package|namespace)\s+([\w.\\]+)", re.MULTILINE)


def _declared(uri: str, text: str) -> str:
    """Return the package or namespace that a file declares; empty for Go, where packages of two folders may share a name."""
    match = None if uri.endswith(".go") else _DECLARED.search(text)
    return match[1] if match else ""


def _own(label: str) -> str:
    return label.rpartition(".")[2]


def impact(view: View, what: str, depth: int) -> list[Dependent]:
    """Return the dependents of a file or a name, nearest first."""
    uris = set(view.uris().values())
    files = [what] if what in uris else [uri for uri in uris if names_file(what, uri)]
    found: dict[str, Dependent] = {}
    if files:
        frontier = set(files)
    else:
        defined = definitions(view, what)
        frontier = {one.uri for one in defined}
        for use in uses(view, what, defined):
            found.setdefault(use.uri, Dependent(use.uri, 1, f"{use.how} it (line {use.line})", is_test(use.uri)))
        frontier = set(found) if found else frontier
    seen = set(frontier) | set(files)
    for distance in range(1 if files else 2, depth + 1):
        near = importers(view, frontier)
        for uri, why in near.items():
            if uri not in seen and len(found) < _MOST:
                found.setdefault(uri, Dependent(uri, distance, why, is_test(uri)))
        frontier = set(near) - seen
        seen |= frontier
        if not frontier:
            break
    return sorted(found.values(), key=lambda one: (one.distance, one.test, one.uri))
