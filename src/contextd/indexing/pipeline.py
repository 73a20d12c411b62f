"""INDEX: source ► filter ► scrub ► chunk ► embed ► store. First run, later run and rebuild are this one path.

Scrub and chunk happen together in the parser's worker. A document is written in one transaction; a run that is killed has
written some documents and not others, and the next one goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from blake3 import blake3

from contextd.errors import ContextdError, Unavailable
from contextd.indexing.changes import Changes, changes
from contextd.indexing.embed import embed, embed_missing, texts_of
from contextd.ports import Embedder, FileState, Job, Outcome, Parser, ProjectStore, Recipe, Skip, Source
from contextd.types import DocumentRow, Parsed, Stamp


@dataclass(frozen=True, slots=True)
class Options:
    """How a run works."""

    verify: bool = False
    batch: int = 128
    priority: tuple[str, ...] = ()
    most_files: int = 0
    fail_fast: bool = False
    warn_bytes: float = 2 << 20


@dataclass(slots=True)
class Report:
    """What a run did."""

    files: int = 0
    parsed: int = 0
    reused: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    lines: int = 0
    finds: int = 0
    seconds: float = 0.0
    total: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def written(self) -> int:
        """Documents written: parsed in this run, or with a content that was stored already."""
        return self.parsed + self.reused


Progress = Callable[[Report], None]


@dataclass(slots=True)
class _Run:
    source: Source
    store: ProjectStore
    parser: Parser
    embedder: Embedder | None
    recipe: Recipe
    options: Options
    acl: int
    known: dict[str, DocumentRow]
    report: Report
    progress: Progress
    pending: dict[str, tuple[Stamp, bytes]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)


def index(
    source: Source,
    store: ProjectStore,
    parser: Parser,
    embedder: Embedder | None,
    recipe: Recipe,
    acl: int,
    options: Options | None = None,
    progress: Progress = lambda _: None,
) -> Report:
    """Bring the store up to date with the source."""
    began = time.monotonic()
    options = options or Options()
    run = _Run(source, store, parser, embedder, recipe, options, acl, store.documents(source.id), Report(), progress)
    again = options.verify or store.setting(f"recipe {source.id}") not in (None, recipe.text)
    found = changes(source.scan(), run.known, look_again=again, priority=options.priority, warn_bytes=options.warn_bytes)
    _begin(run, found)
    batch: list[tuple[DocumentRow, Parsed]] = []
    for outcome in parser.parse(_jobs(run, found.to_read)):
        _collect(run, outcome, batch)
        if sum(len(parsed.pieces) for _, parsed in batch) >= options.batch:
            _write(run, batch)
        run.report.seconds = time.monotonic() - began
        progress(run.report)
    _write(run, batch)
    _end(run, found)
    run.report.seconds = time.monotonic() - began
    return run.report


def _begin(run: _Run, found: Changes) -> None:
    if run.options.most_files:
        del found.to_read[run.options.most_files :]
    report = run.report
    report.unchanged, report.skipped, report.total = found.unchanged, found.skipped, len(found.to_read)
    report.warnings += [f"{uri} is large; it takes a while and many chunks" for uri in found.large[:5]]
    report.warnings += [f"{uri or 'the folder'} cannot be listed; what is known of it stays" for uri in found.unseen[:5]]
    if found.empty and found.gone and not run.options.verify:
        found.gone.clear()
        kept = f"{len(run.known)} documents are kept; if it is meant to be empty, run `contextd index --verify`"
        report.warnings.append(f"the folder is empty (is its disk mounted?): {kept}")


def _jobs(run: _Run, files: Sequence[FileState]) -> Iterator[Job]:
    """Read each file; one whose content is stored already never reaches the parser.

    Workers pull from here on their own threads, one at a time: what is counted here is counted nowhere else.
    """
    for state in files:
        read = run.source.read(state.uri)
        run.report.files += 1
        if isinstance(read, Skip):
            _skip(run, state, read)
            continue
        data, stamp = read
        language = run.recipe.language_of(state.uri, data)
        digest = blake3(data).digest(16)
        row = _row(run, state.uri, language, stamp, digest)
        old = run.known.get(state.uri)
        if old is not None and (old.content, old.acl) == (row.content, row.acl):
            run.store.touch([row])
            run.report.unchanged += 1
        elif run.store.has_content(row.content):
            run.store.put(row, None, {})
            run.report.reused += 1
        else:
            run.pending[state.uri] = (stamp, digest)
            yield Job(state.uri, data, language)


def _skip(run: _Run, state: FileState, skip: Skip) -> None:
    kind = skip.reason.split(" (")[0].split(":")[0]
    run.report.skipped[kind] = run.report.skipped.get(kind, 0) + 1
    if state.uri in run.known and skip.reason != "gone" and "changes while" not in skip.reason:
        run.refused.append(state.uri)


def _row(run: _Run, uri: str, language: str, stamp: Stamp, digest: bytes) -> DocumentRow:
    modified = stamp.mtime_ns // 1000
    content = _number(digest, language, run.recipe.text)
    return DocumentRow(_number(run.source.id, uri), run.source.id, uri, content, run.acl, language, stamp, digest, modified)


def _number(*parts: object) -> int:
    """A 63-bit id of some values."""
    return int.from_bytes(blake3(repr(parts).encode("utf-8", "replace")).digest(8), "little") >> 1


def _collect(run: _Run, outcome: Outcome, batch: list[tuple[DocumentRow, Parsed]]) -> None:
    job, report = outcome.job, run.report
    stamp, digest = run.pending.pop(job.uri)
    if outcome.parsed is None:
        report.failed[job.uri] = outcome.error
        run.store.note_error(job.uri, outcome.error)
        if run.options.fail_fast:
            raise ContextdError(f"{job.uri}: {outcome.error} (fail_fast is set)")
        return
    parsed = outcome.parsed
    report.chunks += len(parsed.pieces)
    report.lines += parsed.text.count("\n")
    report.finds += len(parsed.finds)
    report.warnings += [f"{job.uri}: {warning}" for warning in parsed.warnings]
    batch.append((_row(run, job.uri, job.language, stamp, digest), parsed))


def _write(run: _Run, batch: list[tuple[DocumentRow, Parsed]]) -> None:
    """Embed a batch together, then write each document in its own transaction."""
    texts = [text for _, parsed in batch for text in texts_of(parsed)]
    vectors = None
    if run.embedder is not None and texts:
        try:
            vectors = embed(run.embedder, texts)
        except Unavailable as error:
            if str(error) not in run.report.warnings:
                run.report.warnings.append(str(error))
    start = 0
    for row, parsed in batch:
        end = start + len(parsed.pieces)
        own = {run.embedder.space: vectors[start:end]} if vectors is not None and run.embedder and end > start else {}
        run.store.put(row, parsed, own)
        run.report.parsed += 1
        start = end
    if batch:
        run.store.fold()
    batch.clear()


def _end(run: _Run, found: Changes) -> None:
    """What is gone goes last: a file that was moved finds its content still there."""
    if gone := [*found.gone, *run.refused]:
        run.store.remove(run.source.id, gone)
        run.store.clear_errors(gone)
        run.report.removed = len(gone)
    dropped = 0
    if run.embedder is not None:
        try:
            embed_missing(run.store, run.embedder)
            dropped = run.store.drop_other_spaces(run.embedder.space)
        except Unavailable as error:
            run.report.warnings.append(str(error))
    run.store.clear_errors([state.uri for state in found.to_read if state.uri not in run.report.failed])
    if not run.report.failed and not run.options.most_files:  # else some documents may still be of the old recipe
        run.store.set_setting(f"recipe {run.source.id}", run.recipe.text)
    if run.report.written or run.report.removed or dropped:
        run.store.fold(force=True)
    run.store.finish()
