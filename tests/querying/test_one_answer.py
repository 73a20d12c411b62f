"""One answer: a question from a project draws on its code, documents, chats and on the person, and none drowns the others."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.values.conversation import Conversation, Message

DEPLOY = {
    "src/deploy.py": '"""Deploying."""\n\n\ndef deploy_release(version):\n    """Deploy a release to the cluster, blue first, then green."""\n    switch(version)\n',
    "docs/deploy.md": "# Deploying a release\n\nA release is deployed to the blue half of the cluster first.\n",
    "src/menu.py": '"""Menus."""\n\n\ndef show_menu(items):\n    """Show a menu."""\n    return items\n',
}  # fmt: skip


def opened(make_project: Callable[..., Path], home: Path) -> Session:
    root = make_project(DEPLOY)
    for command in (
        "init -q",
        "add -A",
        "-c user.name=A -c user.email=a@b.c commit -qm 'Deploy a release to the blue cluster first'",
    ):
        subprocess.run(["git", "-C", str(root), *_words(command)], check=True)
    session = open_session(root, home=home, environment={})
    session.index()
    return session


def _words(command: str) -> list[str]:
    import shlex

    return shlex.split(command)


def kinds(session: Session, question: str, **more: int) -> set[str]:
    return {
        hit.chunk.uri.split(":")[0] if ":" in hit.chunk.uri else hit.chunk.uri for hit in session.context(question, **more).hits
    }  # type: ignore[arg-type]


def test_code_documents_chats_and_memories_answer_together(make_project: Callable[..., Path], home: Path) -> None:
    session = opened(make_project, home)
    session.remember("I deploy a release on Fridays, never on Mondays")
    session.chats(in_project=True).take(
        [Conversation("t/1", "", [Message("Ann", "We deploy the release to the blue cluster on Friday", 1)])]
    )
    found = kinds(session, "how do we deploy a release to the cluster", budget=1500)
    assert {"src/deploy.py", "docs/deploy.md", "memory", "chat"} <= found and "src/menu.py" not in found
    past = session.search("which commit changed how we deploy a release").hits
    assert any(hit.chunk.language == "commit" for hit in past)


def test_many_chats_do_not_drown_the_one_function(make_project: Callable[..., Path], home: Path) -> None:
    session = opened(make_project, home)
    said = [Message("Ann", f"deploy a release to the cluster, attempt {number}", number + 1) for number in range(300)]
    session.chats(in_project=True).take([Conversation("t/1", "", said)])
    session.remember("Deploy a release to the cluster only after lunch")
    found = session.context("how do we deploy a release to the cluster", budget=700).hits
    uris = [hit.chunk.uri for hit in found]
    assert (
        "src/deploy.py" in uris
        and any(uri.startswith("memory:") for uri in uris)
        and any(uri.startswith("chat:") for uri in uris)
    )
    code = kinds(session, "show a menu of items")
    assert "src/menu.py" in code and "chat" not in code, "what has nothing to do with it stays out"
