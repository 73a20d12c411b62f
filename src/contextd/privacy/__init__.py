"""Replace secrets by `[REDACTED]` before anything is cut, counted, embedded or stored.

The patterns are compiled for the first text that is scrubbed: a query scrubs none, and they take a twentieth of its time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextd.privacy.redact import MARK, scrub, scrub_named, scrub_text, strictness, user_rules

__all__ = ["MARK", "scrub", "scrub_named", "scrub_text", "strictness", "user_rules"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'contextd.privacy' has no attribute {name!r}")
    from contextd.privacy import redact

    return getattr(redact, name)
