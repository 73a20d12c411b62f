"""Keys that are accepted under another name, and keys that are accepted without effect, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# The accepted key, and the setting that it sets.
RENAMED = {
    "watcher.max_file_size_mb": "indexing.max_file_size_mb",
    "chunking.markdown.max_tokens": "chunking.markdown_max_tokens",
    "chunking.python.max_tokens": "chunking.python_max_tokens",
    "chunking.kotlin.max_tokens": "chunking.kotlin_max_tokens",
    "chunking.typescript.max_tokens": "chunking.typescript_max_tokens",
    "providers.git_history.max_commits": "git.max_commits",
    "providers.hybrid.fusion_strategy": "query.fusion",
    "retrieval.fusion_method": "query.fusion",
    "enrichment.cache_enabled": "cache.enabled",
    "enrichment.cache_semantic_threshold": "cache.semantic_threshold",
    "enrichment.max_context_tokens": "proxy.budget",
    "enrichment.reranking_enabled": "llm.reranking",
    "enrichment.reranking_threshold": "llm.reranking_threshold",
    "ollama.base_url": "llm.url",
    "ollama.fast_model": "llm.model",
}
_ALWAYS = "always on"
_BACKUPS = "there are no automatic backups yet; `contextd memories export` writes one"
_METRICS = "recorded whenever metrics.enabled is true"
# Keys without effect, and why.
WITHOUT_EFFECT = {
    "storage.db_path": "all data is in one directory, CONTEXTD_HOME",
    "storage.backup_enabled": _BACKUPS,
    "storage.backup_interval_hours": _BACKUPS,
    "indexing.max_symlink_depth": "links to folders are never followed",
    "indexing.binary_detection": "extension, magic bytes and content are all looked at",
    "embedding.dimension": "the model decides",
    "embedding.normalize": _ALWAYS,
    "embedding.batch_size": "it is bootstrap.batch_size",
    "chunking.markdown.split_by_headings": _ALWAYS,
    "chunking.markdown.preserve_code_blocks": _ALWAYS,
    "chunking.python.split_by_function": _ALWAYS,
    "chunking.python.overlap_percent": "12 % wherever a unit has to be split",
    "chunking.python.preserve_docstrings": _ALWAYS,
    "chunking.kotlin.split_by_class": _ALWAYS,
    "chunking.kotlin.split_by_function": _ALWAYS,
    "chunking.kotlin.preserve_kdoc": _ALWAYS,
    "chunking.typescript.split_by_export": _ALWAYS,
    "chunking.typescript.preserve_jsdoc": _ALWAYS,
    "budget.warn_threshold_percent": "contextd uses as much of the budget as it can, so there is no warning",
    "providers.symbol.index_ast": _ALWAYS,
    "providers.hybrid.enabled": "all retrievers are always combined",
    "providers.hybrid.weight": "all retrievers are always combined",
    "providers.hybrid.combines": "to switch a retriever off, set providers.NAME.enabled to false",
    "metrics.track_latency": _METRICS,
    "metrics.track_token_usage": _METRICS,
    "metrics.track_cache_hits": _METRICS,
    "metrics.export_interval_minutes": "the log is written at once",
    "security.scrub_secrets": _ALWAYS,
    "enrichment.cache_exact_ttl": "it is cache.exact_ttl_seconds, a number",
    "enrichment.cache_semantic_ttl": "it is cache.semantic_ttl_seconds, a number",
    "enrichment.reranking_timeout": "it is llm.reranking_seconds, a number",
    "retrieval.top_k": "the budget decides how much is added",
    "ollama.embed_model": "it is embedding.deep_model, such as ollama:nomic-embed-text",
    "security.encrypt_db": "there is no encryption yet",
}
BUILT_IN = ("semantic", "symbol", "full_text", "git_history", "hybrid")  # retrievers
# Tables whose keys are chosen by the user.
NAMED_TABLES = ("templates", "providers", "embedders", "projects", "proxy.upstreams", "proxy.aliases")


def flattened(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value by its dotted key. Renamed keys get their current name."""
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in NAMED_TABLES:
            yield from flattened(value, key + ".")
        elif key == "providers" and isinstance(value, dict):
            yield from _providers(value)
        else:
            yield RENAMED.get(key, key), value


def _providers(tables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the tables of retrievers as one value, and separately their keys that are renamed or without effect."""
    kept: dict[str, Any] = {}
    for name, table in tables.items():
        kept[name] = table
        if name in BUILT_IN and isinstance(table, dict):
            other = {key: f"providers.{name}.{key}" for key in table if not _is_own(f"providers.{name}.{key}")}
            yield from ((RENAMED.get(long, long), table[key]) for key, long in other.items())
            kept[name] = {key: value for key, value in table.items() if key not in other}
    yield "providers", {name: table for name, table in kept.items() if table or name not in BUILT_IN}


def _is_own(key: str) -> bool:
    return key not in RENAMED and key not in WITHOUT_EFFECT
