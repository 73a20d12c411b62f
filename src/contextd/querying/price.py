"""Price hits in a template: the tokens of the frame, of the markup around a hit, and of a whole answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from contextd.ports.world import Tokens
from contextd.querying.pack import Prices
from contextd.querying.render import Template, render
from contextd.values.answer import Hit


def prices_of(hits: Sequence[Hit], template: Template, tokens: Tokens) -> Prices:
    """Return token costs of hits in a template. Chunk texts were counted when indexed; only the markup is counted here."""

    def whole(some: Sequence[Hit]) -> int:
        return tokens.count(render(some, template))

    def alone(hit: Hit) -> int:
        return whole([replace(hit, chunk=replace(hit.chunk, text=""))])

    if not hits:
        return Prices(0, alone, tokens.count, whole)
    one = replace(hits[0], chunk=replace(hits[0].chunk, text=""))
    other = replace(one, chunk=replace(one.chunk, uri=f"{one.chunk.uri}~"))  # from another file, to include the per-file header
    frame = max(0, 2 * whole([one]) - whole([one, other]))
    if template.verbatim:
        return Prices(frame, lambda hit: alone(hit) - frame + 1, tokens.count, whole)
    return Prices(frame, lambda hit: whole([hit]) - hit.chunk.tokens - frame + 1, tokens.count, whole)
