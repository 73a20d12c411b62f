"""Find an exact text or a pattern in the stored texts of a project, then in pushed documents: unranked, in order of paths."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import re2

from contextd.app.questions import projects_of, sources_of
from contextd.errors import InvalidInput
from contextd.ports.store import View
from contextd.values.document import COMMIT, PUSHED, Chunk
from contextd.values.query import Query
from contextd.values.structure import Occurrence

if TYPE_CHECKING:
    from contextd.app.session import Session

Spans = Callable[[bytes], Iterator[tuple[int, int]]]  # yields start and end of matches
_UNSUPPORTED = re.compile(r"perl operator|escape sequence: \\[1-9kg]")
_LONGEST = 2000  # characters of a line that are returned with a match


def exactly(text: str) -> Spans:
    """Return a matcher for an exact text."""
    wanted = text.encode()
    if not wanted:
        raise InvalidInput("the search text is empty; give at least one character")

    def spans(data: bytes) -> Iterator[tuple[int, int]]:
        at = data.find(wanted)
        while at >= 0:
            yield at, at + len(wanted)
            at = data.find(wanted, at + len(wanted))

    return spans


def by_pattern(pattern: str) -> Spans:
    """Return a matcher for an RE2 pattern, which takes linear time. `^` and `$` match at line ends."""
    if not pattern:
        raise InvalidInput("the pattern is empty; give at least one character")
    options = re2.Options()
    options.log_errors, options.max_mem = False, 64 << 20
    try:
        compiled = re2.compile(f"(?m){pattern}".encode(), options)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        raise InvalidInput(f"invalid regular expression {pattern!r}: {_reason(reason, pattern)}") from None

    def spans(data: bytes) -> Iterator[tuple[int, int]]:
        yield from ((match.start(), match.end()) for match in compiled.finditer(data) if match.end() > match.start())

    return spans


def _reason(reason: str, pattern: str) -> str:
    """Return the reason of RE2 without the pattern, and with a hint for constructs that RE2 does not have."""
    hint = "; RE2 has no look-around and no back-references" if _UNSUPPORTED.search(reason) else ""
    return reason.removesuffix(f": (?m){pattern}") + hint


def found_in(session: Session, spans: Spans, limit: int, query: Query) -> list[Occurrence]:
    """Return at most `limit` matches in the projects of a session, then in documents that programs pushed."""
    found: list[Occurrence] = []
    allowed = sources_of(session)  # no commits of a project with private folders
    for project in filter(session.access.may_read, projects_of(session)):
        sources = {project.source.id} | ({project.commits.id} & allowed if COMMIT in query.scope.kinds else set())
        scope = replace(query.scope, workspaces=(project.workspace,), sources=frozenset(sources), kinds=frozenset())
        name = "" if project is session.project else f"{project.name}:"
        with project.store.view(scope) as view:
            places = occurrences(view, spans, query.scope.kinds, query.deadline)
            found += [replace(one, uri=name + one.uri) for one in islice(places, limit - len(found))]
    for workspace in query.scope.workspaces:
        scope = replace(query.scope, workspaces=(workspace,), sources=frozenset({PUSHED}), kinds=frozenset())
        with session.home.record.pushed(workspace).view(scope) as view:
            found += islice(occurrences(view, spans, query.scope.kinds, query.deadline), limit - len(found))
    return found


def occurrences(view: View, spans: Spans, kinds: Collection[str], deadline: float | None) -> Iterator[Occurrence]:
    """Yield every match in visible documents, in chunks of some kinds (none: of all), until the deadline."""
    for document, uri in sorted(view.uris().items(), key=lambda item: item[1]):
        if deadline is not None and time.monotonic() > deadline:
            return
        data = view.text(document).encode()
        found = list(spans(data))
        chunks = view.chunks_of([document])[document] if found else []
        inside = [chunk for chunk in chunks if not kinds or not set(kinds).isdisjoint(chunk.kinds)]
        yield from (one for one in _placed(uri, data, found, inside) if not kinds or one.kind)


def _placed(uri: str, data: bytes, found: list[tuple[int, int]], chunks: list[Chunk]) -> Iterator[Occurrence]:
    line, at = 1, 0
    for first, end in found:
        line, at = line + data.count(b"\n", at, first), first
        start = data.rfind(b"\n", 0, first) + 1
        stop = data.find(b"\n", first)
        text = data[start : stop if stop >= 0 else len(data)].decode("utf-8", "replace")
        column = len(data[start:first].decode("utf-8", "replace")) + 1
        around = next((one for one in chunks if one.start_line <= line <= one.end_line), None)
        kind, label = (around.kind, around.label) if around is not None else ("", "")
        yield Occurrence(uri, line, column, data[first:end].decode("utf-8", "replace"), text[:_LONGEST], kind, label)
