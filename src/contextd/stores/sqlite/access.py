"""Access lists, by ids that follow from who is on them."""

from __future__ import annotations

import json
from hashlib import blake2b


def acl_id(principals: frozenset[str]) -> int:
    """The id of an access list: the same list has the same id."""
    data = json.dumps(sorted(principals)).encode()
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little") >> 1
