"""The `contextd` command. Command modules are loaded when called, so that help is fast."""

from __future__ import annotations

import errno
import gc
import os
import sys
from importlib import import_module
from keyword import iskeyword
from typing import Any, NoReturn

# One thread for small matrix products: more threads cost processor time and gain nothing.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import click

from contextd import __version__
from contextd.errors import ContextdError

# Fewer collections: with the usual 700 objects they took a tenth of every command, and a third of the slowest queries.
gc.set_threshold(50_000, 20, 50)

_CANNOT_WRITE = {errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EDQUOT}  # of an error of standard output

# Command: its module, and its summary.
COMMANDS = {
    "up": ("index", "Set up this project, index it, and print example commands."),
    "init": ("index", "Write a context.toml with the default settings."),
    "index": ("index", "Update the index of this project."),
    "watch": ("keep", "Update the index whenever a file changes."),
    "refresh": ("keep", "Read the given files again and update the index."),
    "rebuild": ("keep", "Rebuild the index from the files."),
    "jobs": ("keep", "List, show and cancel index jobs."),
    "errors": ("keep", "List the files that could not be indexed."),
    "retry": ("keep", "Index the failed files again."),
    "search": ("search", "Search the project."),
    "context": ("ask", "Print the context for a question within a token budget."),
    "task": ("ask", "Print a prompt for a task, including the relevant context of the project."),
    "explain": ("ask", "Show every step of a query and its result."),
    "symbols": ("structure", "Show where a symbol is defined."),
    "callers": ("structure", "Show the callers and subclasses of a symbol."),
    "impact": ("structure", "Show the files and tests that depend on a file or a symbol."),
    "map": ("structure", "Show the project's central files and signatures within a token budget."),
    "history": ("structure", "Show the latest commits, the authors and the related files of a path."),
    "why": ("structure", "Show the commit that last changed a line."),
    "remember": ("memory", "Save a memory, personal or in this project."),
    "recall": ("memories", "Search your memories."),
    "facets": ("facets", "Print the memories for a question, grouped by facet, within a token budget."),
    "memories": ("memories", "List, show, update, link, export and import memories."),
    "topics": ("topics", "List, add, rename, merge and delete topics."),
    "import": ("chats", "Import conversations, notes and memories from other programs."),
    "chats": ("chats", "List, export and delete imported conversations and notes."),
    "profile": ("profile", "Show and change your profile: who you are, and how you want to be answered."),
    "proposals": ("proposals", "List, accept and reject memories that are proposed from your chats."),
    "forget": ("memory", "Delete a memory permanently."),
    "share": ("memory", "Grant readers access to this project's documents."),
    "unshare": ("memory", "Revoke access to this project's documents."),
    "who": ("memory", "Show the access list of this project."),
    "salvage": ("memory", "Recover the readable data of a damaged record.db."),
    "secrets": ("look", "List the secrets that were removed from the index, without their values."),
    "status": ("status", "Show whether this project is indexed, up to date and watched."),
    "projects": ("projects", "List and remove indexed projects."),
    "stats": ("look", "Show statistics of the index."),
    "metrics": ("metrics", "Show times, retrievers, cache and tokens of your queries."),
    "savings": ("metrics", "Show how many tokens contexts saved."),
    "export": ("export", "Export this project's index as JSON lines with a manifest."),
    "config": ("settings", "Show and change settings."),
    "validate-config": ("look", "Check the settings and count the files they include."),
    "list-indexable": ("look", "List the files that contextd indexes."),
    "check-file": ("look", "Show whether a file is indexed, with the reason."),
    "project-stats": ("look", "Count the included and excluded files of the project."),
    "models": ("models", "List, download and verify models; show and fill engines."),
    "mcp": ("serve", "Serve this project to an agent over MCP (stdio)."),
    "install": ("connect", "Connect an agent: Claude Code, Codex, Cursor, VS Code, Gemini CLI, OpenCode, Zed."),
    "uninstall": ("connect", "Remove contextd from the configuration of an agent."),
    "hook": ("connect", "Print the context of a prompt, for the hook of an agent."),
    "doctor": ("connect", "Check the installation, and name the commands that help."),
    "purge": ("connect", "Remove everything that contextd has written."),
    "serve": ("service", "Serve all projects over HTTP, to programs with an access token."),
    "stop": ("service", "Stop the service."),
    "service": ("service", "Start the service at login, or not."),
    "token": ("service", "Create, list and revoke access tokens of the service."),
    "proxy": ("proxy", "Add, list and test the upstreams of the proxy for OpenAI clients."),
    "log": ("log", "List and show requests that passed through the proxy."),
    "eval": ("evaluate", "Measure retrieval quality on questions with known answers."),
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
            hint = f"did you mean {close[0]}?" if close else "run `contextd --help` for a list"
            raise click.UsageError(f"no such command: {args[0]!r}; {hint}")
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
    Start in a project directory:
      contextd up
      contextd search "where are routes registered"
      contextd context "how does login work" --budget 800
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run() -> NoReturn:
    """Run the command and end the process. If the service answered, nothing is open here.

    Then the interpreter is not torn down, which would take a tenth of the time of the command.
    """
    try:
        main()
    except SystemExit as end:
        asked = "contextd.surfaces.client.client" in sys.modules and "contextd.app.assemble" not in sys.modules
        if not asked or not isinstance(end.code, int):
            raise
        sys.stderr.flush()
        os._exit(end.code)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command. Every error ends as a message and an exit code, never as a traceback."""
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
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        code = 2
    except click.ClickException as error:
        _fail(arguments, "usage", _usage(error))
        code = 2
    except MemoryError:
        _fail(
            arguments,
            "out_of_memory",
            "out of memory; close other programs, or lower bootstrap.parallel_workers and bootstrap.batch_size",
        )
        code = 3
    except (KeyboardInterrupt, click.Abort):
        _say("stopped")
        code = 130
    except (BrokenPipeError, SystemExit) as error:  # click ends a closed pipe with exit(1); that is no error here
        if isinstance(error, SystemExit) and not type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):
            raise
        _discard_output()
        code = 0
    except OSError as error:
        if error.errno not in _CANNOT_WRITE or error.filename is not None:
            raise
        _discard_output()
        _fail(arguments, "output", f"cannot write the output: {error.strerror}")
        code = 3
    sys.exit(code if isinstance(code, int) else 0)


def _discard_output() -> None:
    """Send standard output nowhere, so that what is still buffered cannot fail when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: click.ClickException) -> str:
    """Return the message of a usage error. A negative number is read as an option, so the message says how to write one."""
    if isinstance(error, click.NoSuchOption) and error.option_name[1:2].isdigit():
        return f"no such option: {error.option_name}; to pass a negative value, write `--` before it"
    return error.format_message()


def _fail(arguments: list[str] | None, code: str, message: str) -> None:
    """Print an error to standard error, and also as JSON if --json was given."""
    _say(f"error: {message}")
    if "--json" in (sys.argv[1:] if arguments is None else arguments):
        from contextd.surfaces.cli.show import as_json

        as_json({"error": {"code": code, "message": message}})


def _say(message: str) -> None:
    from contextd.surfaces.cli.show import note

    note(message)
