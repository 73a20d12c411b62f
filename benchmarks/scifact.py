"""SciFact (BEIR, test): 5,183 abstracts, 300 claims; NDCG@10 of contextd, and of plain BM25 in the same run.

`python -m benchmarks.scifact [--deep]`. The abstracts are indexed as text files, as a user would have them.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import contextd
from benchmarks.bm25 import Bm25
from benchmarks.data import BENCH, linked_home


def corpus() -> dict[str, str]:
    """Title and text of each abstract."""
    lines = (BENCH / "scifact" / "corpus.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    return {str(one["_id"]): f"{one.get('title', '')}\n\n{one['text']}\n" for one in entries}


def questions() -> tuple[dict[str, str], dict[str, set[str]]]:
    """Claims, and the abstracts that bear on each."""
    texts = {
        str(one["_id"]): one["text"] for one in map(json.loads, (BENCH / "scifact" / "queries.jsonl").read_text().splitlines())
    }
    relevant: dict[str, set[str]] = {}
    for line in (BENCH / "scifact" / "qrels.tsv").read_text().splitlines():
        query, document, grade = line.split("\t")[:3]
        if grade.isdigit() and int(grade) > 0:
            relevant.setdefault(query, set()).add(document)
    return texts, relevant


def ndcg(ranked: list[str], relevant: set[str]) -> float:
    """NDCG@10 with binary gain."""
    gain = sum(1 / math.log2(place + 2) for place, name in enumerate(ranked[:10]) if name in relevant)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(10, len(relevant))))


def folder_of(texts: dict[str, str]) -> Path:
    """The abstracts as files."""
    folder = linked_home() / "scifact"
    for name, text in texts.items():
        path = folder / f"{name}.txt"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return folder


def main() -> None:
    texts = corpus()
    claims, relevant = questions()
    session = contextd.open(
        folder_of(texts), home=linked_home(), flags=None if "--deep" in sys.argv else {"embedding.deep_model": "none"}
    )
    session.index(deep="--deep" in sys.argv)
    plain = Bm25(texts)
    ours, theirs = [], []
    for name, found in relevant.items():
        hits = session.search(claims[name], k=60, min_score=0.0).hits
        ours.append(ndcg(list(dict.fromkeys(Path(hit.chunk.uri).stem for hit in hits)), found))
        theirs.append(ndcg(plain.search(claims[name], 10), found))
    print(f"{len(ours)} claims: contextd {sum(ours) / len(ours):.4f}, plain BM25 {sum(theirs) / len(theirs):.4f}")


if __name__ == "__main__":
    main()
