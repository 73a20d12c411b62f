"""Patterns that take linear time on any text, a user's too."""

from __future__ import annotations

from typing import Any

import re2


def linear(pattern: str | bytes) -> Any:
    """A compiled pattern for bytes; raises `re2.error` for one that RE2 cannot run."""
    return re2.compile(pattern.encode() if isinstance(pattern, str) else pattern, _options())


def _options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = 64 << 20
    return options
