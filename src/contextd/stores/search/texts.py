"""Texts of a snapshot that were read lately: questions about one part of a project read the same files again and again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping

from contextd.stores.search.reading import Reading

MOST = 4_000_000  # characters


class LatelyRead:
    """Texts by content, up to `most` characters; the one read longest ago is dropped first. Any thread may call its methods.

    The text of a content never changes, and a snapshot ends with the next commit, so no text outlives its removal.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most, self._size = most, 0
        self._texts: OrderedDict[int, str] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, contents: Collection[int], reading: Reading) -> dict[int, str]:
        """Return the texts of some contents; what is not here is read."""
        with self._lock:
            found = {one: self._texts[one] for one in contents if one in self._texts}
            for one in found:
                self._texts.move_to_end(one)
        missing = [one for one in contents if one not in found]
        return {**found, **self._kept(reading.texts(missing))} if missing else found

    def _kept(self, texts: Mapping[int, str]) -> Mapping[int, str]:
        with self._lock:
            for content, text in texts.items():
                if content not in self._texts:
                    self._texts[content], self._size = text, self._size + len(text)
            while self._size > self._most:
                self._size -= len(self._texts.popitem(last=False)[1])
        return texts
