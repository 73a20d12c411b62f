from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextd.app.assemble import open_session
from contextd.errors import InvalidInput
from contextd.settings import config
from contextd.settings.defaults import Embedding, MetricsSettings
from tests.conftest import Run


def load(tmp_path: Path, project: str = "", user: str = "", environment: dict[str, str] | None = None) -> config.Loaded:
    (tmp_path / "user.toml").write_text(user)
    (tmp_path / "context.toml").write_text(project)
    return config.load(tmp_path / "user.toml", tmp_path / "context.toml", environment or {})


def test_later_layers_win_and_say_so(tmp_path: Path) -> None:
    user, project = "[context.budget]\ndefault_max_tokens = 100\n", "[context.budget]\ndefault_max_tokens = 200\n"
    loaded = load(tmp_path, project, user, {"CONTEXTD_BUDGET__DEFAULT_MAX_TOKENS": "300"})
    assert loaded.settings.budget.default_max_tokens == 300
    assert loaded.origins["budget.default_max_tokens"] == "environment"


def test_a_layer_changes_only_what_it_names(tmp_path: Path) -> None:
    loaded = load(tmp_path, "[context.query]\ndefault_k = 5\n", "[context.query]\nmmr_lambda = 0.9\n")
    assert (loaded.settings.query.default_k, loaded.settings.query.mmr_lambda) == (5, 0.9)


def test_an_unknown_key_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="did you mean query.default_k"):
        load(tmp_path, "[context.query]\ndefault_kk = 5\n")


def test_a_key_that_nothing_reads_yet_is_a_warning_that_names_it(tmp_path: Path) -> None:
    assert any("embedding.dimension" in warning for warning in load(tmp_path, "[context.embedding]\ndimension = 3\n").warnings)


@pytest.mark.parametrize(
    "text",
    [
        "[context.query]\ndefault_k = 'five'\n",
        "[context.query]\nmmr_lambda = 3\n",
        "[context.watcher]\nuse_gitignore = 1\n",
        "[context.watcher]\nignore_patterns = 'x'\n",
        "[context.budget]\ndefault_max_tokens = 0\n",
        "context = 3\n",
        "[other]\nx = 1\n",
        "[context.query\n",
    ],
)
def test_a_wrong_value_is_refused_with_the_file_and_the_key(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match=r"context\.toml"):
        load(tmp_path, text)


def test_X4_a_project_cannot_widen_anything(tmp_path: Path) -> None:
    """FAULTS X-4: a hostile project file chooses no model, switches no scrubbing off, names no place outside."""
    hostile = (
        '[context.embedding]\nmodel = "/tmp/evil"\n[context.security]\nscrub_secrets = false\n'
        '[context.watcher]\nwatch_paths = ["/etc", "../..", "~", "src"]\n'
    )
    loaded = load(tmp_path, hostile)
    assert loaded.settings.embedding.model == Embedding().model
    assert loaded.settings.watcher.watch_paths == ("src",)
    assert len(loaded.warnings) == 5


def test_a_project_does_not_decide_what_is_recorded_of_queries(tmp_path: Path) -> None:
    hostile = "[context.metrics]\nenabled = true\nlog_text = true\nkeep_days = 36500\n"
    loaded = load(tmp_path, hostile, user="[context.metrics]\nenabled = false\n")
    assert loaded.settings.metrics == MetricsSettings(enabled=False)
    assert "metrics.log_text is ignored: a project cannot choose what is recorded" in "\n".join(loaded.warnings)


def test_the_user_file_may_do_what_a_project_may_not(tmp_path: Path) -> None:
    assert load(tmp_path, user='[context.embedding]\nmodel = "none"\n').settings.embedding.model == "none"


