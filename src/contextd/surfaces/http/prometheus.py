"""Totals of the service in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from contextd.app.usage import BUCKETS, Totals

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[Mapping[str, str], float]


def exposition(totals: Totals) -> str:
    """Return all totals, each with its type and its description."""
    queries = [({"operation": operation, "cache": cache}, count) for (operation, cache), count in totals.queries.items()]
    proposed, survived = ([({"retriever": name}, n) for name, n in one.items()] for one in (totals.proposed, totals.survived))
    tokens: list[Sample] = [({}, totals.tokens)]
    files: list[Sample] = [({}, totals.file_tokens)]
    lines = [
        *_counter("contextd_queries_total", "Answered queries, by operation and cache level.", queries),
        *_counter("contextd_context_tokens_total", "Tokens of contexts.", tokens),
        *_counter("contextd_file_tokens_total", "Estimated tokens of the whole files that contexts quote.", files),
        *_counter("contextd_proposed_total", "Documents that a retriever proposed.", proposed),
        *_counter("contextd_survived_total", "Documents of a retriever that are in an answer.", survived),
        *_times(totals),
    ]
    return "\n".join(lines) + "\n"


def _counter(name: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield from (f"# HELP {name} {text}", f"# TYPE {name} counter")
    yield from (_sample(name, labels, value) for labels, value in samples)


def _times(totals: Totals) -> Iterator[str]:
    name = "contextd_query_seconds"
    yield from (f"# HELP {name} Time of queries, by operation.", f"# TYPE {name} histogram")
    for operation, times in totals.times.items():
        limits = [*(f"{limit:g}" for limit in BUCKETS), "+Inf"]
        sums = list(accumulate(times.counts))
        for limit, count in zip(limits, sums, strict=True):
            yield _sample(f"{name}_bucket", {"operation": operation, "le": limit}, count)
        yield _sample(f"{name}_sum", {"operation": operation}, times.seconds)
        yield _sample(f"{name}_count", {"operation": operation}, sums[-1])


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{inside}}} {value}" if inside else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
