"""`contextd config set`: one setting changes, everything else in the file stays."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run

Contextd = Callable[..., Run]
FILE = """\
# What I like.
[context.query]
default_k = 20  # more than usual

[context.security]
allow = [
  "EXAMPLE-[0-9]+",  # not a key
]
"""


def test_a_setting_is_written_and_comments_stay(home: Path, project: Path, contextd: Contextd) -> None:
    (home / "config.toml").write_text(FILE)
    assert contextd("config", "set", "query.default_k", "30").code == 0
    assert contextd("config", "set", "budget.default_max_tokens", "900").code == 0
    run = contextd("config", "set", "enabled", "false")
    assert run.code == 0 and "enabled = false in " in run.out, "as it stands in the file"
    text = (home / "config.toml").read_text()
    for comment in ("# What I like.", "# more than usual", "# not a key"):
        assert comment in text
    told = json.loads(contextd("config", "--json", cwd=project).out)
    assert told["query.default_k"]["value"] == 30 and told["budget.default_max_tokens"]["value"] == 900
    assert told["enabled"]["value"] is False and told["security.allow"]["value"] == ["EXAMPLE-[0-9]+"]


def test_a_new_file_is_for_its_owner_alone(home: Path, contextd: Contextd, project: Path, tmp_path: Path) -> None:
    assert contextd("config", "set", "projects.app", str(project)).code == 0
    assert stat.S_IMODE((home / "config.toml").stat().st_mode) == 0o600
    assert contextd("config", "-p", "app", cwd=tmp_path).code == 0, "the project has a name now"


def test_the_projects_file_is_written_on_request(home: Path, project: Path, contextd: Contextd) -> None:
    run = contextd("config", "set", "indexing.blocked_extensions", ".csv, .log", "--project-file", cwd=project)
    assert run.code == 0 and str(project / "context.toml") in run.out and not (home / "config.toml").exists()
    told = json.loads(contextd("config", "--json", cwd=project).out)
    assert told["indexing.blocked_extensions"]["value"] == [".csv", ".log"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("budget.default_max_token", "3"), "did you mean budget.default_max_tokens"),
        (("budget.default_max_tokens", "many"), "a whole number"),
        (("query.mmr_lambda", "7"), "from 0 to 1"),
        (("embedding.model", "x", "--project-file"), "cannot choose models"),
        (("metrics.track_latency", "true"), "cannot be set"),
        (("watcher.watch_paths", "src,nope", "--project-file"), "watch path 'nope' does not exist"),
        (("watcher.watch_paths", "../other", "--project-file"), "outside the project"),
        (("projects.app", "/nowhere/at/all"), "no such project or directory: /nowhere/at/all"),
        (("projects.app", "/etc"), "system folder"),
        (("query.default_k", "-5"), "to pass a negative value, write `--` before it"),
        (("query.default_k", "--", "-5"), "from 1 to 1,000"),
    ],
)
def test_what_would_not_be_loaded_is_not_written(
    home: Path, project: Path, contextd: Contextd, arguments: tuple[str, ...], says: str
) -> None:
    (home / "config.toml").write_text(FILE)
    run = contextd("config", "set", *arguments, cwd=project)
    assert run.code == 2 and says in run.err
    assert (home / "config.toml").read_text() == FILE and not (project / "context.toml").exists()
    assert not list(home.glob(".config*"))


def test_a_pattern_that_no_command_could_load_is_not_written(home: Path, contextd: Callable[..., Run]) -> None:
    refused = contextd("config", "set", "security.secret_patterns", '["a(b"]')
    assert refused.code == 2 and "security.secret_patterns" in refused.err
    assert contextd("config", "set", "security.allow", '["a(b"]').code == 2
    assert not (home / "config.toml").exists()
    assert contextd("config", "set", "security.secret_patterns", '["corp-[0-9]{8}"]').code == 0


def test_a_data_directory_that_cannot_be_read_is_an_error_in_words(
    home: Path, monkeypatch: pytest.MonkeyPatch, contextd: Callable[..., Run]
) -> None:
    before = Path.exists

    def denied(path: Path, **more: bool) -> bool:
        if path.name == "config.toml":
            raise PermissionError(13, "Permission denied")
        return before(path, **more)

    monkeypatch.setattr(Path, "exists", denied)
    run = contextd("search", "hello", "--embedded")
    assert run.code == 3 and "check the permissions of the directory" in run.err and "Traceback" not in run.err


def test_a_setting_is_removed_and_the_rest_stays(home: Path, project: Path, contextd: Contextd) -> None:
    (home / "config.toml").write_text(FILE)
    run = contextd("config", "unset", "query.default_k")
    assert run.code == 0 and "query.default_k" in run.out
    text = (home / "config.toml").read_text()
    assert "default_k" not in text and "# What I like." in text and "# not a key" in text
    assert json.loads(contextd("config", "--json", cwd=project).out)["query.default_k"]["from"] == "default"
    for key in ("query.default_k", "query", "nonsense.key", "enabled"):
        again = contextd("config", "unset", key)
        assert again.code == 2 and "is not set" in again.err, key
    assert (home / "config.toml").read_text() == text
    assert contextd("config", "set", "indexing.blocked_extensions", ".csv", "--project-file", cwd=project).code == 0
    assert contextd("config", "unset", "indexing.blocked_extensions", "--project-file", cwd=project).code == 0
    assert ".csv" not in (project / "context.toml").read_text()
