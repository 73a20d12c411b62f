"""Match a call to a definition, as far as the line, the class around it and the imports of its file tell.

No types are inferred. Much is known without them: a function is not called on an object, a method is not called without one,
`self` is the class around it, and `res.send()` hardly means the `send` of something else.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_SELF = frozenset("self this cls super Self $this".split())
_SELF_IN = {".php": frozenset({"parent", "static"}), ".cs": frozenset({"base"})}
# Languages in which a method may be called without a receiver.
_IMPLICIT = (".java", ".kt", ".scala", ".cs", ".cpp", ".cc", ".hpp", ".h", ".swift", ".rb", ".php")
_MODULES = (".rs", ".cpp", ".cc", ".hpp", ".h", ".zig", ".ex", ".exs")  # a lower-case owner is a module here
_NEVER, _UNLIKELY, _POSSIBLE, _NEAR, _CERTAIN = range(-1, 4)
_WORD = re.compile(r"[\w$]+")


@dataclass(frozen=True, slots=True)
class Call:
    """A line that calls a name: its file, its receivers, and the definition around it."""

    uri: str
    text: str
    inside: str
    receivers: tuple[str | None, ...]
    made: Mapping[str, str] = field(default_factory=dict)  # the class of a receiver, if it was made from one just before


def call_of(name: str, uri: str, text: str, inside: str) -> Call:
    """Return a call with the receivers of the name: `res` in `res.send()`, "?" for an expression, None for a bare call."""
    pattern = rf"(?:([\w$]+)(?:\([^()]*\))?\s*|([\])}}\"'?!])\s*|^\s*)(?:\?\.|\.|::|->)\s*{re.escape(name)}\b"
    on = [match[1] or "?" for match in re.finditer(pattern, text)]
    bare = len(re.findall(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text)) > len(on)
    return Call(uri, text, inside, (*on, *([None] if bare or not on else [])))


def class_made(receiver: str, text: str) -> str:
    """Return the class that a variable was last made from: Store in `s = Store()`, `s := &Store{`, `let s = Store::new(`."""
    name, made = re.escape(receiver), r"(?:new\s+|&)?\\?(?:[\w$]+(?:\.|::|\\))*([A-Z][\w$]*)(?:::new)?\s*(?:<[^<>\n]*>)?[({]"
    found = re.findall(rf"(?<![\w$.]){name}\s*(?::\s*[\w$.<>]+\s*)?:?=\s*{made}", text)
    return str(found[-1]) if found else ""


def module_of(receiver: str, text: str) -> str:
    """Return the module of a variable's type: testing in `pb *testing.PB`, `pb: testing.PB`, `testing.PB pb`."""
    name, module = re.escape(receiver), r"([\w$]+)(?:\.|::)[\w$]+"
    patterns = (rf"[(,]\s*{name}\s+[*&]?{module}", rf"\bvar\s+{name}\s+[*&]?{module}", rf"\b{name}\s*:\s*[*&]?{module}",
                rf"\b{module}(?:<[^<>\n]*>)?[*&\s]+{name}\s*[=;,)]")  # fmt: skip
    found = (re.search(pattern, text) for pattern in patterns)
    return next((match[1] for match in found if match), "")


@dataclass(frozen=True, slots=True)
class Target:
    """A definition that a call may mean."""

    uri: str
    label: str
    reached: frozenset[str]  # files that import its file or share its package
    heirs: frozenset[str]  # subclasses of the class that contains it

    @property
    def name(self) -> str:
        """The last part of the label."""
        return self.label.rpartition(".")[2]

    @property
    def owner(self) -> str:
        """The class or object that contains it; empty for a function, a class or a constructor."""
        outer = self.label.rpartition(".")[0].rpartition(".")[2]
        return "" if outer == self.name or (outer[:1].islower() and self.uri.endswith(_MODULES)) else outer


