"""Commands for model weights."""

from __future__ import annotations

from pathlib import Path

import click

from contextd.surfaces.cli.show import as_json, as_list, json_option, note, out, table


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def models(ctx: click.Context, json_output: bool) -> None:
    """List, download and verify model weights. Without a subcommand, the models are listed.

    \b
    Examples:
      contextd models list
      contextd models fetch
      contextd models verify
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_models, json_output=json_output)


@models.command("list")
@json_option
def list_models(json_output: bool) -> int:
    """List the supported models with their state (installed or missing)."""
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
    if json_output:
        as_list([dict(zip(("name", "tier", "dimension", "license", "megabytes", "state"), row, strict=True)) for row in rows])
    else:
        table(("name", "tier", "dimension", "license", "MB", "state"), rows)
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
    """Download NAMES (default: all models) and verify their pinned checksums.

    \b
    Examples:
      contextd models fetch
      contextd models fetch --from /media/stick/contextd
    """
    from contextd.models import weights
    from contextd.settings.config import home

    wanted = [weights.known(name) for name in names] or list(weights.MODELS.values())
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
    """Verify the SHA-256 checksums of the model weights."""
    from contextd.models import weights
    from contextd.settings.config import home

    wrong = {m.name: weights.verify(home(), m) for m in weights.MODELS.values()}
    if json_output:
        as_json(wrong)
    else:
        table(("model", "state"), [(name, "; ".join(faults) or "verified") for name, faults in wrong.items()])
    return 1 if any(wrong.values()) else 0
