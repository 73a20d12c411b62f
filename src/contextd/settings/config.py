"""Load settings: defaults, the user's file, the project's `context.toml`, the environment, flags; later layers win.

An unknown key is an error with a suggestion. Accepted keys without effect (`other_keys.py`) give one warning. A project's own
file is not trusted to widen anything: it cannot name places outside the project, choose models, switch scrubbing off, or have
queries recorded.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from contextd.errors import InvalidInput, Unavailable
from contextd.settings.data_directory import home
from contextd.settings.defaults import Engine, LanguageModel, MetricsSettings, Proxy, Settings
from contextd.settings.named_tables import TABLES, templates
from contextd.settings.other_keys import BUILT_IN, NAMED_TABLES, WITHOUT_EFFECT, flattened

__all__ = ["FILE_NAME", "Loaded", "home", "known_keys", "load", "stamp", "value_from", "value_of"]

FILE_NAME = "context.toml"
_LARGEST = 1 << 20
_MOST_ENTRIES = 200

# Keys that a project's file may not set, and why.
_UNTRUSTED = {
    "embedding.model": "a project cannot choose models",
    "embedding.deep_model": "a project cannot choose models",
    "embedding.url": "a project cannot choose models",
    "embedding.key_env": "a project cannot choose models",
    "embedding.memories": "a project cannot choose models",
    "privacy.remote_models": "a project cannot allow models on other machines",
    "indexing.follow_symlinks": "a project cannot have links followed",
    "providers": "a project cannot switch plug-ins on",
    "embedders": "a project cannot choose models",
    "security.allow": "a project cannot switch scrubbing off",
    "projects": "a project cannot name other projects",
    "mode": "a project cannot choose the service",
    "mcp.tools": "a project cannot choose tools",
    **{f"engine.{one.name}": "a project cannot choose the service" for one in fields(Engine)},
    **{f"metrics.{one.name}": "a project cannot choose what is recorded of queries" for one in fields(MetricsSettings)},
    **{f"proxy.{one.name}": "a project cannot configure the proxy" for one in fields(Proxy)},
    **{f"llm.{one.name}": "a project cannot choose models" for one in fields(LanguageModel)},
}


_ENVIRONMENT = "environment"  # origin of values from variables
_ADDED = (
    "security.secret_patterns",
    "privacy.paths",
    "privacy.topics",
)  # layers add to these; none can remove patterns of another
_CHOICES = {
    "query.fusion": ("weighted", "rrf"),
    "mode": ("hybrid", "standalone", "embedded"),
    "proxy.position": ("end_of_user", "end_of_system", "start_of_system"),
    "proxy.profile": ("always", "with_context", "off"),
    "proxy.private": ("forward", "refuse", "everywhere"),
    "llm.engine": ("none", "ollama", "openai", "local"),
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings with the origin of every value that is not a default, and warnings."""

    settings: Settings
    origins: Mapping[str, str]
    warnings: tuple[str, ...]
    idle: tuple[str, ...] = ()  # keys without effect


