"""Sizes in English, German, French and Spanish, under one name: "Ringgröße 54" and "taille de bague: 54" are ring_size."""

from __future__ import annotations

import re

SIZE = re.compile(
    r"\b(?P<what>(?:\w+ )?size|\w*(?:größe|grösse)"
    r"|(?:pointure|(?:talla|taille)(?: d(?:e |el |'|\u2019))?)(?:(?<=[ '\u2019])[^\W\d]+)?):?"
    r"\s(?:is |ist |est |es |de |in )?(?P<unit>EU|US|UK|FR|IT|JP)?\s?"
    r"(?P<value>\d+(?:[.,]\d)?(?:[A-K]{1,2}\b)?|x{0,3}[sml]\b|[sml]/[ml])(?![\d.,]*\s?(?:cm|mm|m|kg)\b)(?:\s?(?P<after>EU|US|UK)\b)?",
    re.IGNORECASE,
)
# Things that have a size, by the first letters of their names in German, French and Spanish.
_SIZED = {
    "handschuh": "glove", "gant": "glove", "guante": "glove", "schuh": "shoe", "chaussure": "shoe", "zapato": "shoe",
    "pointure": "shoe", "ring": "ring", "bague": "ring", "anillo": "ring", "hemd": "shirt", "chemise": "shirt",
    "camisa": "shirt", "hose": "trousers", "pantal": "trousers", "hut": "hat", "chapeau": "hat", "sombrero": "hat",
    "kleider": "clothing", "konfektion": "clothing", "kleid": "dress", "robe": "dress", "vestido": "dress",
    "jacke": "jacket", "veste": "jacket", "chaqueta": "jacket", "bh": "bra",
}  # fmt: skip


def size_name(what: str) -> str:
    """Return the attribute of a size in English: Ringgröße and "taille de bague" are ring_size; empty for an English name."""
    if what.endswith("size"):
        return ""
    thing = re.sub(r"gr(?:ö|oe)sse$|^(?:talla|taille)(?: d(?:e |el |['\u2019]))?", "", what)
    known = next((name for start, name in _SIZED.items() if thing.startswith(start)), thing)
    return f"{known}_size".strip("_ ")
