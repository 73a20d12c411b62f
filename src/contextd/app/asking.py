"""Check the options of a query besides its text: history, ranker, vector, diversity, facets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contextd.errors import InvalidInput, TooLarge
from contextd.querying.facets.limits import is_called_like_limits
from contextd.querying.rank import RELEVANCE, Ranker, ranker_of
from contextd.settings.limits import LIMITS, checked_name, checked_text, checked_texts
from contextd.values.document import EVERYONE, OWNER
from contextd.values.memory import Recall
from contextd.values.query import Facet, Reader

if TYPE_CHECKING:
    from contextd.settings.defaults import QuerySettings

_OWN = "custom"  # the name of a ranker that is a function


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a query besides its text, as for `Session.search`."""

    history: Sequence[str] = ()
    rerank: bool = False
    ranker: str | Ranker = RELEVANCE
    vector: Sequence[float] | None = None
    mmr_lambda: float | None = None
    cache: bool = True  # whether an answer given before may be given again

    def fields(self, settings: QuerySettings) -> dict[str, Any]:
        """Return the fields of a query, each checked. Raises InvalidInput."""
        import numpy as np

        if self.vector is not None and len(self.vector) > LIMITS["vector"].entries:
            raise TooLarge(f"vector: too many numbers: {len(self.vector):,} (maximum {LIMITS['vector'].entries:,})")
        usual = settings.mmr_lambda if settings.rerank_enabled else 1.0
        return {
            "history": checked_texts("history", self.history),
            "ranker": _OWN if callable(self.ranker) else checked_text("ranker", self.ranker),
            "rerank": self.rerank,
            "vector": None if self.vector is None else np.asarray(self.vector, np.float32),
            "mmr_lambda": usual if self.mmr_lambda is None else _share("mmr_lambda", self.mmr_lambda),
        }

    def rankers(self, known: Mapping[str, Ranker]) -> Mapping[str, Ranker]:
        """Return the known rankers, and the requested one if it is a function or made of weights."""
        if callable(self.ranker):
            return {**known, _OWN: self.ranker}
        return {**known, self.ranker: ranker_of(self.ranker, known)} if "=" in self.ranker else known


def _share(name: str, number: float) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1:
        raise InvalidInput(f"invalid value for {name}: {number!r} (must be between 0 and 1)")
    return float(number)


def reader_of(name: str) -> Reader:
    """Return the reader of that name. Raises InvalidInput for an invalid or reserved name."""
    if checked_name(name, "reader") == EVERYONE:
        raise InvalidInput(f"invalid reader name: {name!r}; use a name such as {OWNER}")
    return Reader(name)


def checked_recall(recall: Recall | None) -> Recall | None:
    """Check the filters for memories. Raises InvalidInput."""
    if recall is not None:
        checked_texts("topics", recall.topics)
        checked_text("conversation", recall.conversation)
        _share("min_confidence", recall.min_confidence)
    return recall


def checked_facets(facets: Sequence[Facet]) -> Sequence[Facet]:
    """Check the number and sizes of a caller's facets. Raises InvalidInput."""
    checked_texts("facets", [facet.question for facet in facets])
    for facet in facets:
        checked_texts("facets", (facet.name, facet.title, facet.rationale))
        checked_texts("topics", facet.topics)
        if is_called_like_limits(facet):
            raise InvalidInput(f"a facet cannot be called {facet.title!r} ({facet.name}): that is the name of the hard limits")
    return facets
