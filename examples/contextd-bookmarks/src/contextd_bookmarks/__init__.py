"""Files bookmarked under a word come first when a question holds that word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from contextd.errors import Unavailable
from contextd.values.answer import Suggestion
from contextd.values.query import Plan


class Bookmarks:
    """Words and the places they stand for."""

    def __init__(self, places: Mapping[str, list[tuple[str, int]]]) -> None:
        self._places = places

    def retrieve(self, plan: Plan, k: int) -> Iterable[Suggestion]:
        """The places of every bookmarked word in the question."""
        words = plan.text.lower().split()
        found = [place for word in words for place in self._places.get(word.strip("?.,!"), [])]
        return [Suggestion(1.0, uri=uri, line=line) for uri, line in found[:k]]


def make(settings: Mapping[str, Any]) -> Bookmarks:
    """The retriever; without its file it is not available."""
    path = Path(str(settings.get("file", "~/bookmarks.txt"))).expanduser()
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise Unavailable(f"{path} cannot be read ({error.strerror})") from None
    places: dict[str, list[tuple[str, int]]] = {}
    for line in lines:
        word, _, place = line.strip().partition(" ")
        uri, _, number = place.strip().partition(":")
        if word and uri:
            places.setdefault(word.lower(), []).append((uri, int(number) if number.isdigit() else 0))
    return Bookmarks(places)
