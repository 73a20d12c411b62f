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
# Of a whole file in a language with comments like C: a string is no comment, whatever is in it.
_STRING = r'"""(?:.*?)"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`[^`]*`'
_WHOLE = rf"({_STRING})|//[^\n]*|/\*.*?(?:\*/|\Z)"
_WHOLE_C, _WHOLE_PHP = re.compile(_WHOLE, re.DOTALL), re.compile(rf"{_WHOLE}|#(?!\[)[^\n]*", re.DOTALL)
_DEFAULT = re.compile(_C, re.MULTILINE | re.DOTALL)
_COMMENTS = {language: re.compile(marks, re.MULTILINE | re.DOTALL) for language, marks in _MARKS.items()}


def without_comments(text: str, language: str) -> str:
    """Return code without its comments and docstrings."""
    return _COMMENTS.get(language, _DEFAULT).sub("", text)


def code_of(text: str, language: str) -> str:
    """Return a whole file without its comments, in a language with comments like C; strings stay."""
    return (_WHOLE_PHP if language == "php" else _WHOLE_C).sub(lambda match: match[1] or " ", text)
