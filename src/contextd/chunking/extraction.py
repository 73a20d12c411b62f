"""Extract text from PDF, DOCX, notebooks and saved web pages. Pure; runs inside a worker, within limits.

The result is Markdown. Every page or cell has a heading, which becomes the label of its chunks. Nothing is written to disk or
fetched, and an archive that would unpack to too much is refused before it is unpacked.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from io import BytesIO
from typing import Any

INSTALL = "pip install 'contextd[documents]'"
# Without escapes, the scrubber sees tokens with `_` unchanged.
_UNESCAPED: dict[str, Any] = {"escape_underscores": False, "escape_asterisks": False, "escape_misc": False}
_NEEDS = {"pdf": ("pypdfium2",), "docx": ("mammoth", "markdownify"), "notebook": (), "html": ("bs4", "markdownify")}
_LARGEST = 50 << 20  # characters of extracted text, or bytes of an unpacked archive
_RATIO = 100
_MOST_ENTRIES = 10_000
_MOST_PAGES = 3000
_OUTPUT_LINES = 20
_PAGE = re.compile(rb"^\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)
_TEMPLATE = re.compile(rb"\{%|\{\{|<%|<\?php|\$\{|th:|v-if|ng-")


class Unreadable(ValueError):
    """The document cannot be read; the message is the reason."""


def missing(language: str) -> str:
    """Return the install command that reading documents of this kind still requires; empty if none."""
    return "" if all(find_spec(name) for name in _NEEDS.get(language, ())) else INSTALL


def is_document(language: str, data: bytes) -> bool:
    """Whether text has to be extracted. HTML only if it is a whole page, not a template, and the libraries are installed."""
    if language == "html":
        return not missing("html") and bool(_PAGE.match(data[:2000])) and not _TEMPLATE.search(data)
    return language in _NEEDS


def extract(data: bytes, language: str) -> str:
    """Return the text of a document as Markdown. Raises Unreadable."""
    if needed := missing(language):
        raise Unreadable(f"needs the documents extra: {needed}")
    text = _EXTRACTORS[language](data)
    if len(text) > _LARGEST:
        raise Unreadable(f"holds more than {_LARGEST >> 20} MB of text")
    return text


def _pdf(data: bytes) -> str:
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(data)
        pages, size = [], 0
        for number, page in enumerate(document, 1):
            text = page.get_textpage().get_text_range().replace("\r\n", "\n").strip()
            page.close()
            size += len(text)
            if number > _MOST_PAGES or size > _LARGEST:
                pages.append(f"# Page {number}\n\n(the rest is left out)\n")
                break
            pages.append(f"# Page {number}\n\n{_plain(text)}\n")
    except PdfiumError as error:
        reason = "is encrypted" if "password" in str(error).lower() else f"is not a PDF that can be read ({error})"
        raise Unreadable(reason) from None
    return "\n".join(pages)


def _plain(text: str) -> str:
    """Escape `#` at line starts, so that no line becomes a heading."""
    return re.sub(r"(?m)^#", r"\\#", text)


def _docx(data: bytes) -> str:
    _check_archive(data)
    import mammoth
    from markdownify import markdownify

    try:
        page = mammoth.convert_to_html(BytesIO(data), convert_image=mammoth.images.img_element(lambda _: {"src": ""})).value
    except Unreadable:
        raise
    except Exception as error:  # whatever an XML library raises on a broken document
        raise Unreadable(f"is not a DOCX that can be read ({type(error).__name__})") from None
    return str(markdownify(page, heading_style="ATX", strip=["img"], **_UNESCAPED)).strip() + "\n"


def _check_archive(data: bytes) -> None:
    """Raise Unreadable if an archive is broken, encrypted, or would unpack to too much."""
    try:
        entries = zipfile.ZipFile(BytesIO(data)).infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise Unreadable(f"is not an archive that can be read ({error})") from None
    if len(entries) > _MOST_ENTRIES:
        raise Unreadable(f"holds {len(entries)} entries")
    if any(entry.flag_bits & 1 for entry in entries):
        raise Unreadable("is encrypted")
    size = sum(entry.file_size for entry in entries)
    if size > _LARGEST or size > _RATIO * max(len(data), 10_000):
        raise Unreadable(f"would unpack to {size >> 20} MB")


def _notebook(data: bytes) -> str:
    try:
        notebook = json.loads(data)
        language = _language(notebook)
        return "\n".join(_cell(number, cell, language) for number, cell in enumerate(_cells(notebook), 1))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unreadable(f"is not a notebook that can be read ({type(error).__name__})") from None


def _cells(notebook: Any) -> list[Any]:
    """Return the cells, which are in worksheets before nbformat 4."""
    return notebook["cells"] if "cells" in notebook else [cell for sheet in notebook["worksheets"] for cell in sheet["cells"]]


def _language(notebook: Any) -> str:
    return str(notebook.get("metadata", {}).get("language_info", {}).get("name", "python"))


def _cell(number: int, cell: Any, language: str) -> str:
    source = "".join(cell["input"] if "input" in cell else cell["source"])  # `input` before nbformat 4
    if cell["cell_type"] != "code":
        return f"# Cell {number}\n\n{_plain(source)}\n"
    shown = [line for output in cell.get("outputs", []) for line in _output(output)][:_OUTPUT_LINES]
    result = "\n\n```text\n" + "\n".join(shown) + "\n```" if shown else ""
    return f"# Cell {number}\n\n```{language}\n{source}\n```{result}\n"


def _output(output: Any) -> list[str]:
    text = output.get("text") or output.get("data", {}).get("text/plain") or []
    return "".join(text).split("\n")


def _html(data: bytes) -> str:
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    try:
        page = BeautifulSoup(data, "html.parser")
        for unseen in page(["script", "style", "noscript", "template", "head"]):
            unseen.decompose()
        text = MarkdownConverter(heading_style="ATX", strip=["img"], **_UNESCAPED).convert_soup(page)
    except RecursionError:
        raise Unreadable("is nested too deeply") from None
    return re.sub(r"\n{3,}", "\n\n", str(text)).strip() + "\n"


_EXTRACTORS: dict[str, Callable[[bytes], str]] = {"pdf": _pdf, "docx": _docx, "notebook": _notebook, "html": _html}
