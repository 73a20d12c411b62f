"""Divide source code into definitions: functions, classes and their members, each with its comments and decorators.

One walk serves all languages. They differ in a table of node kinds (`grammars`) and, if a definition has no node kind of its
own (Elixir's `def` is a call, JavaScript assigns functions), in one small function here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from contextd.chunking.cut import Limits, Part
from contextd.chunking.grammars import GRAMMARS, Grammar, parse
from contextd.values.document import Definition

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTION, _CLASS, _BLOCK = "code_function", "code_class", "code_block"
_DEEPEST = 12
_FLAT = ("c", "cpp")  # languages without nested functions
_BROKEN = "ERROR"  # a node that could not be parsed as a whole; it may still contain definitions
_ATTACHED = frozenset(
    "comment line_comment block_comment multiline_comment decorator attribute_item haddock attribute pragma annotation".split()
)
_NAME_NODES = frozenset(
    "identifier field_identifier type_identifier qualified_identifier destructor_name operator_name simple_identifier "
    "property_identifier constant".split()
)


class _Definition(NamedTuple):
    kind: str
    name: str
    inside: Node | None


class _Walk(NamedTuple):
    language: str
    grammar: Grammar
    whole_class: int


def parts(text: str, language: str, limits: Limits) -> list[Part]:
    """The file as one part whose members are its definitions."""
    tree = parse(text, language)
    walk = _Walk(language, GRAMMARS[language], limits.whole_class * 4)
    whole = Part(0, text.count("\n") + 1, "code_block")
    whole.members = _in_order(_docstring(tree.root_node, language) + _members(tree.root_node, walk, (), 0))
    whole.inside = _constants(tree.root_node) if _SPECIAL.get(language) is _script else []
    return [whole]


def _members(node: Node, walk: _Walk, heading: tuple[str, ...], depth: int) -> list[Part]:
    found: list[Part] = []
    for child in node.named_children:
        target = _unwrapped(child)
        definition = _definition(target, walk)
        if definition:
            found += _with_swallowed(child, _part(child, definition, walk, heading, depth), walk, heading, depth)
        elif depth < _DEEPEST and (child.type in walk.grammar.opened or child.type == _BROKEN):
            found += _members(child, walk, heading, depth + 1)
    return _with_overloads(_in_order(found))


def _with_swallowed(node: Node, part: Part, walk: _Walk, heading: tuple[str, ...], depth: int) -> list[Part]:
    """Return a function, and the functions after it that the parser nested in it because braces do not match."""
    body = node.child_by_field_name("body") if walk.language in _FLAT and node.has_error else None
    inside = [child for child in body.named_children if child.type in walk.grammar.functions] if body else []
    if not inside:
        return [part]
    part.last = max(part.first + 1, _first_line(inside[0]))
    if part.definition is not None:
        part.definition = part.definition._replace(end_line=max(part.last, part.definition.line))
    others = [(child, found) for child in inside if (found := _definition(child, walk))]
    return [part, *(_part(child, found, walk, heading, depth) for child, found in others)]


def _with_overloads(parts: list[Part]) -> list[Part]:
    """Remove the definitions of overload signatures that an implementation follows; without one, they stay."""
    for place in range(len(parts) - 1, 0, -1):
        part, before = parts[place], parts[place - 1]
        if before.stub and before.label == part.label and (not part.stub or part.definition is None):
            before.definition, before.names = None, ()
    return parts


def _is_stub(node: Node) -> bool:
    """Whether a definition is the signature of an overload, in Python or TypeScript."""
    if node.type in ("function_signature", "method_signature"):
        return True
    inner = node.named_children[0] if node.type == "export_statement" and node.named_children else node
    decorators = [child for child in node.named_children if child.type == "decorator"]
    return inner.type == "function_signature" or any(_text(one).endswith("overload") for one in decorators)


def _part(node: Node, definition: _Definition, walk: _Walk, heading: tuple[str, ...], depth: int) -> Part:
    first = _first_line(node)
    last = node.end_point.row + (1 if node.end_point.column else 0)
    label = ".".join((*heading, definition.name)) if definition.name else ".".join(heading)
    names = (definition.name,) if definition.name else ()
    part = Part(first, max(last, first + 1), definition.kind, label, heading, names, stub=_is_stub(node))
    if definition.name:
        line = _unwrapped(node).start_point.row + 1
        part.definition = Definition(label, definition.kind, line, max(last, line))
    if definition.kind == _CLASS and depth < _DEEPEST:
        inner = (*heading, definition.name) if definition.name else heading
        members = _below(definition.inside or node, walk, inner, depth + 1)
        if node.end_byte - node.start_byte > walk.whole_class:
            part.members = members
        else:
            part.inside = members
            part.kinds = tuple(dict.fromkeys(kind for member in members for kind in (member.kind, *member.kinds)))
            part.names = tuple(dict.fromkeys(names + tuple(name for member in members for name in member.names)))
    return part


def _below(node: Node, walk: _Walk, heading: tuple[str, ...], depth: int) -> list[Part]:
    """Return the members of a class: the definitions inside its opened child nodes."""
    found: list[Part] = []
    for child in node.named_children:
        if child.type in walk.grammar.opened or child.type == _BROKEN:
            found += _members(child, walk, heading, depth + 1)
    return _in_order(found)


def _in_order(parts: list[Part]) -> list[Part]:
    """Make each part start after the end of the part before, and drop parts without lines of their own."""
    kept: list[Part] = []
    for part in parts:
        if kept and part.first < kept[-1].last:
            part.first = kept[-1].last
        if part.last > part.first:
            kept.append(part)
    return kept


def _first_line(node: Node) -> int:
    """Return the first line of a definition, including the comments and decorators right above it."""
    first, above = node.start_point.row, node.prev_sibling
    while above is not None and above.type in _ATTACHED and above.end_point.row >= first - 1:
        if above.prev_sibling is not None and above.prev_sibling.end_point.row == above.start_point.row:
            break  # a comment at the end of a line of code
        first, above = above.start_point.row, above.prev_sibling
    return first


def _unwrapped(node: Node) -> Node:
    """Return the definition inside a decorated, exported, template or ambient declaration."""
    if node.type == "decorated_definition":
        return node.child_by_field_name("definition") or node
    if node.type == "export_statement":
        return node.child_by_field_name("declaration") or node.child_by_field_name("value") or node
    if node.type in ("template_declaration", "ambient_declaration") and node.named_children:
        return _unwrapped(node.named_children[-1])
    return node


def _definition(node: Node, walk: _Walk) -> _Definition | None:
    special = _SPECIAL.get(walk.language)
    if special and (found := special(node)):
        return found
    if node.type in walk.grammar.functions:
        return _Definition(_FUNCTION, _name(node, walk.language), None)
    if node.type in walk.grammar.classes:
        return _Definition(_CLASS, _name(node, walk.language), node)
    return None


def _name(node: Node, language: str) -> str:
    if language == "go":
        return _go_name(node)
    if node.type == "impl_item":
        return _text(node.child_by_field_name("type")).split("<")[0]
    named = node.child_by_field_name("name")
    if named is None or language in ("c", "cpp"):
        named = named or _declared(node)
    return _text(named).split("<")[0].replace("::", ".").strip(" \"'`")[:120]


def _declared(node: Node) -> Node | None:
    """Return the name at the end of a chain of C declarators, or the first name among the children."""
    inner: Node | None = node
    for _ in range(8):
        inner = inner.child_by_field_name("declarator") if inner is not None else None
        if inner is None or inner.type in _NAME_NODES:
            break
    if inner is not None:
        return inner
    return next((child for child in node.named_children if child.type in _NAME_NODES), None)


def _text(node: Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace").split("\n")[0] if node is not None else ""


def _go_name(node: Node) -> str:
    if node.type == "type_declaration":
        specs = [child for child in node.named_children if child.type in ("type_spec", "type_alias")]
        return _text(specs[0].child_by_field_name("name")) if specs else ""
    name, receiver = _text(node.child_by_field_name("name")), node.child_by_field_name("receiver")
    if receiver is None:
        return name
    return (
        f"{_text(receiver).strip('()').split()[-1].lstrip('*').split('[')[0]}.{name}" if _text(receiver).strip("()") else name
    )


def _docstring(root: Node, language: str) -> list[Part]:
    if language != "python":
        return []
    for child in root.named_children[:3]:
        if child.type == "expression_statement" and child.named_children and child.named_children[0].type == "string":
            return [Part(0, child.end_point.row + 1, "docstring")]
        if child.type != "comment":
            return []
    return []


_FUNCTION_VALUES = frozenset(["arrow_function", "function_expression", "generator_function", "function_definition"])


def _script(node: Node) -> _Definition | None:
    """`const f = () => …`, `exports.f = function …`, `const C = class …`."""
    for name, value in _assigned(node):
        if value.type in _FUNCTION_VALUES:
            return _Definition(_FUNCTION, name, None)
        if value.type == "class":
            return _Definition(_CLASS, name, value)
    return None


def _constants(root: Node) -> list[Part]:
    """Return exports other than functions and classes (`export const x = …`): definitions without a chunk of their own."""
    found = []
    for node in (_unwrapped(child) for child in root.named_children if child.type == "export_statement"):
        first, last = node.start_point.row, node.end_point.row + 1
        for name, value in _assigned(node):
            if value.type not in (*_FUNCTION_VALUES, "class") and name.isidentifier():
                found.append(Part(first, last, _BLOCK, name, definition=Definition(name, _BLOCK, first + 1, last)))
    return found


def _assigned(node: Node) -> Iterator[tuple[str, Node]]:
    if node.type in ("lexical_declaration", "variable_declaration"):
        for one in node.named_children:
            if one.type == "variable_declarator" and (value := one.child_by_field_name("value")):
                yield _text(one.child_by_field_name("name")), value
    elif node.type == "expression_statement" and node.named_children:
        here: Node | None = node.named_children[0]
        while here is not None and here.type == "assignment_expression":
            right = here.child_by_field_name("right")
            if right is not None:
                yield _member_name(_text(here.child_by_field_name("left"))), right
            here = right


def _member_name(left: str) -> str:
    """Return the name of an assigned member: `exports.x` is x, `Foo.prototype.x` is Foo.x, `app.handle` stays."""
    for prefix in ("module.exports.", "exports.", "this."):
        left = left.removeprefix(prefix)
    return left.replace(".prototype.", ".")


def _lua(node: Node) -> _Definition | None:
    """`M.f = function …` and `local f = function …`."""
    target = node.named_children[0] if node.type == "variable_declaration" and node.named_children else node
    if target.type != "assignment_statement" or len(target.named_children) < 2:
        return None
    left, right = target.named_children[0], target.named_children[1]
    if right.named_children and right.named_children[0].type == "function_definition":
        return _Definition(_FUNCTION, _text(left), None)
    return None


_ELIXIR = {"defmodule": _CLASS, "defprotocol": _CLASS, "defimpl": _CLASS, "def": _FUNCTION, "defp": _FUNCTION,
           "defmacro": _FUNCTION, "defmacrop": _FUNCTION, "defguard": _FUNCTION, "defdelegate": _FUNCTION}  # fmt: skip


def _elixir(node: Node) -> _Definition | None:
    if node.type != "call":
        return None
    kind = _ELIXIR.get(_text(node.child_by_field_name("target")))
    arguments = next((child for child in node.named_children if child.type == "arguments"), None)
    if kind is None or arguments is None:
        return None
    return _Definition(kind, _text(arguments).split("(")[0].split(",")[0].split(" ")[0], node)


def _zig(node: Node) -> _Definition | None:
    """`const Name = struct { … }`."""
    if node.type != "variable_declaration":
        return None
    value = next((child for child in node.named_children if child.type in GRAMMARS["zig"].opened), None)
    return _Definition(_CLASS, _text(_declared(node)), node) if value is not None else None


_SPECIAL: dict[str, Callable[[Node], _Definition | None]] = {
    "javascript": _script,
    "typescript": _script,
    "tsx": _script,
    "lua": _lua,
    "elixir": _elixir,
    "zig": _zig,
}
