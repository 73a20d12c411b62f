"""Commands for the profile: show, get, set, unset."""

from __future__ import annotations

from typing import Any

import click

from contextd.errors import NotFound
from contextd.surfaces.cli.show import as_json, json_option, note, opened, out, reader_option, table

_EMPTY = "The profile is empty. Set a key, such as `contextd profile set communication.tone direct`."


@click.group(invoke_without_command=True)
@reader_option
@json_option
@click.pass_context
def profile(ctx: click.Context, reader: str, json_output: bool) -> int:
    """Show your profile and its summary, which the proxy adds to requests.

    Sections: identity, communication and expertise have names below them; interests, opinions and preferences are lists.

    \b
    Examples:
      contextd profile
      contextd profile set identity.role "software engineer"
      contextd profile set communication.tone direct
      contextd profile set interests sailing "type theory"
      contextd profile unset communication.tone
    """
    if ctx.invoked_subcommand is not None:
        return 0
    service = _service(reader)
    entries, summary = service.get().entries(), service.summary()
    if json_output:
        as_json({"profile": entries, "summary": summary, "tokens": service.tokens.count(summary)})
    elif not entries:
        out(_EMPTY)
    else:
        table(("key", "value"), [(key, _text(value)) for key, value in entries.items()])
        out()
        out(f"Summary ({service.tokens.count(summary)} tokens): {summary}")
        for key, value in entries.items():
            _warn(service.contradicting(key, value) if isinstance(value, str) else [], key)
    return 0


@profile.command("get")
@click.argument("key")
@reader_option
@json_option
def get_key(key: str, reader: str, json_output: bool) -> int:
    """Print the value of KEY. The exit code is 1 if it is not set.

    \b
    Example:
      contextd profile get communication.tone
    """
    value = _service(reader).get().entries().get(key)
    if value is None:
        as_json({"key": key, "value": None}) if json_output else note(f"{key} is not set")
        return 1
    as_json({"key": key, "value": value}) if json_output else out(_text(value))
    return 0


@profile.command("set")
@click.argument("key")
@click.argument("values", nargs=-1, required=True)
@reader_option
@json_option
def set_key(key: str, values: tuple[str, ...], reader: str, json_output: bool) -> int:
    """Set KEY to a value; interests, opinions and preferences take several VALUES.

    \b
    Examples:
      contextd profile set communication.tone direct
      contextd profile set preferences "metric units" "short answers"
    """
    facts = _service(reader).set(key, values)
    if json_output:
        as_json({"key": key, "contradicting": [one.id for one in facts]})
    else:
        out(f"set {key}")
        _warn(facts, key)
    return 0


@profile.command("unset")
@click.argument("key")
@reader_option
@json_option
def unset_key(key: str, reader: str, json_output: bool) -> int:
    """Remove KEY. The exit code is 1 if it is not set.

    \b
    Example:
      contextd profile unset communication.tone
    """
    try:
        _service(reader).unset(key)
    except NotFound as error:
        as_json({"key": key, "removed": False}) if json_output else note(str(error))
        return 1
    as_json({"key": key, "removed": True}) if json_output else out(f"removed {key}")
    return 0


def _service(reader: str) -> Any:
    from contextd.app.profiles import profile_service

    return profile_service(opened(None, reader))


def _warn(facts: list[Any], key: str) -> None:
    for one in facts:
        note(f"the memory {one.id[:8]} says otherwise about {key}: {one.text}")


def _text(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else "; ".join(value)
