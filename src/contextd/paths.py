"""What the path of a file tells of it: a test, an example, or made by a program."""

from __future__ import annotations

import re
from functools import lru_cache

_TEST = re.compile(
    r"(^|/)(tests?|specs?|__tests__|testing|fixtures?|testdata|mocks?)/"
    r"|(^|/)(test_[^/]*|[^/]*(_test|_spec|\.test|\.spec|Tests?|Spec))\.\w+$"
)
_EXAMPLE = re.compile(r"(^|/)(examples?|samples?|demos?|benchmarks?|bench|compat|legacy|deprecated|vendor|third_party)/")
_MADE = re.compile(r"(_pb2|\.pb|\.generated|_generated|\.g)\.\w+$|(^|/)generated?/|(^|/)locale/|\.pot?$")


@lru_cache(maxsize=1 << 15)
def is_test(uri: str) -> bool:
    """Whether a file is a test, or there for one."""
    return bool(_TEST.search(uri))


@lru_cache(maxsize=1 << 15)
def is_example(uri: str) -> bool:
    """Whether a file shows how something is used, or is somebody else's; a test is neither."""
    return not is_test(uri) and bool(_EXAMPLE.search(uri))


@lru_cache(maxsize=1 << 15)
def is_generated(uri: str) -> bool:
    """Whether a program made the file."""
    return bool(_MADE.search(uri))
