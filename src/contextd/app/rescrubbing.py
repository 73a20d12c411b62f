"""Scrub the record again after an upgrade or a change of the user's patterns."""

from __future__ import annotations

import json
from collections.abc import Sequence

from contextd.errors import StorageError
from contextd.models.tokens import O200k
from contextd.ports.record import Record
from contextd.ports.world import Embedder, Matrix
from contextd.privacy.formats import VERSION as SCRUB_VERSION
from contextd.privacy.formats import Rule
from contextd.stores.sqlite.record import SqliteRecord
from contextd.values.memory import Memory


def rescrubbed(record: Record, rules: tuple[Rule, ...], static: Embedder | None) -> tuple[str, ...]:
    """Remove secrets from the record that older rules missed. Returns a warning with their number. Usually one look-up."""
    mark = json.dumps([SCRUB_VERSION, rules])
    if not isinstance(record, SqliteRecord) or record.scrubbed_by() == mark or record.database.read_only:
        return ()
    from contextd.privacy import scrub_text
    from contextd.remembering import pipeline
    from contextd.stores.sqlite.rescrub import Rescrubber, rescrub

    tokens = O200k()

    def clean(text: str) -> tuple[str, int]:
        result, finds = scrub_text(text, rules)
        return result, len(finds)

    def clean_memory(memory: Memory) -> tuple[Memory, int]:
        result, finds = pipeline.scrubbed(memory, rules)
        return result, len(finds)

    def embed(texts: Sequence[str]) -> dict[str, Matrix]:
        return {static.space: static.documents(texts)} if static is not None and texts else {}

    with_ = Rescrubber(
        mark, clean, clean_memory, lambda memory: pipeline.parsed(memory.text, tokens, memory), tokens.count, embed
    )
    try:
        removed = rescrub(record, with_)
    except StorageError as error:
        return (f"memories and chats are not scrubbed by the present rules yet: {error}",)
    what = (
        "1 secret that an older version had stored was"
        if removed == 1
        else f"{removed} secrets that an older version had stored were"
    )
    return (f"{what} removed from memories and chats",) if removed else ()
