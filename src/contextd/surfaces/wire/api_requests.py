"""Requests of the HTTP API, as dataclasses. `routes.py` says which route takes which."""

from __future__ import annotations

from dataclasses import dataclass

from contextd.surfaces.wire.convert import about

_TIME = "A date or time in ISO 8601; without a zone, UTC."


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """A request without arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InProject:
    """A request about one project."""

    project: str | None = about(
        "The project: its directory, its name in the configuration, or its id. Without it: personal data alone.", None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsRequest:
    """A report on usage."""

    days: int = about("Number of days, up to now.", 30, least=1, most=3650)
    all_readers: bool = about("Whether the usage of other readers counts, too. Needs the right admin.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRequest:
    """Tokens that an agent or a model used, as its program reports them."""

    operation: str = about("What was done, such as chat or task.")
    agent: str = about("The program, such as claude-code.", "")
    task: str = about("The id of the task.", "")
    tokens_in: int = about("Tokens of the prompt.", 0, least=0)
    tokens_out: int = about("Tokens of the answer.", 0, least=0)
    with_context: bool = about("Whether the prompt had a context of contextd.", True)
    notes: str = about("Notes.", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowed(InProject):
    """A query with its filters."""

    also: tuple[str, ...] = about("Other projects to search.", ())
    paths: tuple[str, ...] = about("Only files at or below these paths.", ())
    exclude: tuple[str, ...] = about("Not files at or below these paths, or that match these patterns.", ())
    languages: tuple[str, ...] = about("Only these languages.", ())
    kinds: tuple[str, ...] = about("Only these kinds of chunk or memory.", ())
    since: str | None = about(f"Only documents from this time on. {_TIME}", None)
    until: str | None = about(f"Only documents up to this time. {_TIME}", None)
    personal: bool = about("Whether personal memories and chats may answer.", True)
    min_score: float | None = about("Minimum relevance.", None, least=0, most=1)
    timeout: float | None = about("Timeout in seconds.", None, least=0.001, most=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest(Narrowed):
    """A search."""

    query: str = about("A question, a name, a path, an error message or a stack trace.")
    k: int | None = about("Maximum number of hits.", None, least=1, most=1000)
    history: tuple[str, ...] = about("Earlier messages that the query follows up on.", ())
    rerank: bool = about("Whether the best chats and memories are scored again by a cross-encoder.", False)
    ranker: str = about("The order of hits: relevance, similarity, recency, confidence, default, or weights.", "relevance")
    mmr_lambda: float | None = about("1: by relevance alone; 0: diverse.", None, least=0, most=1)
    memories_only: bool = about("Search memories alone.", False)
    topics: tuple[str, ...] = about("Only memories with one of these topics.", ())
    conversation: str = about("Only memories of this conversation.", "")
    min_confidence: float = about("Minimum confidence of a memory.", 0.0, least=0, most=1)
    as_of: str | None = about(f"Memories that were valid at this time. {_TIME}", None)
    depth: int = about("Number of links to follow from memories that were found.", 0, least=0, most=5)
    cache: bool = about("Whether an answer given before may be given again.", True)
    highlights: bool = about("Whether hits come with the places of the query's terms in them.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest(SearchRequest):
    """A question to be answered by a text within a budget."""

    budget: int | None = about("Maximum number of tokens.", None, least=1, most=1_000_000)
    template: str = about("The template: xml, markdown, chat, detailed, summary, json, or one of your own.", "markdown")
    texts: bool = about("Whether hits come with their texts.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FindRequest(Narrowed):
    """A search for an exact text or a pattern."""

    query: str = about("The text, or the RE2 pattern.")
    regex: bool = about("Whether the query is a pattern.", False)
    limit: int = about("Maximum number of matches.", 100, least=1, most=10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFacet:
    """A facet of the caller's own."""

    name: str = about("Its name.")
    question: str = about("What it asks.")
    title: str = about("Heading of its part of the answer.", "")
    rationale: str = about("Why it matters.", "")
    topics: tuple[str, ...] = about("Topics it is about.", ())
    weight: float = about("Its share of the budget.", 1.0, least=0, most=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetsRequest(InProject):
    """A question about a person, answered by facets."""

    query: str = about("The question.")
    budget: int = about("Maximum number of tokens.", 500, least=1, most=1_000_000)
    count: int = about("Number of facets.", 5, least=3, most=7)
    own: tuple[OwnFacet, ...] = about("Facets of your own, instead.", ())
    min_score: float = about("Minimum relevance of a memory.", 0.0, least=0, most=1)
    k: int = about("Maximum number of memories.", 40, least=1, most=1000)
    history: tuple[str, ...] = about("Earlier messages.", ())
    timeout: float | None = about("Timeout in seconds.", None, least=0.001, most=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest(Narrowed):
    """A task that needs a context."""

    title: str = about("Title of the task.")
    description: str = about("Description of the task.", "")
    type: str = about("Type of the task, such as implementation, bugfix or architecture.", "implementation")
    complexity: int = about("Complexity of the task.", 5, least=1, most=10)
    task_id: str = about("Id of the task, as the prompt shows it.", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRequest:
    """A prompt of a conversation with an agent."""

    prompt: str = about("The prompt.")
    directory: str = about("The working directory of the agent. Its project answers.")
    conversation: str = about("Id of the conversation, which is not given the same pieces twice.", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRequest(InProject):
    """A question about a name."""

    name: str = about("A symbol, qualified or not.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactRequest(InProject):
    """A question about dependents."""

    what: str = about("A file or a symbol.")
    depth: int = about("Maximum number of dependency steps.", 2, least=1, most=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapRequest(InProject):
    """A map of the project."""

    budget: int = about("Maximum number of tokens.", 1000, least=1, most=1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRequest(InProject):
    """A question about one path."""

    path: str = about("A path in the project.")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest(PathRequest):
    """A question about the history of a path."""

    limit: int = about("Maximum number of commits.", 10, least=1, most=1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyRequest(PathRequest):
    """A question about a line."""

    line: int = about("Number of the line.", least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFields(InProject):
    """Fields of a memory that a person may set."""

    kind: str | None = about("Kind, such as constraint, preference or fact.", None)
    attribute: str | None = about("Attribute that it states, such as shoe_size.", None)
    value: str | None = about("Value of the attribute.", None)
    unit: str | None = about("Unit of the value.", None)
    topics: tuple[str, ...] | None = about("Topics.", None)
    language: str | None = about("Language of the text.", None)
    principals: tuple[str, ...] | None = about("Who may read it besides its author.", None)
    conversation: str | None = about("Conversation in which it was said.", None)
    said: str | None = about(f"When it was said. {_TIME}", None)
    valid_from: str | None = about(f"From when on it is valid. {_TIME}", None)
    valid_to: str | None = about(f"Until when it is valid. {_TIME}", None)
    about: str | None = about("Whom it is about; empty for its author.", None)  # last: it hides the function


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberRequest(MemoryFields):
    """A fact to save."""

    text: str = about("The fact.")
    in_project: bool = about("Whether it belongs to the project instead of the person.", False)
    pinned: bool = about("Whether it is pinned.", False)
    private: bool = about("Whether it is hidden from agents.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRequest(InProject):
    """A request about one memory."""

    memory: str = about("Id of the memory, or its first characters.")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateRequest(MemoryFields):
    """Changes of a memory."""

    memory: str = about("Id of the memory, or its first characters.")
    text: str | None = about("New text.", None)
    pinned: bool | None = about("Whether it is pinned.", None)
    silent: bool | None = about("Whether it is never recalled.", None)
    private: bool | None = about("Whether it is hidden from agents.", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackRequest(MemoryRequest):
    """A rating of a memory."""

    useful: bool = about("Whether it was useful.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRequest(MemoryRequest):
    """A link between two memories."""

    other: str = about("Id of the other memory.")
    kind: str = about("Kind of the link.", "related")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlinkRequest(MemoryRequest):
    """Links to remove."""

    other: str = about("Id of the other memory.")
    kind: str = about("Only links of this kind.", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paged(InProject):
    """A request for a list, one page at a time."""

    limit: int = about("Maximum number of items.", 100, least=1, most=1000)
    cursor: str | None = about("`next` of the page before.", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoriesRequest(Paged):
    """A list of memories."""

    kinds: tuple[str, ...] = about("Only these kinds.", ())
    topics: tuple[str, ...] = about("Only memories with one of these topics.", ())
    all: bool = about("Also memories that are no longer valid.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRequest(InProject):
    """A topic."""

    name: str = about("Its name.")
    below: str = about("Its parent topic.", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicNameRequest(InProject):
    """A request about one topic."""

    name: str = about("Its name.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChangeRequest(TopicNameRequest):
    """A change of a topic."""

    new: str | None = about("New name.", None)
    into: str | None = about("Topic to merge it into.", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatsRequest(Paged):
    """A list of chats."""

    in_project: bool = about("Chats of the project instead of personal ones.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRequest:
    """A message of a chat."""

    text: str = about("Its text.")
    author: str = about("Who wrote it.", "")
    role: str = about("user, assistant or empty.", "", choices=("", "user", "assistant"))
    at: str | None = about(f"When it was written. {_TIME}", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest(InProject):
    """A chat to store."""

    name: str = about("A stable name. The same name again replaces the chat.")
    title: str = about("Its title.", "")
    messages: tuple[MessageRequest, ...] = about("Its messages.")
    principals: tuple[str, ...] = about("Who may read it besides you.", ())
    in_project: bool = about("Whether it belongs to the project instead of the person.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatNameRequest(InProject):
    """A request about one chat."""

    name: str = about("Its name.")
    in_project: bool = about("A chat of the project instead of a personal one.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRequest(InProject):
    """A document to store."""

    path: str = about("A path or another stable name. The same path again replaces the document.")
    text: str = about("Its text.")
    language: str | None = about("Its language, such as markdown or python. Default: by the path.", None)
    principals: tuple[str, ...] | None = about("Who may read it besides you. Default: everyone who may read the project.", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRequest:
    """A project to add."""

    path: str = about("Its directory, below one of the configured roots.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectIdRequest:
    """A request about one project."""

    id: str = about("Id of the project.")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest(InProject):
    """A job to start."""

    kind: str = about("What to do.", choices=("index", "refresh", "rebuild"))
    paths: tuple[str, ...] = about("Paths to refresh or rebuild; empty for all.", ())
    force: bool = about("For refresh: index the files even if they are unchanged.", False)
    confirm: bool = about("For rebuild: must be true.", False)
    dry_run: bool = about("For rebuild: only estimate it.", False)
    vacuum: bool = about("For rebuild: whether the database is compacted.", True)
    keep_errors: bool = about("For rebuild: whether the list of failed files is kept.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobIdRequest(InProject):
    """A request about one job."""

    job: str = about("Id of the job.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequest:
    """A token to create."""

    name: str = about("Its name.")
    reader: str = about("The reader it acts as.", "owner")
    groups: tuple[str, ...] = about("Groups of the reader.", ())
    may: str = about("What it may do.", "read", choices=("read", "write", "admin"))
    projects: tuple[str, ...] = about("Projects it is limited to.", ())
    private: bool = about("Whether private memories and folders may answer.", False)
    expires: str = about("A duration such as 90d; empty for never.", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenNameRequest:
    """A request about one token."""

    name: str = about("Its name.")
