"""For a bug report, suggest the files that were changed by similar commits before."""

from __future__ import annotations

import math

from contextd.chunking.commit_text import files_of
from contextd.ports.store import View
from contextd.text.terms import key
from contextd.values.answer import Suggestion
from contextd.values.query import Plan
from contextd.values.retrieval import Wanted, Words

_COMMITS = 40
_WIDE = 9  # files: the penalty for wide commits stops growing here, for the most similar commit of a file


def precedents(past: View, plan: Plan) -> list[Suggestion]:
    """Return files changed by commits similar to a report, scored by the most similar commit and by their sum.

    Scores are scaled so that the maximum is the share of the report's words that one commit has.
    """
    terms = {key(term): weight for term, weight in plan.terms.items()}
    wanted = Wanted(_COMMITS, {"document": Words("document", terms, _COMMITS)} if terms else {})
    found = past.retrieve(wanted).found.get("document", ())
    most, all_of = dict[str, float](), dict[str, float]()
    commits = past.chunks_of([one.chunk.document for one in found])
    for one in found:
        files = files_of("\n".join(chunk.text for chunk in commits[one.chunk.document]))
        for uri in files:
            likeness = one.score / found[0].score
            most[uri] = max(most.get(uri, 0.0), likeness / math.sqrt(min(len(files), _WIDE)))
            all_of[uri] = all_of.get(uri, 0.0) + likeness / math.sqrt(len(files))
    best, largest = max(most.values(), default=1.0), max(all_of.values(), default=1.0)
    share = max((one.coverage for one in found), default=0.0)  # an unrelated text resembles no commit
    return [Suggestion(share * (most[uri] / best + all_of[uri] / largest) / 2, uri=uri) for uri in most]
