"""Symbols: is the declaration in the first hit of a search, and in a context of 500 tokens?

`python -m benchmarks.symbols` asks for the symbols of the code benchmark whose declarations are in `symbols.json`: the
statements that define them, written down by somebody who had not seen the code. Constructors, `impl` blocks and accessors
are none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import contextd
from benchmarks.data import linked_home, repositories
from contextd.values.answer import Hit

SYMBOLS = Path(__file__).parent / "symbols.json"
_BUDGET = 500


def declared(hits: Iterable[Hit], declarations: list[dict[str, int | str]], root: Path) -> bool:
    """Whether the text of a hit shows the first line of a declaration: what was cut out of it does not count."""
    return any(
        hit.chunk.uri == one["path"]
        and hit.chunk.start_line <= int(one["start_line"]) <= hit.chunk.end_line
        and _line(root / str(one["path"]), int(one["start_line"])) in hit.chunk.text
        for hit in hits
        for one in declarations
    )


def _line(path: Path, number: int) -> str:
    return path.read_text("utf-8", "replace").split("\n")[number - 1].strip()


def main() -> None:
    symbols = json.loads(SYMBOLS.read_text())
    rows: list[tuple[str, bool, bool]] = []
    for repository in repositories():
        mine = [one for one in symbols if one["repo"] == repository.name]
        if not mine:
            continue
        session = contextd.open(repository.root, home=linked_home(), flags={"embedding.deep_model": "none"})
        session.index()
        for one in mine:
            first = session.search(one["query"]).hits[:1]
            context = session.context(one["query"], budget=_BUDGET).hits
            got = tuple(declared(hits, one["declarations"], repository.root) for hits in (first, context))
            rows.append((repository.language, got[0], got[1]))
            if not all(got):
                where = [f"{hit.chunk.uri}:{hit.chunk.start_line}-{hit.chunk.end_line} {hit.chunk.label}" for hit in first]
                print(
                    f"{repository.name} {one['query']}: first {got[0]}, context {got[1]}; {where} for {one['declarations'][:2]}"
                )
        session.close()
    print(f"first hit {_share(rows, 1):.3f}, context of {_BUDGET} tokens {_share(rows, 2):.3f}, of {len(rows)} symbols")
    for language in sorted({row[0] for row in rows}):
        some = [row for row in rows if row[0] == language]
        print(f"  {language}: {_share(some, 1):.2f} {_share(some, 2):.2f} of {len(some)}")


def _share(rows: list[tuple[str, bool, bool]], column: int) -> float:
    return sum(bool(row[column]) for row in rows) / len(rows)


if __name__ == "__main__":
    main()
