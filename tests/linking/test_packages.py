"""Files of one package need no import to use each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from contextd.app.assemble import open_session
from contextd.chunking.comments import code_of

GO = {
    "go.mod": "module example.org/box\n",
    "box/box.go": "package box\n\nfunc Open() int { return 1 }\n",
    "box/use.go": "package box\n\nfunc Twice() int { return Open() + Open() }\n",
    "box/lid.go": "package box\n\n// Open is defined elsewhere.\n/* Open */\nfunc Lid() int { return 2 } // not Open\n",
    "box/link.go": 'package box\n\nfunc Link() string { return "http://x" + name(Open()) }\n',
}
PHP = {
    "composer.json": "{}\n",
    "src/Mail/Mailer.php": "<?php\nnamespace Acme\\Mail;\n\nclass Mailer\n{\n    public function send(string $to): void {}\n}\n",
    "src/Mail/Queue.php": "<?php\nnamespace Acme\\Mail;\n\nclass Queue\n{\n    public function __construct(private Mailer $mailer) {}\n}\n",
    "src/Mail/Notes.php": "<?php\nnamespace Acme\\Mail;\n\n# The Mailer is elsewhere.\n// Mailer\nclass Notes\n{\n}\n",
    "src/Web/Page.php": "<?php\nnamespace Acme\\Web;\n\nuse Acme\\Mail\\Mailer;\n\nclass Page\n{\n    public function mail(Mailer $mailer) {}\n}\n",
    "tests/MailerTest.php": "<?php\nnamespace Acme\\Mail;\n\nclass MailerTest\n{\n    public function test(): void { (new Mailer())->send('a'); }\n}\n",
    "tests/Other.php": "<?php\nnamespace Other;\n\nclass Other\n{\n    public function test(): void { new Mailer(); }\n}\n",
}


def _dependents(root: Path, home: Path, what: str) -> set[str]:
    session = open_session(root, home=home, environment={})
    session.index()
    found = session.structure.impact(what, depth=1)
    assert found is not None
    return {one.uri for one in found}


def test_words_in_comments_are_no_mentions(make_project: Callable[..., Path], home: Path) -> None:
    assert _dependents(make_project(GO), home, "box/box.go") == {"box/use.go", "box/link.go"}


def test_classes_of_one_namespace_depend_on_each_other_in_php(make_project: Callable[..., Path], home: Path) -> None:
    found = _dependents(make_project(PHP), home, "src/Mail/Mailer.php")
    assert found == {"src/Mail/Queue.php", "src/Web/Page.php", "tests/MailerTest.php"}


def test_a_string_is_no_comment_and_an_attribute_neither() -> None:
    assert code_of('a("http://b") // c', "go").strip() == 'a("http://b")'
    assert code_of("#[Route('/x')]\n# y\nz();", "php").split() == ["#[Route('/x')]", "z();"]
    assert code_of("a /* b\n c", "java").strip() == "a"
