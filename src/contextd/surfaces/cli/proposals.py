"""The command `proposals`: memories that are proposed from what you said in chats."""

from __future__ import annotations

import click

from contextd.surfaces.cli.show import (
    as_json,
    as_list,
    counted,
    every_few_seconds,
    json_option,
    opened,
    out,
    personal_options,
    reader_option,
    table,
)


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
      contextd proposals find
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


@proposals.command("find")
@click.option("--in-project", is_flag=True, help="Read the chats of the project instead of the personal chats.")
@personal_options("Project for --in-project.")
def find_proposals(in_project: bool, project: str | None, reader: str, json_output: bool) -> int:
    """Propose memories from what you said in imported chats. Nothing is saved before `contextd proposals accept`.

    Only messages of the user in chats with an assistant are read; messages about private matters are left out.

    \b
    Example:
      contextd import chatgpt-export.zip
      contextd proposals find
    """
    from contextd.app.proposals import ProposalService, propose_from_chats

    session = opened(project or ("." if in_project else None), reader)
    read = propose_from_chats(session, in_project=in_project, progress=every_few_seconds(lambda done: f"{done} messages read"))
    waiting = len(ProposalService(session).waiting())
    if json_output:
        as_json({"messages": read, "waiting": waiting})
    else:
        out(f"{counted(read, 'message', 'messages')} read; {counted(waiting, 'proposal waits', 'proposals wait')} for you")
    return 0 if waiting else 1


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
