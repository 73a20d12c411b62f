"""Commands for settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from contextd.errors import InvalidInput
from contextd.surfaces.cli.show import as_json, out, project_options, table, warn


@click.group(invoke_without_command=True)
@project_options
@click.pass_context
def config(ctx: click.Context, project: str, reader: str, json_output: bool) -> None:
    """Show every setting with its value and its source.

    \b
    Examples:
      contextd config
      contextd config set budget.default_max_tokens 2000
      contextd config set indexing.blocked_extensions .csv,.log --project-file
      contextd config unset budget.default_max_tokens
    """
    if ctx.invoked_subcommand is not None:
        return
    from contextd.app.assemble import settings_of
    from contextd.settings import config as settings
    from contextd.settings.other_keys import WITHOUT_EFFECT

    loaded = settings_of(project)
    rows = [(key, settings.value_of(loaded.settings, key), loaded.origins.get(key, "default")) for key in settings.known_keys()]
    rows += [
        (f"providers.{name}.{key}", value, loaded.origins["providers"])
        for name, own in loaded.settings.providers.items()
        for key, value in own.items()
    ]
    warn(loaded.warnings)
    if json_output:
        without = {key: {"without_effect": WITHOUT_EFFECT[key]} for key in loaded.idle}
        as_json({key: {"value": value, "from": origin} for key, value, origin in rows} | without)
    else:
        table(("setting", "value", "from"), [(key, _short(value), origin) for key, value, origin in rows])
        if loaded.idle:
            table(("without effect", "why"), [(key, WITHOUT_EFFECT[key]) for key in loaded.idle])


def _short(value: object) -> str:
    text = ", ".join(value) if isinstance(value, tuple) else str(value)
    return text if len(text) < 70 else text[:67] + "..."


@config.command("set")
@click.argument("key")
@click.argument("value")
@click.option("--project-file", is_flag=True, help="Write to the project's context.toml instead of your config.toml.")
@project_options
def set_(key: str, value: str, project_file: bool, project: str, reader: str, json_output: bool) -> int:
    """Set KEY to VALUE in your config.toml. The value is validated first. Comments in the file are kept.

    \b
    Examples:
      contextd config set query.default_k 20
      contextd config set projects.app ~/code/app
      contextd config set watcher.watch_paths src,docs --project-file
    """
    from contextd.app.assemble import project_root
    from contextd.settings import config as settings
    from contextd.settings.config_file import set_value

    root = project_root(project) if project_file else None
    path = root / settings.FILE_NAME if root else settings.home() / "config.toml"
    _check(key, settings.value_from(key, value, str(path), trusted=root is None), root)
    written = set_value(path, key, value, trusted=not project_file)
    as_json({"key": key, "value": written, "file": str(path)}) if json_output else out(f"{key} = {_as_toml(written)} in {path}")
    return 0


def _as_toml(value: Any) -> str:
    """Return a value as it stands in the file."""
    import tomlkit

    return str(tomlkit.item(value).as_string())


@config.command("unset")
@click.argument("key")
@click.option("--project-file", is_flag=True, help="Change the project's context.toml instead of your config.toml.")
@project_options
def unset_(key: str, project_file: bool, project: str, reader: str, json_output: bool) -> int:
    """Remove KEY from your config.toml, so that its default counts again. Comments in the file are kept.

    \b
    Examples:
      contextd config unset query.default_k
      contextd config unset proxy.aliases.fast
    """
    from contextd.app.assemble import project_root
    from contextd.settings import config as settings
    from contextd.settings.config_file import unset

    path = project_root(project) / settings.FILE_NAME if project_file else settings.home() / "config.toml"
    if not unset(path, key.split("."), trusted=not project_file):
        raise InvalidInput(f"{key} is not set in {path}; run `contextd config` for a list")
    as_json({"key": key, "file": str(path)}) if json_output else out(f"{key} removed from {path}")
    return 0


def _check(key: str, value: Any, root: Path | None) -> None:
    """Raise InvalidInput for a pattern or a path that no command could use. `root`: of the project whose file is changed."""
    from contextd.app.assemble import project_root
    from contextd.app.boundaries import watch_paths
    from contextd.app.upstreams import checked_upstream
    from contextd.privacy import user_rules
    from contextd.settings.config import own_settings

    if key == "security.secret_patterns":
        user_rules(value, ())
    elif key == "security.allow":
        user_rules((), value)
    elif key == "watcher.watch_paths" and root is not None:
        watch_paths(root, tuple(value))
    elif key.startswith("projects."):
        project_root(value)
    elif key == "proxy.upstream" or key.startswith("proxy.aliases."):
        checked_upstream(own_settings().proxy, value.partition("/")[0] if key != "proxy.upstream" else value)
