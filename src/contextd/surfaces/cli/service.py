"""Commands for the service: serve, stop, service, token."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from contextd.errors import ContextdError, InvalidInput, Unavailable
from contextd.surfaces.cli.show import as_json, as_list, note, out, table

_READY = 20.0  # seconds to wait for a service in the background
_STOPPED = 15.0  # seconds to wait for a service to stop


def _json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "json_output", is_flag=True, help="Print JSON.")(command)


@click.command()
@click.option("--host", default=None, metavar="ADDRESS", help="Address to listen on (default: 127.0.0.1, this machine only).")
@click.option("--port", type=click.IntRange(0, 65535), default=None, help="Port (default: 8710; 0 for any free port).")
@click.option("--tls-cert", type=click.Path(exists=True, dir_okay=False), help="File with the TLS certificate.")
@click.option("--tls-key", type=click.Path(exists=True, dir_okay=False), help="File with the key of the certificate.")
@click.option("--behind-proxy", is_flag=True, help="Allow another address without TLS, because a proxy in front does TLS.")
@click.option("--allow-host", "names", multiple=True, metavar="NAME", help="Further name of the service. Repeatable.")
@click.option("--no-watch", is_flag=True, help="Do not follow changes of files.")
@click.option("--background", is_flag=True, help="Start the service in the background and return.")
@_json_option
def serve(
    host: str | None, port: int | None, tls_cert: str | None, tls_key: str | None, behind_proxy: bool, names: tuple[str, ...],
    no_watch: bool, background: bool, json_output: bool,
) -> int:  # fmt: skip
    """Serve all projects of this machine over HTTP, to every program with an access token.

    Projects are opened when they are asked for. The index of a project in use follows its files.

    \b
    Examples:
      contextd serve
      contextd serve --background
      contextd serve --port 9000
      contextd serve --host 0.0.0.0 --behind-proxy --allow-host context.example.org
    """
    if background:
        return _in_background(json_output)
    try:
        from contextd.surfaces.http.server import Address
        from contextd.surfaces.http.server import serve as run
    except ImportError as error:
        raise Unavailable(f"the service needs {error.name}; run `pip install 'contextd[service]'`") from None
    from contextd.app.assemble import open_service
    from contextd.settings import config

    settings = config.load(config.home() / "config.toml", None, os.environ).settings.engine
    certificate, key = (Path(one) if one else None for one in (tls_cert, tls_key))
    if host is None and settings.host not in ("127.0.0.1", "localhost", "::1"):
        raise InvalidInput(f"engine.host is {settings.host}; to serve other machines, name the address with --host, too")
    address = Address(host or settings.host, settings.port if port is None else port, names, certificate, key, behind_proxy)
    address.check()
    return run(open_service(follow=not no_watch), address)


def _in_background(json_output: bool) -> int:
    from contextd.app.serving import running
    from contextd.settings.data_directory import home

    before = running(home())
    known = started([one for one in sys.argv[1:] if one not in ("--background", "--json")])
    if json_output:
        as_json({"pid": known.pid, "url": known.url, "started": before is None})
    else:
        what = "serving" if before is None else "the service is running already"
        out(f"{what} at {known.url} (process id {known.pid}); stop it with `contextd stop`")
    return 0


def started(arguments: Sequence[str] = ("serve",)) -> Any:
    """Return the running service; start it in the background if it does not run. Raises `Unavailable`."""
    from contextd.app.serving import folder_of, running
    from contextd.settings.data_directory import home
    from contextd.settings.permissions import make_folder, open_file

    if (known := running(home())) is not None:
        return known
    make_folder(folder_of(home()))
    with open_file(folder_of(home()) / "log", "a") as log:
        child = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", "-m", "contextd", *arguments],  # -P: import no module of the current folder
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    return _until(lambda: running(home()), child)


def _until(look: Callable[[], Any], child: subprocess.Popen[bytes]) -> Any:
    """Wait for the service. Raises `Unavailable` if its process has ended."""
    from contextd.app.serving import folder_of
    from contextd.settings.data_directory import home

    end = time.monotonic() + _READY
    while time.monotonic() < end:
        if (found := look()) is not None:
            return found
        if child.poll() is not None:
            break
        time.sleep(0.05)
    log = folder_of(home()) / "log"
    last = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()][-1:]
    raise Unavailable(f"the service did not start: {' '.join(last) or 'no reason is known'} (log: {log})")


@click.command()
@_json_option
def stop(json_output: bool) -> int:
    """Stop the service. Requests in progress are completed first, for at most 10 seconds.

    \b
    Example:
      contextd stop
    """
    from contextd.app.serving import running
    from contextd.settings.data_directory import home

    if running(home()) is None:
        as_json({"stopped": False}) if json_output else note("the service is not running")
        return 1
    pid = stopped()
    as_json({"stopped": True, "pid": pid}) if json_output else out("stopped")
    return 0


def stopped() -> int | None:
    """Stop the service and wait for its end. Returns its process id; None if it did not run. Raises `Unavailable`."""
    from contextd.app.serving import running
    from contextd.settings.data_directory import home

    if (known := running(home())) is None:
        return None
    os.kill(known.pid, signal.SIGTERM)
    end = time.monotonic() + _STOPPED
    while running(home()) is not None:
        if time.monotonic() > end:
            raise Unavailable(f"the service (process id {known.pid}) did not stop in {_STOPPED:.0f} seconds")
        time.sleep(0.05)
    return known.pid


@click.group()
def token() -> None:
    """Create, list and revoke access tokens of the service.

    A token names the reader it acts as and what it may do: read (queries, own memories), write (also memories, documents,
    refresh) or admin (also projects, rebuild, settings, tokens).

    \b
    Examples:
      contextd token create laptop --may write
      contextd token create ana --reader ana --group team --project ~/code/app --expires 90d
      contextd token list
      contextd token revoke laptop
    """


@token.command("create")
@click.argument("name")
@click.option("--reader", default="owner", show_default=True, metavar="NAME", help="Reader that the token acts as.")
@click.option("--group", "groups", multiple=True, metavar="NAME", help="Group of the reader. Repeatable.")
@click.option("--may", type=click.Choice(["read", "write", "admin"]), default="read", show_default=True, help="Its right.")
@click.option("--project", "projects", multiple=True, metavar="PATH", help="Limit it to this project. Repeatable.")
@click.option("--private", is_flag=True, help="Let private memories and folders answer.")
@click.option("--expires", default="", metavar="DURATION", help="Lifetime, such as 12h, 90d or 4w (default: unlimited).")
@_json_option
def create_token(
    name: str, reader: str, groups: tuple[str, ...], may: str, projects: tuple[str, ...], private: bool, expires: str,
    json_output: bool,
) -> int:  # fmt: skip
    """Create the token NAME and print it. It is not shown again.

    \b
    Example:
      contextd token create ana --reader ana --may read --expires 90d
    """
    from contextd.app.assemble import open_to_ask

    found = []
    for one in projects:
        session = open_to_ask(one)
        if session.project is None:
            raise InvalidInput(f"{one} is not indexed yet. Run `contextd index {one}`.")
        found.append(session.project.workspace)
    made = _tokens().create(name, reader=reader, groups=groups, may=may, workspaces=found, private=private, expires=expires)
    if json_output:
        as_json({"name": name, "token": made})
    else:
        out(made)
        note("This token is not shown again. Send it as `Authorization: Bearer TOKEN`,")
        note("or to the proxy (/v1) as `x-contextd-token: TOKEN`.")
    return 0


@token.command("list")
@_json_option
def list_tokens(json_output: bool) -> int:
    """List the tokens. Their secrets are not stored.

    \b
    Example:
      contextd token list
    """
    from contextd.surfaces.wire.index_answers import TokenAnswer

    found = [TokenAnswer.of(one) for one in _tokens().all()]
    if json_output:
        as_list(found)
    else:
        headings = ("name", "reader", "groups", "may", "projects", "private", "expires")
        rows = [(one.name, one.reader, *_limits_of(one), "yes" if one.private else "", one.expires or "never") for one in found]
        table(headings, rows)
    return 0


def _limits_of(token: Any) -> tuple[str, str, str]:
    return " ".join(token.groups), token.may, " ".join(token.projects) or "all"


@token.command("revoke")
@click.argument("name")
@_json_option
def revoke_token(name: str, json_output: bool) -> int:
    """Revoke the token NAME. Requests with it are refused from now on.

    \b
    Example:
      contextd token revoke ana
    """
    from contextd.app.tokens import FIRST

    _tokens().revoke(name)
    as_json({"revoked": name}) if json_output else out(f"revoked {name}")
    if name == FIRST:
        note("This was the token of the command line. Run `contextd stop`, then start the service again to make a new one.")
    return 0


def _tokens() -> Any:
    from contextd.app.assemble import open_home
    from contextd.app.tokens import TokenService
    from contextd.settings.data_directory import home

    return TokenService(open_home(home()).record.tokens)


@click.group()
def service() -> None:
    """Start the service at login, or not.

    \b
    Examples:
      contextd service install
      contextd service uninstall
    """


@service.command("install")
@click.option("--print", "only_print", is_flag=True, help="Print the file instead of writing it.")
def install_service(only_print: bool) -> int:
    """Start the service at login: writes a systemd user unit, or a launchd agent on macOS.

    \b
    Example:
      contextd service install
    """
    from contextd.app.login_item import login_item

    item = login_item()
    if only_print:
        click.echo(item.text, nl=False)
        return 0
    item.write()
    out(f"wrote {item.path}")
    for command in item.commands:
        out(f"run: {command}")
    return 0


@service.command("uninstall")
def uninstall_service() -> int:
    """Do not start the service at login any more.

    \b
    Example:
      contextd service uninstall
    """
    from contextd.app.login_item import login_item

    item = login_item()
    try:
        item.path.unlink()
    except FileNotFoundError:
        note("the service is not installed")
        return 1
    except OSError as error:
        raise ContextdError(f"cannot remove {item.path}: {error.strerror}") from None
    out(f"removed {item.path}")
    for command in item.undo:
        out(f"run: {command}")
    return 0
