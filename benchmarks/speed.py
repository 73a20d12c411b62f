"""Speed, memory and disk: indexing Django's source distribution, warm and cold queries at about 10,000 and 100,000 chunks.

`python -m benchmarks.speed`. CPU seconds are user and system time of all processes; memory is the proportional set size of all
processes together, sampled (Linux). The peers in the same run are plain BM25 in memory over the same files (what reading,
splitting and counting words alone costs) and, where it is installed, semble with the same static weights. Runs of contextd and
semble alternate, and the ratio is that of the best of each: other processes on the machine cost either up to twice its time.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import contextd
from benchmarks.bm25 import Bm25
from benchmarks.data import HISTORIES, HOME, REPOS, SEMBLE_MODEL, linked_home, repositories
from contextd.ports.world import FileState
from contextd.settings import config

DJANGO = "django==5.2.8"
WITH_HISTORY = "prometheus"  # half a million lines, and its newest thousand commits
LARGE = ("alamofire", "axum", "cats", "gson", "ktor", "libuv")
_CHANCE = random.Random(5)
# Modules are compiled once, as an installer leaves them; not at every start.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def django() -> Path:
    """Django's source distribution, from the package index."""
    folder = HOME / "django"
    if not folder.exists():
        target = HOME / "download"
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--no-binary",
            ":all:",
            "-d",
            str(target),
            DJANGO,
        ]
        subprocess.run(command, check=True)
        with tarfile.open(next(target.glob("*.tar.gz"))) as archive:
            archive.extractall(target, filter="data")
        next(path for path in target.iterdir() if path.is_dir()).rename(folder)
    return folder


def large() -> Path:
    """Django and some of the checked-out repositories together: a little more than 100,000 chunks."""
    folder = HOME / "large"
    if not folder.exists():
        for source in (django(), *(REPOS / name for name in LARGE)):
            shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns(".git", "*.mo", "*.png"), symlinks=True)
    return folder


