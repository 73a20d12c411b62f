"""A cross-encoder on the CPU: reads a question and a text together, and scores how well the text answers the question.

Thirty texts take half a second, so it runs only on request. Pairs are scored one at a time on one thread: with dynamic int8
scales a score would otherwise depend on its batch.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from contextd.errors import Unavailable
from contextd.models.deep import session_of
from contextd.models.wordpiece import Pieces, read_vocabulary, words_of

_QUESTION_TOKENS = 64
_TOKENS = 256


class CrossEncoder:
    """ms-marco-MiniLM: one number for each pair, the higher the better."""

    def __init__(self, folder: Path) -> None:
        if not (folder / "model.onnx").is_file():
            raise Unavailable(f"no reranking model in {folder}; run `contextd models fetch {folder.name}`")
        self._folder = folder

    def scores(self, question: str, texts: Sequence[str], deadline: float | None) -> list[float]:
        """Return a score for each text, in order; fewer if the deadline, on the monotonic clock, passes."""
        asked, found = self._ids(question, _QUESTION_TOKENS), list[float]()
        for text in texts:
            if deadline is not None and time.monotonic() > deadline:
                break
            found.append(self._score(asked, self._ids(text, _TOKENS - len(asked))))
        return found

    def _score(self, question: list[int], text: list[int]) -> float:
        vocabulary = self._pieces.vocabulary
        start, end = vocabulary["[CLS]"], vocabulary["[SEP]"]
        ids = np.array([[start, *question, end, *text, end]], np.int64)
        kinds = np.zeros_like(ids)
        kinds[0, len(question) + 2 :] = 1
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": kinds}
        answer = self._session.run(None, {entry.name: feed[entry.name] for entry in self._session.get_inputs()})
        return float(np.asarray(answer[0]).reshape(-1)[0])

    def _ids(self, text: str, most: int) -> list[int]:
        ids: list[int] = []
        for word in words_of(text[: most * 40]):
            ids.extend(self._pieces[word] or (self._pieces.vocabulary["[UNK]"],))
            if len(ids) >= most:
                break
        return ids[:most]

    @cached_property
    def _pieces(self) -> Pieces:
        return Pieces(read_vocabulary(self._folder / "vocab.txt"))

    @cached_property
    def _session(self) -> Any:
        return session_of(self._folder)