def load(
    user_file: Path | None,
    project_file: Path | None,
    environment: Mapping[str, str],
    flags: Mapping[str, Any] | None = None,
) -> Loaded:
    """Load all layers in order. Raises InvalidInput for an unknown key or an invalid value."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    warnings: list[str] = []
    without: list[str] = []
    variables = _variables(environment)
    for name, layer, trusted in _layers(user_file, project_file, environment, flags or {}):
        if idle := [key for key in layer if key in WITHOUT_EFFECT]:
            warnings.append(f"{name}: settings without effect: {', '.join(idle)}; run `contextd config` for the reasons")
            without += idle
        for key, value in ((key, value) for key, value in layer.items() if key not in WITHOUT_EFFECT):
            checked = _checked(key, value, variables.get(key, name) if name == _ENVIRONMENT else name, trusted, warnings)
            if checked is not None:
                values[key] = _together(key, values.get(key), checked)
                origins[key] = name
    return Loaded(_build(values), origins, tuple(warnings), tuple(dict.fromkeys(without)))


def _together(key: str, before: Any, now: Any) -> Any:
    """Combine the values of two layers: the later one wins, patterns of secrets add up, tables are merged."""
    if key in _ADDED:
        return (before or ()) + now
    if key in ("proxy.upstreams", "proxy.aliases"):
        return {**(before or {}), **now}
    if key != "providers":
        return now
    tables = before or {}
    return {**tables, **{name: {**tables.get(name, {}), **table} for name, table in now.items()}}


def stamp(root: Path) -> tuple[int, ...]:
    """Return modification times that change when a settings file of a project changes."""
    return tuple(_changed_at(path) for path in (home() / "config.toml", root / FILE_NAME))


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def own_settings() -> Settings:
    """Return the settings of the user: their own file and the environment, without any project."""
    return load(home() / "config.toml", None, os.environ).settings


def known_keys() -> dict[str, Any]:
    """Return every key with its default, by dotted name."""
    defaults = Settings()
    found: dict[str, Any] = {}
    for section in fields(defaults):
        group = getattr(defaults, section.name)
        if is_dataclass(group):
            values = {f"{section.name}.{one.name}": getattr(group, one.name) for one in fields(group)}
            found |= {key: value for key, value in values.items() if key not in NAMED_TABLES}
        elif isinstance(group, bool | str):
            found[section.name] = group
    return found


def value_of(settings: Settings, key: str) -> Any:
    """Return the value of a dotted key."""
    section, _, name = key.partition(".")
    if not name:
        return getattr(settings, section)
    return getattr(getattr(settings, section), name)


def value_from(key: str, text: str, origin: str, *, trusted: bool) -> Any:
    """Parse a value for a key, as in a settings file. Raises InvalidInput, also for a key without effect."""
    if key in WITHOUT_EFFECT:
        raise InvalidInput(f"{key} cannot be set: {WITHOUT_EFFECT[key]}")
    value, (section, _, name) = _parsed(text), key.partition(".")
    warnings: list[str] = []
    if key.startswith("proxy.aliases."):
        _checked("proxy.aliases", {key.removeprefix("proxy.aliases."): value}, origin, trusted, warnings)
    elif section in ("templates", "projects") and name:
        _checked(section, {name: value}, origin, trusted, warnings)
    elif section == "providers" and "." in name:
        retriever, _, own = name.partition(".")
        _checked(section, {retriever: {own: value}}, origin, trusted, warnings)
    else:
        if isinstance(value, str) and isinstance(known_keys().get(key), tuple):
            value = [part.strip() for part in value.split(",") if part.strip()]
        _checked(key, value, origin, trusted, warnings)
    if warnings:
        reason = warnings[0].removeprefix(f"{origin}: ").replace(" is ignored: ", " cannot be set here: ", 1)
        raise InvalidInput(f"{reason}. Leave out --project-file to set it in your own config.toml")
    return value


def _layers(
    user_file: Path | None, project_file: Path | None, environment: Mapping[str, str], flags: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any], bool]]:
    if user_file is not None and _is_there(user_file):
        yield str(user_file), _read(user_file), True
    if project_file is not None and (_is_there(project_file) or project_file.is_symlink()):
        yield str(project_file), _read_inside(project_file), False
    yield _ENVIRONMENT, _from_environment(environment), True
    yield "flag", dict(flags), True


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:  # of the folder around it
        raise Unavailable(f"cannot read {path.parent}: {error.strerror}; check the permissions of the directory") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        if not path.is_file():
            raise InvalidInput(f"{path} is not a regular file")
        if path.stat().st_size > _LARGEST:
            raise InvalidInput(f"{path} is larger than the maximum of 1 MB")
        document = tomllib.loads(path.read_text("utf-8"))
    except ValueError as error:  # of the syntax, the encoding, or a number that is too long
        raise InvalidInput(f"{path} is not valid TOML: {error}") from None
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from None
    except RecursionError:
        raise InvalidInput(f"{path} is nested too deeply") from None
    unknown = set(document) - {"context"}
    if unknown:
        raise InvalidInput(f"{path}: unknown table {sorted(unknown)[0]!r}; settings belong in [context]")
    if not isinstance(document.get("context", {}), dict):
        raise InvalidInput(f"{path}: [context] must be a table")
    try:
        return dict(flattened(document.get("context", {})))
    except RecursionError:
        raise InvalidInput(f"{path} is nested too deeply") from None


def _read_inside(path: Path) -> dict[str, Any]:
    """Read a project's own file. Raises InvalidInput if it is a link out of the project."""
    try:
        inside = path.resolve(strict=True).is_relative_to(path.parent.resolve())
    except (OSError, RuntimeError):
        inside = False
    if not inside:
        raise InvalidInput(f"{path} is a broken symbolic link or points outside the project; replace it with a file")
    return _read(path)


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Read the environment: `CONTEXTD_BUDGET__DEFAULT_MAX_TOKENS=800` sets budget.default_max_tokens."""
    found: dict[str, Any] = {}
    for name in _named(environment):
        *sections, last = name.removeprefix("CONTEXTD_").lower().split("__")
        table = found
        for section in sections:
            inner = table.get(section)
            table[section] = table = inner if isinstance(inner, dict) else {}
        table[last] = _parsed(environment[name])
    return dict(flattened(found))


def _named(environment: Mapping[str, str]) -> list[str]:
    """Return the names of the variables that set a key."""
    return [name for name in environment if name.startswith("CONTEXTD_") and "__" in name]


def _variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the name of the variable that sets each key; the names of all if there are several."""
    found: dict[str, list[str]] = {}
    for name in _named(environment):
        for key in _from_environment({name: environment[name]}):
            found.setdefault(key, []).append(name)
    return {key: ", ".join(names) for key, names in found.items()}


