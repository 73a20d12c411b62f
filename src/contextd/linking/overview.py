"""Map a project: its most central files with signatures, within a token budget.

A file is central if many others refer to names it defines. Names that many files define say little about each of them.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from contextd.linking.symbols import signature_of
from contextd.ports.store import View
from contextd.text.paths import is_test
from contextd.text.terms import parts_of
from contextd.values.document import Chunk, Definition
from contextd.values.structure import Overview

_DAMPING, _ROUNDS = 0.85, 20
_SIGNATURE = 200  # characters
_SIGNATURES = 6  # per file
_PROSE = (".md", ".rst", ".adoc")
_NO_TOPICS = re.compile(r"(?i)(^|/)(changelog|changes|license|history|news|code_of_conduct)")
_SEVERAL_WORDS = re.compile(r"[^\W\d]+( [^\W\d]+)+")
_DOCUMENTS = 5  # documents whose headings are read
_COMMON = 6  # a name defined in more files is ignored


def overview(view: View, budget: int, count: Callable[[str], int]) -> Overview:
    """Return the map of a project."""
    uris = {number: uri for number, uri in view.uris().items() if not is_test(uri)}
    defined: dict[int, list[Definition]] = defaultdict(list)
    for number, one in view.links.outline(uris):
        defined[number].append(one)
    central, used = _central(view, defined)
    lines: list[str] = []
    shown: list[str] = []
    for number in sorted(uris, key=lambda one: (-central.get(one, 0.0), uris[one])):
        if number not in defined:
            continue
        entry = [uris[number], *_signatures(defined[number], view.chunks_of([number])[number], used)]
        while len(entry) > 1 and count("\n".join([*lines, *entry])) > budget:
            entry.pop()
        if len(entry) < 2:
            break
        lines += entry
        shown.append(uris[number])
    text = "\n".join(lines)
    return Overview(text, count(text), tuple(shown))


def most_used(view: View, most: int = 3) -> list[str]:
    """Return the names the project itself uses most. Names of several words come first: libraries rarely define them, too."""
    files = [number for number, uri in view.uris().items() if not is_test(uri)]
    defined = Counter(_last(one) for _, one in view.links.outline(files))
    names = [name for name, times in defined.items() if times == 1 and len(name) > 3 and not name.startswith("_")]
    used: Counter[str] = Counter()
    for site in view.links.references(names):
        used[site.name] += len(site.lines)
    return sorted(names, key=lambda name: (not used[name], len(parts_of(name)) < 2, -used[name], name))[:most]


def headings(view: View, most: int = 3) -> list[str]:
    """Return headings of the project's documents: first those of several words, then those nearest to the root."""
    texts = [(number, uri) for number, uri in view.uris().items() if uri.endswith(_PROSE) and not _NO_TOPICS.search(uri)]
    nearest = sorted(texts, key=lambda item: (item[1].count("/"), "readme" not in item[1].lower(), item[1]))[:_DOCUMENTS]
    found = [
        chunk.label
        for chunks in view.chunks_of([number for number, _ in nearest]).values()
        for chunk in chunks[1:]
        if chunk.label
    ]
    return sorted(dict.fromkeys(found), key=lambda label: not _SEVERAL_WORDS.fullmatch(label))[:most]


def _central(view: View, defined: Mapping[int, list[Definition]]) -> tuple[dict[int, float], Counter[str]]:
    """Rank files by a random walk from each file to the files that define the names it uses; and count uses of names."""
    defining: dict[str, set[int]] = defaultdict(set)
    for number, several in defined.items():
        for one in several:
            defining[one.label.rpartition(".")[2].lower()].add(number)
    names = {name: owners for name, owners in defining.items() if len(owners) <= _COMMON and len(name) > 2}
    used: Counter[str] = Counter()
    edges: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for site in view.links.references(list(names)):
        owners = names[site.name]
        used[site.name] += len(site.lines)
        for owner in owners:
            if owner != site.document and site.document in defined:
                edges[site.document][owner] += math.sqrt(len(site.lines)) / len(owners)
    return _walked(edges, list(defined)), used


def _walked(edges: Mapping[int, Mapping[int, float]], nodes: list[int]) -> dict[int, float]:
    if not nodes:
        return {}
    rank = dict.fromkeys(nodes, 1 / len(nodes))
    for _ in range(_ROUNDS):
        following = dict.fromkeys(nodes, (1 - _DAMPING) / len(nodes))
        for node in nodes:
            out = edges.get(node)
            if not out:
                continue
            whole = sum(out.values())
            for other, weight in out.items():
                following[other] += _DAMPING * rank[node] * weight / whole
        rank = following
    return rank


def _signatures(defined: list[Definition], chunks: Sequence[Chunk], used: Mapping[str, int]) -> list[str]:
    """Return the signatures that other files use most, in the order of the file."""
    named = [one for one in defined if not _last(one).startswith("_")]
    best = sorted(named, key=lambda one: -used.get(_last(one).lower(), 0))[:_SIGNATURES]
    return [f"  {one.line}: {signature_of(chunks, one.line)[:_SIGNATURE]}" for one in sorted(best, key=lambda one: one.line)]


def _last(one: Definition) -> str:
    return one.label.rpartition(".")[2]
