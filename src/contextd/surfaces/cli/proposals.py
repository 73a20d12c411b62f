"""The command `proposals`: memories that are proposed from what you said in chats."""

from __future__ import annotations

import click

from contextd.surfaces.cli.show import as_json, as_list, json_option, opened, out, reader_option, table


@click.group(invoke_without_command=True)
@reader_option
@json_option
@click.pass_context
def proposals(ctx: click.Context, reader: str, json_output: bool) -> int:
    """List memories that are proposed from what you said in chats. The exit code is 1 if there are none.

    `contextd config set llm.proposals true` switches proposals on.

    \b
    Examples:
      contextd proposals
      contextd proposals accept 3f2a
      contextd proposals reject 3f2a
    """
    from contextd.app.proposals import ProposalService

    if ctx.invoked_subcommand is not None:
        return 0
    found = ProposalService(opened(None, reader)).waiting()
    if json_output:
        as_list([one._asdict() for one in found])
        return 0
    table(("id", "text"), [(one.id[:8], one.text) for one in found])
    return 0 if found else 1


@proposals.command("accept")
@click.argument("ids", nargs=-1, required=True)
@reader_option
@json_option
def accept_proposals(ids: tuple[str, ...], reader: str, json_output: bool) -> int:
    """Save the proposals IDS as memories.

    \b
    Example:
      contextd proposals accept 3f2a
    """
    from contextd.app.proposals import ProposalService

    service = ProposalService(opened(None, reader))
    saved = [service.accept(one).memory for one in ids]
    if json_output:
        as_list(saved)
    else:
        for memory in saved:
            out(f"saved {memory.id[:8]}: {memory.text}")
    return 0


@proposals.command("reject")
@click.argument("ids", nargs=-1, required=True)
@reader_option
@json_option
def reject_proposals(ids: tuple[str, ...], reader: str, json_output: bool) -> int:
    """Erase the proposals IDS. The same is not proposed again.

    \b
    Example:
      contextd proposals reject 3f2a
    """
    from contextd.app.proposals import ProposalService

    service = ProposalService(opened(None, reader))
    gone = [service.reject(one) for one in ids]
    as_json({"rejected": [one.id for one in gone]}) if json_output else out(f"rejected: {', '.join(one.text for one in gone)}")
    return 0
