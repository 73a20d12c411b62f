"""Who defines a name, and who uses it. Names are compared by their last part; that several define it is shown, not hidden."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from contextd.linking.calls import Call, Imported, Target, likeness
from contextd.linking.resolve import Places, resolve
from contextd.ports import View
from contextd.types import INHERIT, Chunk, Site
from contextd.types import Definition as Defined

PACKAGE_IS_FOLDER = (".go", ".java", ".kt", ".swift", ".cs", ".scala")
_GENERATIONS = 4


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
    """Where a name is defined; a qualified one (`Session.close`, `src/store.load_user`) only where it is so called."""
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
    place = posixpath.splitext(uri)[0].lower().replace("/", ".")
    return any(full == wanted or full.endswith("." + wanted) for full in (label.lower(), f"{place}.{label.lower()}"))


def line_of(chunks: Sequence[Chunk], line: int) -> str:
    """A line of a document, from the chunk that holds it."""
    for chunk in chunks:
        if chunk.start_line <= line <= chunk.end_line:
            lines = chunk.text.split("\n")
            if line - chunk.start_line < len(lines):
                return lines[line - chunk.start_line].strip()[:200]
    return ""


def uses(view: View, name: str, defined: Sequence[Definition]) -> list[Use]:
    """Where a name is called or inherited from; where several define it, what rather means one of those asked about."""
    last, uris = _last(name), view.uris()
    every = definitions(view, last)
    sites = view.references([last])
    around = _Around(view, sites, uris)
    own = {(one.uri, one.line) for one in every}
    asked = {one: around.target(one) for one in defined}
    others = [around.target(one) for one in every if one not in asked]
    found: list[Use] = []
    for site in sites:
        for use in around.uses(site):
            if (use.uri, use.line) in own:
                continue
            call = Call(use.uri, use.line, use.text, use.inside)
            mine = max((likeness(call, target, around.imported) for target in asked.values()), default=1)
            theirs = max((likeness(call, target, around.imported) for target in others), default=0)
            if use.how == "inherits" or (mine and mine >= theirs and (mine > 1 or not theirs)):
                found.append(replace(use, sure=not others or mine > theirs))
    return sorted(found, key=lambda one: (not one.sure, one.uri, one.line))


class _Around:
    """What is known around the sites of a name: what their files import, and which classes inherit from which."""

    def __init__(self, view: View, sites: Sequence[Site], uris: Mapping[int, str]) -> None:
        self._view, self._uris = view, uris
        self._texts = {site.document: view.chunks_of(site.document) for site in sites}
        self._outlines = {document: [one for _, one in view.outline([document])] for document in self._texts}
        places = Places(uris.values())
        self._reaching: dict[str, set[str]] = {}  # by file: those that import it
        lines: dict[str, list[tuple[str, bool]]] = {}
        for one in view.imports(set(self._texts)):
            uri = uris[one.document]
            meant = resolve(uri, language_by_name(uri), one.name, places)
            for target in meant:
                self._reaching.setdefault(target, set()).add(uri)
            lines.setdefault(uri, []).append((line_of(self._texts[one.document], one.lines[0]), bool(meant)))
        self.imported = Imported(lines)

    def target(self, one: Definition) -> Target:
        """A definition with the files that reach it and the classes that inherit from its own."""
        reached = set(self._reaching.get(one.uri, ()))
        if one.uri.endswith(PACKAGE_IS_FOLDER):
            reached |= {uri for uri in (self._uris[document] for document in self._texts) if folder(uri) == folder(one.uri)}
        bare = Target(one.uri, one.label, frozenset(reached), frozenset())
        return replace(bare, heirs=frozenset(self._heirs(bare.owner))) if bare.owner else bare

    def _heirs(self, owner: str) -> set[str]:
        """The classes that inherit from one, directly or through others."""
        found, newest = set[str](), {owner}
        for _ in range(_GENERATIONS):
            newest = {
                heir
                for site in self._view.references(sorted(newest))
                if site.kind == INHERIT
                for heir in self._inheriting(site)
            }
            newest -= found | {owner}
            if not newest:
                break
            found |= newest
        return found

    def _inheriting(self, site: Site) -> Iterator[str]:
        outline = [one for _, one in self._view.outline([site.document])]
        yield from (_inside(outline, line).rpartition(".")[2] for line in site.lines if _inside(outline, line))

    def uses(self, site: Site) -> list[Use]:
        """The lines of a site."""
        chunks, defined, uri = self._texts[site.document], self._outlines[site.document], self._uris[site.document]
        how = "inherits" if site.kind == INHERIT else "calls"
        return [Use(uri, line, how, _inside(defined, line), line_of(chunks, line), sure=True) for line in site.lines]


def folder(uri: str) -> str:
    """Where a file lies."""
    return uri.rpartition("/")[0]


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
