"""REMEMBER: memory ► scrub ► embed ► store."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from contextd.errors import InvalidInput, Unavailable
from contextd.pieces import words_of
from contextd.ports import Embedder, Matrix, Record, Tokens
from contextd.scrub import scrub_text
from contextd.scrub_rules import Rule
from contextd.types import Memory, Parsed, Piece

_LONGEST = 100_000


def remember(
    text: str,
    workspace: int,
    author: str,
    principals: frozenset[str],
    now: int,
    record: Record,
    embedders: Sequence[Embedder],
    tokens: Tokens,
    rules: Sequence[Rule] = (),
) -> tuple[Memory, list[str]]:
    """Keep a fact: durable and findable when this returns. Also what went less well than it could."""
    clean, finds = scrub_text(text.strip().replace("\x00", "\ufffd"), rules)
    if not clean:
        raise InvalidInput("there is nothing to remember; give a sentence")
    if len(clean) > _LONGEST:
        raise InvalidInput(f"a memory has at most {_LONGEST} characters; this has {len(clean)}: index it as a file instead")
    memory = Memory(secrets.token_hex(16), workspace, clean, "fact", principals or frozenset({author}), author, now)
    piece = Piece(0, len(clean), 1, clean.count("\n") + 1, "memory", "", (), tokens.count(clean))
    warnings = [f"a secret was left out (rule {find.rule})" for find in finds]
    vectors: dict[str, Matrix] = {}
    for embedder in embedders:
        try:
            vectors[embedder.space] = embedder.documents([clean])
        except Unavailable as error:
            warnings.append(str(error))
    record.remember(memory, Parsed(clean, (piece,), (words_of(piece, clean),), tuple(finds)), vectors)
    return memory, warnings
