"""INDEX ► sources ► changes ► parse ► embed ► stores. First runs, later runs and rebuilds all take this path.

Parsing (decode, scrub, chunk, count) happens in a worker process. A batch of documents is written in one transaction. If
a run is killed, the next one continues with the documents that were not written.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from blake3 import blake3

from contextd.errors import ContextdError, Unavailable
from contextd.indexing.changes import Changes, changes
from contextd.indexing.embed import embed, embed_missing
from contextd.ports.interactions import DocumentTraces
from contextd.ports.store import Batch, Lease, ProjectStore, Written
from contextd.ports.world import Embedder, FileState, Parser, Recipe, Skip, Source
from contextd.text.indexed_text import texts_of
from contextd.values.document import COMMIT, DocumentRow, Outcome, Parsed, Raw, Stamp


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run."""

    verify: bool = False
    batch: int = 512
    priority: tuple[str, ...] = ()
    most_files: int = 0
    fail_fast: bool = False
    warn_bytes: float = 2 << 20
    most_bytes: int = 0  # maximum size of the index; 0 for no limit
    paths: tuple[str, ...] = ()
    may_be_empty: bool = False  # otherwise an empty source removes no documents
    light: bool = False  # a small run while watching, without maintenance
    epoch: int = 0  # of a rebuild: contents stored before it are not reused
    clear_errors: bool = True
    vacuum: bool = True


@dataclass(slots=True)
class Report:
    """Result and progress of a run."""

    files: int = 0
    parsed: int = 0
    reused: int = 0
    others: int = 0  # documents other than files, such as commits
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    lines: int = 0
    finds: int = 0
    seconds: float = 0.0
    total: int = 0
    waiting_for: str = ""  # the process that holds the lease, while a job waits for it
    phase: str = ""  # current phase, for progress
    phase_done: int = 0
    phase_total: int = 0  # 0 if unknown
    skipped: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def written(self) -> int:
        """The number of documents written: parsed in this run, or with a content that was already stored."""
        return self.parsed + self.reused


Progress = Callable[[Report], None]
LISTING, READING, FOLDING = "listing files", "indexing files", "folding the index"
_EVERY = 200  # files between two progress reports while listing
_OVER = "over the quota"
_PIECE = 4096  # bytes of a chunk with its terms and vector, estimated generously


@dataclass(slots=True)
class _Run:
    source: Source
    store: ProjectStore
    lease: Lease
    parser: Parser
    embedder: Embedder | None
    recipe: Recipe
    options: Options
    acl: int
    known: dict[str, DocumentRow]
    report: Report
    progress: Progress
    epoch: int
    recipe_changed: bool
    rebuilt: bool = False  # another worktree was rebuilt since this one was indexed
    pending: dict[str, DocumentRow] = field(default_factory=dict)
    stored: deque[DocumentRow] = field(default_factory=deque)  # to write without parsing: their content is stored
    touched: deque[DocumentRow] = field(default_factory=deque)  # with a new stamp and the same content
    refused: list[str] = field(default_factory=list)
    full: bool = False  # the quota is reached: known documents are updated, none are added
    room: int = 0  # bytes left of the quota
    reuse: bool = True  # whether stored contents are reused
    traces: DocumentTraces | None = None
    lost: list[str] = field(default_factory=list)  # uris of documents whose content was deleted before they were written


def index(
    source: Source,
    store: ProjectStore,
    lease: Lease,
    parser: Parser,
    embedder: Embedder | None,
    recipe: Recipe,
    acl: int,
    options: Options | None = None,
    progress: Progress = lambda _: None,
    traces: DocumentTraces | None = None,
) -> Report:
    """Bring the store up to date with the source."""
    began = time.monotonic()
    options = options or Options()
    epoch = options.epoch or int(store.notes.setting("epoch") or 0)
    known, failed = store.documents(source.id), store.notes.failed_stamps()
    changed = bool(known or failed) and store.notes.setting(f"recipe {source.id}") != recipe.text
    if not known and not failed:  # nothing was made with another recipe
        store.notes.set_setting(f"recipe {source.id}", recipe.text)
    # Another worktree was rebuilt since: read every file once, to share the contents that are stored for it.
    rebuilt = bool(known and epoch) and store.notes.setting(f"epoch {source.id}") != str(epoch)
    run = _Run(source, store, lease, parser, embedder, recipe, options, acl, known, Report(), progress, epoch, changed, rebuilt)
    run.traces = traces
    found = changes(
        _listed(run, source.scan(options.paths)),
        known,
        failed,
        look_again=_look_again(run),
        priority=options.priority,
        warn_bytes=options.warn_bytes,
        paths=options.paths,
    )
    _begin(run, found)
    _mind_quota(run)
    _read_all(run, found.to_read, began)
    if run.lost:  # their contents were deleted between check and write
        lost, run.reuse = frozenset(run.lost), False
        _read_all(run, [state for state in found.to_read if state.uri in lost], began)
    _end(run, found)
    run.report.seconds = time.monotonic() - began
    return run.report


