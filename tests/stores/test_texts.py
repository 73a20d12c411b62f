"""Texts that were read lately."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from contextd.stores.search.texts import LatelyRead


class Shelf:
    """Texts, and which of them were read."""

    def __init__(self) -> None:
        self.read: list[int] = []

    def texts(self, contents: Collection[int]) -> dict[int, str]:
        self.read += contents
        return {one: "x" * one for one in contents if one < 100}


def test_a_text_is_read_once() -> None:
    shelf: Any = Shelf()
    lately = LatelyRead(most=50)
    assert lately.of([10, 20], shelf) == {10: "x" * 10, 20: "x" * 20}
    assert lately.of([20, 10, 5], shelf) == {20: "x" * 20, 10: "x" * 10, 5: "x" * 5}
    assert shelf.read == [10, 20, 5]


def test_the_text_read_longest_ago_is_dropped_first() -> None:
    shelf: Any = Shelf()
    lately = LatelyRead(most=50)
    lately.of([10, 20], shelf)
    lately.of([10], shelf)
    lately.of([30], shelf)  # 60 characters: the text of 20 goes
    lately.of([10, 30], shelf)
    assert shelf.read == [10, 20, 30]
    lately.of([20], shelf)
    assert shelf.read == [10, 20, 30, 20]


def test_a_missing_and_a_huge_text_are_not_kept() -> None:
    shelf: Any = Shelf()
    lately = LatelyRead(most=50)
    assert lately.of([100, 90], shelf) == {90: "x" * 90}
    assert lately.of([100, 90, 10], shelf) == {90: "x" * 90, 10: "x" * 10}
    assert shelf.read == [100, 90, 100, 90, 10]
