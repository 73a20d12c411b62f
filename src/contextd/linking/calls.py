"""Which definition a call means, as far as the line, the class around it and the imports of its file tell.

No types are inferred. What is known without them is a good deal: a function is not called on an object, a method is not called
without one, `self` is the class around it, and `res.send()` hardly means the `send` of something else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_SELF = frozenset("self this cls super base Self $this static parent me".split())
_IMPLICIT = (
    ".java",
    ".kt",
    ".scala",
    ".cs",
    ".cpp",
    ".cc",
    ".hpp",
    ".h",
    ".swift",
    ".rb",
    ".php",
)  # a method may be called bare
_MODULES = (".rs", ".cpp", ".cc", ".hpp", ".h", ".zig", ".ex", ".exs")  # what stands in something lower-case stands in a module
_UNLIKELY, _POSSIBLE, _NEAR, _CERTAIN = range(4)


@dataclass(frozen=True, slots=True)
class Call:
    """One line that calls a name: where, what stands before the name, and what it stands inside of."""

    uri: str
    line: int
    text: str
    inside: str

    def receiver(self, name: str) -> str | None:
        """What the name is called on: `res` in `res.send()`, "?" for more than a name, None for a bare call."""
        found = re.search(rf"(?:([\w$]+)(?:\([^()]*\))?|([\])}}\"'?!]))\s*(?:\?\.|\.|::|->)\s*{re.escape(name)}\b", self.text)
        if found is not None:
            return found[1] or "?"
        return "?" if re.match(rf"\s*(?:\?\.|\.|::|->)\s*{re.escape(name)}\b", self.text) else None


@dataclass(frozen=True, slots=True)
class Target:
    """A definition that a call may mean, with what is known around it."""

    uri: str
    label: str
    reached: frozenset[str]  # files that import its file or share its package
    heirs: frozenset[str]  # classes that inherit from the one it stands in

    @property
    def name(self) -> str:
        """Its own name."""
        return self.label.rpartition(".")[2]

    @property
    def owner(self) -> str:
        """The class or object it stands in; empty for a function, a class or a constructor."""
        outer = self.label.rpartition(".")[0].rpartition(".")[2]
        return "" if outer == self.name or (outer[:1].islower() and self.uri.endswith(_MODULES)) else outer


@dataclass(slots=True)
class Imported:
    """What the files of some calls import: by file, the text of each import and whether it is of this project."""

    lines: Mapping[str, Sequence[tuple[str, bool]]] = field(default_factory=dict)

    def foreign(self, uri: str, name: str) -> bool:
        """Whether a name comes from somebody else's module."""
        bound = [ours for text, ours in self.lines.get(uri, ()) if re.search(rf"\b{re.escape(name)}\b", text)]
        return bool(bound) and not any(bound)

    def binds(self, uri: str, name: str) -> bool:
        """Whether a name comes from an import."""
        return any(re.search(rf"\b{re.escape(name)}\b", text) for text, _ in self.lines.get(uri, ()))


def likeness(call: Call, target: Target, imported: Imported) -> int:
    """How likely a call means a definition: 0 not at all, 1 possible, 2 its file is near, 3 certain."""
    receiver = call.receiver(target.name)
    near = _NEAR if call.uri == target.uri or call.uri in target.reached else _POSSIBLE
    if not target.owner:
        return _function(call, target, receiver, imported, near)
    if receiver is None:
        return _bare(call, target, near)
    if receiver in _SELF or receiver.lower() in ("self", "super"):
        around = _class_of(call.inside)
        return _CERTAIN if around == target.owner or around in target.heirs else _UNLIKELY
    if _same(receiver, target.owner) or any(_same(receiver, heir) for heir in target.heirs):
        return _CERTAIN
    if imported.foreign(call.uri, receiver):
        return _UNLIKELY
    return near


def _function(call: Call, target: Target, receiver: str | None, imported: Imported, near: int) -> int:
    """A function, class or constructor: called bare, or on the module it stands in."""
    if receiver is None:
        return _CERTAIN if call.uri == target.uri else near
    *folders, name = target.uri.lower().split("/")
    modules = {name.partition(".")[0], *folders[-2:], *(part.replace("-", "_") for part in folders[-2:])}
    if receiver == "crate":
        return near if name in ("lib.rs", "main.rs") else _UNLIKELY
    modules |= set(target.label.lower().split(".")[:-1])
    if receiver.lower() in modules or (receiver in _SELF and call.uri == target.uri):
        return _CERTAIN if near == _NEAR else _NEAR
    return (
        near
        if receiver != "?" and imported.binds(call.uri, receiver) and not imported.foreign(call.uri, receiver)
        else _UNLIKELY
    )


def _bare(call: Call, target: Target, near: int) -> int:
    """A method called without an object: on the object around it where the language has it so, or as a macro or attribute."""
    around = _class_of(call.inside)
    if around and (around == target.owner or around in target.heirs):
        return _CERTAIN if call.uri.endswith(_IMPLICIT) else _UNLIKELY
    if call.uri.endswith(".rs") or "@" in call.text:
        return near
    return _POSSIBLE if call.uri.endswith(_IMPLICIT) and call.uri in target.reached else _UNLIKELY


def _class_of(label: str) -> str:
    """The class around a place inside of a method; the label itself where it is one."""
    outer, _, last = label.rpartition(".")
    return outer.rpartition(".")[2] or last


def _same(receiver: str, owner: str) -> bool:
    """Whether something is called like a class: `res` and Res, `user_store` and UserStore."""
    return receiver.lower().replace("_", "").strip("$") == owner.lower().replace("_", "")