def _read_all(run: _Run, files: Sequence[FileState], began: float) -> None:
    """Read, parse and write files, batch by batch."""
    batch: list[tuple[DocumentRow, Parsed]] = []
    for outcome in run.parser.parse(_raws(run, files)):
        _collect(run, outcome, batch)
        if sum(len(parsed.pieces) for _, parsed in batch) >= _most_at_once(run):
            _write(run, batch)
        run.report.seconds = time.monotonic() - began
        _tell(run, READING, run.report.files, run.report.total)
    _write(run, batch)


def _tell(run: _Run, phase: str, done: int, total: int) -> None:
    """Report the current phase and its progress."""
    report = run.report
    report.phase, report.phase_done, report.phase_total = phase, done, total
    run.progress(report)


def _listed(run: _Run, states: Iterable[FileState | Skip]) -> Iterator[FileState | Skip]:
    """Yield the listed files, and report progress now and then."""
    number = 0
    for number, state in enumerate(states, 1):
        if number % _EVERY == 1:
            _tell(run, LISTING, number, 0)
        yield state
    _tell(run, LISTING, number, number)


def _look_again(run: _Run) -> bool:
    """Whether files are read even if their stamp did not change."""
    outdated = run.recipe_changed or run.rebuilt
    return run.options.verify or bool(run.options.epoch) or (outdated and not run.options.paths)


def _begin(run: _Run, found: Changes) -> None:
    if run.options.most_files:
        del found.to_read[run.options.most_files :]
    report = run.report
    report.unchanged, report.skipped, report.total = found.unchanged, found.skipped, len(found.to_read)
    report.warnings += [f"{uri} is a large file; indexing it takes longer" for uri in found.large[:5]]
    whole = "the history" if run.options.may_be_empty else "the folder"
    report.warnings += [f"{uri or whole} cannot be listed; its existing index entries are kept" for uri in found.unseen[:5]]
    doubtful = not (run.options.may_be_empty or run.options.verify or run.options.paths)
    if found.empty and found.gone and doubtful:
        found.gone.clear()
        kept = f"{len(run.known)} documents are kept; if it is meant to be empty, run `contextd index --verify`"
        report.warnings.append(f"the folder is empty (is its disk mounted?): {kept}")


def _raws(run: _Run, files: Sequence[FileState]) -> Iterator[Raw]:
    """Read files, and yield those that must be parsed: their content is not stored yet.

    The threads of the workers call this, one at a time, while the main thread collects the results.
    """
    for state in files:
        read = run.source.read(state.uri)
        run.report.files += 1
        if isinstance(read, Skip):
            _skip(run, state, read)
            continue
        data, stamp = read
        language = COMMIT if state.language == COMMIT else run.recipe.language_of(state.uri, data)
        digest = blake3(data).digest(16)
        row = _row(run, state.uri, language, stamp, digest)
        old = run.known.get(state.uri)
        if old is not None and (old.content, old.acl) == (row.content, row.acl):
            run.touched.append(row)
            run.report.unchanged += 1
        elif run.reuse and run.store.holds(row.content):
            run.stored.append(row)
        elif run.full and old is None:
            _skip(run, state, Skip(state.uri, _OVER))
        else:
            run.pending[state.uri] = row
            yield Raw(state.uri, data, language)
        if len(run.stored) + len(run.touched) >= run.options.batch:
            _apply(run)


def _skip(run: _Run, state: FileState, skip: Skip) -> None:
    kind = skip.reason.split(" (")[0].split(":")[0]
    run.report.skipped[kind] = run.report.skipped.get(kind, 0) + 1
    if skip.failed:
        _fail(run, state.uri, skip.reason, state.stamp)
    if state.uri in run.known and skip.reason != "gone" and "changes while" not in skip.reason:
        run.refused.append(state.uri)


def _fail(run: _Run, uri: str, error: str, stamp: Stamp) -> None:
    """Record that a file could not be indexed. Raises ContextdError if the run is to end there."""
    run.report.failed[uri] = error
    run.store.notes.note_error(uri, error, stamp)
    if run.options.fail_fast:
        raise ContextdError(f"{uri}: {error} (fail_fast is set)")


def _row(run: _Run, uri: str, language: str, stamp: Stamp, digest: bytes) -> DocumentRow:
    modified = stamp.mtime_ns // 1000
    variant = run.recipe.variant_of(uri)
    content = _number(digest, language, run.recipe.text, *([run.epoch] if run.epoch else []), *([variant] if variant else []))
    return DocumentRow(_number(run.source.id, uri), run.source.id, uri, content, run.acl, language, stamp, digest, modified)


def _number(*parts: object) -> int:
    """Return a 63-bit hash of some values."""
    return int.from_bytes(blake3(repr(parts).encode("utf-8", "replace")).digest(8), "little") >> 1


