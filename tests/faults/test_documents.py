"""Documents that are not text, good and evil ones; FAULTS I-5."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from contextd.app.assemble import open_session
from contextd.chunking import extraction as extracting
from contextd.chunking.extraction import Unreadable, extract, is_document
from contextd.ports.world import Skip


def pdf(*pages: str) -> bytes:
    """A PDF of pages with a line of text each, written by hand."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\n"
    return out + f"{end}startxref\n{len(out)}\n%%EOF".encode()


WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
KINDS = "http://schemas.openxmlformats.org/package/2006"


def docx(*paragraphs: str, extra: dict[str, bytes] | None = None) -> bytes:
    """A DOCX with a few paragraphs, written by hand."""
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    files = {
        "[Content_Types].xml": f'<Types xmlns="{KINDS}/content-types"><Override PartName="/word/document.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{KINDS}/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/'
        'officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>',
    }
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        for name, data in (extra or {}).items():
            archive.writestr(name, data)
    return buffer.getvalue()


NOTEBOOK = json.dumps({
    "metadata": {"language_info": {"name": "python"}},
    "cells": [
        {"cell_type": "markdown", "source": ["# Herons\n", "They nest in May. " * 20]},
        {"cell_type": "code", "source": ["def count_herons():\n", *[f"    step({n})\n" for n in range(30)], "    return 3\n"], "outputs": [{"text": ["three herons\n"]}]},
    ],
}).encode()  # fmt: skip
PAGE = b"<!DOCTYPE html><html><head><script>evil()</script></head><body><h1>Owls</h1><p>They hunt at night.</p></body></html>"


def test_documents_are_indexed_with_page_and_cell_in_the_label(home: Path, make_project: Callable[..., Path]) -> None:
    root = make_project({
        "a.pdf": pdf("The first page is about kites. " * 12, "The second page is about herons and eggs. " * 12),
        "b.docx": docx("Storks build nests on chimneys", "They come back every spring"),
        "c.ipynb": NOTEBOOK,
        "d.html": PAGE,
        "t.html": b"<!DOCTYPE html><html><body>{% block x %}{{ value }}{% endblock %}</body></html>",
    })  # fmt: skip
    session = open_session(root, home=home, environment={})
    report = session.index()
    assert report.written == 5 and not report.failed, report.failed
    best = session.search("herons and eggs", min_score=0).hits[0].chunk
    assert best.uri == "a.pdf" and "Page 2" in best.label
    assert session.search("storks on chimneys").hits[0].chunk.uri == "b.docx"
    best = session.search("count_herons", min_score=0).hits[0].chunk
    assert best.uri == "c.ipynb" and "Cell 2" in best.label and "three herons" in best.text
    owls = session.search("owls hunt at night").hits[0].chunk
    assert owls.uri == "d.html" and "<p>" not in owls.text and "evil" not in owls.text
    template = next(hit.chunk for hit in session.search("block value path:t.html", min_score=0).hits)
    assert "{% block x %}" in template.text, "a template is source, not a page"


def test_without_the_extra_a_document_is_skipped_with_the_command(
    home: Path, make_project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extracting, "find_spec", lambda name: None)
    root = make_project({"a.pdf": pdf("text"), "b.ipynb": NOTEBOOK})
    states = {state.uri: state for state in open_session(root, home=home, environment={}).files()}
    skipped = states["a.pdf"]
    assert isinstance(skipped, Skip) and "pip install 'contextd[documents]'" in skipped.reason
    assert not isinstance(states["b.ipynb"], Skip), "a notebook needs nothing"
    assert not is_document("html", PAGE)


def bomb() -> bytes:
    return docx("small", extra={"word/huge.xml": b"0" * (60 << 20)})


def many_entries() -> bytes:
    return docx("small", extra={f"x/{n}": b"" for n in range(10_050)})


def encrypted() -> bytes:
    data = bytearray(docx("secret"))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.find(mark)
        while place >= 0:
            data[place + offset] |= 1
            place = data.find(mark, place + 4)
    return bytes(data)


ENTITY = f'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>&e;</w:t></w:r></w:p></w:body></w:document>'
LAUGHS = (
    "<!DOCTYPE x [<!ENTITY a 'ha'>"
    + "".join(f"<!ENTITY {chr(98 + n)} '{f'&{chr(97 + n)};' * 10}'>" for n in range(9))
    + f']><w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>&j;</w:t></w:r></w:p></w:body></w:document>'
)


def with_document(text: str) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(BytesIO(docx("x"))) as source, zipfile.ZipFile(buffer, "w") as target:
        for name in source.namelist():
            target.writestr(name, text if name == "word/document.xml" else source.read(name))
        target.writestr("../../evil.txt", "out")
    return buffer.getvalue()


def test_an_old_notebook_has_its_cells_in_worksheets() -> None:
    code = {"cell_type": "code", "input": ["x = 1\n", "x + 1"], "language": "python", "outputs": [{"text": ["2"]}]}
    title = {"cell_type": "heading", "level": 1, "source": ["Counting"]}
    old = {"nbformat": 3, "metadata": {"name": ""}, "worksheets": [{"cells": [title, code]}, {"cells": [title]}]}
    text = extract(json.dumps(old).encode(), "notebook")
    assert "# Cell 1\n\nCounting" in text and "```python\nx = 1\nx + 1\n```" in text and "```text\n2\n```" in text
    assert "# Cell 3\n\nCounting" in text


@pytest.mark.parametrize(
    ("language", "data", "reason"),
    [
        ("docx", bomb, "unpack"),
        ("docx", many_entries, "entries"),
        ("docx", encrypted, "encrypted"),
        ("docx", lambda: b"PK\x03\x04 not an archive", "archive"),
        ("pdf", lambda: b"%PDF-1.4 nothing else", "PDF"),
        ("pdf", lambda: pdf("x").replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]"), ""),
        ("notebook", lambda: b'{"cells": 3}', "notebook"),
        ("notebook", lambda: b"[" * 100_000, "notebook"),
    ],
)
def test_I5_evil_documents_are_refused_with_a_reason(language: str, data: Callable[[], bytes], reason: str) -> None:
    try:
        text = extract(data(), language)
    except Unreadable as error:
        assert reason in str(error)
    else:
        assert not reason, text[:100]


def test_I5_entities_and_paths_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for document in (ENTITY, LAUGHS):
        try:
            text = extract(with_document(document), "docx")
        except Unreadable:
            continue
        assert "root:" not in text and len(text) < 1_000_000
    assert not list(tmp_path.parent.glob("evil.txt")) and not list(tmp_path.iterdir())


def test_I5_a_document_that_cannot_be_read_is_a_failure_that_says_why(home: Path, make_project: Callable[..., Path]) -> None:
    root = make_project({"bad.docx": bomb()[: 4 << 20], "good.py": "x = 1\n", "evil.pdf": b"%PDF-1.4\n" + b"0" * 1000})
    session = open_session(root, home=home, environment={})
    report = session.index()
    assert report.written == 1 and set(report.failed) == {"bad.docx", "evil.pdf"}
    assert all("Unreadable" in why for why in report.failed.values())
