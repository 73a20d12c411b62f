"""Facts and questions in other languages: is the right fact among the first three?

`python -m benchmarks.languages` tells the facts of each language to an empty store and asks its questions, by words and static
vectors, and with deep ones (tests/remembering/items/languages.json, written without sight of the code). `--develop` does the
same with the pairs that weights were chosen by (benchmarks/pairs.json), where facts and questions may be of two languages.
For both it tells how many are found by a user who asks for nothing special, and how often something is found where half of the
facts were never told and the question is about another half.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.guesses import ITEMS
from contextd.app.assemble import open_session
from contextd.app.session import Session
from contextd.settings import config

_MODELS = ("none", "snowflake-arctic-embed-s")
_FIRST = 3

Pair = dict[str, str]


def main() -> None:
    path = Path(__file__).parent / "pairs.json" if "--develop" in sys.argv else ITEMS / "languages.json"
    for model in _MODELS:
        print(f"deep model: {model}")
        for language, pairs in json.loads(path.read_text("utf-8")).items():
            with told(pairs, model) as session:
                first, usual = (sum(found(session, pair, least) for pair in pairs) for least in (0, None))
            wrong = sum(unasked_for(pairs[half::2], pairs[1 - half :: 2], model) for half in (0, 1))
            shares = [round(count / len(pairs), 2) for count in (first, usual, wrong)]
            print(f"  {language}, {len(pairs)}: first three {shares[0]}, and relevant {shares[1]}; unasked for {shares[2]}")


@contextmanager
def told(pairs: Sequence[Pair], model: str) -> Iterator[Session]:
    """A session that was told some facts and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "models").symlink_to((config.home() / "models").absolute())
        session = open_session(None, home=home, environment={"CONTEXTD_EMBEDDING__DEEP_MODEL": model})
        for pair in pairs:
            session.remember(pair["fact"])
        yield session
        session.close()


def found(session: Session, pair: Pair, least: float | None) -> bool:
    """Whether the fact is among the first answers to its question, of those that are relevant enough."""
    hits = session.recall(pair["question"], k=_FIRST, min_score=least).hits
    return pair["fact"] in [hit.chunk.text for hit in hits]


def unasked_for(pairs: Sequence[Pair], others: Sequence[Pair], model: str) -> int:
    """How many questions get an answer where there is none."""
    with told(pairs, model) as session:
        return sum(bool(session.recall(pair["question"]).hits) for pair in others)


if __name__ == "__main__":
    main()
