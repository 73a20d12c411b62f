"""From bytes to what is stored of them."""

from __future__ import annotations

from contextd.chunking.cut import Limits
from contextd.chunking.parse import decode, parse
from contextd.models.tokens import Estimate, O200k
from tests.privacy.test_scrub import PLANTED

COUNT = O200k().count


def test_scrub_comes_before_chunk() -> None:
    parsed = parse(f"a = 1\nb = '{PLANTED['github']}'\n".encode(), "python", Limits(), COUNT)
    assert PLANTED["github"] not in parsed.text and "[REDACTED]" in parsed.text
    assert parsed.finds[0].line == 2


def test_I2_encodings() -> None:
    assert decode("Größe".encode()) == ("Größe", [])
    assert decode(b"\xef\xbb\xbfx") == ("x", [])
    assert decode("Größe".encode("utf-16"))[0] == "Größe"
    text, warnings = decode("Die Größe der Straße ist für alle Möbel schön".encode("latin-1"))
    assert "Gr" in text and warnings
    assert "\x00" not in decode(b"a\x00b")[0]


def test_exact_counts_are_those_of_the_vocabulary() -> None:
    assert COUNT("hello world") == 2
    assert COUNT("<|endoftext|>") > 1, "special tokens in a text are text"
    assert COUNT("") == 0
    assert COUNT("日本語") <= 3


def test_the_estimate_errs_upwards() -> None:
    estimate = Estimate()
    for text in ("The quick brown fox jumps over the lazy dog. " * 20, "def f(x):\n    return x + 1\n" * 20, "日本語" * 50,
                 "a81f9c" * 100, '{"id": "9f8e7d6c"}' * 30):  # fmt: skip
        assert estimate.count(text) >= COUNT(text)
