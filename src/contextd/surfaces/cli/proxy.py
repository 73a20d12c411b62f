"""Commands for the proxy: upstreams."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from contextd.errors import InvalidInput
from contextd.surfaces.cli.show import as_json, as_list, json_option, note, out, table

if TYPE_CHECKING:
    from contextd.settings.defaults import Proxy


@click.group()
def proxy() -> None:
    """Configure the proxy for OpenAI clients, which `contextd serve` offers under /v1.

    \b
    Examples:
      contextd proxy add ollama
      contextd proxy add openrouter --key-env OPENROUTER_API_KEY
      contextd proxy add http://192.168.1.20:8000/v1 --name vllm
      contextd proxy list
      contextd proxy test
      contextd proxy remove vllm
    """


@proxy.command("add")
@click.argument("upstream")
@click.option("--name", default="", help="Name of the upstream (default: its preset, or the host of its URL).")
@click.option("--key-env", default="", metavar="VARIABLE", help="Environment variable with the key of the upstream.")
@json_option
def add_upstream(upstream: str, name: str, key_env: str, json_output: bool) -> int:
    """Add UPSTREAM: ollama, openai, openrouter, lmstudio, llamacpp, vllm, or the URL of another server.

    \b
    Examples:
      contextd proxy add ollama
      contextd proxy add http://127.0.0.1:8080/v1 --name local
    """
    from contextd.app.upstreams import added, is_remote
    from contextd.settings.config import home, own_settings
    from contextd.settings.config_file import set_table

    own, made = added(upstream, name, key_env)
    if not own.replace("-", "").replace("_", "").isalnum():
        raise InvalidInput(f"invalid name: {own!r}; use letters, digits, - and _")
    was_there = own in own_settings().proxy.upstreams
    values = {"url": made.url, **({"key_env": made.key_env} if made.key_env else {})}
    set_table(home() / "config.toml", ("proxy", "upstreams", own), values)
    url, how = _base_url()
    if json_output:
        as_json({"name": own, "url": made.url, "remote": is_remote(made), "changed": was_there, "base_url": url})
    else:
        out(f"{'changed' if was_there else 'added'} {own}: {made.url} ({_place(is_remote(made))})")
        note(how)
    return 0


def _base_url() -> tuple[str, str]:
    """Return the base URL for clients, and a sentence that says how to use it."""
    from contextd.app.serving import running
    from contextd.settings.config import home, own_settings

    settings, service = own_settings(), running(home())
    at = service.url if service is not None else f"http://127.0.0.1:{settings.engine.port}"
    url = f"{at}/v1" if settings.proxy.open else f"{at}/t/TOKEN/v1"
    start = "" if service is not None else "Start the proxy with `contextd serve --background`. "
    token = "" if settings.proxy.open else " with the token that `contextd token create NAME` prints"
    return url, f"{start}The base URL for your client is {url}{token}"


@proxy.command("remove")
@click.argument("name")
@json_option
def remove_upstream(name: str, json_output: bool) -> int:
    """Remove the upstream NAME from your config.toml.

    \b
    Example:
      contextd proxy remove vllm
    """
    from contextd.settings.config import home, own_settings
    from contextd.settings.config_file import unset

    settings, path = own_settings().proxy, home() / "config.toml"
    if used := [alias for alias, target in settings.aliases.items() if target.partition("/")[0] == name]:
        raise InvalidInput(f"the alias {used[0]} uses {name}; run `contextd config unset proxy.aliases.{used[0]}` first")
    if not unset(path, ("proxy", "upstreams", name), trusted=True, table_too=True):
        raise InvalidInput(f"no such upstream in {path}: {name!r}; run `contextd proxy list` for a list")
    if settings.upstream == name:
        unset(path, ("proxy", "upstream"), trusted=True)
    as_json({"removed": name}) if json_output else out(f"removed {name}")
    return 0


@proxy.command("list")
@json_option
def list_upstreams(json_output: bool) -> int:
    """List the upstreams. The first one, or `proxy.upstream`, answers models without an alias."""
    from contextd.app.upstreams import is_remote

    settings = _settings()
    usual = settings.upstream or next(iter(settings.upstreams), "")
    rows = [
        (name, one.url, _place(is_remote(one)), one.key_env, "yes" if name == usual else "")
        for name, one in settings.upstreams.items()
    ]
    if json_output:
        as_list([dict(zip(("name", "url", "place", "key_env", "default"), row, strict=True)) for row in rows])
    else:
        table(("name", "URL", "place", "key from", "default"), rows)
        if not rows:
            note("No upstream yet. Add one, such as `contextd proxy add ollama`.")
    return 0 if rows else 1


@proxy.command("test")
@click.argument("name", required=False)
@json_option
def check_upstreams(name: str | None, json_output: bool) -> int:
    """Ask the upstream NAME (default: all) for its models. The exit code is 3 if one does not answer.

    \b
    Example:
      contextd proxy test ollama
    """
    from dataclasses import replace

    from contextd.app.upstreams import NONE, choose
    from contextd.surfaces.proxy.probe import probed

    settings = _settings()
    names = [name] if name else list(settings.upstreams)
    if not names:
        raise InvalidInput(NONE)
    chosen = [choose(replace(settings, upstream=one), "", os.environ) for one in names]
    found = [probed(one, settings.connect_seconds) for one in chosen]
    if json_output:
        as_list(found)
    else:
        rows = [(one.name, one.status, one.models, f"{one.milliseconds:.0f} ms") for one in found]
        table(("name", "status", "models", "time"), rows)
    return 0 if all(one.status == "ok" for one in found) else 3


def _settings() -> Proxy:
    from contextd.settings.config import own_settings

    return own_settings().proxy


def _place(remote: bool) -> str:
    return "another machine" if remote else "this machine"
