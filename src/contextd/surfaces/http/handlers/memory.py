"""Memories, topics, chats and stored documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from contextd.app.tokens import FIRST
from contextd.errors import Forbidden, InvalidInput
from contextd.surfaces.http.caller import Caller, moment, page
from contextd.surfaces.wire import api_answers as answers
from contextd.surfaces.wire import api_requests as requests
from contextd.surfaces.wire.answers import ListAnswer, MemoryAnswer, time_of
from contextd.values.conversation import ChatSession, Conversation, Message
from contextd.values.document import OWNER
from contextd.values.memory import PERSON

if TYPE_CHECKING:
    from contextd.app.documents import DocumentService
    from contextd.app.memories import MemoryService

_TIMES = ("said", "valid_from", "valid_to")
_FIELDS = ("kind", "about", "attribute", "value", "unit", "topics", "language", "conversation", *_TIMES)
_FLAGS = ("pinned", "silent", "private")


def remember(caller: Caller, asked: requests.RememberRequest) -> answers.RememberedAnswer:
    """Save a memory."""
    saved = caller.session(asked).remember(
        asked.text,
        principals=asked.principals or (),
        in_project=asked.in_project,
        pinned=asked.pinned,
        private=asked.private,
        source=_source(caller),
        **_fields(asked),
    )
    return answers.RememberedAnswer.of(saved)


def memories(caller: Caller, asked: requests.MemoriesRequest) -> ListAnswer[MemoryAnswer]:
    """List memories, newest first."""
    found = [
        one
        for one in caller.session(asked).memories.all()
        if (asked.all or one.valid_to is None)
        and (not asked.kinds or one.kind in asked.kinds)
        and (not asked.topics or set(asked.topics) & set(one.topics))
    ]
    shown = page(found, lambda one: one.id, asked.limit, asked.cursor)
    return ListAnswer([MemoryAnswer.of(one) for one in shown.items], shown.total, shown.next)


def memory(caller: Caller, asked: requests.MemoryRequest) -> answers.ShownMemory:
    """Show a memory and its links."""
    service = caller.session(asked).memories
    links = [answers.LinkAnswer.of(link, other) for link, other in service.links(asked.memory)]
    return answers.ShownMemory(MemoryAnswer.of(service.get(asked.memory)), links)


def update(caller: Caller, asked: requests.UpdateRequest) -> answers.RememberedAnswer:
    """Change a memory: its fields, its flags, or both."""
    service = caller.session(asked).memories
    flags = {name: getattr(asked, name) for name in _FLAGS if getattr(asked, name) is not None}
    fields = {"text": asked.text, "principals": asked.principals, **_fields(asked)}
    fields = {name: value for name, value in fields.items() if value is not None}
    if fields or not flags:
        saved = service.update(asked.memory, source=_source(caller), **fields, **flags)
        return answers.RememberedAnswer.of(saved)
    return answers.RememberedAnswer(MemoryAnswer.of(service.mark(asked.memory, **flags)), False, (), (), ())


def forget(caller: Caller, asked: requests.MemoryRequest) -> answers.ForgottenAnswer:
    """Erase a memory."""
    session = caller.session(asked)
    known = session.memories.get(asked.memory)
    return answers.ForgottenAnswer(known.id, session.forget(known.id))


def versions(caller: Caller, asked: requests.MemoryRequest) -> ListAnswer[answers.VersionAnswer]:
    """Show earlier versions of a memory."""
    return ListAnswer.of([answers.VersionAnswer.of(one) for one in caller.session(asked).memories.history(asked.memory)])


def verify(caller: Caller, asked: requests.MemoryRequest) -> MemoryAnswer:
    """Confirm all guessed fields of a memory. Only the person may: a program would make its own memories trusted."""
    service = caller.session(asked).memories
    known = service.get(asked.memory)
    if _source(caller) != PERSON:
        raise Forbidden("only the person can verify a memory, on the command line")
    return MemoryAnswer.of(service.verify(known.id))


def feedback(caller: Caller, asked: requests.FeedbackRequest) -> MemoryAnswer:
    """Rate a memory."""
    return MemoryAnswer.of(caller.session(asked).memories.feedback(asked.memory, useful=asked.useful))


def link(caller: Caller, asked: requests.LinkRequest) -> answers.MadeLink:
    """Link two memories."""
    made = caller.session(asked).memories.link(asked.memory, asked.other, asked.kind)
    return answers.MadeLink(made.start, made.end, made.kind)


def unlink(caller: Caller, asked: requests.UnlinkRequest) -> answers.CountAnswer:
    """Remove links between two memories."""
    return answers.CountAnswer(caller.session(asked).memories.unlink(asked.memory, asked.other, asked.kind))


def topics(caller: Caller, asked: requests.InProject) -> ListAnswer[answers.TopicAnswer]:
    """List topics."""
    service = caller.session(asked).memories
    counts = _counts(service)
    return ListAnswer.of([answers.TopicAnswer(one.name, one.parent, counts.get(one.name, 0)) for one in service.topics()])


def add_topic(caller: Caller, asked: requests.TopicRequest) -> answers.TopicAnswer:
    """Add a topic, or change its parent."""
    service = caller.session(asked).memories
    made = service.add_topic(asked.name, asked.below)
    return answers.TopicAnswer(made.name, made.parent, _counts(service).get(made.name, 0))


def change_topic(caller: Caller, asked: requests.TopicChangeRequest) -> answers.CountAnswer:
    """Rename a topic, or merge it into another."""
    service = caller.session(asked).memories
    if (asked.new is None) == (asked.into is None):
        raise InvalidInput("give either new, to rename the topic, or into, to merge it")
    changed = service.rename_topic(asked.name, asked.new) if asked.new else service.merge_topic(asked.name, asked.into or "")
    return answers.CountAnswer(changed)


def delete_topic(caller: Caller, asked: requests.TopicNameRequest) -> answers.CountAnswer:
    """Delete a topic."""
    return answers.CountAnswer(caller.session(asked).memories.delete_topic(asked.name))


def chats(caller: Caller, asked: requests.ChatsRequest) -> ListAnswer[ChatSession]:
    """List chats and notes, newest first."""
    return page(caller.session(asked).chats(in_project=asked.in_project).all(), lambda one: one.uri, asked.limit, asked.cursor)


def add_chat(caller: Caller, asked: requests.ChatRequest) -> answers.StoredAnswer:
    """Store a chat."""
    if not asked.name.strip():
        raise InvalidInput("the name of the chat is empty")
    messages = [Message(one.author, one.text, moment("at", one.at) or 0, one.role) for one in asked.messages]
    who = "" if caller.token.reader.name == OWNER else f"{caller.token.reader.name}/"
    talk = Conversation(f"api/{who}{asked.name}", asked.title, messages)
    service = caller.session(asked).chats(in_project=asked.in_project)
    report = service.take([talk], principals=asked.principals)
    return answers.StoredAnswer(report.written, report.unchanged, report.secrets, report.warnings)


def forget_chat(caller: Caller, asked: requests.ChatNameRequest) -> answers.ForgottenAnswer:
    """Erase a chat."""
    count, state = caller.session(asked).chats(in_project=asked.in_project).forget(asked.name)
    return answers.ForgottenAnswer(asked.name, state if count else "gone")


def documents(caller: Caller, asked: requests.Paged) -> ListAnswer[answers.DocumentAnswer]:
    """List stored documents."""
    found = page(_documents(caller, asked).all(), lambda one: one.path, asked.limit, asked.cursor)
    shown = [answers.DocumentAnswer(one.path, one.language, time_of(one.changed)) for one in found.items]
    return ListAnswer(shown, found.total, found.next)


def add_document(caller: Caller, asked: requests.DocumentRequest) -> answers.PushedAnswer:
    """Store a document."""
    made = _documents(caller, asked).add(asked.path, asked.text, language=asked.language, principals=asked.principals)
    return answers.PushedAnswer(made.path, f"{made.document:016x}", made.chunks, made.embeddings, made.secrets)


def delete_document(caller: Caller, asked: requests.PathRequest) -> answers.CountAnswer:
    """Erase a stored document."""
    _documents(caller, asked).delete(asked.path)
    return answers.CountAnswer(1)


def _documents(caller: Caller, asked: requests.InProject) -> DocumentService:
    return caller.session(asked).documents(in_project=asked.project is not None)


def _source(caller: Caller) -> str:
    """Return who states or changes a memory: the person with their own token, or a program."""
    return PERSON if caller.token.name == FIRST else f"http:{caller.token.name}"


def _fields(asked: requests.MemoryFields) -> dict[str, Any]:
    """Return the given fields of a memory, times in microseconds."""
    given = {name: getattr(asked, name) for name in _FIELDS if getattr(asked, name) is not None}
    return given | {name: moment(name, given[name]) for name in _TIMES if name in given}


def _counts(service: MemoryService) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in service.all():
        for name in one.topics:
            counts[name] = counts.get(name, 0) + 1
    return counts
