"""Subclasses of a class, and the class from which a method is inherited. Classes are compared by name alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from contextd.ports.store import View
from contextd.values.document import INHERIT, Definition, Site

_GENERATIONS = 4


def bases_of_heirs(view: View, classes: Collection[str]) -> Mapping[str, frozenset[str]]:
    """Return the direct and indirect subclasses of some classes, each with its bases among them and these classes."""
    found: dict[str, frozenset[str]] = {}
    newest = set(classes)
    for _ in range(_GENERATIONS):
        pairs = {
            (heir, site.name)
            for site in view.links.references(sorted(newest))
            if site.kind == INHERIT
            for heir in _inheriting(view, site)
            if heir != site.name
        }
        newest = {heir for heir, _ in pairs} - set(found) - set(classes)
        for heir, base in pairs:
            found[heir] = found.get(heir, frozenset()) | {base}
        if not newest:
            break
    return found


def inherited(view: View, name: str, defined: Sequence[tuple[int, Definition]]) -> list[tuple[int, Definition]]:
    """Return those definitions of a method that a class inherits: those of its nearest bases that have one."""
    by_class: dict[str, list[tuple[int, Definition]]] = {}
    for one in defined:
        if owner := class_of(one[1].label):
            by_class.setdefault(owner, []).append(one)
    bases = bases_of_heirs(view, by_class)
    above, seen = set(bases.get(name, ())), {name}
    while above:
        if found := [one for base in sorted(above) for one in by_class.get(base, ())]:
            return found
        seen |= above
        above = {base for heir in above for base in bases.get(heir, ())} - seen
    return []


def class_of(label: str) -> str:
    """Return the class that contains a definition; empty for one that is in no class."""
    return label.rpartition(".")[0].rpartition(".")[2]


def inside(defined: Sequence[Definition], line: int) -> str:
    """Return the label of the innermost definition around a line."""
    around = [one for one in defined if one.line <= line <= one.end_line]
    return min(around, key=lambda one: one.end_line - one.line).label if around else ""


def _inheriting(view: View, site: Site) -> Iterator[str]:
    outline = [one for _, one in view.links.outline([site.document])]
    yield from (label.rpartition(".")[2] for line in site.lines if (label := inside(outline, line)))
