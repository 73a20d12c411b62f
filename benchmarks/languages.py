"""Facts and questions in other languages: is the right fact among the first three?

`python -m benchmarks.languages` tells the facts of each language to an empty store and asks its questions, by words and static
vectors, and with deep ones (tests/remembering/items/languages.json, written without sight of the code).
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from benchmarks.guesses import ITEMS
from contextd import config
from contextd.assemble import open_engine


def main() -> None:
    for model in ("none", "snowflake-arctic-embed-s"):
        print(f"deep model: {model}")
        for language, pairs in json.loads((ITEMS / "languages.json").read_text("utf-8")).items():
            print(f"  {language}: {found(pairs, model):.2f} of {len(pairs)} among the first three")


def found(pairs: list[dict[str, str]], model: str) -> float:
    """The share of questions whose fact is among the first three."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "models").symlink_to((config.home() / "models").absolute())
        engine = open_engine(None, home=home, environment={"CONTEXTD_EMBEDDING__DEEP_MODEL": model})
        for pair in pairs:
            engine.remember(pair["fact"])
        right = 0
        for pair in pairs:
            hits = engine.recall(pair["question"], k=3, min_score=0).hits
            right += pair["fact"] in [hit.chunk.text for hit in hits]
        engine.close()
    return right / len(pairs)


if __name__ == "__main__":
    main()
