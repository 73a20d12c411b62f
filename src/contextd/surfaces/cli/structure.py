"""Commands for the structure and history of code."""

from __future__ import annotations

from dataclasses import asdict

import click

from contextd.surfaces.cli.show import (
    WholeNumber,
    as_json,
    as_list,
    block,
    counted,
    here,
    limited,
    note,
    out,
    project_options,
    served,
    served_options,
    table,
)


@click.command()
@click.argument("name")
@served_options
@project_options
def symbols(name: str, project: str, reader: str, json_output: bool) -> int:
    """Show where NAME is defined. NAME is a function, class, method or type, qualified or not.

    \b
    Examples:
      contextd symbols Session.close
      contextd symbols load_user --json
    """
    found = served(project, reader).structure.symbols(name)
    if json_output:
        as_list(found)
    else:
        table(("place", "kind", "name", "signature"), [(f"{d.uri}:{d.line}", d.kind, d.label, d.signature) for d in found])
        note(counted(len(found), f"definition of {name}", f"definitions of {name}") if found else _unknown(name))
    return 0 if found else 1


def _unknown(name: str) -> str:
    """Return the message for a name that is neither defined nor used nor a file."""
    return f"no such name or file in the index: {name}. Run `contextd search {name}` to look for similar words."


@click.command()
@click.argument("name")
@served_options
@project_options
def callers(name: str, project: str, reader: str, json_output: bool) -> int:
    """Show the callers and subclasses of NAME. A question mark marks uses that may refer to another definition
    with the same name.

    \b
    Examples:
      contextd callers load_user
      contextd callers Session.close --json
    """
    defined, found = served(project, reader).structure.callers(name)
    if json_output:
        as_json({"definitions": [asdict(one) for one in defined], "uses": [asdict(one) for one in found]})
    else:
        rows = [(f"{u.uri}:{u.line}", u.how + ("" if u.sure else "?"), u.inside, u.text) for u in found]
        table(("place", "how", "inside", "line"), rows)
        where = ", ".join(f"{one.uri}:{one.line}" for one in defined[:5]) or "nowhere here"
        uses = f"{counted(len(found), 'use', 'uses')}; {name} is defined in {where}"
        note(uses if found or defined else _unknown(name))
    return 0 if found else 1


@click.command()
@click.argument("what")
@served_options
@project_options
@click.option("--depth", type=WholeNumber(1, 5), default=2, show_default=True, help="Maximum number of dependency steps.")
def impact(what: str, project: str, reader: str, json_output: bool, depth: int) -> int:
    """Show the files and tests that depend on WHAT, a file or a symbol.

    \b
    Examples:
      contextd impact src/app/store.py
      contextd impact load_user --depth 1
    """
    found = served(project, reader).structure.impact(here(what, project), depth=depth)
    if json_output:
        as_list(found or ())
    elif found is None:
        note(_unknown(what))
    else:
        table(("file", "steps", "test", "why"), [(d.uri, d.distance, "test" if d.test else "", d.why) for d in found])
        tests = sum(one.test for one in found)
        note(f"{counted(len(found), 'file depends', 'files depend')} on {what}, {tests} of them tests")
    return 0 if found else 1


_USUAL_MAP = 1000  # tokens


@click.command("map")
@served_options
@project_options
@click.option("-b", "--budget", type=int, default=_USUAL_MAP, show_default=True, help="Maximum number of tokens.")
def map_command(project: str, reader: str, json_output: bool, budget: int) -> int:
    """Show the project's most central files with their signatures within a token budget.

    \b
    Example:
      contextd map --budget 800
    """
    structure = served(project, reader).structure
    found = structure.overview(budget)
    if json_output:
        as_json(asdict(found))
    elif found.files:
        block(found.text)
        note(f"{found.tokens} of {budget} tokens, {counted(len(found.files), 'file', 'files')}")
    elif budget < _USUAL_MAP and structure.overview(_USUAL_MAP).files:
        note(f"no file fits into {counted(budget, 'token', 'tokens')}; raise --budget")
    else:
        note("no file of this project defines functions or classes")
    return 0 if found.files else 1


@click.command()
@click.argument("path")
@served_options
@project_options
@limited("commits", 10)
def history(path: str, project: str, reader: str, json_output: bool, limit: int) -> int:
    """Show the latest commits of PATH, its authors, and the files that change together with it.

    \b
    Examples:
      contextd history src/app/store.py
      contextd history src/auth --json
    """
    found = served(project, reader).structure.history(here(path, project), limit=limit)
    if json_output:
        as_json(
            {
                "edits": [edit._asdict() for edit in found.edits],
                "authors": dict(found.authors),
                "together": dict(found.together),
            }
        )
        return 0
    table(("day", "commit", "author", "subject"), [(e.day, e.commit[:10], e.author, e.subject) for e in found.edits])
    table(("who knows it", "edits"), found.authors[:5])
    table(("changes with it", "share"), [(name, f"{share:.0%}") for name, share in found.together])
    return 0


@click.command()
@click.argument("place")
@served_options
@project_options
def why(place: str, project: str, reader: str, json_output: bool) -> int:
    """Show the commit that last changed PLACE (a path and a line) and its message.

    The line number refers to the current file. A line with uncommitted changes is an error.

    \b
    Example:
      contextd why src/app/store.py:42
    """
    from contextd.errors import InvalidInput

    path, _, line = place.rpartition(":")
    if not path or not line.isdigit():
        raise InvalidInput("give a path and a line, such as src/app/store.py:42")
    edit, message = served(project, reader).structure.why(here(path, project), int(line))
    if json_output:
        as_json(edit._asdict() | {"message": message})
    else:
        out(f"{edit.day} {edit.commit[:10]} {edit.author}")
        block(message)
    return 0


def __getattr__(name: str) -> click.Command:
    if name == "map":  # `map` is a builtin, so the function has another name
        return map_command
    raise AttributeError(name)
