"""Every setting with its default, by section. Nothing here reads a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_IGNORED = tuple(
    ".git node_modules build dist target .venv venv __pycache__ .idea .vscode .tox .mypy_cache .pytest_cache .ruff_cache "
    ".gradle .next .terraform *.pyc *.class *.min.js *.min.css *.map *.lock package-lock.json pnpm-lock.yaml "
    "npm-shrinkwrap.json go.sum *.swp *.swo *~ .#* 4913".split()
)


@dataclass(frozen=True, slots=True)
class Watcher:
    """Which files belong to the project, and whether a server follows their changes."""

    enabled: bool = True  # false: servers do not follow changes of files
    watch_paths: tuple[str, ...] = ("auto",)
    ignore_patterns: tuple[str, ...] = _IGNORED
    use_gitignore: bool = True
    use_contextignore: bool = True
    use_dockerignore: bool = False
    debounce_ms: int = 500


@dataclass(frozen=True, slots=True)
class Indexing:
    """Which files are read."""

    allowed_extensions: tuple[str, ...] = ()
    blocked_extensions: tuple[str, ...] = ()
    max_file_size_mb: float = 5.0
    warn_file_size_mb: float = 2.0
    size_exceptions: tuple[str, ...] = ()
    follow_symlinks: bool = False
    binary_threshold: int = 30


@dataclass(frozen=True, slots=True)
class Embedding:
    """The models of the two tiers: a name from `contextd models`, a folder of your own, "plugin:NAME", or "none".

    The deep model may also be that of a server: "ollama:NAME" or "openai:NAME".
    """

    model: str = "potion-base-8M"
    deep_model: str = "snowflake-arctic-embed-s"
    cache_enabled: bool = True  # keep vectors of queries while the process runs
    url: str = ""  # of the server for a deep model "ollama:NAME" or "openai:NAME"; empty: Ollama on this machine
    key_env: str = ""  # environment variable with the key of that server
    memories: bool = False  # the server embeds memories and chats, too; only one on this machine


@dataclass(frozen=True, slots=True)
class Chunking:
    """Maximum number of tokens of a chunk."""

    code_max_tokens: int = 600
    markdown_max_tokens: int = 400
    lines_max_tokens: int = 512
    python_max_tokens: int = 0  # 0, here and below: as code_max_tokens
    kotlin_max_tokens: int = 0
    typescript_max_tokens: int = 0  # and JavaScript


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """How answers are chosen."""

    default_k: int = 12
    mmr_lambda: float = 0.7
    min_score_threshold: float = 0.3
    rerank_enabled: bool = True  # false: near-duplicates are not moved down
    fusion: str = "weighted"  # or "rrf": by ranks alone


@dataclass(frozen=True, slots=True)
class Budget:
    """How long answers are."""

    default_max_tokens: int = 1500
    reserve_for_prompt: int = 500  # tokens of a task's own prompt; a longer prompt gives a warning


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How an index run works."""

    enabled: bool = True  # false: servers do not index a project that was never indexed
    parallel_workers: int = 0  # 0: one per core, at most eight
    batch_size: int = 512
    priority_extensions: tuple[str, ...] = ()
    max_initial_files: int = 0  # 0: all
    fail_fast: bool = False
    show_progress: bool = True
    progress_interval_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Security:
    """What must not be stored."""

    secret_patterns: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()  # values that are no secrets, as patterns; or files without secrets, as "path:tests/keys/*"


@dataclass(frozen=True, slots=True)
class Storage:
    """How much disk space an index may use."""

    max_mb: int = 0  # 0: unlimited; else new documents are left out at the limit


@dataclass(frozen=True, slots=True)
class Git:
    """How much of the history is read."""

    max_commits: int = 1000  # 0: none


@dataclass(frozen=True, slots=True)
class Privacy:
    """What answers on this machine only: not over MCP, hooks or HTTP, unless a token allows it."""

    paths: tuple[str, ...] = ()  # folders and patterns, relative to the project
    topics: tuple[str, ...] = ()  # memories of these topics, and of topics below them, are saved as private
    remote_models: tuple[str, ...] = ()  # projects whose texts a model on another machine may get; "personal": memories


@dataclass(frozen=True, slots=True)
class Engine:
    """The service: where it listens, and how the command line and the library use it."""

    host: str = "127.0.0.1"
    port: int = 8710
    timeout_ms: int = 10_000  # of one request of a client
    retry_attempts: int = 3  # of a client, for requests that change nothing
    idle_minutes: int = 30  # after which a project that nobody asks for is no longer followed
    roots: tuple[str, ...] = ()  # directories below which projects may be added over HTTP


