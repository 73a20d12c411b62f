"""The `contextd` command. Commands are loaded when they are called, so that help is there at once."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from keyword import iskeyword
from typing import Any, NoReturn

# One thread for small products of matrices: more of them cost processor time and win nothing.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import click

from contextd import __version__
from contextd.errors import ContextdError

# Command: the module it lives in, and what it does.
COMMANDS = {
    "up": ("index", "Set up this project, index it, and say how to ask."),
    "init": ("index", "Write a context.toml with the defaults."),
    "index": ("index", "Bring the index up to date with the folder."),
    "watch": ("keep", "Keep the index up to date while you work."),
    "refresh": ("keep", "Look at some files again."),
    "rebuild": ("keep", "Make the index again from the files."),
    "jobs": ("keep", "List, show and cancel the work on this index."),
    "errors": ("keep", "List the files that failed."),
    "retry": ("keep", "Read the files again that failed."),
    "search": ("ask", "Find the places that answer a question."),
    "context": ("ask", "Answer a question with text of at most so many tokens."),
    "task": ("ask", "Print a task's prompt with the project's context in it."),
    "explain": ("ask", "Show how an answer comes about, step by step."),
    "symbols": ("structure", "Show where a name is defined."),
    "callers": ("structure", "Show who calls a name or inherits from it."),
    "impact": ("structure", "Show what depends on a file or a name, and which tests touch it."),
    "map": ("structure", "Show the project's central files and signatures within a budget."),
    "history": ("structure", "Show what changed a file lately, who knows it, and what changes with it."),
    "why": ("structure", "Show the commit that last changed a line, and what it said."),
    "remember": ("memory", "Keep a fact, personal or of this project."),
    "recall": ("memories", "Find the memories that answer a question."),
    "facets": ("facets", "Answer from what you told, side by side, within a budget."),
    "memories": ("memories", "List what is remembered, look at it, change it, relate it."),
    "topics": ("topics", "List your topics; add, rename, merge and delete them."),
    "import": ("chats", "Take conversations, notes and memories from other programs."),
    "chats": ("chats", "List the conversations and notes that were imported; forget them."),
    "forget": ("memory", "Erase a memory for good."),
    "share": ("memory", "Let others read this project's documents."),
    "unshare": ("memory", "Take the right to read this project's documents back."),
    "who": ("memory", "Show who may read this project's documents."),
    "salvage": ("memory", "Save what can be read of a damaged record."),
    "secrets": ("look", "List the secrets that were scrubbed, without their values."),
    "status": ("status", "Show on one screen whether this project is indexed, up to date and watched."),
    "projects": ("projects", "List the indexed projects; remove them."),
    "stats": ("look", "Show what is indexed."),
    "export": ("export", "Write this project's index as JSON lines, with a manifest."),
    "config": ("settings", "Show every setting and where it comes from; change one."),
    "validate-config": ("look", "Check the settings and what they would index."),
    "list-indexable": ("look", "List the files that would be indexed."),
    "check-file": ("look", "Say whether a file is indexed, and why not."),
    "project-stats": ("look", "Count the files inside and outside the project's boundaries."),
    "models": ("models", "List, fetch and verify model weights."),
    "mcp": ("serve", "Serve this project to an agent over MCP (stdio)."),
    "eval": ("evaluate", "Measure retrieval on questions with known answers."),
}


class _Lazy(click.Group):
    """A group that imports a command's module only when the command is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        function = f"{name}_" if iskeyword(name) else name.replace("-", "_")
        command: click.Command = getattr(import_module(f"contextd.surfaces.cli.{COMMANDS[name][0]}"), function)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean {close[0]}?" if close else "`contextd --help` lists them"
            raise click.UsageError(f"there is no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(cls=_Lazy, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="contextd")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Give any AI the right context, in the right number of tokens.

    \b
    Begin in a project:
      contextd up
      contextd search "where are routes registered"
      contextd context "how does login work" --budget 800
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command; every error ends as a message and a code, never as a traceback."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="replace")
    try:
        code = cli.main(arguments, prog_name="contextd", standalone_mode=False)
        sys.stdout.flush()
    except ContextdError as error:
        _fail(arguments, error.code, str(error))
        code = error.exit_code
    except click.ClickException as error:
        _fail(arguments, "usage", error.format_message())
        code = 2
    except MemoryError:
        _fail(
            arguments,
            "out_of_memory",
            "not enough memory; close other programs, or lower bootstrap.parallel_workers and bootstrap.batch_size",
        )
        code = 3
    except (KeyboardInterrupt, click.Abort):
        _say("stopped")
        code = 130
    except (BrokenPipeError, SystemExit) as error:  # click ends a closed pipe with exit(1); whoever closed it has seen enough
        if isinstance(error, SystemExit) and not type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def _fail(arguments: list[str] | None, code: str, message: str) -> None:
    """Say what went wrong: to people on the side, to a program that asked for JSON as JSON."""
    _say(f"error: {message}")
    if "--json" in (sys.argv[1:] if arguments is None else arguments):
        from contextd.surfaces.cli.show import as_json

        as_json({"error": {"code": code, "message": message}})


def _say(message: str) -> None:
    from contextd.surfaces.cli.show import note

    note(message)
