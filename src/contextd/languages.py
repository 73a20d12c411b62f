"""Which languages are code and which are prose."""

from __future__ import annotations

CODE = frozenset(
    "python javascript typescript tsx kotlin java go rust c cpp csharp ruby php swift scala shell lua elixir zig "
    "haskell sql".split()
)
PROSE = frozenset("markdown rst asciidoc text".split())
