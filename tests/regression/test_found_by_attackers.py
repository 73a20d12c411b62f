"""What people found who tried to break the promises of SECURITY.md; each by what went wrong."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextd.app import portability
from contextd.app.assemble import open_session
from contextd.chunking.parse import decode
from contextd.errors import Unavailable
from contextd.privacy import scrub, scrub_text, user_rules
from contextd.values.conversation import Conversation, Message
from tests.conftest import Run
from tests.sources.test_commits import commit
from tests.stored import stored

SECRET = "Tr0ub4dor-3xyz"


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["password", "api_key", "token", "secret"]), st.text(min_size=1, max_size=40), st.sampled_from(["yaml", "python", "text", ""]))  # fmt: skip
def test_a_value_of_any_script_broke_the_scrubber(name: str, value: str, language: str) -> None:
    for line in (f'{name} = "{value}"', f"{name}: {value}", f"<{name}>{value}</{name}>", f"the {name} is {value}"):
        scrub(line.encode("utf-8", "replace"), language, path="a")


@pytest.mark.parametrize(
    "text",
    [
        'router password: "Größenwahn"', "**Password:** Uf33xTopQ9k2", "__Password:__ Uf33xTopQ9k2",
        "Le mot de passe du wifi est Uf33xTopQ9k2", "La contraseña es Uf33xTopQ9k2", "パスワードは Uf33xTopQ9k2 です", "密码: Uf33xTopQ9k2",
    ],
)  # fmt: skip
def test_passwords_with_umlauts_bold_labels_and_in_other_languages_stayed(text: str) -> None:
    clean, finds = scrub_text(text)
    assert finds and "Größenwahn" not in clean and "Uf33x" not in clean


@pytest.mark.parametrize(
    "line", ["admin_password: Sommerregen", "passphrase: correct horse battery staple", "contraseña: Paella_2023"]
)
def test_words_and_phrases_in_configuration_stayed(line: str) -> None:
    clean, finds = scrub(f"{line}\n".encode(), "yaml", path="config/app.yaml")
    assert finds and clean.endswith(b": [REDACTED]\n")


def test_a_correction_was_undone_by_importing_the_old_list_again(home: Path) -> None:
    session = open_session(None, home=home, environment={})
    portability.imported(session, "- My shoe size is EU 39\n", source="import:s.md")
    (size,) = session.memories.all()
    session.memories.update(size.id, text="My shoe size is EU 41")
    portability.imported(session, "- My shoe size is EU 39\n", source="import:s.md")
    assert session.memories.get(size.id).valid_to is None


@pytest.mark.parametrize(
    ("pattern", "line", "clean"),
    [
        ("ticket=([0-9]{6})", "ticket=112211", "ticket=[REDACTED]"),
        ("PIN ([0-9]{4})", "PIN 1212", "PIN [REDACTED]"),
        ("ticket=([0-9]{6})(;|$)", "ticket=123456;", "ticket=[REDACTED];"),
        ("t=(?P<value>[0-9]+) for", "t=55 for", "t=[REDACTED] for"),
    ],
)
def test_a_users_pattern_was_not_applied(pattern: str, line: str, clean: str) -> None:
    assert scrub_text(line, user_rules([pattern]))[0] == clean


def test_tables_of_one_column_took_quadratic_time() -> None:
    def seconds(count: int) -> float:
        began = time.process_time()
        scrub(b"copy t (password) from stdin;\n" * count, "")
        return time.process_time() - began

    assert any(seconds(2000) <= 2.5 * max(seconds(1000), 1e-3) for _ in range(4))


def test_one_allowed_line_opened_a_file_with_old_line_ends() -> None:
    data = f'a = 1 # contextd:allow\rpassword = "{SECRET}"\r'.encode()
    assert SECRET.encode() not in scrub(data, "python", path="a.py")[0]


def test_utf_32_passed_the_scrubber() -> None:
    text, _ = decode(b"\xff\xfe\0\0" + f"password = {SECRET}\n".encode("utf-32-le"))
    assert SECRET in text, "read as what it is, it is scrubbed as any other text"


def repository(root: Path) -> Path:
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    return root


def test_names_and_encodings_brought_secrets_into_the_index(tmp_path: Path, home: Path, contextd: Callable[..., Run]) -> None:
    root = repository(tmp_path / "leak")
    (root / f"password={SECRET}.txt").write_text("a short note\n")
    (root / ".gitattributes").write_text("*.cfg diff\n")
    (root / "a.cfg").write_bytes(f"password = {SECRET}\n".encode("utf-16"))
    page = "<html><body><p>bot gh" + "p_AAAABBBBCCCCDDDDEEEEFFFF1111222233336 of the team</p></body></html>"
    (root / "page.html").write_text(page)
    for number in range(3):
        (root / "m.py").write_text(f"x = {number}\n")
        (root / f"password={SECRET}.txt").write_text(f"a short note {number}\n")
        commit(root, f"Change {number}", f"2024-01-0{number + 1}")
    assert contextd("index", "-p", str(root)).code == 0
    shown = "".join(contextd(*one, "-p", str(root)).out for one in (("history", "m.py"), ("list-indexable",), ("context", "kind:commit Change")))  # fmt: skip
    everything = (stored(home) + shown.encode()).replace(b"\0", b"").replace(b"\\", b"").replace(b"u{0}", b"")
    assert SECRET.encode() not in everything and b"p_AAAABBBB" not in everything


@pytest.mark.parametrize("how", ["file", "link"])
def test_a_folder_had_another_repositorys_commits_read(tmp_path: Path, home: Path, how: str) -> None:
    private = repository(tmp_path / "private")
    commit(private, "A quicksilver diary", "2024-01-01", diary_py="x = 1\n")
    root = tmp_path / "down"
    root.mkdir()
    (root / "a.txt").write_text("hello\n")
    if how == "file":
        (root / ".git").write_text(f"gitdir: {private}/.git\n")
    else:
        (root / ".git").symlink_to(private / ".git")
    session = open_session(root, home=home, environment={})
    assert session.index().others == 0
    assert not [hit for hit in session.search("quicksilver diary", min_score=0).hits if hit.chunk.kind == "commit"]
    session.close()
    assert b"quicksilver" not in stored(home)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("odd", ["fifo", "nul", "huge"])
def test_an_odd_git_folder_hung_or_ended_a_run(tmp_path: Path, contextd: Callable[..., Run], odd: str) -> None:
    root = repository(tmp_path / "odd")
    (root / "a.txt").write_text("hello herons\n")
    if odd == "fifo":
        (root / ".git/HEAD").unlink()
        os.mkfifo(root / ".git/HEAD")
    else:
        subprocess.run(["rm", "-rf", str(root / ".git")], check=True)
        with (root / ".git").open("wb") as file:
            file.write(b"gitdir: a\0b")
            file.truncate(11 if odd == "nul" else 1 << 30)
    assert contextd("index", "-p", str(root)).code == 0
    assert contextd("search", "herons", "-p", str(root)).code == 0


def test_modules_of_the_current_folder_were_imported_by_an_import(tmp_path: Path, contextd: Callable[..., Run]) -> None:
    for name in ("ijson", "json", "numpy"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit\n")
    (tmp_path / "c.jsonl").write_text('{"author": "Ana", "text": "hello"}\n')
    (tmp_path / "m.json").write_text('[{"text": "the boat is blue"}]')
    for arguments in (("import", "c.jsonl", "--dry-run"), ("memories", "import", "m.json")):
        command = [
            "-c",
            "import sys; sys.path[:] = [p for p in sys.path if p]; from contextd.surfaces.cli import main; main(sys.argv[1:])",
        ]
        import sys

        subprocess.run([sys.executable, *command, *arguments], cwd=tmp_path, capture_output=True, timeout=60)
    assert not (tmp_path / "ran").exists()


def test_an_export_with_a_line_separator_could_not_be_imported(home: Path, tmp_path: Path) -> None:
    session = open_session(None, home=home, environment={})
    session.remember("first line\u2028second line")
    lines = "\n".join(portability.as_lines(portability.exported(session)))
    other = tmp_path / "other"
    other.mkdir()
    (other / "models").symlink_to(home / "models")
    target = open_session(None, home=other, environment={})
    assert portability.imported(target, lines).counts["added"] == 1


def test_fields_that_nobody_types_carried_secrets_into_the_record(home: Path, tmp_path: Path) -> None:
    session = open_session(None, home=home, environment={})
    session.remember("the boat is blue")
    export = portability.exported(session)
    planted = f"password={SECRET}"
    export["memories"][0] |= {"language": planted, "principals": ["owner", planted], "replaced_by": planted}
    other = tmp_path / "other"
    other.mkdir()
    (other / "models").symlink_to(home / "models")
    target = open_session(None, home=other, environment={})
    portability.imported(target, json.dumps(export))
    target.close()
    assert SECRET.encode() not in stored(other)


def test_two_chats_whose_names_differ_in_a_secret_became_one(home: Path) -> None:
    """When a record is scrubbed again, as when it is imported."""
    from contextd.stores.sqlite import rescrub as module

    session = open_session(None, home=home, environment={})
    chats = [Conversation(f"deploy xyzzy-{name}", "", [Message("Ana", f"how do I {name}", 1_700_000_000_000_000)]) for name in ("one", "two")]  # fmt: skip
    session.chats().take(iter(chats))
    rules = user_rules(["xyzzy-[a-z]+"])
    with_ = module.Rescrubber(
        "new", lambda text: (scrub_text(text, rules)[0], len(scrub_text(text, rules)[1])), lambda memory: (replace(memory), 0),
        lambda memory: None, lambda text: 1, lambda texts: {},  # type: ignore[arg-type, return-value]
    )  # fmt: skip
    assert module.rescrub(session.home.record, with_) >= 2  # type: ignore[arg-type]
    uris = {one.uri for one in session.chats().all()}
    assert len(uris) == 2 and all("[REDACTED]" in uri for uri in uris)


def test_a_rescrubbing_that_was_killed_before_it_had_wiped_is_made_up_for(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextd.stores.sqlite.database import Database

    session = open_session(None, home=home, environment={})
    kept = session.remember("the quicksilver boat is blue").memory
    with monkeypatch.context() as patch:
        patch.setattr(Database, "wipe", lambda self: False)
        session.forget(kept.id)
    due = "select 1 from setting where workspace_id = 0 and name = 'wipe'"
    assert session.home.record.database.query(due)  # type: ignore[attr-defined]
    session.close()
    again = open_session(None, home=home, environment={})
    assert not again.home.record.database.query(due)  # type: ignore[attr-defined]


def committed(root: Path, files: dict[str, str], message: str = "first") -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git = ["git", "-C", str(root), "-c", "user.name=Ann", "-c", "user.email=a@b.c"]
    for command in (["init", "-qb", "main"], ["add", "-Af"], ["commit", "-qm", message]):
        subprocess.run([*git, *command], check=True)
    return root


@pytest.fixture
def victim(tmp_path: Path, home: Path) -> Path:
    root = tmp_path / "victim"
    root.mkdir()
    committed(root, {"a.md": "private zanzibar strategy text\n"}, "zanzibar strategy")
    session = open_session(root, home=home, environment={})
    session.index()
    session.remember("The zanzibar launch code word is pelican", in_project=True)
    session.close()
    return root


def borrowed(root: Path, victim: Path, how: str) -> None:
    git = root / ".git"
    if how == "a .git file of a folder below":
        git.write_text("gitdir: ../../.git\n")
        return
    if how == "a worktree of its own making":
        fake = root / "fake"
        fake.mkdir()
        git.write_text("gitdir: fake\n")
        (fake / "gitdir").write_text(f"{git}\n")
        (fake / "commondir").write_text(f"{victim}/.git\n")
        (fake / "HEAD").write_text("ref: refs/heads/main\n")
        return
    if how == "alternates of a worktree":
        inner = root / "inner/.git"
        own = inner / "worktrees/own"
        own.mkdir(parents=True)
        git.write_text(f"gitdir: {own}\n")
        (own / "gitdir").write_text(f"{git}\n")
        (own / "commondir").write_text("../..\n")
        (own / "HEAD").write_text("ref: refs/heads/main\n")
        git = inner
    if how == "a link to a folder with a commondir":
        git.symlink_to(".git2")
        git = root / ".git2"
    git.mkdir(exist_ok=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    if how.startswith("alternates"):
        (git / "objects/info").mkdir(parents=True)
        (git / "objects/info/alternates").write_text(f"# none\n{victim}/.git/objects\n")
        (git / "refs/heads").mkdir(parents=True)
        (git / "refs/heads/main").write_text((victim / ".git/refs/heads/main").read_text())
    elif how == "links below":
        (git / "refs/heads").mkdir(parents=True)
        (git / "refs/heads/main").write_text("ref: refs/heads/b\n")
        (git / "refs/heads/b").symlink_to(victim / ".git/refs/heads/main")
        (git / "objects").mkdir()
        for one in (victim / ".git/objects").iterdir():
            (git / "objects" / one.name).symlink_to(one)
    elif how in ("commondir", "a link to a folder with a commondir"):
        (git / "commondir").write_text(f"{victim}/.git\n")
    elif how == "links":
        (git / "objects").symlink_to(victim / ".git/objects")
        (git / "refs").symlink_to(victim / ".git/refs")
    else:
        (git / "objects/info").mkdir(parents=True)
        (git / "objects/info/alternates").write_text(f"{victim}/.git/objects\n")
        (git / "refs/heads").mkdir(parents=True)
        (git / "refs/heads/main").symlink_to(victim / ".git/refs/heads/main")


@pytest.mark.parametrize(
    "how",
    [
        "commondir",
        "links",
        "a linked ref",
        "a .git file of a folder below",
        "a worktree of its own making",
        "alternates",
        "alternates of a worktree",
        "a link to a folder with a commondir",
        "links below",
    ],
)
def test_a_folder_joined_another_project_through_its_git_folder(tmp_path: Path, victim: Path, home: Path, how: str) -> None:
    root = victim / "vendor/lib" if "below" in how else tmp_path / "thief"
    root.mkdir(parents=True)
    (root / "r.md").write_text("hello\n")
    borrowed(root, victim, how)
    session = open_session(root, home=home, environment={})
    assert session.index().others == 0, how
    found = session.search("zanzibar launch code word strategy commit", min_score=0)
    assert not any("zanzibar" in hit.chunk.text for hit in found.hits), how
    session.close()


def test_a_link_in_a_project_made_its_settings_a_file_elsewhere(tmp_path: Path, contextd: Callable[..., Run]) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside"
    (root / ".git").mkdir(parents=True)
    outside.write_text("mine\n")
    (root / ".context.toml.new").symlink_to(outside)
    contextd("config", "set", "--project-file", "query.mmr_lambda", "0.5", cwd=root)
    assert outside.read_text() == "mine\n"
    (root / "context.toml").unlink(missing_ok=True)
    for target in (outside, tmp_path / "missing"):
        (root / "context.toml").symlink_to(target)
        refused = contextd("init", "--force", cwd=root)
        assert refused.code == 2 and "symbolic link" in refused.err
        (root / "context.toml").unlink()
    assert outside.read_text() == "mine\n" and not (tmp_path / "missing").exists()


def test_lines_of_ignored_files_were_shown_by_their_commits(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    committed(root, {"hidden.md": "the walrusplan is private\n", ".contextignore": "hidden.md\n", "a.md": "open\n"})
    session = open_session(root, home=home, environment={})
    session.index()
    found = session.search("commit that added walrusplan", min_score=0)
    assert not any("walrusplan" in hit.chunk.text for hit in found.hits)
    session.close()


def test_a_control_character_in_a_subject_ended_history(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    committed(root, {"f.md": "x\n"}, "sub\x01ject")
    session = open_session(root, home=home, environment={})
    session.index()
    assert session.structure.history("f.md").edits[0].subject == "sub\x01ject"
    session.close()


def test_a_reader_with_a_watching_server_could_not_lose_the_right(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextd.app.session._HAND_OVER", 0.0)
    owner = open_session(project, home=home, environment={})
    owner.index()
    owner.share(["ana"])
    held = owner.known().lease
    with held("contextd watch"):
        assert owner.unshare(["ana"]) == frozenset({"owner"})
        ana = open_session(project, home=home, reader="ana", environment={})
        assert not ana.search("load_user").hits
        with pytest.raises(Unavailable, match="contextd watch"):
            owner.share(["bob"])
        ana.close()
    owner.close()


def test_a_secret_in_the_id_of_a_chat_was_printed_in_a_warning(
    tmp_path: Path, home: Path, contextd: Callable[..., Run]
) -> None:
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
    said = {"uuid": "m", "sender": "human", "text": "numbat", "created_at": "nonsense"}
    entry = {"uuid": token, "name": "n", "created_at": "2025-01-01T00:00:00Z", "chat_messages": [said]}
    (tmp_path / "chat.json").write_text(json.dumps([entry]))
    done = contextd("import", str(tmp_path / "chat.json"))
    assert "cannot be read" in done.err + done.out and token not in done.err + done.out


def test_scrubbing_took_the_square_of_wide_tables_long_lines_marks_and_parameters() -> None:
    from contextd.privacy import scrub

    def seconds(data: bytes, language: str) -> float:
        began = time.process_time()
        scrub(data, language, path="a.txt")
        return time.process_time() - began

    texts: dict[str, Callable[[int], bytes]] = {
        "a wide table": lambda n: ("password," * n)[:-1].encode() + b"\n" + ("a," * n)[:-1].encode() + b"\n",
        "long lines": lambda n: ("x" * 1100 + " password, y\n").encode() * (n // 40),
        "marks": lambda n: b"contextd:allow ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6 " * n,
        "parameters": lambda n: b"password=a;user id=b;" * n,
    }
    for name, text in texts.items():
        tries = (
            seconds(text(16_000), "python" if name == "parameters" else "text")
            / max(seconds(text(4_000), "python" if name == "parameters" else "text"), 1e-3)
            for _ in range(3)
        )
        assert any(ratio <= 8 for ratio in tries), name  # four times the input; the square is sixteen times the time
