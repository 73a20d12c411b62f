"""Find definitions and uses of a name. Names are compared by their last part, and all definitions are listed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from contextd.linking.calls import Call, Imported, Target, call_of, class_made, likeness, module_of
from contextd.linking.inheritance import bases_of_heirs, inherited, inside
from contextd.linking.resolve import Places, resolve
from contextd.ports.store import View
from contextd.values.document import INHERIT, Chunk, Definition, Site
from contextd.values.structure import DefinitionSite, Use

PACKAGE_IS_FOLDER = (".go", ".java", ".kt", ".swift", ".cs", ".scala", ".php")
_LONGEST = 2000  # characters of a line that are read
_IMPORT_LINES = 40
_SIGNATURE, _SIGNATURE_LINES = 400, 30  # maximum characters and lines of a signature


def definitions(view: View, name: str) -> list[DefinitionSite]:
    """Return the definitions of a name. A qualified name (`Session.close`, `src/store.load_user`) must match as a whole.

    A class may inherit the name: then the definition in its nearest base is returned.
    """
    uris = view.uris()
    found = view.links.defining([_last(name)])
    fitting = _closest([(document, one) for document, one in found if _is_called(one.label, uris[document], name)], name)
    if not fitting and found and len(parts := _parts(name)) > 1:
        fitting = inherited(view, parts[-2], _closest(found, name))
    texts = view.chunks_of({document for document, _ in fitting})
    places = [
        DefinitionSite(uris[document], one.line, one.kind, one.label, signature_of(texts[document], one.line))
        for document, one in fitting
    ]
    return sorted(places, key=lambda one: (one.uri, one.line))


def outline(view: View, document: int) -> list[DefinitionSite]:
    """Return the definitions in a document; if there are none, its labelled chunks."""
    uri, chunks = view.uris()[document], view.chunks_of([document])[document]
    defined = [(one.line, one.kind, one.label) for _, one in view.links.outline([document])]
    places = defined or [(chunk.start_line, chunk.kind, chunk.label) for chunk in chunks if chunk.label]
    return [DefinitionSite(uri, line, kind, label, signature_of(chunks, line)) for line, kind, label in sorted(places)]


_JOINT = re.compile(r"::|[.:#/]|->")
_FILE_ENDING = re.compile(
    r"\.(?:[ch]|cc|cpp|hpp|cs|exs?|go|hs|java|jsx?|kt|lua|mjs|php|pyi?|rb|rs|scala|sh|swift|tsx?|zig)(?=[.:#/])"
)


def _parts(name: str) -> list[str]:
    """Split `src/app/store.py:Store.load`, `app::Store::load` or `Store.load` into parts."""
    return [part for part in _JOINT.split(_FILE_ENDING.sub("", name.strip().rstrip("()"))) if part]


def _last(name: str) -> str:
    return (_parts(name) or [""])[-1]


def _is_called(label: str, uri: str, name: str) -> bool:
    """Return whether a definition has this name: qualified by its class, by its file, or by a folder above (`package.name`)."""
    wanted = [part.lower() for part in _parts(name)]
    inner = label.lower().split(".")
    place = posixpath.splitext(uri)[0].lower().split("/")
    whole = place + inner
    if wanted == inner[-len(wanted) :] or wanted == whole[-len(wanted) :]:
        return True
    front, back = wanted[: -len(inner)], wanted[-len(inner) :]
    return bool(front) and back == inner and any(place[at : at + len(front)] == front for at in range(len(place)))


def _closest(found: list[tuple[int, Definition]], name: str) -> list[tuple[int, Definition]]:
    """Keep definitions with the exact case of the name, if there are any: `Option` is not `option`."""
    last = _last(name)
    return [one for one in found if one[1].label.rpartition(".")[2] == last] or found


def line_of(chunks: Sequence[Chunk], line: int, most: int = 200) -> str:
    """Return a line of a document, from the chunk that contains it."""
    for chunk in chunks:
        if chunk.start_line <= line <= chunk.end_line:
            lines = chunk.text.split("\n")
            if line - chunk.start_line < len(lines):
                return lines[line - chunk.start_line].strip()[:most]
    return ""


def signature_of(chunks: Sequence[Chunk], line: int) -> str:
    """Return the signature that begins on a line, joined to one line, up to its closing bracket."""
    text = line_of(chunks, line)
    for number in range(line + 1, line + _SIGNATURE_LINES):
        if _open_brackets(text) <= 0 or len(text) >= _SIGNATURE or not (more := line_of(chunks, number)):
            break
        text += ("" if text.endswith(("(", "[")) or more.startswith((")", "]")) else " ") + more
    return text.replace(",)", ")")[:_SIGNATURE]


def _open_brackets(text: str) -> int:
    return sum(text.count(sign) for sign in "([") - sum(text.count(sign) for sign in ")]")


def uses(view: View, name: str, defined: Sequence[DefinitionSite]) -> list[Use]:
    """Return calls and subclasses of a name. If several definitions share the name, keep uses that match `defined` best."""
    uris = view.uris()
    last = next((one.label.rpartition(".")[2] for one in defined), _last(name))  # spelled as in its definition
    every = definitions(view, last)
    sites = view.links.references([last])
    around = _Around(view, sites, uris)
    own = {(one.uri, one.line) for one in every}
    asked = {one: around.target(one) for one in defined}
    others = [around.target(one) for one in every if one not in asked]
    found: list[Use] = []
    for site in sites:
        for use in around.uses(site):
            call = around.typed(call_of(last, use.uri, around.whole(site, use.line), use.inside), site, use.line)
            if (use.uri, use.line) in own and len(call.receivers) < 2:
                continue
            mine = max((likeness(call, target, around.imported) for target in asked.values()), default=1)
            theirs = max((likeness(call, target, around.imported) for target in others), default=-1) if mine >= 0 else -1
            if use.how == "inherits" or (mine >= max(0, theirs) and (mine > 1 or theirs < 1)):
                found.append(replace(use, sure=mine > max(0, theirs)))
    return sorted(found, key=lambda one: (not one.sure, one.uri, one.line))


class _Around:
    """Context of the uses of a name: the imports of their files, and subclasses."""

    def __init__(self, view: View, sites: Sequence[Site], uris: Mapping[int, str]) -> None:
        self._view, self._uris = view, uris
        self._texts = view.chunks_of({site.document for site in sites})
        self._outlines = {document: [one for _, one in view.links.outline([document])] for document in self._texts}
        places = Places(uris.values())
        self._reaching: dict[str, set[str]] = {}  # importing files, by imported file
        bound: list[tuple[str, str, bool]] = []
        for one in view.links.imports(set(self._texts)):
            uri = uris[one.document]
            meant = resolve(uri, language_by_name(uri), one.name, places)
            for target in meant:
                self._reaching.setdefault(target, set()).add(uri)
            bound.append((uri, self._statement(one), bool(meant)))
        self.imported = Imported(bound)
        self._heirs_of: dict[str, frozenset[str]] = {}

    def whole(self, site: Site, line: int) -> str:
        """Return a line, with the line before it if a call chain continues."""
        chunks = self._texts[site.document]
        before = line_of(chunks, line - 1, _LONGEST).rstrip()
        text = line_of(chunks, line, _LONGEST)
        return f"{before}{text}" if before.endswith((".", "->", "::")) or text.startswith((".", "?.", "->", "::")) else text

    def typed(self, call: Call, site: Site, line: int) -> Call:
        """Replace each receiver whose declared type comes from a foreign module by that module; add classes of receivers."""
        chunk = next((one for one in self._texts[site.document] if one.start_line <= line <= one.end_line), None)
        text = chunk.text if chunk is not None else ""
        before = "\n".join(text.split("\n")[: line - chunk.start_line]) if chunk is not None else ""
        modules = {one: module_of(one, text) for one in call.receivers if one and one != "?"}
        foreign = {one: module for one, module in modules.items() if module and self.imported.foreign(call.uri, module)}
        made = {one: name for one in modules if (name := class_made(one, before))}
        return replace(call, receivers=tuple(foreign.get(one or "", one) for one in call.receivers), made=made)

    def _statement(self, site: Site) -> str:
        """Return the text of an import statement, up to its closing bracket."""
        chunks, first = self._texts[site.document], site.lines[0]
        text = line_of(chunks, first, _LONGEST)
        for line in range(first + 1, first + _IMPORT_LINES):
            if not any(text.count(a) > text.count(b) for a, b in ("()", "{}")):
                break
            text += " " + line_of(chunks, line, _LONGEST)
        return text

    def target(self, one: DefinitionSite) -> Target:
        """Return a definition with the files that import it and the subclasses of its class."""
        reached = set(self._reaching.get(one.uri, ()))
        if one.uri.endswith(PACKAGE_IS_FOLDER):
            reached |= {uri for uri in (self._uris[document] for document in self._texts) if folder(uri) == folder(one.uri)}
        bare = Target(one.uri, one.label, frozenset(reached), frozenset())
        if bare.owner and bare.owner not in self._heirs_of:
            self._heirs_of[bare.owner] = frozenset(bases_of_heirs(self._view, [bare.owner]))
        return replace(bare, heirs=self._heirs_of.get(bare.owner, frozenset()))

    def uses(self, site: Site) -> list[Use]:
        """Return the uses at a site, one per line."""
        chunks, defined, uri = self._texts[site.document], self._outlines[site.document], self._uris[site.document]
        how = "inherits" if site.kind == INHERIT else "calls"
        return [Use(uri, line, how, inside(defined, line), line_of(chunks, line), sure=True) for line in site.lines]


def folder(uri: str) -> str:
    """Return the folder of a file."""
    return uri.rpartition("/")[0]


_ENDINGS = {"py": "python", "go": "go", "rs": "rust", "java": "java", "kt": "kotlin", "js": "javascript", "jsx": "javascript",
            "ts": "typescript", "tsx": "tsx", "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "cs": "csharp",
            "rb": "ruby", "php": "php", "swift": "swift", "scala": "scala", "sh": "shell", "lua": "lua", "ex": "elixir",
            "exs": "elixir", "zig": "zig", "hs": "haskell"}  # fmt: skip


def language_by_name(uri: str) -> str:
    """Return the language of a document by its extension, as far as imports differ."""
    return _ENDINGS.get(uri.rpartition(".")[2].lower(), "")
