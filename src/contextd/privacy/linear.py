"""Compile patterns with RE2, so that all of them, including the user's, take linear time."""

from __future__ import annotations

from typing import Any

import re2


def linear(pattern: str | bytes) -> Any:
    """Compile a pattern for bytes. Raises `re2.error` if RE2 does not support it."""
    return re2.compile(pattern.encode() if isinstance(pattern, str) else pattern, _options())


def _options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = 64 << 20
    return options