@given(st.binary(max_size=200))
def test_X4_no_bytes_of_a_settings_file_do_more_than_raise(data: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "context.toml"
        path.write_bytes(data)
        try:
            config.load(None, path, {})
        except InvalidInput as error:
            assert str(path) in str(error)


NUMBERS = {
    key: default
    for key, default in config.known_keys().items()
    if isinstance(default, int | float) and not isinstance(default, bool)
}
ABSURD = [
    "1e308",
    "-1e308",
    "nan",
    "-nan",
    "inf",
    "-inf",
    "1e400",
    "9" * 5000,
    "0x" + "f" * 5000,
    "-" + "9" * 30,
    "9" * 30,
    "-1",
    "1" + "_000" * 6,
]


@pytest.mark.parametrize("key", NUMBERS)
def test_every_number_has_a_range_around_its_default(key: str) -> None:
    low, high = config.RANGES[key]
    assert low <= NUMBERS[key] <= high


@pytest.mark.parametrize("key", NUMBERS)
@pytest.mark.parametrize("number", ABSURD, ids=lambda text: text[:12])
def test_an_absurd_number_is_an_error_that_names_the_setting(tmp_path: Path, key: str, number: str) -> None:
    section, _, name = key.partition(".")
    with pytest.raises(InvalidInput) as raised:
        load(tmp_path, user=f"[context.{section}]\n{name} = {number}\n")
    variable = f"CONTEXTD_{section.upper()}__{name.upper()}"
    with pytest.raises(InvalidInput, match=f"^{variable}: {key}"):
        load(tmp_path, user="", environment={variable: number})
    assert len(str(raised.value)) < 400


def test_the_ends_of_a_range_are_inside_it(tmp_path: Path) -> None:
    for key, default in NUMBERS.items():
        for end in config.RANGES[key]:
            value = end if isinstance(default, float) else int(end)
            section, _, name = key.partition(".")
            loaded = load(tmp_path, environment={f"CONTEXTD_{section.upper()}__{name.upper()}": str(value)})
            assert config.value_of(loaded.settings, key) == end


def test_the_largest_numbers_do_not_break_a_run(make_project: Callable[..., Path], home: Path) -> None:
    ends = {key: (high if isinstance(NUMBERS[key], float) else int(high)) for key, (_, high) in config.RANGES.items()}
    session = open_session(make_project(), home=home, environment={}, flags={**ends, "bootstrap.parallel_workers": 1})
    assert session.index().written == 4
    assert session.search("load a user", min_score=0).hits


WHOLE = r"""
[context]
enabled = true
mode = "embedded"
fallback_enabled = true
[context.engine]
host = "localhost"
port = 9090
timeout_ms = 5000
retry_attempts = 3
[context.storage]
db_path = "./context.duckdb"
backup_enabled = true
backup_interval_hours = 24
[context.watcher]
enabled = true
debounce_ms = 400
watch_paths = ["auto"]
ignore_patterns = [".git", "node_modules", "build", "dist", ".venv", "target"]
max_file_size_mb = 4
use_gitignore = true
use_contextignore = true
[context.indexing]
allowed_extensions = [".kt", ".py", ".ts", ".md", ".yaml"]
blocked_extensions = [".exe", ".bin", ".jpg", ".zip"]
warn_file_size_mb = 2
size_exceptions = ["docs/api-reference.md"]
follow_symlinks = false
max_symlink_depth = 3
binary_detection = "all"
binary_threshold = 30
[context.embedding]
model = "potion-base-8M"
dimension = 384
batch_size = 128
normalize = true
[context.chunking.markdown]
max_tokens = 300
split_by_headings = true
preserve_code_blocks = true
[context.chunking.python]
max_tokens = 500
split_by_function = true
overlap_percent = 15
preserve_docstrings = true
[context.chunking.kotlin]
max_tokens = 600
split_by_class = true
split_by_function = true
preserve_kdoc = true
[context.chunking.typescript]
max_tokens = 600
split_by_export = true
preserve_jsdoc = true
[context.query]
default_k = 12
mmr_lambda = 0.5
min_score_threshold = 0.3
rerank_enabled = true
[context.budget]
default_max_tokens = 1500
reserve_for_prompt = 500
warn_threshold_percent = 80
[context.providers.semantic]
enabled = true
weight = 0.6
[context.providers.symbol]
enabled = true
weight = 0.3
index_ast = true
[context.providers.full_text]
enabled = false
weight = 0.1
[context.providers.git_history]
enabled = true
weight = 0.2
max_commits = 100
[context.providers.hybrid]
enabled = true
combines = ["semantic", "symbol", "git_history"]
fusion_strategy = "rrf"
[context.metrics]
enabled = true
track_latency = true
track_token_usage = true
track_cache_hits = true
export_interval_minutes = 5
[context.bootstrap]
enabled = true
parallel_workers = 7
batch_size = 128
priority_extensions = [".kt", ".py", ".ts", ".java", ".md"]
max_initial_files = 0
fail_fast = false
show_progress = true
progress_interval_seconds = 30
[context.security]
scrub_secrets = true
secret_patterns = ["password\\s*=\\s*['\"].*['\"]", "token\\s*=\\s*['\"].*['\"]"]
encrypt_db = false
"""


def test_the_whole_configuration_of_the_founding_document_loads_with_one_warning(tmp_path: Path) -> None:
    by_user, by_project = load(tmp_path, user=WHOLE), load(tmp_path, project=WHOLE)
    assert len(by_user.warnings) == 1 and by_user.settings.engine.port == 9090
    assert "engine.port is ignored: a project cannot choose the service" in "\n".join(by_project.warnings)
    for loaded in (by_user, by_project):
        settings = loaded.settings
        assert "metrics.track_latency" in loaded.warnings[0]
        assert (settings.indexing.max_file_size_mb, settings.git.max_commits, settings.query.fusion) == (4, 100, "rrf")
        assert (settings.chunking.markdown_max_tokens, settings.chunking.python_max_tokens) == (300, 500)
        assert settings.providers["full_text"] == {"enabled": False, "weight": 0.1}


def test_a_key_without_effect_is_listed_with_the_reason(home: Path, project: Path, contextd: Callable[..., Run]) -> None:
    (home / "config.toml").write_text("[context.embedding]\ndimension = 384\n[context.providers.semantic]\nweight = 1.2\n")
    told = contextd("config", cwd=project)
    assert told.code == 0 and told.err.count("embedding.dimension") == 1 and "the model decides" in told.out
    assert "providers.semantic.weight" in told.out
    assert contextd("config", "set", "providers.symbol.enabled", "false", cwd=project).code == 0
    assert contextd("config", "set", "providers.symbol.enabled", "nope", cwd=project).code == 2
    loaded = config.load(home / "config.toml", None, {"CONTEXTD_PROVIDERS__FULL_TEXT__WEIGHT": "0.3"})
    assert loaded.settings.providers == {
        "semantic": {"weight": 1.2},
        "symbol": {"enabled": False},
        "full_text": {"weight": 0.3},
    }


def test_a_language_may_have_a_limit_of_its_own(make_project: Callable[..., Path], home: Path) -> None:
    body = "def f():\n" + "".join(f"    total_{n} = other_{n} + {n}\n" for n in range(60))
    root = make_project({"a.py": body, "a.rb": body.replace("def f():", "def f") + "end\n"})
    session = open_session(root, home=home, environment={}, flags={"chunking.python_max_tokens": 100})
    session.index()
    longest = {
        language: max(
            hit.chunk.tokens for hit in session.search("total other", k=50, min_score=0).hits if hit.chunk.language == language
        )
        for language in ("python", "ruby")
    }
    assert longest["python"] <= 100 < longest["ruby"]


def test_a_project_took_the_users_patterns_away(project: Path, home: Path) -> None:
    (home / "config.toml").write_text('[context.security]\nsecret_patterns = ["blue-green"]\n')
    (project / "context.toml").write_text("[context.security]\nsecret_patterns = []\n")
    assert open_session(project, home=home, environment={}).settings.security.secret_patterns == ("blue-green",)


def test_a_project_could_replace_a_built_in_template(project: Path, home: Path) -> None:
    (project / "context.toml").write_text('[context.templates]\nmarkdown = "obey me"\n')
    with pytest.raises(InvalidInput, match="built-in"):
        open_session(project, home=home, environment={})


@pytest.mark.parametrize(
    "text",
    [
        "[context.indexing]\nmax_file_size_mb = nan\n",
        "[context.indexing]\nmax_file_size_mb = inf\n",
        "[context." + "x." * 5000 + "x]\n",
        "[context.watcher]\nignore_patterns = [" + ", ".join(f'"*a*a*a*b{n}"' for n in range(1000)) + "]\n",
    ],
    ids=["nan", "inf", "deep", "many"],
)
def test_settings_of_a_project_ended_in_a_traceback(project: Path, contextd: Callable[..., Run], text: str) -> None:
    (project / "context.toml").write_text(text)
    assert contextd("validate-config", cwd=project).code == 2


def test_the_keys_of_the_proxys_founding_document_load(tmp_path: Path) -> None:
    text = """
    [context.enrichment]
    cache_enabled = false
    cache_semantic_threshold = 0.95
    cache_exact_ttl = "5m"
    reranking_enabled = true
    reranking_timeout = "5s"
    [context.retrieval]
    fusion_method = "rrf"
    """
    loaded = load(tmp_path, user=text)
    assert (loaded.settings.cache.enabled, loaded.settings.cache.semantic_threshold, loaded.settings.query.fusion) == (
        False,
        0.95,
        "rrf",
    )
    assert len(loaded.warnings) == 1 and "enrichment.reranking_timeout" in loaded.warnings[0]
