"""Routes of the HTTP API: method, path, right, request, answer. The service, clients and the API document use this table."""

from __future__ import annotations

from dataclasses import dataclass

from contextd.app.metrics import Metrics
from contextd.surfaces.wire import api_answers as to
from contextd.surfaces.wire import api_requests as of
from contextd.surfaces.wire import engine_api as engine
from contextd.surfaces.wire import index_answers as index
from contextd.surfaces.wire import log_api as logged
from contextd.surfaces.wire import profile_api as person
from contextd.surfaces.wire.answers import ContextAnswer, ListAnswer, MemoryAnswer, SearchAnswer
from contextd.values.access_token import ADMIN, READ, WRITE
from contextd.values.conversation import ChatSession
from contextd.values.structure import DefinitionSite, Overview

PREFIX = "/api/v1"


@dataclass(frozen=True, slots=True)
class Route:
    """An operation: its name, how it is reached, which right it needs, and its types."""

    name: str
    method: str
    path: str  # names in braces are fields of the request
    may: str
    request: type
    answer: type
    summary: str

    @property
    def has_body(self) -> bool:
        """Whether the request is JSON in the body; else its fields are in the query string."""
        return self.method in ("POST", "PUT", "PATCH")


_API = tuple(
    Route(row[0], row[1], f"{PREFIX}{row[2]}", *row[3:])
    for row in (
        ("search", "POST", "/search", READ, of.SearchRequest, SearchAnswer, "Search the project and personal memories."),
        ("context", "POST", "/context", READ, of.ContextRequest, ContextAnswer, "Answer a question within a token budget."),
        ("explain", "POST", "/explain", READ, of.ContextRequest, to.ExplainAnswer, "Answer a question with its whole trace."),
        ("find", "POST", "/find", READ, of.FindRequest, to.FindAnswer, "Find an exact text or a pattern."),
        ("facets", "POST", "/facets", READ, of.FacetsRequest, to.ExplainAnswer, "Answer a question by facets of a person."),
        ("task", "POST", "/task", READ, of.TaskRequest, to.TaskAnswer, "Make the prompt of a task, with its context."),
        ("hook", "POST", "/hook", READ, of.HookRequest, to.HookAnswer, "Give the context of an agent's prompt."),
        ("symbols", "GET", "/symbols", READ, of.NameRequest, ListAnswer[DefinitionSite], "Find the definitions of a name."),
        ("callers", "GET", "/callers", READ, of.NameRequest, to.CallersAnswer, "Find the callers and subclasses of a name."),
        ("impact", "GET", "/impact", READ, of.ImpactRequest, to.ImpactAnswer, "Find the files that depend on a file or name."),
        ("map", "GET", "/map", READ, of.MapRequest, Overview, "Show the central files and their signatures."),
        ("outline", "GET", "/outline", READ, of.PathRequest, ListAnswer[DefinitionSite], "Show the definitions in a file."),
        ("history", "GET", "/history", READ, of.HistoryRequest, to.HistoryAnswer, "Show the history of a path."),
        ("why", "GET", "/why", READ, of.WhyRequest, to.WhyAnswer, "Show the commit that last changed a line."),
        ("remember", "POST", "/memories", WRITE, of.RememberRequest, to.RememberedAnswer, "Save a memory."),
        ("memories", "GET", "/memories", READ, of.MemoriesRequest, ListAnswer[MemoryAnswer], "List memories, newest first."),
        ("memory", "GET", "/memories/{memory}", READ, of.MemoryRequest, to.ShownMemory, "Show a memory and its links."),
        ("update", "PATCH", "/memories/{memory}", WRITE, of.UpdateRequest, to.RememberedAnswer, "Change a memory."),
        ("forget", "DELETE", "/memories/{memory}", WRITE, of.MemoryRequest, to.ForgottenAnswer, "Erase a memory."),
        (
            "versions",
            "GET",
            "/memories/{memory}/versions",
            READ,
            of.MemoryRequest,
            ListAnswer[to.VersionAnswer],
            "Show earlier versions.",
        ),
        ("verify", "POST", "/memories/{memory}/verify", WRITE, of.MemoryRequest, MemoryAnswer, "Confirm all guessed fields."),
        ("feedback", "POST", "/memories/{memory}/feedback", WRITE, of.FeedbackRequest, MemoryAnswer, "Rate a memory."),
        ("link", "POST", "/memories/{memory}/links", WRITE, of.LinkRequest, to.MadeLink, "Link two memories."),
        ("unlink", "DELETE", "/memories/{memory}/links", WRITE, of.UnlinkRequest, to.CountAnswer, "Remove links."),
        ("topics", "GET", "/topics", READ, of.InProject, ListAnswer[to.TopicAnswer], "List topics."),
        ("add_topic", "POST", "/topics", WRITE, of.TopicRequest, to.TopicAnswer, "Add a topic, or change its parent."),
        ("change_topic", "PATCH", "/topics/{name}", WRITE, of.TopicChangeRequest, to.CountAnswer, "Rename or merge a topic."),
        ("delete_topic", "DELETE", "/topics/{name}", WRITE, of.TopicNameRequest, to.CountAnswer, "Delete a topic."),
        ("profile", "GET", "/profile", READ, of.InProject, person.ProfileAnswer, "Show the profile and its summary."),
        ("set_profile", "PUT", "/profile/{key}", WRITE, person.ProfileSetRequest, person.ProfileAnswer, "Set a key of it."),
        ("unset_profile", "DELETE", "/profile/{key}", WRITE, person.ProfileKeyRequest, person.ProfileAnswer, "Remove a key."),
        ("log", "GET", "/log", READ, logged.LogRequest, ListAnswer[logged.LogEntryAnswer], "List requests to the proxy."),
        ("log_entry", "GET", "/log/{id}", READ, logged.LogIdRequest, logged.LogShownAnswer, "Show a request to the proxy."),
        ("clear_log", "DELETE", "/log", WRITE, of.Nothing, to.CountAnswer, "Delete the log of the reader."),
        ("proposals", "GET", "/proposals", READ, of.Nothing, ListAnswer[logged.ProposalAnswer], "List proposed memories."),
        ("accept_proposal", "POST", "/proposals/{id}", WRITE, logged.ProposalRequest, to.RememberedAnswer, "Save a proposal."),
        ("reject_proposal", "DELETE", "/proposals/{id}", WRITE, logged.ProposalRequest, to.CountAnswer, "Erase a proposal."),
        ("chats", "GET", "/chats", READ, of.ChatsRequest, ListAnswer[ChatSession], "List chats and notes, newest first."),
        ("add_chat", "POST", "/chats", WRITE, of.ChatRequest, to.StoredAnswer, "Store a chat."),
        ("forget_chat", "DELETE", "/chats", WRITE, of.ChatNameRequest, to.ForgottenAnswer, "Erase a chat."),
        ("documents", "GET", "/documents", READ, of.Paged, ListAnswer[to.DocumentAnswer], "List stored documents."),
        ("add_document", "POST", "/documents", WRITE, of.DocumentRequest, to.PushedAnswer, "Store a document."),
        ("delete_document", "DELETE", "/documents", WRITE, of.PathRequest, to.CountAnswer, "Erase a stored document."),
        ("status", "GET", "/status", READ, of.InProject, index.StatusAnswer, "Show the state of the index."),
        ("stats", "GET", "/stats", READ, of.InProject, index.StatsAnswer, "Show counts and sizes of the index."),
        (
            "failures",
            "GET",
            "/failures",
            READ,
            of.InProject,
            ListAnswer[index.FailureAnswer],
            "List files that could not be indexed.",
        ),
        ("metrics", "GET", "/metrics", READ, of.MetricsRequest, Metrics, "Report on usage: tokens, times, retrievers, cache."),
        ("usage", "POST", "/usage", WRITE, of.UsageRequest, to.CountAnswer, "Record the tokens that an agent used."),
        ("secrets", "GET", "/secrets", ADMIN, of.Paged, ListAnswer[index.SecretAnswer], "List secrets that were scrubbed."),
        ("config", "GET", "/config", ADMIN, of.InProject, index.ConfigAnswer, "Show all settings."),
        (
            "projects",
            "GET",
            "/projects",
            READ,
            of.Nothing,
            ListAnswer[index.ProjectAnswer],
            "List the projects that the reader may use.",
        ),
        ("add_project", "POST", "/projects", ADMIN, of.ProjectRequest, index.ProjectAnswer, "Add a project and index it."),
        ("remove_project", "DELETE", "/projects/{id}", ADMIN, of.ProjectIdRequest, to.CountAnswer, "Remove a project's index."),
        ("start_job", "POST", "/jobs", WRITE, of.JobRequest, index.StartedJob, "Index, refresh or (admin) rebuild."),
        ("jobs", "GET", "/jobs", READ, of.Paged, ListAnswer[index.JobAnswer], "List jobs, newest first."),
        ("job", "GET", "/jobs/{job}", READ, of.JobIdRequest, index.JobShown, "Show a job and its log."),
        ("cancel_job", "DELETE", "/jobs/{job}", WRITE, of.JobIdRequest, index.JobAnswer, "Cancel a job."),
        ("tokens", "GET", "/tokens", ADMIN, of.Nothing, ListAnswer[index.TokenAnswer], "List access tokens."),
        ("create_token", "POST", "/tokens", ADMIN, of.TokenRequest, index.CreatedToken, "Create an access token."),
        ("revoke_token", "DELETE", "/tokens/{name}", ADMIN, of.TokenNameRequest, to.CountAnswer, "Revoke an access token."),
    )
)
_ENGINE = tuple(
    Route(*row)
    for row in (
        ("add_context", "POST", "/add_context", WRITE, engine.AddContext, engine.AddedContext, "Store a text."),
        ("delete_context", "POST", "/delete_context", WRITE, engine.DeleteContext, engine.DeletedContext, "Erase a text."),
        ("query_context", "POST", "/query_context", READ, engine.QueryContextRequest, engine.QueriedContext, "Search."),
        ("engine_stats", "GET", "/stats", READ, of.InProject, engine.EngineStats, "Show the state of the engine."),
    )
)
ROUTES = (*_API, *_ENGINE)
