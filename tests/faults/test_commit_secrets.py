"""S-7: no secret comes out of a commit, whatever it added, removed or rotated."""

from __future__ import annotations

import json
import random
import string
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from tests.conftest import Run
from tests.sources.test_commits import commit
from tests.stored import stored

CHANCE = random.Random(13)


def some(length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(CHANCE.choice(alphabet) for _ in range(length))


def key() -> tuple[str, list[str]]:
    """A private key, and the lines of it that nobody may see."""
    lines = [some(64) for _ in range(14)]
    kind = "OPENSSH PRIVATE" + " KEY"
    return "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", ""]), lines


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def leaky(tmp_path: Path) -> tuple[Path, list[str]]:
    """A repository in whose history secrets were added, removed and rotated; and the secrets."""
    root = tmp_path / "leaky"
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    first, first_lines = key()
    second, second_lines = key()
    third, third_lines = key()
    secrets = [*first_lines, *second_lines, *third_lines]

    def planted(value: str) -> str:
        secrets.append(value)
        return value

    write(root, "deploy_key", first)
    write(root, "app.py", "def start():\n    return 1\n")
    commit(root, "Add the deploy key", "2024-01-01")
    write(root, "deploy_key", second)
    commit(root, "Rotate the deploy key", "2024-01-02")
    (root / "deploy_key").unlink()
    commit(root, "Remove the deploy key", "2024-01-03")
    for name, text in {
        ".env": f"DB_PASSWORD={planted('Env' + some(12))}\n",
        "db/.pgpass": f"db:5432:app:ana:{planted('pg' + some(12))}\n",
        ".netrc": f"machine example.com login ana password {planted('net' + some(12))}\n",
        "keys/id_rsa": third,
        "config/settings.yaml": f"database:\n  password: {planted('Yaml' + some(10))}\n",
        "deploy/secret.yaml": "kind: Secret\nmetadata:\n  name: a\n"
        + "  note: x\n" * 30
        + f"data:\n  field: {planted(some(24))}\n",
        "src/db.py": f'DB = connect(host="h",\n             password="{planted("super_secret_" + some(4))}")\n',
        "users.csv": "name,password\n" + "".join(f"user{n},{planted('Csv' + some(9))}\n" for n in range(5)),
        "notes.txt": f"-- {planted('AK' + 'IA' + some(16, string.ascii_uppercase + string.digits))} --\n",
    }.items():
        write(root, name, text)
    commit(root, "Add settings", "2024-01-04")
    settings = root / "config/settings.yaml"
    settings.write_text(f"database:\n  password: {planted('Next' + some(10))}\n")
    manifest = root / "deploy/secret.yaml"
    manifest.write_text(manifest.read_text().replace(manifest.read_text().split("field: ")[1].strip(), planted(some(24))))
    commit(
        root,
        f"Rotate; the old password: {planted('Msg' + some(10))}",
        "2024-01-05",
        f"Ana password={planted('Who' + some(10))}",
    )
    for name in (".env", "db/.pgpass", ".netrc", "keys/id_rsa", "users.csv", "src/db.py"):
        (root / name).unlink()
    commit(root, "Remove what does not belong here", "2024-01-06")
    return root, secrets


def test_S7_no_secret_of_any_side_of_any_commit_is_stored_or_shown(
    leaky: tuple[Path, list[str]], home: Path, contextd: Callable[..., Run]
) -> None:
    root, secrets = leaky
    assert contextd("index", "-p", str(root)).code == 0
    shown = [
        contextd(*arguments, "-p", str(root)).out
        for arguments in (
            ("context", "which commit removed the deploy key", "--budget", "4000"),
            ("search", "rotate deploy key", "--json"),
            ("context", "who changed the password in settings.yaml"),
            ("context", "recent commits", "-b", "8000"),
            ("history", "config/settings.yaml"),
            ("why", "config/settings.yaml:2"),
        )
    ]
    assert "Remove the deploy key" in shown[0] and "Rotate" in shown[4] + shown[5]
    everything = stored(home) + "".join(shown).encode()
    assert b"Add the deploy key" in stored(home)
    assert not [secret for secret in secrets if secret.encode() in everything]


def test_S7_changed_lines_that_are_no_secrets_are_kept(leaky: tuple[Path, list[str]], home: Path) -> None:
    root, _ = leaky
    session = open_session(root, home=home, environment={})
    session.index()
    found = session.search("what changed recently", min_score=0, k=40).hits
    texts = {hit.chunk.label: hit.chunk.text for hit in found if hit.chunk.kind == "commit"}
    (rotated,) = [text for label, text in texts.items() if label.startswith("Rotate;")]
    assert "-  password: [REDACTED]" in rotated and "+  password: [REDACTED]" in rotated
    (added,) = [text for label, text in texts.items() if label == "Add settings"]
    assert ".env (+1 -0)" in added and "+machine" not in added, "a file that is never read is named, and nothing more"


def test_secrets_in_commits_are_listed(leaky: tuple[Path, list[str]], contextd: Callable[..., Run]) -> None:
    root, _ = leaky
    indexed = json.loads(contextd("index", "-p", str(root), "--json").out)
    finds = json.loads(contextd("secrets", "-p", str(root), "--json").out)["items"]
    of_commits = [find for find in finds if find["path"].startswith("commit:")]
    assert len(of_commits) > 10 and len(finds) == indexed["secrets_scrubbed"]


def test_bytes_in_a_file_cannot_forge_another_commit(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "odd"
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    (root / ".gitattributes").parent.mkdir(exist_ok=True)
    (root / ".gitattributes").write_text("*.dat diff\n")
    (root / "a.dat").write_bytes(b"\x01" + b"0" * 40 + b"\x00now\x00Eve\x002024-01-01\x00forged message\x00\n" * 3)
    commit(root, "Add a file with marks", "2024-01-01")
    commit(root, "Add another", "2024-01-02", b_py="x = 1\n")
    session = open_session(root, home=home, environment={})
    assert session.index().others == 2
    texts = [hit.chunk.text for hit in session.search("what changed recently", min_score=0).hits if hit.chunk.kind == "commit"]
    assert len(texts) == 2 and not any(text.startswith("forged message") for text in texts)
    session.close()
