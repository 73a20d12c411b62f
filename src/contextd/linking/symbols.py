"""Who defines a name, and who uses it. Names are compared by their last part; that several define it is shown, not hidden."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextd.linking.resolve import Places, resolve
from contextd.ports import View
from contextd.types import INHERIT, Chunk, Site
from contextd.types import Definition as Defined

_PACKAGE_IS_FOLDER = (".go", ".java", ".kt", ".swift", ".cs", ".scala")


@dataclass(frozen=True, slots=True)
class Definition:
    """A place where a name is defined."""

    uri: str
    line: int
    kind: str
    label: str
    signature: str


@dataclass(frozen=True, slots=True)
class Use:
    """A place where a name is called or inherited from. `sure` when no other definition could be meant."""

    uri: str
    line: int
    how: str
    inside: str
    text: str
    sure: bool


def definitions(view: View, name: str) -> list[Definition]:
    """Where a name is defined; a qualified one (`Session.close`, `store.load_user`) only where it is so called."""
    uris = view.uris()
    found = view.defining([_last(name)])
    fitting = [(document, one) for document, one in found if _is_called(one.label, uris[document], name)]
    texts = {document: view.chunks_of(document) for document in {document for document, _ in fitting}}
    places = [
        Definition(uris[document], one.line, one.kind, one.label, line_of(texts[document], one.line))
        for document, one in fitting
    ]
    return sorted(places, key=lambda one: (one.uri, one.line))


def _last(name: str) -> str:
    return re.split(r"::|[.#/]|->", name.strip().rstrip("()"))[-1]


def _is_called(label: str, uri: str, name: str) -> bool:
    """Whether a definition has this name: by what it stands in, or by its file."""
    wanted = re.sub(r"::|[#/]|->", ".", name.strip().rstrip("()")).lower()
    stem = uri.rpartition("/")[2].partition(".")[0].lower()
    return any(full == wanted or full.endswith("." + wanted) for full in (label.lower(), f"{stem}.{label.lower()}"))


def line_of(chunks: Sequence[Chunk], line: int) -> str:
    """A line of a document, from the chunk that holds it."""
    for chunk in chunks:
        if chunk.start_line <= line <= chunk.end_line:
            lines = chunk.text.split("\n")
            if line - chunk.start_line < len(lines):
                return lines[line - chunk.start_line].strip()[:200]
    return ""


def uses(view: View, name: str, defined: Sequence[Definition]) -> list[Use]:
    """Where a name is called or inherited from; where several define it, only what can reach one of those asked about."""
    last, uris = _last(name), view.uris()
    sites = view.references([last])
    every = definitions(view, last)
    ambiguous = len({one.uri for one in every}) > 1
    reach = _reach(view, sites, {one.uri for one in defined}, uris) if ambiguous else set()
    others = {one.uri for one in every} - {one.uri for one in defined}
    own = {(one.uri, one.line) for one in every}
    found: list[Use] = []
    for site in sites:
        uri = uris[site.document]
        sure = not ambiguous or (uri in reach and uri not in others)
        if ambiguous and others and not sure and len(defined) < len(every):
            continue
        found += [use for use in _uses(view, site, uri, sure) if (use.uri, use.line) not in own]
    return sorted(found, key=lambda one: (not one.sure, one.uri, one.line))


def _reach(view: View, sites: Sequence[Site], targets: set[str], uris: Mapping[int, str]) -> set[str]:
    """The files among some sites that define a target themselves, import it, or share its package."""
    places = Places(uris.values())
    packages = {_folder(uri) for uri in targets if uri.endswith(_PACKAGE_IS_FOLDER)}
    wanted = {site.document for site in sites}
    found = targets | {uris[document] for document in wanted if _folder(uris[document]) in packages}
    for one in view.imports(wanted):
        uri = uris[one.document]
        if uri not in found and targets & set(resolve(uri, language_by_name(uri), one.name, places)):
            found.add(uri)
    return found


def _folder(uri: str) -> str:
    return uri.rpartition("/")[0]


def _uses(view: View, site: Site, uri: str, sure: bool) -> list[Use]:
    chunks, defined = view.chunks_of(site.document), [one for _, one in view.outline([site.document])]
    how = "inherits" if site.kind == INHERIT else "calls"
    return [Use(uri, line, how, _inside(defined, line), line_of(chunks, line), sure) for line in site.lines]


def _inside(defined: Sequence[Defined], line: int) -> str:
    """The innermost definition around a line."""
    around = [one for one in defined if one.line <= line <= one.end_line]
    return min(around, key=lambda one: one.end_line - one.line).label if around else ""


_ENDINGS = {"py": "python", "go": "go", "rs": "rust", "java": "java", "kt": "kotlin", "js": "javascript", "jsx": "javascript",
            "ts": "typescript", "tsx": "tsx", "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "cs": "csharp",
            "rb": "ruby", "php": "php", "swift": "swift", "scala": "scala", "sh": "shell", "lua": "lua", "ex": "elixir",
            "exs": "elixir", "zig": "zig", "hs": "haskell"}  # fmt: skip


def language_by_name(uri: str) -> str:
    """The language of a document by its ending, as far as imports differ."""
    return _ENDINGS.get(uri.rpartition(".")[2].lower(), "")
