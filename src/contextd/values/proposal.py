"""A memory that is proposed to a person."""

from __future__ import annotations

from typing import NamedTuple


class Proposal(NamedTuple):
    """What a person said, as it would be remembered. It is saved only if they say yes."""

    id: str
    at: int  # microseconds
    reader: str
    text: str
    source: str = ""  # uri of the imported chat in which it was said
