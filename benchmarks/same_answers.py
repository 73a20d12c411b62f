"""Whether two versions give the same answers, to the last bit: for changes that are to gain speed alone.

`python -m benchmarks.same_answers FOLDER FILE` indexes a folder and asks questions in words, names and paths. The answers are
written to FILE if it does not exist, and compared with those in it otherwise.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.data import linked_home
from benchmarks.service import STATIC, questions
from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.values.answer import Hit

IN_WORDS, BY_NAME, CONTEXTS = 300, 100, 60


def asked_of(session: Session) -> list[str]:
    """Questions in words, names that the project defines, paths, and lines of files."""
    best = [hit.chunk for text in questions(BY_NAME) for hit in session.search(text, k=1).hits]
    names, files = dict.fromkeys(one.label for one in best if one.label), list(dict.fromkeys(one.uri for one in best))
    return [*questions(IN_WORDS), *names, *files[:25], *(f"what happens at {one}:12" for one in files[:25])]


def answers(session: Session) -> list[dict[str, Any]]:
    """The answer to every question, with all scores."""
    asked = asked_of(session)
    found = [{"query": text, "hits": [_hit(one) for one in session.search(text, k=12, cache=False).hits]} for text in asked]
    return [*found, *({"query": text, "text": session.context(text, cache=False).text} for text in asked[:CONTEXTS])]


def _hit(one: Hit) -> list[Any]:
    chunk = one.chunk
    return [chunk.uri, chunk.start_line, chunk.end_line, one.score, one.rank_score, dict(one.why), one.focus, chunk.text]


def main() -> None:
    if len(sys.argv) < 3:
        print("skipped: name a folder and a file")
        return
    home, file = linked_home("service").absolute(), Path(sys.argv[2])
    (home / "config.toml").write_text(STATIC)
    session = open_session(sys.argv[1], home=home, flags={"embedding.deep_model": "none"})
    if not session.summary()["chunks"]:
        session.index()
    began = time.process_time()
    found = [json.dumps(one) for one in answers(session)]
    print(f"{len(found)} answers, {(time.process_time() - began) * 1000 / len(found):.1f} ms CPU each")
    if not file.exists():
        file.write_text("\n".join(found))
        return
    before = file.read_text().split("\n")
    differ = [new for old, new in zip(before, found, strict=True) if old != new]
    print(f"{len(differ)} of {len(found)} answers differ" + "".join(f"\n{one[:300]}" for one in differ[:10]))


if __name__ == "__main__":
    main()
