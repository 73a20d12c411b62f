"""Open the best files: each of their chunks may hold the answer, whether an arm found it or not."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from contextd.ports.store import View
from contextd.querying.gathered import Gathered
from contextd.text.languages import PROSE, is_data
from contextd.values.answer import NO_VECTOR, Candidate, Retrieved
from contextd.values.document import About, Chunk, ChunkId, Definition
from contextd.values.query import Plan

FILES = 20  # of 112 questions, three are answered in a later file
_LOOKED_THROUGH = 3  # files searched for a name even if the parser saw no definition in them
_OPENED = 8  # files with definitions
_BY_PATTERN = 0.7  # a line that looks like a declaration, against 1 for a definition the parser saw; set by hand
_BY_LAST_NAME = 0.8
_OF_THE_BEST = 0.6  # of the best fit: a worse fit is another name, in another case, or a constructor
_SPECIAL = 0.6  # a specialization of a template: `struct formatter<T>`
_STATEMENT = (
    r"\s*(?:(?:export|default|public|private|protected|internal|static|final|abstract|sealed|open|data|inline|const|async|unsafe|extern"
    r"|declare|override|partial|readonly|case|implicit|lazy|local|typedef|pub(?:\([^)\n]*\))?|@\w+(?:\([^)\n]*\))?)\s+)*"
    r"(?:class|struct|interface|trait|enum|union|protocol|record|object|module|namespace|typealias|type|val|var|let|const|def|fun|func"
    r"|function|fn|defmodule|define)\s+(?:<[^>\n]*>\s*)?"
)
_EXTENDS = re.compile(
    r"\s*(?:(?:pub|public|private|internal|fileprivate|unsafe|default)\s+)*(?:impl|extension)\b"
)  # add to a type
_WHOLE = 1000  # chunks: in a longer file, only chunks around the candidates are considered
_AROUND = 10


def gather(
    ranked: Sequence[Candidate], known: Mapping[ChunkId, About], retrieved: Retrieved, plan: Plan, view: View
) -> Gathered:
    """Return the chunks of the best files, and which of them declare the name a question consists of."""
    best: dict[int, Candidate] = {}
    for one in ranked:
        if len(best) == FILES and one.chunk.document not in best:
            break
        best.setdefault(one.chunk.document, one)
    pieces = [known[one.chunk].pieces for one in best.values()]
    every = [
        ChunkId(document, ordinal)
        for document, count in zip(best, pieces, strict=True)
        for ordinal in (range(count) if count <= _WHOLE else _near(document, count, retrieved))
    ]
    about, kinds = view.about(every), plan.scope.kinds
    if kinds:
        inside = [not kinds.isdisjoint(where.kinds) for where in about]
        every, about = list(compress(every, inside)), list(compress(about, inside))
    chunks = tuple(every)
    declared = _declared(list(best), plan, view) if plan.route in ("symbol", "path") else {}
    shown = frozenset(chunks) if declared else frozenset()
    return Gathered(
        chunks,
        tuple(about),
        retrieved.scores(chunks),
        {name: _range(values) for name, values in retrieved.arms.items()},
        np.array([best[chunk.document].score for chunk in chunks]),
        {chunk: found for chunk, found in declared.items() if chunk in shown},
        lambda: [where.uri for where in view.about(_closed(retrieved, best))],
    )


def _closed(retrieved: Retrieved, opened: Collection[int]) -> list[ChunkId]:
    """Return one candidate of each file that is not opened."""
    return list({chunk.document: chunk for chunk in retrieved.chunks if chunk.document not in opened}.values())


def _range(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return minimum and maximum. Chunks without a vector have no cosine and are ignored."""
    there = values[values > NO_VECTOR]
    return (float(there.min()), float(there.max())) if len(there) else (0.0, 0.0)


def _near(document: int, count: int, retrieved: Retrieved) -> list[int]:
    """Return the ordinals around the candidates in a long file."""
    proposed = [chunk.ordinal for chunk in retrieved.chunks if chunk.document == document]
    return sorted({at for one in proposed for at in range(max(0, one - _AROUND), min(count, one + _AROUND + 1))})


def _declared(documents: Sequence[int], plan: Plan, view: View) -> dict[ChunkId, tuple[float, int]]:
    """Return the chunks of some documents that declare a name, with the quality of the match and the line."""
    asked = re.sub(r"::|#|->|/", ".", plan.text.strip().rstrip("()?!"))
    name = asked.rpartition(".")[2]
    defined: dict[int, dict[int, float]] = {document: {} for document in documents[:_LOOKED_THROUGH]}
    for document, one in view.links.defining([name]):
        if document in documents and (fit := _fit(asked, one)):
            defined.setdefault(document, {})[one.line] = fit
    found: dict[ChunkId, tuple[float, int]] = {}
    rank = {document: place for place, document in enumerate(documents)}
    order = sorted(defined, key=lambda document: (-max(defined[document].values(), default=0.0), rank[document]))
    for document, chunks in view.chunks_of(order[:_OPENED]).items():
        for chunk in chunks:
            for line, fit in _declarations(chunk, name, defined[document]):
                if fit > found.get(chunk.id, (0.0, 0))[0]:
                    found[chunk.id] = fit, line
    least = _OF_THE_BEST * max((fit for fit, _ in found.values()), default=0.0)  # `command` does not match `Command`
    return {chunk: (fit, line) for chunk, (fit, line) in found.items() if fit >= least}


def _declarations(chunk: Chunk, name: str, defined: Mapping[int, float]) -> Iterator[tuple[int, float]]:
    """Yield lines of a chunk that declare a name: the parser saw a definition there, or the line looks like one."""
    if chunk.language in PROSE or is_data(chunk.language):
        return
    statement = re.compile(_STATEMENT + re.escape(name) + r"\b(?!\s*;|[.:]\w|::)")
    for number, line in enumerate(chunk.text.removesuffix("\n").split("\n"), chunk.start_line):
        fit = max(defined.get(number, 0.0), _BY_PATTERN if name in line and statement.match(line) else 0.0)
        if fit and not _EXTENDS.match(line) and not line.rstrip().endswith(f"{name};"):
            yield number, fit * (_SPECIAL if chunk.language == "cpp" and f"{name}<" in line else 1.0)


def _fit(asked: str, one: Definition) -> float:
    """Return how well a definition matches a name. Case matters, and a constructor does not count as its class."""
    *outer, last = one.label.split(".")
    if outer and outer[-1].lower() == last.lower():
        return 0.0
    wanted = asked.split(".")
    own = one.label.split(".")[-len(wanted) :]
    if [part.lower() for part in own] != [part.lower() for part in wanted]:
        return _BY_LAST_NAME if last == wanted[-1] and not outer else 0.0  # `click.echo`: the qualifier may be a module
    return (1.0 if own == wanted else 0.5) - 0.1 * (one.kind != "code_class") - 0.02 * len(outer)