class Imported:
    """The words in import statements, by file: of imports from this project, and of other imports."""

    def __init__(self, imports: Iterable[tuple[str, str, bool]]) -> None:
        self._ours: dict[str, set[str]] = {}
        self._others: dict[str, set[str]] = {}
        for uri, text, ours in imports:
            (self._ours if ours else self._others).setdefault(uri, set()).update(_WORD.findall(text))

    def foreign(self, uri: str, name: str) -> bool:
        """Return whether a name is imported from outside the project."""
        return name in self._others.get(uri, ()) and name not in self._ours.get(uri, ())

    def ours(self, uri: str, name: str) -> bool:
        """Return whether a name is imported from a module of this project."""
        return name in self._ours.get(uri, ())


def likeness(call: Call, target: Target, imported: Imported) -> int:
    """Rate how well a call matches a definition: -1 never, 0 if nothing else does, 1 possible, 2 file is near, 3 certain."""
    near = _NEAR if call.uri == target.uri or call.uri in target.reached else _POSSIBLE
    judge = _method if target.owner else _function
    return max(judge(call, target, receiver, imported, near) for receiver in call.receivers)


def _method(call: Call, target: Target, receiver: str | None, imported: Imported, near: int) -> int:
    if receiver is None:
        return _bare(call, target, near)
    if receiver in _SELF or receiver in _SELF_IN.get(posixpath.splitext(call.uri)[1], ()):
        around = _class_of(call.inside)
        return _CERTAIN if around == target.owner or around in target.heirs else _UNLIKELY
    receiver = call.made.get(receiver, receiver)
    if _same(receiver, target.owner) or any(_same(receiver, heir) for heir in target.heirs):
        return _CERTAIN
    return _NEVER if imported.foreign(call.uri, receiver) else near


def _function(call: Call, target: Target, receiver: str | None, imported: Imported, near: int) -> int:
    """Score a function, class or constructor: called bare, or on the module that contains it."""
    if receiver is None:
        return _CERTAIN if call.uri == target.uri else near
    *folders, name = target.uri.lower().split("/")
    modules = {name.partition(".")[0], *folders[-2:], *(part.replace("-", "_") for part in folders[-2:])}
    if receiver == "crate":
        return near if name in ("lib.rs", "main.rs") else _NEVER
    modules |= set(target.label.lower().split(".")[:-1])
    if receiver.lower() in modules or (receiver in _SELF and call.uri == target.uri):
        return _CERTAIN if near == _NEAR else _NEAR
    return near if receiver != "?" and imported.ours(call.uri, receiver) else _NEVER


def _bare(call: Call, target: Target, near: int) -> int:
    """Score a method called without a receiver: on the object around it if the language allows, or as a macro or attribute."""
    around = _class_of(call.inside)
    if around and (around == target.owner or around in target.heirs):
        return _CERTAIN if call.uri.endswith(_IMPLICIT) else _NEVER
    if call.uri.endswith(".rs") or "@" in call.text:
        return near
    return _POSSIBLE if call.uri.endswith(_IMPLICIT) and call.uri in target.reached else _NEVER


def _class_of(label: str) -> str:
    """Return the class around a place inside a method; the label itself if it has one part."""
    outer, _, last = label.rpartition(".")
    return outer.rpartition(".")[2] or last


def _same(receiver: str, owner: str) -> bool:
    """Return whether a receiver is named like a class: `user_store` and UserStore, `runner` and CliRunner, `ctx`, Context."""
    name, whole = receiver.lower().replace("_", "").strip("$"), owner.lower().replace("_", "")
    if name == whole:
        return True
    return len(name) > 2 and (whole.endswith(name) or _shortens(name, whole))


def _shortens(name: str, whole: str) -> bool:
    """Return whether a name abbreviates a word, keeping its first letter: ctx, cfg, mgr."""
    rest = iter(whole)
    return name[0] == whole[:1] and not set(name[1:]) & set("aeiou") and all(letter in rest for letter in name)
