"""Keep the index of a project up to date: jobs, watch, and deep vectors when the machine is idle. Requires the lease."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from contextd.errors import ContextdError, Unavailable
from contextd.indexing.embed import embed_missing
from contextd.indexing.jobs import run_all
from contextd.indexing.pipeline import Options, Progress, Report, index
from contextd.indexing.watch import Hooks, Watch
from contextd.ports.interactions import DocumentTraces
from contextd.ports.store import Lease, ProjectStore
from contextd.ports.world import Embedder, Events, Machine, Parser, Recipe, Source
from contextd.values.job import Job

_BUSY = 5.0  # seconds until a busy machine is checked again
_REST = 120.0  # seconds without work after which the parser releases its memory


@dataclass(slots=True)
class Upkeep:
    """Everything that index runs of a project need."""

    sources: tuple[Source, ...]  # the files first
    store: ProjectStore
    lease: Lease
    recipe: Recipe
    options: Options
    acl: Callable[[], int]  # gives the documents the access list of the record, and returns its id
    parser: Parser
    static: Embedder | None
    deep: Callable[[], Embedder | None]
    on_deep: Callable[[int], None] = lambda _: None
    traces: DocumentTraces | None = None

    def work(self, job: Job, progress: Progress) -> Report:
        """Run a job."""
        began = time.monotonic()
        if job.kind == "share":  # changes the access list alone
            self.acl()
            return Report()
        if job.options.get("verify") and not job.paths:
            self.store.check()
        report = self.index(self._options(job), progress)
        if job.options.get("deep"):
            self._embed(report)
        report.seconds = time.monotonic() - began
        return report

    def index(self, options: Options, progress: Progress = lambda _: None) -> Report:
        """Index the files and, unless paths or a number of files are given, the other sources."""
        began = time.monotonic()
        report = self._run(self.sources[0], options, progress)
        if not options.paths and not options.most_files:
            self.index_others(options, report, progress)
        if self.traces is not None and not options.light:
            self.traces.settle()
        self.store.notes.set_setting(f"indexed {self.sources[0].id}", str(time.time_ns() // 1000))
        report.seconds = time.monotonic() - began
        return report

    def index_others(self, options: Options, report: Report, progress: Progress = lambda _: None) -> None:
        """Index the sources other than files, such as commits. Results and progress are added to the report of the files."""

        def told(more: Report) -> None:
            report.phase = more.phase.replace("files", "commits")
            report.phase_done, report.phase_total = more.phase_done, more.phase_total
            progress(report)

        for source in self.sources[1:]:
            more = self._run(source, replace(options, may_be_empty=True), told)
            report.others += more.written
            report.failed |= more.failed
            report.finds += more.finds
            report.warnings += more.warnings

    def _run(self, source: Source, options: Options, progress: Progress) -> Report:
        made = (self.parser, self.static, self.recipe, self.acl())
        return index(source, self.store, self.lease, *made, options, progress, self.traces)

    def _options(self, job: Job) -> Options:
        asked = job.options
        return replace(
            self.options,
            verify=bool(asked.get("verify")),
            paths=job.paths,
            epoch=int(asked.get("epoch", 0)),
            clear_errors=bool(asked.get("clear_errors", True)),
            vacuum=bool(asked.get("vacuum", True)),
        )

    def _embed(self, report: Report) -> None:
        embedder = self.deep()
        if embedder is None:
            report.warnings.append("the deep model is not available; install onnxruntime and run `contextd models fetch`")
            return
        try:
            embed_missing(self.store, embedder, self.on_deep)
        except Unavailable as error:
            report.warnings.append(str(error))
            return
        self.store.adopt(embedder.space)
        self.store.fold(self.lease)


@dataclass(slots=True)
class Watching:
    """Watches a project, runs its jobs, and adds deep vectors in the background."""

    upkeep: Upkeep
    arm: Callable[[Collection[str]], Events]
    stop: Callable[[], bool]
    say: Callable[[str], None]
    machine: Machine
    every: float = 300.0
    _active: float = 0.0
    _position: list[str] = field(default_factory=list)
    _news: threading.Event = field(default_factory=threading.Event)
    _watch: Watch = field(init=False)
    _left_out: frozenset[str] = frozenset()  # constantly changing files that the last embedding skipped

    def __post_init__(self) -> None:
        hooks = Hooks(self.arm, self._some, self._everything, self._jobs, self._idle, self.stop, self.say)
        self._watch = Watch(self.upkeep.sources[0], hooks, self.every)

    def run(self) -> None:
        """Watch until `stop` returns true."""
        self._active = time.monotonic()
        over = threading.Event()
        embedding = threading.Thread(target=self._embed_quietly, args=(over,), daemon=True)
        embedding.start()
        try:
            run_all(self.upkeep.store.jobs, self.upkeep.work)  # first, since a first run as a job reports its progress
            self._watch.run()
        finally:
            over.set()
            self._news.set()
            embedding.join(timeout=10)

    def _some(self, paths: Collection[str]) -> None:
        options = replace(self.upkeep.options, paths=tuple(sorted(paths)), light=True)
        self._told(self.upkeep.index(options))

    def _everything(self) -> None:
        self._told(self.upkeep.index(self.upkeep.options))
        self._news.set()

    def _told(self, report: Report) -> None:
        """Report changes, and wake the thread that embeds."""
        if report.written or report.removed or report.failed:
            failed = f", {len(report.failed)} failed" if report.failed else ""
            self.say(f"{report.written} indexed, {report.removed} removed{failed} ({report.seconds:.1f} s)")
            self._active = time.monotonic()
            self._news.set()

    def _jobs(self) -> None:
        self._commits()
        if self.upkeep.store.jobs.next() is not None:
            run_all(self.upkeep.store.jobs, self.upkeep.work)
            self._active = time.monotonic()
            self._news.set()

    def _commits(self) -> None:
        """Index new commits, which cause no event."""
        now = [source.position() for source in self.upkeep.sources]
        if self._position and now != self._position:
            report = Report()
            self.upkeep.index_others(self.upkeep.options, report)
            if report.others:
                self.say("1 commit indexed" if report.others == 1 else f"{report.others} commits indexed")
                self._news.set()
        self._position = now

    def _idle(self) -> None:
        if self._left_out - self._watch.restless():
            self._news.set()
        if time.monotonic() - self._active > _REST:
            self.upkeep.parser.rest()

    def _embed_quietly(self, over: threading.Event) -> None:
        """Add missing deep vectors, newest first, while the machine is idle."""
        self.machine.yield_to_others()
        while not over.is_set():
            self._news.wait()
            self._news.clear()
            try:
                self._embed_all(over)
            except (ContextdError, OSError) as error:
                self.say(f"deep embedding: {error}; going on with the next change")
        self.upkeep.store.close()

    def _embed_all(self, over: threading.Event) -> None:
        """Embed all but constantly changing files, whose vectors would be outdated at once."""
        embedder, store = self.upkeep.deep(), self.upkeep.store
        if embedder is None:
            return
        done, again = 0, True
        while again and not over.is_set():
            self._left_out = self._watch.restless()
            done += embed_missing(store, embedder, go_on=lambda: self._may_embed(over), besides=self._left_out)
            again = bool(self._watch.restless() - self._left_out)
        if done and not over.is_set():
            store.adopt(embedder.space)
            store.fold(self.upkeep.lease)
            self.say(f"{done} chunks embedded deeply")

    def _may_embed(self, over: threading.Event) -> bool:
        """Wait while the machine is busy. Returns False if the watch ends, or another file has begun to change constantly."""
        while not over.is_set() and self.machine.busy():
            over.wait(_BUSY)
        return not over.is_set() and not self._watch.restless() - self._left_out
