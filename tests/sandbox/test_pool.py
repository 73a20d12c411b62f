"""Parsers run where a crash or a hang costs one document."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from contextd.chunking.cut import Limits
from contextd.errors import Unavailable
from contextd.sandbox import pool as driver
from contextd.sandbox.pool import Pool
from contextd.values.document import Raw

pytestmark = pytest.mark.usefixtures("own_parsers")

BAD_WORKER = """
import sys, time, os, signal
from contextd.sandbox import wire, parse as real
import contextd.chunking.parse, contextd.sandbox.parse
honest = contextd.chunking.parse.parse

def parse(data, language, limits, count, extra=(), *, plain=False, path=""):
    if data.startswith(b"hang") and not plain:
        time.sleep(60)
    if data.startswith(b"crash") and not plain:
        os.kill(os.getpid(), signal.SIGSEGV)
    if data.startswith(b"always"):
        os._exit(3)
    if data.startswith(b"raise") and not plain:
        raise RuntimeError("no")
    print("noise on standard output")
    return honest(data, language, limits, count, extra, plain=plain, path=path)

contextd.sandbox.parse.parse = parse
real.main()
"""


def test_I3_I4_a_hang_or_a_crash_costs_one_file_its_structure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_STARVED", 2.0)  # a process that sleeps looks as if it got no processor
    script = tmp_path / "worker.py"
    script.write_text(BAD_WORKER)
    jobs = [
        Raw(name, name.encode() + b" = 1\n", "python") for name in ("good", "hang", "crash", "always", "raise", "also_good")
    ]
    with Pool(Limits(), workers=2, seconds=1.0, command=(sys.executable, str(script))) as pool:
        began = time.monotonic()
        outcomes = {outcome.raw.uri: outcome for outcome in pool.parse(jobs)}
    assert time.monotonic() - began < 60
    assert set(outcomes) == {job.uri for job in jobs}
    for name in ("good", "also_good"):
        assert outcomes[name].parsed is not None and not outcomes[name].parsed.warnings
    for name in ("hang", "crash", "raise"):
        parsed = outcomes[name].parsed
        assert parsed is not None and parsed.text == f"{name} = 1\n" and "cut by lines" in parsed.warnings[0]
    assert outcomes["always"].parsed is None and outcomes["always"].error


NESTED = {
    "python": b"(" * 100_000 + b")" * 100_000,
    "json": b"[" * 100_000 + b"]" * 100_000,
    "javascript": b"a(" * 50_000,
    "markdown": b"> " * 50_000 + b"x",
    "yaml": b"a: &a [" + b"*a, " * 20_000 + b"]",
    "cpp": b"template<" * 20_000,
    "kotlin": b"a<b<c<d<" * 5_000,
    "haskell": b"f $ " * 50_000,
    "c": b"{" * 100_000,
}


def test_I3_deeply_nested_source_neither_crashes_nor_hangs() -> None:
    with Pool(Limits(), workers=2) as pool:
        outcomes = {o.raw.uri: o for o in pool.parse(Raw(language, data, language) for language, data in NESTED.items())}
    for language, data in NESTED.items():
        parsed = outcomes[language].parsed
        assert parsed is not None, (language, outcomes[language].error)
        assert parsed.text.encode() == data
        assert parsed.pieces


def test_I1_one_line_of_four_megabytes_is_cut_inside() -> None:
    with Pool(Limits(), workers=1, seconds=20) as pool:
        (outcome,) = pool.parse([Raw("x", b"word " * 800_000, "")])
    assert outcome.parsed is not None
    assert max(piece.tokens for piece in outcome.parsed.pieces) <= 512


def test_an_error_of_the_source_reaches_the_caller() -> None:
    def jobs() -> object:
        yield Raw("a", b"x = 1", "python")
        raise OSError("the disk is gone")

    with Pool(Limits(), workers=2) as pool:
        try:
            list(pool.parse(jobs()))  # type: ignore[arg-type]
        except OSError as error:
            assert "gone" in str(error)
        else:
            raise AssertionError("the error was lost")


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
from contextd.sandbox.parse import main
main()
"""


def test_no_process_is_left_when_a_run_is_over_but_the_one_that_is_kept() -> None:
    raws = [Raw(f"{number}.py", b"x = 1\n", "python") for number in range(20)]
    for keep in (False, True):
        with Pool(Limits(), workers=2, keep=keep) as pool:
            assert len(list(pool.parse(iter(raws)))) == 20
            alive = [worker for worker in pool._workers if worker._process is not None and worker._process.poll() is None]
            assert alive == pool._workers[:keep], "its memory is wanted for what comes after"
        assert all(worker._process is None for worker in pool._workers)


def test_I14_a_worker_starts_under_a_lower_memory_limit() -> None:
    """Whoever may not raise a limit cannot set the usual one."""
    with Pool(Limits(), (), workers=1, command=(sys.executable, "-c", LIMITED)) as pool:
        (outcome,) = pool.parse(iter([Raw("a.py", b"x = 1\n", "python")]))
    assert outcome.parsed is not None and not outcome.parsed.warnings


def test_I14_a_worker_can_be_stopped_by_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when memory runs out while a run ends: the other thread was faster."""
    with Pool(Limits(), (), workers=1, keep=True) as pool:
        assert list(pool.parse(iter([Raw("a.py", b"a = 1\n", "python")])))
        (worker,) = pool._workers
        killed, kill = list[object](), subprocess.Popen.kill

        def twice(process: subprocess.Popen[bytes]) -> None:
            killed.append(process)
            if len(killed) == 1:
                worker.stop()
            kill(process)

        monkeypatch.setattr(subprocess.Popen, "kill", twice)
        worker.stop()
    assert len(killed) == 1


def test_a_parser_that_does_not_start_failed_every_file() -> None:
    for command in (("/no/such/program",), ("false",)):
        with Pool(Limits(), command=command) as pool, pytest.raises(Unavailable, match="parser"):
            list(pool.parse([Raw("a.py", b"x = 1", "python")]))