def _processes(root: int) -> list[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


@contextmanager
def watched(pid: int) -> Iterator[list[int]]:
    """The peak of the memory of a process and its children, in megabytes, as the one entry of a list."""
    peak, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            peak[0] = max(peak[0], sum(map(_pss, _processes(pid))) // 1024)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def command(*arguments: str) -> tuple[float, int, str]:
    """CPU seconds, peak memory and output of one command with all its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        [sys.executable, "-m", "contextd", *arguments],
        env={**_ENVIRONMENT, "CONTEXTD_HOME": str(HOME.absolute())},
        stdout=subprocess.PIPE,
    )
    with watched(process.pid) as peak:
        out, _ = process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, peak[0], out.decode()


def _cpu(arguments: list[str], home: Path = HOME) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**_ENVIRONMENT, "CONTEXTD_HOME": str(home.absolute())}
    subprocess.run(arguments, check=True, env=environment, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def indexing(folder: Path) -> None:
    """First run, second run, disk."""
    seconds, memory, out = command("index", "-p", str(folder), "--json")
    report = json.loads(out)
    if not report["written"]:
        raise SystemExit(f"git ignores {folder}: set CONTEXTD_BENCH_HOME to a folder outside of a repository")
    print(
        f"index {folder.name}: {report['written']} files, {report['commits']} commits, "
        f"{report['lines']} lines, {report['chunks']} chunks, "
        f"{seconds:.1f} CPU-s, {report['lines'] / seconds:,.0f} lines per CPU-s, peak {memory} MB"
    )
    again, _, _ = command("index", "-p", str(folder), "--json")
    disk = json.loads(command("stats", "-p", str(folder), "--json")[2])["bytes"]
    print(f"second run without changes: {again:.2f} CPU-s; disk {disk / 1e6:.1f} MB")


def beside_semble(folder: Path, runs: int = 3) -> None:
    """CPU seconds of a first run beside semble's, in turns."""
    if find_spec("semble") is None:
        print("skipped semble: `pip install semble`")
        return
    model = SEMBLE_MODEL or str(
        model2vec_layout(config.home() / "models" / "potion-base-8M", linked_home("semble") / "weights")
    )
    build = f"from semble import SembleIndex; SembleIndex.from_path({str(folder)!r}, model_path={model!r})"
    ours, theirs = [], []
    for _ in range(runs):
        home = linked_home("beside")
        ours.append(_cpu([sys.executable, "-m", "contextd", "index", "-p", str(folder), "--json"], home))
        shutil.rmtree(home)
        theirs.append(_cpu([sys.executable, "-c", build], HOME))
    each = ", ".join(f"{one:.1f} / {other:.1f}" for one, other in zip(ours, theirs, strict=True))
    print(f"index {folder.name} beside semble, CPU-s: {each}; ratio of the best {min(ours) / min(theirs):.2f}")


def model2vec_layout(weights: Path, folder: Path) -> Path:
    """The static weights in the layout that semble's library reads."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    folder.mkdir(exist_ok=True)
    words = (weights / "vocab.txt").read_text("utf-8").splitlines()
    tokenizer = Tokenizer(models.WordPiece({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
    shutil.copy(weights / "model.safetensors", folder)
    return folder


def small() -> Path:
    """A project of five files: what a run costs at least."""
    folder = HOME / "small"
    folder.mkdir(exist_ok=True)
    for number in range(5):
        (folder / f"part{number}.py").write_text(
            f'"""Part {number}."""\n\n\ndef part{number}(x: int) -> int:\n    return x + {number}\n'
        )
    return folder


def peer(folder: Path) -> None:
    """Plain BM25 in memory over the same files."""
    began = time.process_time()
    session = contextd.open(folder, home=linked_home())
    assert session.project is not None
    texts = {}
    for state in session.project.source.scan():
        read = session.project.source.read(state.uri) if isinstance(state, FileState) else None
        if isinstance(read, tuple):
            texts[state.uri] = read[0].decode("utf-8", "replace")
    plain = Bm25(texts)
    lines = sum(text.count("\n") for text in texts.values())
    print(f"peer, plain BM25 in memory: {lines / (time.process_time() - began):,.0f} lines per CPU-s to build")
    _latency("peer", lambda text: plain.search(text, 12), _texts(session))
    session.close()


def _texts(session: contextd.Session) -> dict[str, list[str]]:
    """A third symbols, a third questions, a third texts of more than 200 words."""
    assert session.project is not None
    labels = sorted({file.uri.rpartition("/")[2].split(".")[0] for file in session.files() if isinstance(file, FileState)})
    asked = [one.query for repository in repositories() for one in repository.questions if one.category != "symbol"]
    long = []
    for path in sorted((django() / "docs").rglob("*.txt")):
        words = path.read_text("utf-8", "replace").split()
        if len(words) > 260:
            long.append(" ".join(words[:240]))
    return {
        name: _CHANCE.choices(some, k=40) for name, some in (("symbols", labels), ("questions", asked), ("issue texts", long))
    }


def _latency(who: str, ask: object, texts: dict[str, list[str]]) -> None:
    for name, some in texts.items():
        times = []
        for text in some:
            began = time.perf_counter()
            ask(text)  # type: ignore[operator]
            times.append((time.perf_counter() - began) * 1000)
        print(f"  {who}, {name}: p50 {np.percentile(times, 50):.1f} ms, p95 {np.percentile(times, 95):.1f} ms")


def queries(folder: Path) -> None:
    """Warm in process, cold from the command line."""
    session = contextd.open(folder, home=linked_home())
    session.index()
    assert session.project is not None
    print(f"queries over {session.project.store.notes.summary()['chunks']} chunks")
    session.search("warm up")
    _latency("contextd, warm", session.search, _texts(session))
    session.close()
    bare = min(_cpu([sys.executable, "-c", "import numpy, click, apsw"]) for _ in range(3))
    print(f"  cold start, a bare interpreter with numpy, click and apsw: {bare:.2f} CPU-s")
    for name in ("search", "context"):
        best = min(command(name, "-p", str(folder), "where are routes registered")[0] for _ in range(3))
        print(f"  cold start, contextd {name}: {best:.2f} CPU-s")


def main() -> None:
    linked_home()
    indexing(small())
    indexing(django())
    beside_semble(django())
    peer(django())
    for folder in (REPOS / "aeson", django(), large()):
        queries(folder)
    if (HISTORIES / WITH_HISTORY).is_dir():
        indexing(HISTORIES / WITH_HISTORY)
        queries(HISTORIES / WITH_HISTORY)


if __name__ == "__main__":
    main()
