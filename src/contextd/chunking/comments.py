"""Separate comments from code, by the comment syntax of the language."""

from __future__ import annotations

import re

_C = r"//[^\n]*|/\*.*?(?:\*/|\Z)|^[ \t]*\*[^\n]*"  # the last one is for a comment that began in the chunk before
_HASH = r"#[^\n]*"
_DASHES = r"--[^\n]*"
_PYTHON = rf'{_HASH}|"""(?:.*?""")?|\'\'\'(?:.*?\'\'\')?'
_MARKS = {
    "python": _PYTHON,
    "elixir": rf'{_HASH}|"""(?:.*?""")?',
    "ruby": rf"{_HASH}|^=begin.*?^=end",
    "shell": _HASH,
    "php": f"{_C}|{_HASH}",
    "yaml": _HASH,
    "toml": _HASH,
    "make": _HASH,
    "dockerfile": _HASH,
    "lua": rf"--\[\[.*?\]\]|{_DASHES}",
    "haskell": rf"\{{-.*?-\}}|{_DASHES}",
    "sql": rf"{_DASHES}|/\*.*?\*/",
}
_DEFAULT = re.compile(_C, re.MULTILINE | re.DOTALL)
_COMMENTS = {language: re.compile(marks, re.MULTILINE | re.DOTALL) for language, marks in _MARKS.items()}


def without_comments(text: str, language: str) -> str:
    """Return code without its comments and docstrings."""
    return _COMMENTS.get(language, _DEFAULT).sub("", text)
