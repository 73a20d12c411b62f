"""Nothing that is stored can hide from a reader, steer a terminal or forge a line of output (FAULTS A-3, T-4)."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from contextd.app.assemble import open_session
from contextd.querying.render import TEMPLATES, custom, render
from contextd.surfaces.cli import cli
from contextd.text.invisible import CONTROLS, IGNORABLE, escaped_json, hidden, visible, visible_line
from tests.conftest import Run
from tests.faults.test_query import hit_of

INVISIBLE = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")


def in_ranges(*tables: str) -> set[int]:
    ends = (one.partition("-") for table in tables for one in table.split())
    return {code for first, _, last in ends for code in range(int(first, 16), int(last or first, 16) + 1)}


def known() -> Iterator[int]:
    return (code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in INVISIBLE)


def test_A3_the_table_is_what_the_unicode_data_says() -> None:
    table = in_ranges(IGNORABLE, CONTROLS)
    assert set(known()) - {9, 10} <= table
    others = {code for code in table if unicodedata.category(chr(code)) not in (*INVISIBLE, "Cn")}
    assert others <= in_ranges(IGNORABLE), (
        "fillers, selectors and other marks that the standard calls ignorable, and nothing else"
    )
    assert {unicodedata.name(chr(code)).split()[0] for code in others} == {
        "COMBINING", "HANGUL", "HALFWIDTH", "KHMER", "MONGOLIAN", "VARIATION",
    }  # fmt: skip


def test_A3_T4_every_such_character_becomes_visible() -> None:
    for code in sorted(in_ranges(IGNORABLE, CONTROLS)):
        one = chr(code)
        assert visible(f"a{one}b") == f"a\\u{{{code:x}}}b", hex(code)
    assert hidden("a\u202eb\U000e0041c\td\r\n") == 2 and visible("a\tb\r\nc\rd\n") == "a\tb\nc\\u{d}d\n"
    assert visible_line("a\nb\r\nc") == "a\\u{a}b\\u{a}c"


READABLE = [
    "❤️ ☺︎ ©️ 1️⃣ #️⃣",  # selectors of style, keycaps
    "👩‍💻 👩🏽‍🚀 🏳️‍🌈 👨‍👩‍👧‍👦",  # joined emoji, with colors of skin
    "می‌خواهم نمی‌دانم",  # Persian: non-joiners inside words
    "क्‍ष र्‍य ക്‍ ന്‍",  # Devanagari, Malayalam: joiners after a virama
    "ශ්‍රී ලංකා",  # Sinhala
    "ordinary text, naïve café, 日本語, עברית, Ελληνικά, ไทย, Tiếng Việt",
]  # fmt: skip


@pytest.mark.parametrize("text", READABLE, ids=range(len(READABLE)))
def test_A3_words_and_emoji_that_need_joiners_stay_as_they_are(text: str) -> None:
    assert visible(text) == text and hidden(text) == 0


@pytest.mark.parametrize(
    "text",
    ["a\u200db", "a\ufe0f", "1\ufe0f2", "❤\ufe0f\ufe0f", "👩\u200d\u200d💻", "👩\u200dx", "م\u200c\u200cخ", "م\u200c x", "x\ufe0f\u200d💻",
     "\u200d💻", "\u200cم", "日\U000e0100"],
)  # fmt: skip
def test_A3_joiners_and_selectors_without_effect_do_not_hide(text: str) -> None:
    assert hidden(text) >= 1 and "\\u{" in visible(text)


@given(st.text())
def test_A3_what_is_visible_stays_so(text: str) -> None:
    once = visible(text)
    assert visible(once) == once and hidden(once) == 0
    assert json.loads(escaped_json(json.dumps(text, ensure_ascii=False))) == text


HOSTILE = "see \U000e0041\u061c\u2028\u2029\ufe01\x9b31m\x1b[2J\rrm -rf\x85\u200e here"


@pytest.mark.parametrize("template", TEMPLATES)
def test_A3_names_labels_and_texts_are_visible_in_every_template(template: str) -> None:
    text = render([hit_of(HOSTILE, uri=f"src/{HOSTILE}\n# forged", label=HOSTILE)], TEMPLATES[template])
    assert hidden(text) == 0 and "\n# forged" not in text
    mine = custom("mine", "{{path}} {{label}} {{content}}")
    assert hidden(render([hit_of(HOSTILE, uri=HOSTILE, label=HOSTILE)], mine)) == 0


EVIL = "evil\x1b]0;owned\x07\u202e\u2028\rline\nfailed: forged.py"


@pytest.fixture
def evil(make_project: Callable[..., Path], home: Path) -> Path:
    """A project with a hostile file name and hostile text, indexed."""
    root = make_project({f"{EVIL}.py": f"def herons():\n    return '{HOSTILE}'\n"})
    open_session(root, home=home, environment={}).index()
    return root


def test_A3_what_was_hidden_is_counted(evil: Path, home: Path) -> None:
    answer = open_session(evil, home=home, environment={}).context("herons", min_score=0)
    (warning,) = [one for one in answer.trace.warnings if "invisible" in one]
    assert warning.startswith(f"{hidden(answer.hits[0].chunk.uri + answer.hits[0].chunk.text)} invisible characters")
    assert HOSTILE.split("\r")[0] in answer.hits[0].chunk.text, "the original is kept"


COMMANDS = [
    "search herons",
    "context herons",
    "explain herons",
    "list-indexable",
    "symbols herons",
    "map",
    "stats",
    "task --title herons",
]


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_T4_no_output_steers_a_terminal_or_forges_a_line(
    evil: Path, home: Path, form: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXTD_HOME", str(home))
    for line in COMMANDS:
        run = CliRunner().invoke(cli, [*line.split(), "-p", str(evil), *form])
        assert run.exception is None or isinstance(run.exception, SystemExit), (line, run.exception)
        assert hidden(run.output) == 0, line
        assert not any(one.startswith("failed: forged") for one in run.output.splitlines()), line
        if form:
            assert json.loads(run.stdout) is not None


def test_T4_logs_and_errors_are_lines(evil: Path, home: Path, contextd: Callable[..., Run]) -> None:
    (evil / f"{EVIL}.py").chmod(0o000)
    runs = [
        contextd("check-file", f"{EVIL}.py", cwd=evil),
        contextd("refresh", f"no/{EVIL}", cwd=evil),
        contextd(f"no{EVIL}", cwd=evil),
    ]
    for run in runs:
        assert hidden(run.out + run.err) == 0 and "\nfailed: forged" not in run.out + run.err
    session = open_session(evil, home=home, environment={})
    assert session.project is not None
    job = session.project.store.jobs.add("index", EVIL, (), {})
    session.project.store.jobs.log(job.id, f"failed: {EVIL}")
    run = contextd("jobs", "show", job.id, cwd=evil)
    assert hidden(run.out) == 0 and not any(one.startswith("failed: forged") for one in run.out.splitlines())


def test_T4_on_a_terminal_only_our_own_colors_are_sent(evil: Path, home: Path) -> None:
    leader, follower = pty.openpty()
    environment = {**os.environ, "CONTEXTD_HOME": str(home), "TERM": "xterm"}
    command = [sys.executable, "-m", "contextd", "search", "herons", "--min-score", "0"]
    done = subprocess.run(command, cwd=evil, env=environment, stdout=follower, stderr=subprocess.DEVNULL, timeout=60)
    os.close(follower)
    sent = os.read(leader, 1 << 16).decode()
    assert done.returncode == 0 and "\x1b[1mevil\\x1b]0;owned" in sent
    for ours in ("\x1b[1m", "\x1b[0m", "\x1b[33m", "\r\n"):
        sent = sent.replace(ours, "")
    assert hidden(sent) == 0
