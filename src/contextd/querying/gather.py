"""Open the best files: each of their chunks may hold the lines that answer, whether an arm proposed it or not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from contextd.ports import View
from contextd.querying.gathered import Gathered
from contextd.types import Candidate, Chunk, ChunkId, Definition, Plan, Retrieved

FILES = 20
_LOOKED_THROUGH = 3  # files that are looked through for a name even where the parser saw no definition of it
_OPENED = 8  # files with definitions
_BY_LOOKS = 0.7
_OF_THE_BEST = 0.6
_SPECIAL = 0.6  # a specialization of a template: `struct formatter<T>`
_DECLARES = (
    r"\s*(?:[\w@.]+(?:\([^)\n]*\))?\s+)*(?:class|struct|interface|trait|enum|union|protocol|record|object|module|namespace|typealias|type"
    r"|val|var|let|const|def|fun|func|function|fn|defmodule|define)\s+(?:<[^>\n]*>\s*)?"
)
_EXTENDS = re.compile(
    r"\s*(?:(?:pub|public|private|internal|fileprivate|unsafe|default)\s+)*(?:impl|extension)\b"
)  # add to a type
MOST = 6000  # chunks: a bound on the time, for files of tens of thousands of lines


def gather(ranked: Sequence[Candidate], retrieved: Retrieved, plan: Plan, view: View) -> Gathered:
    """The chunks of the first files of an order, and those that declare the name a question consists of."""
    best: dict[int, Candidate] = {}
    for one in ranked:
        if len(best) == FILES and one.chunk.document not in best:
            break
        best.setdefault(one.chunk.document, one)
    firsts = list(best.values())
    pieces = [where.pieces for where in view.about([one.chunk for one in firsts])]
    every = [
        ChunkId(one.chunk.document, ordinal) for one, count in zip(firsts, pieces, strict=True) for ordinal in range(count)
    ][:MOST]
    about = dict(zip(every, view.about(every), strict=True))
    kinds = plan.scope.kinds
    chunks = tuple(chunk for chunk in every if not kinds or about[chunk].kind in kinds)
    declared = _declared(list(best), plan, view) if plan.route == "symbol" else {}
    return Gathered(
        chunks,
        tuple(about[chunk] for chunk in chunks),
        view.fill(chunks),
        {name: (float(values.min()), float(values.max())) for name, values in retrieved.arms.items()},
        np.array([best[chunk.document].score for chunk in chunks]),
        {chunk: found for chunk, found in declared.items() if chunk in about and (not kinds or about[chunk].kind in kinds)},
    )


def _declared(documents: Sequence[int], plan: Plan, view: View) -> dict[ChunkId, tuple[float, int]]:
    """The chunks of some documents that declare a name, how well each does, and the line of the declaration."""
    asked = re.sub(r"::|#|->|/", ".", plan.text.strip().rstrip("()?!"))
    name = asked.rpartition(".")[2]
    defined: dict[int, dict[int, float]] = {document: {} for document in documents[:_LOOKED_THROUGH]}
    for document, one in view.defining([name]):
        if document in documents and (fit := _fit(asked, one)):
            defined.setdefault(document, {})[one.line] = fit
    found: dict[ChunkId, tuple[float, int]] = {}
    for document, lines in sorted(defined.items(), key=lambda item: -max(item[1].values(), default=0.0))[:_OPENED]:
        for chunk in view.chunks_of(document):
            for line, fit in _declarations(chunk, name, lines):
                if fit > found.get(chunk.id, (0.0, 0))[0]:
                    found[chunk.id] = fit, line
    least = _OF_THE_BEST * max((fit for fit, _ in found.values()), default=0.0)  # `command` is not what `Command` is
    return {chunk: (fit, line) for chunk, (fit, line) in found.items() if fit >= least}


def _declarations(chunk: Chunk, name: str, defined: Mapping[int, float]) -> Iterator[tuple[int, float]]:
    """Lines of a chunk that declare a name: where the parser saw a definition, or where the line looks like one."""
    statement = re.compile(_DECLARES + re.escape(name) + r"\b(?!\s*;)")
    for number, line in enumerate(chunk.text.removesuffix("\n").split("\n"), chunk.start_line):
        fit = max(defined.get(number, 0.0), _BY_LOOKS if name in line and statement.match(line) else 0.0)
        if fit and not _EXTENDS.match(line) and not line.rstrip().endswith(f"{name};"):
            yield number, fit * (_SPECIAL if chunk.language == "cpp" and f"{name}<" in line else 1.0)


def _fit(asked: str, one: Definition) -> float:
    """How well a definition fits a name: the case counts, and a constructor is not what its class is called."""
    *outer, last = one.label.split(".")
    if outer and outer[-1].lower() == last.lower():
        return 0.0
    wanted = asked.split(".")
    own = one.label.split(".")[-len(wanted) :]
    if [part.lower() for part in own] != [part.lower() for part in wanted]:
        return 0.0
    return (1.0 if own == wanted else 0.5) - 0.1 * (one.kind != "code_class") - 0.02 * len(outer)
