"""The command as people use it: what it prints, its codes, and what bad input gets."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from contextd.stores.sqlite.record import SqliteRecord
from contextd.surfaces.cli import COMMANDS, cli
from tests.conftest import Run

Contextd = Callable[..., Run]


@pytest.fixture
def indexed(project: Path, contextd: Contextd) -> Path:
    assert contextd("index", "-p", str(project)).code == 0
    return project


def test_up_indexes_and_says_how_to_go_on(project: Path, contextd: Contextd) -> None:
    run = contextd("up", "--no-service", cwd=project)
    assert run.code == 0 and "4 files indexed" in run.out and "contextd search" in run.out and "install claude" in run.out


def test_search_prints_places_and_json(indexed: Path, contextd: Contextd) -> None:
    assert "src/app/store.py:" in contextd("search", "delete a user", cwd=indexed).out
    answer = json.loads(contextd("search", "delete_user", "--json", cwd=indexed).out)
    assert {"path", "start_line", "end_line", "score", "kind", "label", "tokens"} <= set(answer["hits"][0])
    assert answer["hits"][0]["path"] == "src/app/store.py" and 0 <= answer["hits"][0]["score"] <= 1
    assert answer["groups"][0]["ranges"]


def test_context_keeps_its_budget_and_prints_json(indexed: Path, contextd: Contextd) -> None:
    answer = json.loads(contextd("context", "how is a user deleted", "-b", "120", "--json", cwd=indexed).out)
    assert {"text", "tokens", "tokenizer", "hits", "warnings"} <= set(answer)
    assert 0 < answer["tokens"] <= 120 and answer["tokenizer"] == "o200k_base"


def test_explain_shows_every_step(indexed: Path, contextd: Contextd) -> None:
    run = contextd("explain", "how is a user deleted", cwd=indexed)
    for step in ("understand", "retrieve", "fuse", "boost", "gather", "order", "cut", "pack", "render"):
        assert step in run.out
    assert json.loads(contextd("explain", "delete_user", "--json", cwd=indexed).out)["trace"]["steps"]


def test_a_question_from_a_pipe(indexed: Path, contextd: Contextd) -> None:
    assert "store.py" in contextd("search", "-", cwd=indexed, stdin=b"delete_user").out


def test_nothing_found_is_code_one(indexed: Path, contextd: Contextd) -> None:
    run = contextd("search", "recipe for apple pie with cinnamon", cwd=indexed)
    assert run.code == 1 and "nothing found" in run.err and not run.out
    assert contextd("context", "recipe for apple pie with cinnamon", cwd=indexed).code == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("search", "-p", "/nowhere", "x"), "no such project or directory: /nowhere"),
        (("index", "-p", "/"), "/ is a system folder; run this inside a project, or use --project PATH"),
        (("index", "-p", "/etc"), "system folder"),
        (("index", "-p", str(Path.home())), "home directory"),
        (("context", "x", "--budget", "0"), "budget"),
        (("context", "x", "--budget", "-5"), "budget"),
        (("context", "x", "--template", "nope"), "no such template"),
        (("search", "x", "-k", "0"), "'0' (must be a whole number of at least 1)"),
        (("search", "x", "-k", "abc"), "'abc' (must be a whole number of at least 1)"),
        (("impact", "x", "--depth", "9"), "'9' (must be a whole number from 1 to 5)"),
        (("search", "x", "--min-score", "7"), "invalid minimum score (min_score): 7"),
        (("recall", "x", "--min-confidence", "7"), "min_confidence"),
        (("search", "x", "--ranker", "recency=-1"), "must be a number of at least 0"),
        (("search", ""), "the query is empty"),
        (("context", " "), "the query is empty"),
        (("explain", ""), "the query is empty"),
        (("recall", ""), "the query is empty"),
        (("facets", ""), "the query is empty"),
        (("rebuild",), "give --force"),
        (("topics", "add", "Health"), "to move it, run `contextd topics add Health --below PARENT`"),
        (("task", "--title", "x", "--type", "nonsense"), "no such task type: 'nonsense'; the types are implementation, bugfix"),
        (("search",), "Missing argument"),
        (("nonsense",), "no such command: 'nonsense'"),
        (("forget", "abc"), "no such memory"),
        (("models", "fetch", "nope"), "no such model"),
        (("eval", "/nowhere.jsonl"), "no such file: /nowhere.jsonl"),
        (("remember", " "), "the memory is empty"),
    ],
)
def test_bad_input_gets_a_clear_message_and_code_two(
    indexed: Path, contextd: Contextd, arguments: tuple[str, ...], says: str
) -> None:
    run = contextd(*arguments, cwd=indexed)
    assert run.code == 2 and says in run.err, run.err


def test_an_empty_folder_is_said_to_be_empty(make_project: Callable[..., Path], contextd: Contextd) -> None:
    run = contextd("index", cwd=make_project({}))
    assert run.code == 1 and "no files to index" in run.out


def test_an_unknown_setting_stops_with_a_suggestion(project: Path, contextd: Contextd) -> None:
    (project / "context.toml").write_text("[context.budget]\ndefault_max_token = 3\n")
    run = contextd("search", "x", cwd=project)
    assert run.code == 2 and "did you mean budget.default_max_tokens" in run.err


def test_memories_and_rights(indexed: Path, contextd: Contextd) -> None:
    run = contextd("remember", "I deploy on Fridays only", "--json", cwd=indexed)
    memory = json.loads(run.out)["id"]
    assert "Fridays only" in contextd("search", "when do I deploy", cwd=indexed).out
    assert contextd("forget", memory, cwd=indexed).code == 0
    assert "Fridays only" not in contextd("search", "when do I deploy", cwd=indexed).out
    assert contextd("search", "delete_user", "--as", "ana", cwd=indexed).code == 1
    assert contextd("share", "owner", "ana", cwd=indexed).code == 0
    assert "ana" in contextd("who", cwd=indexed).out
    assert contextd("search", "delete_user", "--as", "ana", cwd=indexed).code == 0
    assert contextd("index", "--verify", cwd=indexed).code == 0
    assert contextd("search", "delete_user", "--as", "ana", cwd=indexed).code == 0, "an index run keeps the rights"


def test_looking_commands(indexed: Path, contextd: Contextd) -> None:
    assert "documents\t4" in contextd("stats", cwd=indexed).out
    assert "generation" not in contextd("stats", cwd=indexed).out and "contents" not in contextd("stats", cwd=indexed).out
    assert {"documents": 4, "contents": 4}.items() <= json.loads(contextd("stats", "--json", cwd=indexed).out).items()
    assert "budget.default_max_tokens\t1500\tdefault" in contextd("config", cwd=indexed).out
    assert "4 indexable files" in contextd("validate-config", cwd=indexed).out
    assert "src/app/store.py\tpython" in contextd("list-indexable", cwd=indexed).out
    assert contextd("check-file", "src/app/store.py", cwd=indexed).code == 0
    (indexed / ".env").write_text("X=1")
    run = contextd("check-file", ".env", cwd=indexed)
    assert run.code == 1 and "holds secrets" in run.out
    assert "holds secrets" in contextd("list-indexable", "--skipped", cwd=indexed).out
    assert contextd("check-file", "../../etc/passwd", cwd=indexed).code in (1, 2)
    assert "python\t2" in contextd("project-stats", cwd=indexed).out
    for nothing_to_tell in ("secrets", "errors", "jobs"):
        assert contextd(nothing_to_tell, cwd=indexed).code == 0
    assert "potion-base-8M" in contextd("models", "list", cwd=indexed).out
    assert contextd("models", "verify", cwd=indexed).code == 0


def test_init_writes_settings_once(project: Path, contextd: Contextd) -> None:
    assert contextd("init", cwd=project).code == 0
    assert contextd("config", cwd=project).code == 0
    assert contextd("init", cwd=project).code == 2


def test_eval_measures(indexed: Path, contextd: Contextd, tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text(
        '{"query": "delete_user", "relevant": ["src/app/store.py"], "category": "symbol"}\n'
        '{"query": "blue green deployment", "relevant": [{"path": "docs/guide.md", "start_line": 1, "end_line": 5}], "secondary": [], "category": "words"}\n'
    )
    answer = json.loads(contextd("eval", str(file), "--json", "--per-query", cwd=indexed).out)
    assert answer["means"]["all"]["ndcg@10"] == 1.0 and answer["means"]["all"]["within 500 tokens"] == 1.0
    assert len(answer["queries"]) == 2
    file.write_text("{bad\n")
    assert contextd("eval", str(file), cwd=indexed).code == 2


def test_eval_measures_the_lines_that_answer(indexed: Path, contextd: Contextd, tmp_path: Path) -> None:
    file, source = tmp_path / "q.jsonl", (indexed / "src/app/store.py").read_text().split("\n")
    line = next(number for number, text in enumerate(source, 1) if "def delete_user" in text)
    there = {"path": "src/app/store.py", "start_line": line, "end_line": line}
    elsewhere = {"path": "docs/guide.md", "start_line": 1, "end_line": 1}
    questions = [
        {"query": "delete_user", "answer": [[there]], "kind": "one"},
        {"query": "delete_user", "answer": [[there, elsewhere]], "kind": "two"},
        {"query": "delete_user", "answer": [[elsewhere], [there]], "kind": "either"},
    ]
    file.write_text("\n".join(map(json.dumps, questions)))
    answer = json.loads(contextd("eval", str(file), "--json", "--per-query", "--budgets", "300", cwd=indexed).out)
    found = {name: (row["300"]["all_lines"], row["300"]["lines"]) for name, row in answer["lines"].items()}
    assert found["one"] == (1.0, 1.0) and found["either"] == (1.0, 1.0) and found["two"] == (0.0, 0.5)
    assert [row["lines"]["300"] for row in answer["line_queries"]] == [1.0, 0.5, 1.0] and "means" not in answer
    run = contextd("eval", str(file), cwd=indexed)
    assert run.code == 0 and [row.split("\t")[1] for row in run.out.splitlines()[1:6]] == [
        "500",
        "1000",
        "1500",
        "2000",
        "4000",
    ]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([], "an answer"),
        ([[]], "an answer"),
        ([[{"path": "src/app/store.py", "start_line": 3, "end_line": 2}]], "invalid span"),
        ([[{"path": "src/app/store.py", "start_line": 9000, "end_line": 9001}]], "are empty"),
        ([[{"path": "nowhere.py", "start_line": 1, "end_line": 1}]], "nowhere.py is not indexed"),
        ([[{"path": "src/app/store.py"}]], "invalid question"),
    ],
)
def test_eval_says_what_is_wrong_with_an_answer(
    indexed: Path, contextd: Contextd, tmp_path: Path, answer: object, said: str
) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text(json.dumps({"query": "delete_user", "answer": answer}))
    run = contextd("eval", str(file), cwd=indexed)
    assert run.code == 2 and said in run.err


def test_control_characters_never_reach_the_terminal(make_project: Callable[..., Path], contextd: Contextd) -> None:
    root = make_project({"evil\x1b[31m.py": "def herons():\n    return '\x1b]0;owned\x07'\n"})
    contextd("index", cwd=root)
    run = contextd("search", "herons", cwd=root)
    assert run.code == 0 and "\x1b" not in run.out


def test_on_a_terminal_there_are_colors_and_in_a_pipe_none(indexed: Path, home: Path, contextd: Contextd) -> None:
    command = [sys.executable, "-m", "contextd", "search", "delete_user"]
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command, cwd=indexed, stdout=slave, stderr=slave, env={**os.environ, "CONTEXTD_HOME": str(home), "TERM": "xterm"}
    )
    os.close(slave)
    out = b""
    while select.select([master], [], [], 20)[0]:
        try:
            part = os.read(master, 4096)
        except OSError:
            break
        if not part:
            break
        out += part
    process.wait(timeout=20)
    assert b"\x1b[" in out and b"delete_user" in out
    assert "\x1b[" not in contextd("search", "delete_user", cwd=indexed).out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(contextd: Contextd, name: str) -> None:
    run = contextd(name, "--help")
    assert (run.code == 0 and "Example" in run.out and f"contextd {name}" in run.out) or name == "mcp"


def test_every_command_but_mcp_and_service_prints_json() -> None:
    def without(name: str, command: click.Command) -> list[str]:
        inner = command.commands.items() if isinstance(command, click.Group) else ()
        runs = not isinstance(command, click.Group) or command.invoke_without_command
        own = [name] if runs and not any("--json" in option.opts for option in command.params) else []
        return own + [found for sub, one in inner for found in without(f"{name} {sub}", one)]

    commands = {name: cli.get_command(click.Context(cli), name) for name in COMMANDS}
    assert [found for name, one in commands.items() if one is not None for found in without(name, one)] == [
        "mcp",
        "hook",
        "service install",
        "service uninstall",
    ]


def test_callers_and_impact_of_an_unknown_name_agree(indexed: Path, contextd: Contextd) -> None:
    for command in ("symbols", "callers", "impact"):
        run = contextd(command, "nowhere_at_all", cwd=indexed)
        assert run.code == 1 and "no such name or file in the index: nowhere_at_all" in run.err, command
        assert contextd(command, "nowhere_at_all", "--json", cwd=indexed).code == 1


def test_every_list_can_be_limited(indexed: Path, contextd: Contextd) -> None:
    contextd("remember", "I like tea"), contextd("remember", "I like cake")
    for command, option in ((["search", "user"], "-k"), (["context", "user"], "-n")):
        assert len(json.loads(contextd(*command, "--min-score", "0", option, "1", "--json", cwd=indexed).out)["hits"]) == 1
    for command, option in ((["memories"], "--limit"), (["jobs"], "-n"), (["list-indexable"], "-k")):
        assert len(json.loads(contextd(*command, option, "1", "--json", cwd=indexed).out)["items"]) == 1


def test_highlights_are_offsets_of_matched_words(indexed: Path, contextd: Contextd) -> None:
    hit = json.loads(contextd("search", "delete a user", "--json", cwd=indexed).out)["hits"][0]
    words = [hit["text"][first:end] for first, end in hit["highlights"]]
    assert "delete_user" in words and "Delete" in words and "sessions" not in words


def test_a_task_does_not_warn_of_a_full_budget(indexed: Path, contextd: Contextd) -> None:
    full = {"CONTEXTD_BUDGET__DEFAULT_MAX_TOKENS": "440", "CONTEXTD_BUDGET__RESERVE_FOR_PROMPT": "330"}
    told = json.loads(contextd("task", "--title", "load a user", "--json", cwd=indexed, **full).out)
    assert told["context"]["tokens"] > 60 and told["warnings"] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_works_as_the_guide_says(contextd: Contextd, shell: str) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "settings.md").read_text()
    assert f"_CONTEXTD_COMPLETE={shell}_source contextd" in guide
    assert "_contextd_completion" in contextd(_CONTEXTD_COMPLETE=f"{shell}_source").out
    incomplete = {"COMP_WORDS": "contextd proj", "COMP_CWORD": "proj" if shell == "fish" else "1"}
    assert "projects" in contextd(_CONTEXTD_COMPLETE=f"{shell}_complete", **incomplete).out


def test_weights_are_taken_from_another_data_directory(home: Path, contextd: Contextd, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run = contextd("models", "fetch", "potion-base-8M", "--from", str(home), CONTEXTD_HOME=str(other))
    assert run.code == 0 and (other / "models/potion-base-8M/model.safetensors").stat().st_size > 1_000_000
    (home / "models/potion-base-8M/vocab.txt").unlink()
    (home / "models/potion-base-8M/vocab.txt").write_text("not the pinned bytes")
    run = contextd("models", "fetch", "potion-base-8M", "--from", str(home), CONTEXTD_HOME=str(tmp_path / "third"))
    assert (
        run.code == 3
        and "not the pinned file; leave out --from to download it" in run.err
        and not (tmp_path / "third/models").exists()
    )


def test_make_run_ends_with_a_command_for_other_projects() -> None:
    root = Path(__file__).parents[2]
    environment = {name: value for name, value in os.environ.items() if name != "CONTEXTD_HOME"}
    plan = subprocess.run(["make", "-n", "run"], cwd=root, capture_output=True, text=True, env=environment).stdout
    assert f"{root}/.venv/bin/contextd up /path/to/your/project" in plan
    assert f"env -u CONTEXTD_HOME .venv/bin/contextd models fetch --from {root}/.contextd-run" in plan


def test_help_is_there_at_once(contextd: Contextd) -> None:
    """Nothing heavy is imported for help."""
    code = "import sys; from contextd.surfaces.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit: pass\nprint([m for m in ('numpy', 'apsw', 'mcp', 'rich', 'tiktoken', 'tree_sitter') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert out.strip().endswith("[]")


UNUSED = (
    "contextd.remembering.pipeline", "contextd.remembering.attributes", "contextd.privacy.redact", "contextd.text.changes",
    "contextd.text.private_matters", "contextd.surfaces.wire.answers", "importlib.metadata", "email", "http.client", "asyncio",
    "tiktoken", "mcp", "rich", "tree_sitter",
)  # fmt: skip


def test_a_recall_without_a_service_loads_nothing_to_save_or_to_scrub(contextd: Contextd, home: Path) -> None:
    """Patterns of attributes and of secrets took a tenth of a second of every such command."""
    contextd("remember", "I live in Bern")
    code = "import sys; from contextd.surfaces.cli import main\ntry:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    asked = [sys.executable, "-c", code, "recall", "--embedded", "where do I live"]
    run = subprocess.run(asked, capture_output=True, text=True, env={**os.environ, "CONTEXTD_HOME": str(home)})
    assert "I live in Bern" in run.stdout
    assert not {*UNUSED} & {*run.stderr.splitlines()[-1].split()}


def test_an_empty_answer_says_why(indexed: Path, home: Path, contextd: Contextd, make_project: Callable[..., Path]) -> None:
    assert "not indexed yet" not in contextd("search", "apple pie with cinnamon", cwd=indexed).err
    assert "ana has no access to this project" in contextd("search", "x", "--as", "ana", cwd=indexed).err
    never = make_project({"a.py": "x = 1\n"}, "other")
    assert "This project is not indexed yet. Run `contextd index`." in contextd("search", "x", cwd=never).err
    err = contextd("search", "load_user lang:pyhton", cwd=indexed).err
    assert "language pyhton" in err and "python" in err.split("available:")[1]
    assert "kind nonsense" in contextd("search", "load_user", "--kind", "nonsense", cwd=indexed).err


def test_an_empty_folder_has_no_files_to_search(tmp_path: Path, contextd: Contextd) -> None:
    (tmp_path / "empty").mkdir()
    contextd("index", cwd=tmp_path / "empty")
    run = contextd("search", "x", cwd=tmp_path / "empty")
    assert "has no files to search" in run.err and "not indexed yet" not in run.err
    (tmp_path / "empty/a.md").write_text("# Apples\n")
    contextd("index", cwd=tmp_path / "empty")
    assert "no files to search" not in contextd("search", "x", cwd=tmp_path / "empty").err


def test_an_export_counts_the_memories_that_it_has(tmp_path: Path, contextd: Contextd) -> None:
    contextd("remember", "I like tea")
    contextd("remember", "I am ill", "--private")
    run = contextd("memories", "export", str(tmp_path / "m.md"))
    assert run.out.startswith("1 memory written to ") and "1 private, silent or ended memory is left out" in run.out
    assert "ill" not in (tmp_path / "m.md").read_text()
    assert json.loads(contextd("memories", "export", str(tmp_path / "m.md"), "--json").out)["memories"] == 1
    gems = contextd("memories", "export", str(tmp_path / "g.json"), "--format", "gems").out
    assert gems.startswith("1 memory written to ")
    assert contextd("memories", "export", str(tmp_path / "m.json")).out.startswith("2 memories written to ")


def test_asking_creates_no_project(project: Path, home: Path, contextd: Contextd, tmp_path: Path) -> None:
    for command in (["search", "x"], ["context", "x"], ["symbols", "x"], ["stats"], ["jobs"], ["errors"], ["secrets"], ["who"]):
        run = contextd(*command, cwd=project)
        assert run.code in (1, 2) and "This project is not indexed yet. Run `contextd index`." in run.err, command
    assert not (home / "projects").exists()
    assert SqliteRecord(home / "record.db").registered("project", str(project)) is None
    (project / "other").mkdir()
    assert "other is not indexed yet" in contextd("search", "x", "--also", "other", cwd=project).err
    contextd("remember", "herons nest in May")
    assert contextd("search", "when do herons nest", cwd=project).code == 0, "facts are found all the same"


def test_errors_are_json_where_json_was_asked_for(indexed: Path, contextd: Contextd) -> None:
    run = contextd("context", "x", "--budget", "0", "--json", cwd=indexed)
    assert run.code == 2 and json.loads(run.out)["error"]["code"] == "invalid_input" and "budget" in run.err
    run = contextd("search", "x", "--nonsense", "--json", cwd=indexed)
    assert run.code == 2 and json.loads(run.out)["error"]["code"] == "usage"
    assert contextd("search", "x", "--min-score", "7", cwd=indexed).code == 2


def test_columns_in_a_pipe_have_names_and_lists_do_not(indexed: Path, contextd: Contextd) -> None:
    assert contextd("models").out.startswith("name\ttier")
    assert json.loads(contextd("models", "--json").out) == json.loads(contextd("models", "list", "--json").out)
    assert "step\tms\tcount" in contextd("explain", "load_user", cwd=indexed).out
    assert "path\tlanguage" not in contextd("list-indexable", cwd=indexed).out


def test_a_folder_can_be_named_without_an_option(indexed: Path, contextd: Contextd, tmp_path: Path) -> None:
    run = contextd("index", str(indexed), "--json", cwd=tmp_path)
    assert run.code == 0 and json.loads(run.out)["unchanged"] == 4
    assert "Ask it" in contextd("up", str(indexed), "--no-service", cwd=tmp_path).out
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "Ask it" not in contextd("up", str(empty), "--no-service").out


def test_remember_reads_a_pipe(home: Path, contextd: Contextd) -> None:
    assert contextd("remember", "-", stdin=b"herons nest in May\n").code == 0
    assert "herons nest in May" in contextd("search", "herons nest", "--min-score", "0").out


def test_rights_are_the_owners_to_give_and_a_memory_the_authors_to_erase(indexed: Path, contextd: Contextd) -> None:
    contextd("share", "owner", "ana", "bob", cwd=indexed)
    assert "nobody is not in the access list" in contextd("unshare", "nobody", "ana", cwd=indexed).err
    assert "ana" not in contextd("unshare", "ana", cwd=indexed).out and "bob" in contextd("who", cwd=indexed).out
    run = contextd("share", "everyone", "--as", "bob", cwd=indexed)
    assert run.code == 2 and "only owner" in run.err
    known = json.loads(contextd("remember", "owls hunt at night", "--share-with", "bob", "--json").out)["id"]
    assert contextd("search", "owls", "--as", "bob", "--min-score", "0").out
    run = contextd("forget", known, "--as", "bob")
    assert run.code == 2 and "written by owner" in run.err
    assert contextd("forget", known).code == 0


def test_forget_prints_the_id_and_never_the_text(contextd: Contextd) -> None:
    for more in ((), ("--json",)):
        known = json.loads(contextd("remember", "owls hunt at night", "--json").out)["id"]
        run = contextd("forget", known[:8], *more)
        assert run.code == 0 and "owls" not in run.out + run.err
        assert known in run.out and "gone" in run.out


def test_odd_places_for_settings_are_called_out(indexed: Path, home: Path, contextd: Contextd, tmp_path: Path) -> None:
    (indexed / "context.toml").mkdir()
    assert "not a regular file" in contextd("search", "x", cwd=indexed).err
    (indexed / "context.toml").rmdir()
    (indexed / "context.toml").symlink_to(tmp_path / "elsewhere.toml")
    assert "broken symbolic link" in contextd("search", "x", cwd=indexed).err


def test_a_pipe_that_is_closed_early_is_no_failure(make_project: Callable[..., Path], home: Path) -> None:
    root = make_project({f"m{n}.py": "def f():\n    return 1\n" for n in range(2000)})
    variables = {**os.environ, "CONTEXTD_HOME": str(home)}
    command = [sys.executable, "-m", "contextd", "list-indexable", "-p", str(root)]
    process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == 0 and b"Traceback" not in process.stderr.read()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_that_cannot_be_written_is_said(make_project: Callable[..., Path], home: Path) -> None:
    root = make_project({f"m{n}.py": "def f():\n    return 1\n" for n in range(2000)})
    variables = {**os.environ, "CONTEXTD_HOME": str(home)}
    for arguments in (("list-indexable", "-p", str(root)), ("--version",)):
        with Path("/dev/full").open("wb") as full:
            command = [sys.executable, "-m", "contextd", *arguments]
            done = subprocess.run(command, env=variables, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
        assert done.returncode == 3
        assert done.stderr == b"error: cannot write the output: No space left on device\n"


def test_a_misspelt_command_got_no_hint(contextd: Callable[..., Run]) -> None:
    assert "did you mean search?" in contextd("searhc", "x").err
    assert contextd().code == 0 and "Start in a project directory" in contextd().out


def test_a_rebuild_asks_first(indexed: Path, contextd: Contextd, on_terminal: Contextd) -> None:
    for answer, code in ((b"n\n", 1), (b"y\n", 0)):
        run = on_terminal("rebuild", cwd=indexed, typed=answer)
        assert run.code == code and "Read 4 files again" in run.out and ("nothing was changed" in run.out) == (code == 1)
    assert contextd("rebuild", "--force", cwd=indexed).code == 0


def test_a_list_without_matches_says_so(contextd: Contextd) -> None:
    run = contextd("memories")
    assert run.code == 1 and not run.out and "contextd remember" in run.err
    contextd("remember", "I like tea", "--topic", "Drinks")
    assert contextd("memories", "--topic", "Drinks").code == 0
    for option in ("--kind", "--topic"):
        run = contextd("memories", option, "Nope")
        assert run.code == 1 and not run.out and run.err.strip() == "nothing found"
        assert contextd("memories", option, "Nope", "--json").code == 1


def test_a_new_topic_is_told_and_can_be_renamed(contextd: Contextd) -> None:
    run = contextd("remember", "the tandem is in the shed", "--topic", "Bikes", "--json")
    assert "new topic: Bikes" in run.err
    memory = json.loads(run.out)["id"]
    assert "new topic: Tandems" in contextd("memories", "update", memory, "--topic", "Tandems", "--topic", "Travel").err
    assert "new topic" not in contextd("memories", "update", memory, "--topic", "Travel").err
    contextd("memories", "update", memory, "--topic", "Tandems")
    assert "Tandems\t\t1" in contextd("topics").out
    assert contextd("topics", "rename", "Tandems", "Cycles").out.strip() == "Tandems is Cycles now, with 1 memory"


def test_forget_names_the_memory_that_is_valid_again(contextd: Contextd) -> None:
    old = json.loads(contextd("remember", "Shoe size: EU 42", "--json").out)["id"]
    new = json.loads(contextd("remember", "Shoe size: EU 43", "--json").out)["id"]
    newest = json.loads(contextd("remember", "Shoe size: EU 44", "--json").out)["id"]
    assert "Valid again" not in contextd("forget", new).err, "a later value replaces the first one now"
    run = contextd("forget", newest)
    assert f"Valid again: {old[:8]} 'Shoe size: EU 42'" in run.err and "EU 43" not in run.err + run.out


def test_a_file_that_is_left_out_is_told_by_refresh(indexed: Path, contextd: Contextd) -> None:
    (indexed / ".gitignore").write_text("*.log\nbuild/\n")
    (indexed / "a.log").write_text("x")
    (indexed / "build").mkdir()
    (indexed / "data.py").write_bytes(b"\x00\x01" * 100)
    run = contextd("refresh", "a.log", "build", "data.py", "src/app/store.py", cwd=indexed)
    warnings = [line for line in run.err.splitlines() if "is left out" in line]
    assert run.code == 0 and "1 unchanged" in run.out and [one.split()[1] for one in warnings] == ["a.log", "build", "data.py"]
    assert contextd("refresh", "src", cwd=indexed).err == ""


def test_an_import_says_what_it_did(contextd: Contextd, tmp_path: Path) -> None:
    (tmp_path / "facts.md").write_text("- I like tea\n- I like cake\n")
    assert contextd("memories", "import", str(tmp_path / "facts.md"), "--dry-run").out.strip() == "2 memories would be imported"
    contextd("remember", "I like tea")
    assert contextd("memories", "import", str(tmp_path / "facts.md")).out.strip() == "1 memory added, 1 already known"
    told = json.loads(contextd("memories", "import", str(tmp_path / "facts.md"), "--json").out)
    assert told == {"dry_run": False, "forgotten": 0, "known": 2, "problems": []}


def test_a_map_that_does_not_fit_says_so(indexed: Path, contextd: Contextd, make_project: Callable[..., Path]) -> None:
    run = contextd("map", "--budget", "3", cwd=indexed)
    assert run.code == 1 and not run.out and "no file fits into 3 tokens; raise --budget" in run.err
    prose = make_project({"a.md": "# A\n\nwords\n"}, "prose")
    contextd("index", cwd=prose)
    assert "no file of this project defines functions" in contextd("map", cwd=prose).err


def test_one_of_a_kind_is_singular(make_project: Callable[..., Path], contextd: Contextd) -> None:
    root = make_project({"a.py": "x = 1\n"}, "single")
    assert "1 file indexed (1 chunk, 1 line)" in contextd("index", cwd=root).out
    assert "1 file, 0 commits, 1 chunk in all" in contextd("status", cwd=root).out
    assert "would read 1 file," in contextd("rebuild", "--dry-run", cwd=root).out
    assert "1 file indexed, " in contextd("refresh", "a.py", "--force", cwd=root).out
    memory = json.loads(contextd("remember", "I like tea", "--json").out)["id"][:8]
    assert contextd("memories", "pin", memory).out == f"pinned {memory}: I like tea\n"
    assert contextd("memories", "feedback", memory, "useful").out == f"rated useful {memory}: I like tea\n"


def test_names_of_limits_are_those_of_the_command_too(indexed: Path, contextd: Contextd) -> None:
    assert "the limit (k) was reduced to its maximum, 200" in contextd("search", "user", "--limit", "500", cwd=indexed).err
    run = contextd("search", "user", "--timeout", "0.0000001", cwd=indexed)
    assert run.code == 3 and "(--timeout)" in run.err and "(--path)" in run.err
    run = contextd("search", "user", cwd=indexed, CONTEXTD_BUDGET__DEFAULT_MAX_TOKENS="many")
    assert run.code == 2 and "CONTEXTD_BUDGET__DEFAULT_MAX_TOKENS: budget.default_max_tokens must be" in run.err


def test_facets_without_a_subject_are_not_explained_as_facets(contextd: Contextd) -> None:
    contextd("remember", "I like tea")
    run = contextd("facets", "blorp", "--explain")
    assert "subject: none (no facets used)" in run.err and "weight" not in run.out
    own = contextd("facets", "blorp", "--explain", "--facet", "Money: What may it cost?")
    assert "no facets used" not in own.err and "What may it cost?" in own.out


@pytest.mark.parametrize("group", ["proxy", "token", "service"])
def test_a_group_without_a_command_shows_its_help(group: str, contextd: Callable[..., Run]) -> None:
    """It was printed as the message of an error, in one line with escaped line breaks."""
    shown = contextd(group)
    assert shown.code == 2 and f"Usage: contextd {group}" in shown.err and "Commands:\n" in shown.err


def test_the_summary_of_the_profile_is_a_line_of_its_own(contextd: Callable[..., Run]) -> None:
    assert contextd("profile", "set", "identity.role", "florist").code == 0
    assert "\n\nSummary (" in contextd("profile").out
