"""Which languages are code and which are prose."""

from __future__ import annotations

CODE = frozenset(
    "python javascript typescript tsx kotlin java go rust c cpp csharp ruby php swift scala shell lua elixir zig "
    "haskell sql".split()
)
PROSE = frozenset("markdown rst asciidoc text".split())
_OTHER = frozenset("commit memory chat pdf docx notebook".split())
# Other names of languages.
ALIASES = {
    "py": "python", "js": "javascript", "jsx": "javascript", "ts": "typescript", "rs": "rust", "rb": "ruby", "kt": "kotlin",
    "cs": "csharp", "c#": "csharp", "c++": "cpp", "cc": "cpp", "golang": "go", "md": "markdown", "yml": "yaml", "sh": "shell",
    "bash": "shell", "hs": "haskell", "ex": "elixir", "h": "c", "hpp": "cpp",
}  # fmt: skip


def is_data(language: str) -> bool:
    """Whether a file is neither code nor prose: configuration, markup, a stylesheet."""
    return bool(language) and language not in CODE and language not in PROSE and language not in _OTHER
