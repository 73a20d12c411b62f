"""Commands for models: weights of our own, and engines that run others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from contextd.surfaces.cli.show import as_json, json_option, note, out, table, terminal

if TYPE_CHECKING:
    from contextd.ports.engines import PullProgress
    from contextd.settings.defaults import Settings


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def models(ctx: click.Context, json_output: bool) -> None:
    """List, download and verify models. Without a subcommand, the models and the engines on this machine are listed.

    \b
    Examples:
      contextd models list
      contextd models fetch
      contextd models verify
      contextd models pull qwen3:4b
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_models, json_output=json_output)


@models.command("list")
@json_option
def list_models(json_output: bool) -> int:
    """List the supported models with their state, and the engines: servers of the settings, and others on this machine."""
    from contextd.app.engines import MISSING, engine_states
    from contextd.models import weights
    from contextd.settings.config import home

    rows = [
        (
            m.name,
            m.tier,
            m.dimension,
            m.license,
            sum(f.size for f in m.files) // 1_000_000,
            "installed" if weights.present(home(), m) else "missing",
        )
        for m in weights.MODELS.values()
    ]
    settings = _settings()
    engines = list(engine_states(settings.llm, settings.embedding, home()))
    if json_output:
        known = [dict(zip(("name", "tier", "dimension", "license", "megabytes", "state"), row, strict=True)) for row in rows]
        as_json({"items": known, "total": len(known), "engines": engines})
        return 0
    table(("name", "tier", "dimension", "license", "MB", "state"), rows)
    if engines:
        out()
        places = [f"{one.url} (another machine)" if one.remote else one.url for one in engines]
        found = [
            (one.engine, place, one.use or "-", one.model or f"{len(one.models)} models", one.state)
            for one, place in zip(engines, places, strict=True)
        ]
        table(("engine", "place", "used for", "model", "state"), found)
    if any(one.state == MISSING and one.engine == "ollama" for one in engines):
        note("To download what is missing, run `contextd models pull`.")
    return 0


@models.command()
@click.argument("names", nargs=-1)
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Copy the models from this data directory instead of the network.",
)
@json_option
def fetch(names: tuple[str, ...], source: Path | None, json_output: bool) -> int:
    """Download NAMES (default: all models but language models) and verify their pinned checksums.

    \b
    Examples:
      contextd models fetch
      contextd models fetch --from /media/stick/contextd
      contextd models fetch smollm2-135m
    """
    from contextd.models import weights
    from contextd.settings.config import home

    wanted = [weights.known(name) for name in names] or list(weights.USUAL)
    new = not all(weights.present(home(), model) for model in wanted)
    for model in wanted:
        weights.take(source, home(), model) if source is not None else weights.fetch(home(), model, note)
    as_json({"fetched": [m.name for m in wanted]}) if json_output else out("installed: " + ", ".join(m.name for m in wanted))
    if new and (home() / "record.db").exists():
        note("To compute the vectors of existing data, run `contextd memories enrich`, and `contextd index` in each project.")
    return 0


@models.command()
@json_option
def verify(json_output: bool) -> int:
    """Verify the SHA-256 checksums of the model weights. Copies that were optimized for loading are made again."""
    from contextd.models import weights
    from contextd.settings.config import home

    there = [m for m in weights.MODELS.values() if m in weights.USUAL or weights.present(home(), m)]
    wrong = {m.name: weights.verify(home(), m) for m in there}
    for model in there:
        weights.drop_copies(home(), model)
    if json_output:
        as_json(wrong)
    else:
        table(("model", "state"), [(name, "; ".join(faults) or "verified") for name, faults in wrong.items()])
    return 1 if any(wrong.values()) else 0


@models.command()
@click.argument("name", default="")
@json_option
def pull(name: str, json_output: bool) -> int:
    """Download the model NAME with Ollama (default: every model of the settings that is missing).

    \b
    Examples:
      contextd models pull
      contextd models pull nomic-embed-text
    """
    from contextd.app.engines import make_ready

    settings = _settings()
    with _shown(quiet=json_output) as progress:
        pulled = make_ready(settings.llm, settings.embedding, name, progress)
    if json_output:
        as_json({"pulled": pulled})
    else:
        out("pulled: " + ", ".join(pulled) if pulled else "nothing is missing")
    return 0


@contextmanager
def _shown(*, quiet: bool) -> Iterator[Callable[[PullProgress], None]]:
    """Show the progress of a download: a bar on a terminal, a line for each new status elsewhere."""
    if not terminal() or quiet:
        last = [""]

        def line(one: PullProgress) -> None:
            if one.status != last[0] and not quiet:
                note(one.status)
            last[0] = one.status

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda one: bar.update(task, description=one.status[:40], completed=one.completed, total=one.total or None)


def _settings() -> Settings:
    import os

    from contextd.settings import config

    return config.load(config.home() / "config.toml", None, os.environ).settings
