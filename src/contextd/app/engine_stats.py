"""The state of the engine for one project, for `GET /stats` and the tool `get_context_stats`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from contextd.querying.shares import is_off, shares_of
from contextd.settings.other_keys import BUILT_IN

if TYPE_CHECKING:
    from contextd.app.session import Session

_RECENT = 10  # jobs


def engine_stats(session: Session) -> dict[str, Any]:
    """Return retrievers, sizes, languages and recent jobs of a project."""
    counts, status, settings, cache = session.summary(), session.status(), session.settings, session.home.answers
    shares = shares_of(settings.providers)
    available = {"semantic": session.setup.static is not None}
    vectors, languages, size = (counts.get(name) for name in ("embedded_contents", "languages", "bytes"))
    return {
        "enabled": settings.enabled,
        "mode": settings.mode,
        "providers": [
            {
                "id": name,
                "name": name.replace("_", " "),
                "enabled": not is_off(shares, name),
                "available": available.get(name, True),
                "stats": {},
            }
            for name in BUILT_IN
        ],
        "storage": {
            "totalFiles": status.files if status else 0,
            "totalChunks": status.chunks if status else 0,
            "totalEmbeddings": sum(vectors.values()) if isinstance(vectors, dict) else 0,
            "dbSizeMB": round(size / 1e6, 2) if isinstance(size, int) else 0.0,
            "lastIndexed": _iso(status.indexed) if status and status.indexed else None,
        },
        "languages": {name or "other": count for name, count in languages.items()} if isinstance(languages, dict) else {},
        "cache": {"exact": cache.hits, "semantic": cache.rephrased, "misses": cache.misses},
        "recentActivity": [f"{job.kind}: {job.state}" for job in session.jobs.recent(_RECENT)],
    }


def _iso(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="seconds")