def _parsed(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def _checked(key: str, value: Any, origin: str, trusted: bool, warnings: list[str]) -> Any:
    """Return the value in its proper type; None if it is ignored with a warning."""
    if key == "templates":
        return templates(value, origin)
    if key in TABLES:
        table = TABLES[key](value, origin)
        if not trusted and set(table) - set(BUILT_IN):
            warnings.append(f"{origin}: {key} is ignored: {_UNTRUSTED[key]}")
        return table if trusted else {name: one for name, one in table.items() if name in BUILT_IN} or None
    known = known_keys()
    if key not in known:
        from difflib import get_close_matches

        close = get_close_matches(key, known, 1) or get_close_matches(
            key.rpartition(".")[2], [k.rpartition(".")[2] for k in known], 1
        )
        hint = f"; did you mean {close[0]}?" if close else "; see `contextd config`"
        raise InvalidInput(f"{origin}: unknown setting {key!r}{hint}")
    if not trusted and key in _UNTRUSTED:
        if value != known[key]:  # a file that `contextd init` wrote has all defaults
            warnings.append(f"{origin}: {key} is ignored: {_UNTRUSTED[key]}")
        return None
    typed = _typed(key, value, known[key], origin)
    if not trusted and key == "watcher.watch_paths":
        return tuple(path for path in typed if _stays_inside(path, origin, warnings))
    return typed


def _stays_inside(path: str, origin: str, warnings: list[str]) -> bool:
    pure = Path(path)
    if pure.is_absolute() or ".." in pure.parts or path.startswith("~"):
        warnings.append(f"{origin}: watch path {path!r} is ignored: it is outside the project")
        return False
    return True


# Minimum and maximum of every number. Larger values are typing errors, or meant to break something.
RANGES: dict[str, tuple[float, float]] = {
    "watcher.debounce_ms": (1, 60_000),
    "indexing.max_file_size_mb": (0.001, 1_000),
    "indexing.warn_file_size_mb": (0, 1_000_000),
    "indexing.binary_threshold": (0, 100),
    "chunking.code_max_tokens": (1, 100_000),
    "chunking.markdown_max_tokens": (1, 100_000),
    "chunking.lines_max_tokens": (1, 100_000),
    "chunking.python_max_tokens": (0, 100_000),
    "chunking.kotlin_max_tokens": (0, 100_000),
    "chunking.typescript_max_tokens": (0, 100_000),
    "query.default_k": (1, 1_000),
    "query.mmr_lambda": (0, 1),
    "query.min_score_threshold": (0, 1),
    "budget.default_max_tokens": (1, 1_000_000),
    "budget.reserve_for_prompt": (0, 1_000_000),
    "bootstrap.parallel_workers": (0, 256),
    "bootstrap.batch_size": (1, 100_000),
    "bootstrap.max_initial_files": (0, 100_000_000),
    "bootstrap.progress_interval_seconds": (0, 86_400),
    "git.max_commits": (0, 1_000_000),
    "storage.max_mb": (0, 1_000_000_000),
    "cache.exact_ttl_seconds": (1, 86_400),
    "engine.port": (0, 65_535),
    "engine.timeout_ms": (100, 600_000),
    "engine.retry_attempts": (0, 10),
    "engine.idle_minutes": (1, 100_000),
    "metrics.keep_days": (1, 36_500),
    "cache.semantic_threshold": (0.5, 1.0),
    "cache.semantic_ttl_seconds": (1, 86_400),
    "proxy.budget": (0, 1_000_000),
    "proxy.deadline_ms": (10, 60_000),
    "proxy.log_days": (0, 36_500),
    "proxy.connect_seconds": (0.1, 60),
    "proxy.idle_seconds": (1, 86_400),
    "llm.intent_seconds": (0.05, 600),
    "llm.reranking_seconds": (0.05, 600),
    "llm.reranking_threshold": (0, 1),
    "llm.compression_seconds": (0.05, 600),
}


def _typed(key: str, value: Any, default: Any, origin: str) -> Any:
    """Check that a value has the type of its default and is in its range."""
    if isinstance(default, tuple):
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise InvalidInput(f'{origin}: {key} must be a list of texts, such as ["a", "b"]')
        if len(value) > _MOST_ENTRIES:
            raise InvalidInput(f"{origin}: {key} has {len(value)} entries (maximum {_MOST_ENTRIES})")
        return tuple(_extension(one) for one in value) if key.endswith("_extensions") else tuple(value)
    kinds: tuple[type, ...] = (int, float) if isinstance(default, float) else (type(default),)
    if not isinstance(value, kinds) or isinstance(value, bool) != isinstance(default, bool):
        raise InvalidInput(f"{origin}: {key} must be {_KIND_NAMES[type(default)]}, not {_shown(value)}")
    number: Any = value
    if key in RANGES and not RANGES[key][0] <= number <= RANGES[key][1]:  # also false for NaN
        low, high = RANGES[key]
        raise InvalidInput(f"{origin}: {key} must be a number from {low:,} to {high:,}, not {_shown(value)}")
    if key in _CHOICES and value not in _CHOICES[key]:
        *some, last = _CHOICES[key]
        raise InvalidInput(f"{origin}: {key} must be {', '.join(some)} or {last}, not {_shown(value)}")
    return value


def _shown(value: object) -> str:
    """Return a value for an error message, cut if it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python does not print numbers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 80 else text[:77] + "..."


_KIND_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def _extension(text: str) -> str:
    return text.lower() if text.startswith(".") else f".{text.lower()}"


def _build(values: Mapping[str, Any]) -> Settings:
    hints = get_type_hints(Settings)
    sections: dict[str, Any] = {}
    for section in fields(Settings):
        if section.name in NAMED_TABLES:
            sections[section.name] = values.get(section.name, {})
            continue
        if section.type in ("bool", "str"):
            sections[section.name] = values.get(section.name, section.default)
            continue
        prefix = f"{section.name}."
        own = {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}
        sections[section.name] = hints[section.name](**own)
    return Settings(**sections)