def _collect(run: _Run, outcome: Outcome, batch: list[tuple[DocumentRow, Parsed]]) -> None:
    raw, report = outcome.raw, run.report
    row = run.pending.pop(raw.uri)
    if outcome.parsed is None:
        if run.recipe_changed:  # the stored version may contain data that must no longer be stored
            run.refused.append(raw.uri)
        _fail(run, raw.uri, outcome.error, row.stamp)
        return
    if run.full and raw.uri not in run.known:  # parsed while the quota was reached
        report.skipped[_OVER] = report.skipped.get(_OVER, 0) + 1
        return
    parsed = outcome.parsed
    report.chunks += len(parsed.pieces)
    report.lines += parsed.text.count("\n")
    report.finds += len(parsed.finds)
    report.warnings += [f"{raw.uri}: {warning}" for warning in parsed.warnings]
    batch.append((row, parsed))


def _write(run: _Run, batch: list[tuple[DocumentRow, Parsed]]) -> None:
    """Embed a batch together and write it in one transaction."""
    texts = [text for _, parsed in batch for text in texts_of(parsed)]
    vectors = None
    if run.embedder is not None and texts:
        try:
            vectors = embed(run.embedder, texts)
        except Unavailable as error:
            if str(error) not in run.report.warnings:
                run.report.warnings.append(str(error))
    written: list[Written] = []
    start = 0
    for row, parsed in batch:
        end = start + len(parsed.pieces)
        own = {run.embedder.space: vectors[start:end]} if vectors is not None and run.embedder and end > start else {}
        written.append((row, parsed, own))
        start = end
    run.report.parsed += len(written)
    _apply(run, written)
    if batch:
        _mind_quota(run)
    batch.clear()


def _apply(run: _Run, written: Sequence[Written] = ()) -> None:
    """Write parsed documents, and queued ones whose content is stored. Also called by the threads that read files."""
    batch = Batch(written, _taken(run.stored), _taken(run.touched))
    if run.traces is not None and (edited := _edited(run, batch)):
        run.traces.change(edited)  # before the change is written: a run that is killed in between does this again
    refused = run.store.apply(batch, run.lease).refused
    run.lost.extend(row.uri for row in refused)
    run.report.reused += len(batch.reused) - len(refused)


def _edited(run: _Run, batch: Batch) -> list[int]:
    """Return the documents of a batch whose stored text may be another one than before."""
    rows = [*(row for row, _, _ in batch.written), *batch.reused]
    known = ((row, run.known.get(row.uri)) for row in rows)
    return [row.id for row, old in known if old is not None and (run.recipe_changed or old.digest != row.digest)]


def _taken(rows: deque[DocumentRow]) -> list[DocumentRow]:
    """Remove and return all rows of a queue to which another thread may be adding."""
    return [rows.popleft() for _ in range(len(rows))]


def _mind_quota(run: _Run) -> None:
    most = run.options.most_bytes
    run.room = most - run.store.notes.size() if most else 0
    run.full = bool(most) and run.room < _PIECE


def _most_at_once(run: _Run) -> int:
    """Return the number of chunks to write at once; fewer near the quota, so that a batch does not exceed it."""
    return max(1, min(run.options.batch, run.room // _PIECE // 2)) if run.options.most_bytes else run.options.batch


def _end(run: _Run, found: Changes) -> None:
    """Finish a run. Documents that are gone are removed last, so that a moved file can reuse its content."""
    if left := run.report.skipped.get(_OVER, 0):
        quota = f"the index has reached its quota of {run.options.most_bytes / 1e6:g} MB"
        run.report.warnings.append(f"{quota}: {left} documents are not indexed; raise storage.max_mb, or add ignore_patterns")
    if gone := [*found.gone, *run.refused]:
        run.store.apply(Batch(removed=[run.known[uri].id for uri in gone if uri in run.known]), run.lease)
        run.store.notes.clear_errors([uri for uri in gone if uri not in run.report.failed])
        run.store.jobs.redact(found.gone)
        run.report.removed = len(gone)
    if vanished := [uri for uri, _, _ in run.store.notes.failures() if not run.source.present(uri)]:
        run.store.notes.clear_errors(vanished)
        run.store.jobs.redact(vanished)
    if run.options.clear_errors:
        run.store.notes.clear_errors([state.uri for state in found.to_read if state.uri not in run.report.failed])
    if not run.options.light:
        _settle(run)


def _settle(run: _Run) -> None:
    """Do maintenance that is too slow for a small run: missing vectors, folding, unused contents, vacuum."""
    changed = bool(run.report.written or run.report.removed)
    if run.embedder is not None:
        try:
            changed |= bool(embed_missing(run.store, run.embedder))
            changed |= bool(run.store.adopt(run.embedder.space))
        except Unavailable as error:
            run.report.warnings.append(str(error))
    if not run.options.most_files and not run.options.paths:  # otherwise some documents may still have the old recipe
        run.store.notes.set_setting(f"recipe {run.source.id}", run.recipe.text)
        if run.options.epoch:
            run.store.notes.set_setting("epoch", str(run.options.epoch))
        if run.epoch and run.store.notes.setting(own := f"epoch {run.source.id}") != str(run.epoch):
            run.store.notes.set_setting(own, str(run.epoch))
    if changed:
        _tell(run, FOLDING, 0, 0)
        run.store.fold(run.lease)
    run.store.settle(run.lease, vacuum=run.options.vacuum)
