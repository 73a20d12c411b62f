"""What belongs to a project, and why the rest does not."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.app.checks import validate, verdict
from contextd.app.root import checked_root, find_root
from contextd.errors import InvalidInput
from contextd.ports.world import FileState, Skip
from contextd.sources.files import Boundaries, Files
from contextd.sources.filetypes import binary_reason, language_by_content, language_of, never_read


def verdicts(root: Path, **boundaries: object) -> dict[str, str]:
    """Each path with the reason it is left out; empty for one that belongs."""
    files = Files(root, Boundaries(**boundaries))  # type: ignore[arg-type]
    return {state.uri: state.reason if isinstance(state, Skip) else "" for state in files.scan()}


def taken(root: Path, **boundaries: object) -> set[str]:
    return {uri for uri, reason in verdicts(root, **boundaries).items() if not reason}


TREE = {"a.py": "x = 1", "build/out.py": "x", "sub/.gitignore": "*.tmp\n!keep.tmp\n", "sub/x.tmp": "1", "sub/keep.tmp": "1",
        ".gitignore": "build/\n", ".hidden/x.py": "1", ".github/ci.yml": "on: push", "deep/a/b/c.py": "1"}  # fmt: skip


@pytest.mark.parametrize("with_git", [False, True])
def test_ignore_rules_have_gits_semantics(make_project: Callable[..., Path], with_git: bool) -> None:
    root = make_project(TREE)
    if with_git:
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    assert taken(root) == {"a.py", ".gitignore", "sub/.gitignore", "sub/keep.tmp", ".github/ci.yml", "deep/a/b/c.py"}


def test_contextignore_and_configured_patterns_come_on_top(make_project: Callable[..., Path]) -> None:
    root = make_project({"a.py": "1", "b.py": "1", "c.log": "1", ".contextignore": "b.py\n"})
    seen = verdicts(root, ignore_patterns=("*.log",))
    assert seen["b.py"] == "ignored by .contextignore"
    assert seen["c.log"] == "ignored by ignore_patterns"
    assert not seen["a.py"]


def test_extensions_sizes_and_watch_paths(make_project: Callable[..., Path]) -> None:
    root = make_project({"src/a.py": "1", "src/b.md": "1", "other/c.py": "1", "src/big.py": "x" * 2000})
    assert taken(root, watch_paths=("src",), blocked_extensions=(".md",), max_bytes=1000) == {"src/a.py"}
    assert "src/big.py" in taken(root, max_bytes=1000, size_exceptions=("src/big.py",))
    assert taken(root, allowed_extensions=(".md",)) == {"src/b.md"}


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".env.production",
        "id_rsa",
        "id_ed25519.bak",
        "server.pem",
        "tls.key",
        ".netrc",
        "app.private",
        "x.p12",
        ".aws/credentials",
    ],
)
def test_I12_names_that_hold_secrets_are_never_read(make_project: Callable[..., Path], name: str) -> None:
    root = make_project({name: "secret", "a.py": "1", ".env.example": "KEY="})
    assert never_read(name)
    assert name not in taken(root)
    assert ".env.example" in taken(root)


def test_I12_no_setting_link_or_command_reads_a_file_that_holds_secrets(make_project: Callable[..., Path], home: Path) -> None:
    names = [
        ".env",
        "ID_RSA",
        "Server.PEM",
        "deep/.netrc",
        ".pgpass",
        ".ssh/config",
        "x/.aws/credentials",
        "deep/.ENV.production",
    ]
    root = make_project(
        dict.fromkeys(names, "canary = heron_canary_1\n") | {"a.py": "a = 1\n", ".contextignore": "!.env\n!*.pem\n"}
    )
    (root / "notes.md").symlink_to(".env")
    (root / "hidden.md").symlink_to("deep/.netrc")
    flags = {"indexing.follow_symlinks": True, "indexing.size_exceptions": names, "watcher.ignore_patterns": ["!.env"]}
    session = open_session(root, home=home, environment={}, flags=flags)
    session.index(verify=True)
    session.refresh([*names, "notes.md", "hidden.md"], force=True)
    session.rebuild()
    assert set(session.known().store.documents(session.known().source.id)) == {"a.py", ".contextignore"}
    assert not any("canary" in hit.chunk.text for hit in session.search("heron_canary_1", min_score=0).hits)
    for name in names:
        assert not verdict(session.known(), name)[0] and isinstance(session.known().source.read(name), Skip)


@pytest.mark.parametrize(
    ("data", "binary"),
    [
        ("日本語のテキスト".encode() * 400, False),
        ("Die Größe der Straße ist schön".encode("latin-1") * 10, False),
        ("text".encode("utf-16"), False),
        (b"abc\x00def", True),
        (b"a" * 70_000 + b"\x00", True),
        (bytes(range(128, 256)) * 20, True),
        (b"\x89PNG\r\n", True),
        (b"", False),
    ],
)
def test_I2_text_in_any_script_is_text_and_binary_is_not(data: bytes, binary: bool) -> None:
    assert bool(binary_reason(data)) == binary


def test_languages_by_name_and_by_content() -> None:
    assert language_of("a/B.kt") == "kotlin" and language_of("Dockerfile") == "dockerfile" and language_of("x.unknown") == ""
    assert language_by_content("run", b"#!/usr/bin/env python3\n") == "python"
    assert language_by_content("a.h", b"namespace a {}") == "cpp" and language_by_content("a.h", b"int x;") == "c"


def test_the_root_is_found_from_inside(make_project: Callable[..., Path]) -> None:
    root = make_project({"pyproject.toml": "", "src/a/b.py": "1"})
    assert find_root(root / "src" / "a") == root
    (root / "src" / ".git").mkdir()
    assert find_root(root / "src" / "a") == root / "src"


@pytest.mark.parametrize("path", ["/", "/etc", "/proc", "/usr", str(Path.home()), "/nowhere/at/all"])
def test_places_that_must_not_be_indexed_are_refused(path: str) -> None:
    with pytest.raises(InvalidInput):
        checked_root(Path(path))


def test_I1_nothing_but_regular_files_is_opened(make_project: Callable[..., Path]) -> None:
    root = make_project({"a.py": "1"})
    os.mkfifo(root / "pipe.py")
    with (root / "sparse.py").open("wb") as file:
        file.truncate(1 << 30)
    seen = verdicts(root)
    assert seen["pipe.py"] == "not a regular file"
    assert seen["sparse.py"].startswith("larger than 5 MB")


def test_I7_a_file_that_vanishes_or_is_denied_is_a_reason(make_project: Callable[..., Path]) -> None:
    root = make_project({"a.py": "1", "d/b.py": "1"})
    files = Files(root, Boundaries())
    list(files.scan())
    (root / "a.py").unlink()
    assert files.read("a.py") == Skip("a.py", "gone")
    (root / "a.py").mkdir()
    assert isinstance(files.read("a.py"), Skip)
    (root / "d").rename(root / "e")
    (root / "d").symlink_to("/etc")
    assert isinstance(files.read("d/passwd"), Skip), "a folder that became a link is not followed"


def test_I7_a_racing_swap_never_shows_what_is_outside(make_project: Callable[..., Path], tmp_path: Path) -> None:
    """A file and a folder become links, folders and nothing, again and again, while both are looked at and read."""
    outside = make_project({"a.py": "OUTSIDE", "b.py": "OUTSIDE"}, name="outside")
    root = make_project({"a.py": "inside", "d/b.py": "inside"})
    over = threading.Event()

    def swap() -> None:
        spare, turn = tmp_path / "spare", 0
        while not over.is_set():
            for name, target in (("a.py", outside / "a.py"), ("d", outside)):
                (root / name).rename(spare)
                if turn % 3 == 0:
                    (root / name).symlink_to(target)
                    time.sleep(0.0005)
                    (root / name).unlink()
                elif turn % 3 == 1:
                    (root / name).mkdir()
                    (root / name).rmdir()
                spare.rename(root / name)
            turn += 1

    racer = threading.Thread(target=swap)
    racer.start()
    reasons, good = set(), 0
    try:
        for follow in (False, True) * 300:
            files = Files(root, Boundaries(use_gitignore=False, follow_symlinks=follow))
            list(files.scan())
            for path in ("a.py", "d/b.py") * 3:
                read = files.read(path)
                if isinstance(read, Skip):
                    reasons.add(read.reason)
                else:
                    good += read[0] == b"inside"
                    assert read[0] == b"inside"
    finally:
        over.set()
        racer.join()
    assert good and reasons, "the race was run: some reads came through and some did not"


def test_I7_a_file_without_rights_is_a_reason_and_keeps_its_place(make_project: Callable[..., Path]) -> None:
    if os.geteuid() == 0:
        pytest.skip("everything may be read by root")
    root = make_project({"a.py": "1", "d/b.py": "1"})
    (root / "a.py").chmod(0)
    (root / "d").chmod(0)
    try:
        files = Files(root, Boundaries())
        states = {state.uri: state for state in files.scan()}
        assert isinstance(states["d"], Skip) and states["d"].unseen
        read = files.read("a.py")
        assert isinstance(read, Skip) and "Permission denied" in read.reason
    finally:
        (root / "d").chmod(0o755)


def test_I6_a_file_that_changes_while_it_is_read_is_read_again(
    make_project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_project({"a.py": "old"})
    files = Files(root, Boundaries())
    once = Files._read_once
    times = []

    def changing(self: Files, path: str) -> object:
        data, before, after = once(self, path)
        times.append(1)
        return (data, before, Files._read_once) if len(times) == 1 else (data, before, after)  # a stamp that differs, once

    monkeypatch.setattr(Files, "_read_once", changing)
    read = files.read("a.py")
    assert isinstance(read, tuple) and read[0] == b"old" and len(times) == 2


NAMES = [b"new\nline.py", b"\xff\xfe.py", b"x" * 240 + b".py", "é.py".encode(), "e\u0301.py".encode(), "\u202egnp.py".encode(),
         b"-dash.py", b"con.py", b"A.py", b"a.py", b"sp ace.py", b"quote\"'.py"]  # fmt: skip


def test_I8_strange_names_are_stored_shown_and_read(make_project: Callable[..., Path]) -> None:
    root = make_project({})
    for number, name in enumerate(NAMES):
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).write_text(f"number = {number}")
    files = Files(root, Boundaries())
    states = [state for state in files.scan() if isinstance(state, FileState)]
    assert len({state.uri for state in states}) == len(NAMES)
    for state in states:
        assert state.uri.isprintable() and state.uri.encode("utf-8")
        read = files.read(state.uri)
        assert isinstance(read, tuple)
    contents = {files.read(state.uri)[0] for state in states}  # type: ignore[index]
    assert contents == {f"number = {n}".encode() for n in range(len(NAMES))}


def test_I9_links_do_not_lead_out_or_in_circles(make_project: Callable[..., Path], tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text("secret = 1")
    root = make_project({"a.py": "1", "d/b.py": "1"})
    (root / "loop").symlink_to(root)
    (root / "out.py").symlink_to(outside)
    (root / "etc").symlink_to("/etc")
    (root / "self.py").symlink_to("self.py")
    (root / "in.py").symlink_to("a.py")
    assert taken(root) == {"a.py", "d/b.py"}
    followed = verdicts(root, follow_symlinks=True)
    assert followed["in.py"] == ""
    assert "out of the project" in followed["out.py"]
    assert "circle" in followed["self.py"]
    read = (files := Files(root, Boundaries(follow_symlinks=True))) and list(files.scan()) and files.read("in.py")
    assert isinstance(read, tuple) and read[0] == b"1"


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize("with_git", [False, True])
def test_I9_links_to_folders_are_judged_alike_by_everything_that_counts(
    make_project: Callable[..., Path], home: Path, tmp_path: Path, with_git: bool, follow: bool
) -> None:
    outside = make_project({"o.py": "o = 1\n", "deep/p.py": "p = 1\n"}, name="outside")
    root = make_project({"a.py": "a = 1\n", "d/b.py": "b = 1\n", "d/e/c.py": "c = 1\n", "gone/x.py": "x = 1\n"})
    links = {
        "loop": root,
        "d/up": root / "d",
        "inner": root / "d",
        "out": outside,
        "in.py": root / "a.py",
        "none": root / "none",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    if with_git:
        for command in ("init -q", "add -A"):
            subprocess.run(["git", *command.split()], cwd=root, check=True)
    (root / "gone").rename(root / "moved")
    (root / "gone").symlink_to(outside)  # a folder that git knows is now a link
    session = open_session(root, home=home, environment={}, flags={"indexing.follow_symlinks": follow})
    report = session.index()
    known = set(session.known().store.documents(session.known().source.id))
    assert known == {"a.py", "d/b.py", "d/e/c.py", "moved/x.py", *(["in.py"] if follow else [])} and not report.failed
    states = list(session.files())
    skipped = {state.uri: state.reason for state in states if isinstance(state, Skip)}
    assert {state.uri for state in states} - set(skipped) == known
    assert set(links) - {"in.py"} | {"gone"} <= set(skipped) and all(
        "link" in skipped[name] for name in ("loop", "inner", "out", "none")
    )
    assert validate(root, session.settings, session.files()).files == len(known)
    assert sum(files for files, _ in session.estimate().values()) == len(known)
    for path in ("inner/b.py", "loop/a.py", "out/o.py", "gone/x.py", "gone/o.py", "d/up/b.py"):
        assert isinstance(session.known().source.judge(path), Skip), path
    for path in ("loop", "inner", "out"):
        assert not session.known().source.is_folder(path), path
        assert sum(files for files, _ in session.estimate([path]).values()) == 0, path


def test_a_hostile_repository_cannot_run_a_program(make_project: Callable[..., Path], tmp_path: Path) -> None:
    root = make_project({"a.py": "1"})
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    mark = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    subprocess.run(["git", "config", "core.fsmonitor", str(script)], cwd=root, check=True)
    assert taken(root) == {"a.py"}
    assert not mark.exists()


def test_a_link_led_to_a_file_that_is_never_read(make_project: Callable[..., Path]) -> None:
    root = make_project({".env": "KEY=1", "a.py": "1"})
    (root / "notes.txt").symlink_to(".env")
    states = {state.uri: state for state in Files(root, Boundaries(follow_symlinks=True)).scan()}
    assert isinstance(states["notes.txt"], Skip) and "holds secrets" in states["notes.txt"].reason


def test_a_users_pattern_did_not_hold_for_file_names(home: Path, make_project: Callable[..., Path]) -> None:
    root = make_project({"heron-1234.py": "x = 1\n"})
    pattern = {"CONTEXTD_SECURITY__SECRET_PATTERNS": '["heron-[0-9]+"]'}
    states = list(open_session(root, home=home, environment=pattern).files())
    assert len(states) == 1 and "1234" not in states[0].uri


@pytest.mark.skipif(os.name != "posix", reason="permissions of other users are a matter of POSIX")
def test_a_folder_that_anybody_may_write_to_is_no_root_of_what_is_below(tmp_path: Path) -> None:
    (tmp_path / "shared/notes").mkdir(parents=True)
    (tmp_path / "shared/README.md").write_text("of somebody\n")
    assert find_root(tmp_path / "shared/notes") == tmp_path / "shared"
    (tmp_path / "shared").chmod(0o1777)
    assert find_root(tmp_path / "shared/notes") == tmp_path / "shared/notes"
    assert find_root(tmp_path / "shared") == tmp_path / "shared"


def test_a_copy_of_a_readme_makes_no_project(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "README.before").write_text("a draft\n")
    assert find_root(tmp_path / "notes") == tmp_path / "notes"


def test_no_folder_around_the_home_directory_is_a_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "people/ana").mkdir(parents=True)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "people/ana")
    with pytest.raises(InvalidInput, match="contains your home directory"):
        checked_root(tmp_path / "people")
