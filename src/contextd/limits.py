"""How much a caller may say: one table of limits for the library, the command line and the server."""

from __future__ import annotations

from collections.abc import Iterable

from contextd.errors import InvalidInput
from contextd.invisible import visible_line

_NAME = 200  # characters


def checked_name(name: str, what: str) -> str:
    """The name of a reader or of another principal; one that is empty, long, or holds what nobody sees is refused."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"an empty name is not a {what}; give one, such as owner")
    if len(name) > _NAME or visible_line(name) != name:
        raise InvalidInput(f"{name[:40]!r} is not a {what}: a name has at most {_NAME} characters, all of them visible")
    return name


def checked_names(names: Iterable[str]) -> frozenset[str]:
    """Who shall have a right."""
    if found := frozenset(checked_name(name, "principal") for name in names):
        return found
    raise InvalidInput("name at least one principal, such as owner or everyone")