@dataclass(frozen=True, slots=True)
class Cache:
    """Answers that are given again while nothing has changed."""

    enabled: bool = True
    exact_ttl_seconds: int = 300
    semantic: bool = False  # also for a rephrased query: the same words that matter, and a vector that is near
    semantic_threshold: float = 0.92  # cosine
    semantic_ttl_seconds: int = 1800


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """What is recorded of queries: counts, tokens and times, in the data directory. Nothing leaves the machine."""

    enabled: bool = True
    log_text: bool = False  # also record the texts of queries, scrubbed
    keep_days: int = 90


@dataclass(frozen=True, slots=True)
class Mcp:
    """What agents are offered."""

    tools: tuple[str, ...] = ("default",)  # "default", "all", or names of tools


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A language model for optional steps of a query. Without one, and whenever it fails, rules decide."""

    engine: str = "none"  # or "ollama", "openai" (any server with OpenAI's API), "local" (a GGUF file; contextd[llm])
    url: str = ""  # of the server; empty: Ollama on this machine
    model: str = ""  # its name at the server; the GGUF file, or a name from `contextd models`
    key_env: str = ""  # environment variable with the key of the server
    intent: bool = False  # ask it what a question means
    intent_seconds: float = 3.0
    reranking: bool = False  # ask it how relevant each hit is
    reranking_seconds: float = 5.0  # for all hits together
    reranking_threshold: float = 0.3  # less relevant hits are left out
    compression: bool = False  # ask it to shorten the facts of an answer by facets
    compression_seconds: float = 3.0
    summary: bool = False  # ask it to word the summary of the profile
    proposals: bool = (
        False  # propose memories from what the user says in chats, through the proxy or imported; they are saved after a yes
    )


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server that speaks OpenAI's API."""

    url: str = ""
    key_env: str = ""  # environment variable with its key; empty: the Authorization header of the client is passed on
    remote: bool | None = None  # whether it is on another machine; None: decided by the host name of the URL


@dataclass(frozen=True, slots=True)
class Proxy:
    """The proxy for OpenAI clients, under /v1 of the service."""

    upstreams: Mapping[str, Upstream] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)  # a model's name for clients: "upstream" or "upstream/model"
    upstream: str = ""  # for models without an alias; empty: the first upstream
    open: bool = False  # true: programs on this machine need no token, and act as the owner
    position: str = "end_of_user"  # of the block: "end_of_user" (last message), "end_of_system" or "start_of_system"
    budget: int = 4000  # maximum number of tokens of the block
    deadline_ms: int = 800  # for the block; a request waits no longer for it
    profile: str = "always"  # with every request; "with_context": if there is context; "off": never
    private: str = "forward"  # without a block to remote upstreams; "refuse": 403; "everywhere": without a block to any
    log_text: bool = False  # true: the interaction log keeps questions and blocks
    log_days: int = 30  # for which interactions are kept
    connect_seconds: float = 5.0  # to reach an upstream
    idle_seconds: float = 600.0  # between two parts of an upstream's answer


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, by section."""

    mode: str = "hybrid"  # the service if it runs, else this process; "standalone": the service; "embedded": this process
    enabled: bool = True  # false: tasks get no context
    fallback_enabled: bool = True  # a task whose context fails continues without it; false: it is an error
    watcher: Watcher = field(default_factory=Watcher)
    indexing: Indexing = field(default_factory=Indexing)
    embedding: Embedding = field(default_factory=Embedding)
    chunking: Chunking = field(default_factory=Chunking)
    query: QuerySettings = field(default_factory=QuerySettings)
    budget: Budget = field(default_factory=Budget)
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    security: Security = field(default_factory=Security)
    git: Git = field(default_factory=Git)
    storage: Storage = field(default_factory=Storage)
    privacy: Privacy = field(default_factory=Privacy)
    engine: Engine = field(default_factory=Engine)
    mcp: Mcp = field(default_factory=Mcp)
    cache: Cache = field(default_factory=Cache)
    metrics: MetricsSettings = field(default_factory=MetricsSettings)
    proxy: Proxy = field(default_factory=Proxy)
    llm: LanguageModel = field(default_factory=LanguageModel)
    templates: Mapping[str, str] = field(default_factory=dict)
    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    embedders: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # tables of embedder plug-ins
    projects: Mapping[str, str] = field(default_factory=dict)  # names for folders
