"""`contextd status` and `contextd projects`: what is there, and how it goes away."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from contextd.app.session import Session
from tests.conftest import Run

Contextd = Callable[..., Run]


def test_status_is_one_screen(session: Session, project: Path, contextd: Contextd) -> None:
    run = contextd("status", cwd=project)
    assert run.code == 0 and len(run.out.splitlines()) <= 12
    assert "4 files, 0 commits, 4 chunks in all" in run.out and "up to date" in run.out and " ago)" in run.out
    assert "0 of 4 chunks have deep vectors; run `contextd index --deep`" in run.out
    (project / "new.py").write_text("x = 1\n")
    (project / "docs/guide.md").unlink()
    contextd("remember", "I like tea")
    told = json.loads(contextd("status", "--json", cwd=project).out)
    assert told["index"]["stale"] and (told["index"]["changed"], told["index"]["gone"]) == (1, 1)
    assert told["personal_facts"] == 1 and told["models"]["potion-base-8M"] is True


def test_status_names_the_process_that_writes(session: Session, project: Path, contextd: Contextd) -> None:
    assert session.project is not None and json.loads(contextd("status", "--json", cwd=project).out)["index"]["writer"] == ""
    with session.project.lease("contextd watch"):
        assert json.loads(contextd("status", "--json", cwd=project).out)["index"]["writer"].startswith(
            "contextd watch, process"
        )


def test_status_of_a_folder_that_is_not_indexed_creates_nothing(project: Path, home: Path, contextd: Contextd) -> None:
    run = contextd("status", cwd=project)
    assert run.code == 0 and "This project is not indexed yet. Run `contextd index`." in run.out
    assert not (home / "projects").exists() and json.loads(contextd("status", "--json", cwd=project).out)["index"] is None


def test_projects_are_listed_and_removed(session: Session, project: Path, home: Path, contextd: Contextd) -> None:
    (one,) = json.loads(contextd("projects", "--json").out)["items"]
    assert one["name"] == "project" and one["roots"] == [str(project)] and one["bytes"] > 0
    assert datetime.fromisoformat(one["indexed"]).tzinfo is not None
    assert str(project) in contextd("projects").out
    refused = contextd("projects", "remove", "project")
    assert refused.code == 2 and "--yes" in refused.err and len(list((home / "projects").iterdir())) == 1
    assert contextd("projects", "remove", "nonsense", "--yes").code == 2
    assert contextd("projects", "remove", str(project), "--yes").code == 0
    assert not list((home / "projects").iterdir()) and json.loads(contextd("projects", "--json").out)["items"] == []
    assert (project / "src/app/store.py").exists() and contextd("index", cwd=project).code == 0


def test_a_project_that_is_written_is_not_removed(session: Session, project: Path, contextd: Contextd) -> None:
    assert session.project is not None
    with session.project.lease("contextd watch"):
        run = contextd("projects", "remove", str(project), "--yes")
    assert run.code == 3 and "contextd watch" in run.err and contextd("search", "load_user", cwd=project).code == 0


def test_memories_stay_unless_they_are_to_go(session: Session, project: Path, home: Path, contextd: Contextd) -> None:
    session.remember("herons nest in May", in_project=True)
    assert "1 kept" in contextd("projects", "remove", str(project), "--yes").out
    contextd("index", cwd=project)
    assert "herons" in contextd("memories", "-p", str(project)).out, "they are found again"
    run = contextd("projects", "remove", str(project), "--yes", "--with-memories")
    assert "1 memory or chat erased" in run.out and json.loads(contextd("projects", "--json").out)["items"] == []
    assert b"herons nest" not in (home / "record.db").read_bytes()


def test_prune_removes_projects_whose_folder_is_gone(
    session: Session, project: Path, make_project: Callable[..., Path], contextd: Contextd, on_terminal: Contextd
) -> None:
    other = make_project({"a.py": "x = 1\n"}, "other")
    contextd("index", cwd=other)
    shutil.rmtree(other)
    run = on_terminal("projects", "prune", typed=b"n\n")
    assert run.code == 1 and "nothing was changed" in run.out and "stopped" not in run.out
    assert str(other) in run.out and len(json.loads(contextd("projects", "--json").out)["items"]) == 2, "who says no keeps it"
    assert contextd("projects", "prune", "--yes").code == 0
    assert [one["name"] for one in json.loads(contextd("projects", "--json").out)["items"]] == ["project"]


def test_metrics_and_savings_show_what_queries_took(session: Session, project: Path, contextd: Contextd) -> None:
    empty = contextd("savings")
    assert empty.code == 1 and "No contexts since" in empty.out
    contextd("context", "how is a user loaded", "--budget", "300", cwd=project)
    contextd("search", "load_user", cwd=project)
    saved = contextd("savings")
    assert saved.code == 0 and "1 context since" in saved.out and "Method: " in saved.out
    shown = contextd("metrics", "--days", "7")
    assert shown.code == 0 and "2 queries since" in shown.out and "retriever\tproposed\tin answers\tshare" in shown.out
    told = json.loads(contextd("metrics", "--json").out)
    assert told["operations"] == {"context": 1, "search": 1} and told["saved"]["contexts"] == 1
    assert json.loads(contextd("savings", "--json").out)["saved"]["file_tokens"] == told["saved"]["file_tokens"] > 0
    assert contextd("metrics", "--days", "0").code == 2 and contextd("metrics", "--as", "ana").code == 1


def test_a_project_is_named_by_its_name_anywhere(session: Session, project: Path, contextd: Contextd, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run = contextd("search", "load_user", "-p", project.name, cwd=elsewhere)
    assert run.code == 0 and "src/app/store.py" in run.out
    assert contextd("search", "load_user", "-p", "nonsense", cwd=elsewhere).code == 2
    twin = tmp_path / "other" / project.name
    shutil.copytree(project, twin)
    contextd("index", cwd=twin)
    run = contextd("search", "load_user", "-p", project.name, cwd=elsewhere)
    assert run.code == 2 and "several projects are called" in run.err and str(twin) in run.err


def test_status_shows_that_no_service_runs(session: Session, project: Path, contextd: Contextd) -> None:
    assert "service   not running; start it with `contextd serve --background`" in contextd("status", cwd=project).out
    assert json.loads(contextd("status", "--json", cwd=project).out)["service"] is None


def test_a_project_is_removed_by_its_name_in_the_settings(
    session: Session, project: Path, home: Path, contextd: Contextd
) -> None:
    (home / "config.toml").write_text(f'[context.projects]\nshop = "{project}"\n')
    assert contextd("search", "load_user", "-p", "shop").code == 0
    assert contextd("projects", "remove", "shop", "--yes").code == 0 and not list((home / "projects").iterdir())


def test_metrics_and_savings_are_readable_on_a_terminal(
    session: Session, project: Path, contextd: Contextd, on_terminal: Contextd
) -> None:
    contextd("context", "how are users loaded", cwd=project)
    saved, shown = on_terminal("savings").out, on_terminal("metrics").out
    assert "Method: the tokens" in saved and "\\u{1b}" not in saved
    assert shown.count("\n\n") >= 4, "an empty line before each table"


def test_an_empty_file_does_not_wait_for_vectors(make_project: Callable[..., Path], contextd: Contextd) -> None:
    project = make_project({"a.py": "def one(): ...\n", "kept/.gitkeep": "", "b.py": ""})
    contextd("index", cwd=project)
    (vectors,) = [line for line in contextd("stats", cwd=project).out.splitlines() if line.startswith("vectors static")]
    assert "1 of 1 distinct texts (100 %)" in vectors


def test_times_in_json_are_iso_8601(session: Session, project: Path, contextd: Contextd) -> None:
    contextd("refresh", "src", cwd=project)
    (job,) = json.loads(contextd("jobs", "--json", cwd=project).out)["items"][:1]
    shown = json.loads(contextd("jobs", "show", job["id"], "--json", cwd=project).out)
    index = json.loads(contextd("status", "--json", cwd=project).out)["index"]
    for time in (job["created"], job["started"], job["ended"], index["indexed"], *(line["at"] for line in shown["log"])):
        assert datetime.fromisoformat(time).tzinfo is not None


def test_an_empty_list_says_how_to_fill_it(contextd: Contextd) -> None:
    assert "contextd proxy add" in contextd("proxy", "list").err and "proxy" in contextd("log").err
