"""Divide YAML, TOML and JSON by key path: one part per key, divided further if it is large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contextd.chunking.cut import Limits, Part
from contextd.chunking.grammars import parse

if TYPE_CHECKING:
    from tree_sitter import Node

_PAIRS = {
    "yaml": frozenset({"block_mapping_pair"}),
    "toml": frozenset({"table", "table_array_element", "pair"}),
    "json": frozenset({"pair"}),
}
_DEEPEST = 6
_KINDS = {"yaml": "yaml_block", "toml": "toml_block", "json": "json_block"}


def parts(text: str, language: str, limits: Limits) -> list[Part]:
    """Return the document as one part, divided into its keys if it is large."""
    tree = parse(text, language)
    kind = _KINDS[language]
    whole = Part(0, text.count("\n") + 1, kind)
    most = limits.code * 4
    if len(text) > most:
        whole.members = _keys(tree.root_node, language, (), kind, most, 0)
    return [whole]


def _keys(node: Node, language: str, path: tuple[str, ...], kind: str, most: int, depth: int) -> list[Part]:
    found: list[Part] = []
    for child in node.named_children:
        if child.type in _PAIRS[language]:
            found.append(_key(child, language, path, kind, most, depth))
        elif depth < _DEEPEST * 2:
            found += _keys(child, language, path, kind, most, depth + 1)
    return _in_order(found)


def _key(node: Node, language: str, path: tuple[str, ...], kind: str, most: int, depth: int) -> Part:
    key = node.child_by_field_name("key") or (node.named_children[0] if node.named_children else None)
    name = (key.text or b"").decode("utf-8", "replace").strip("'\"")[:80] if key else ""
    last = node.end_point.row + (1 if node.end_point.column else 0)
    part = Part(node.start_point.row, max(last, node.start_point.row + 1), kind, ".".join((*path, name)), path, (name,))
    if len(path) < _DEEPEST and node.end_byte - node.start_byte > most:
        value = node.child_by_field_name("value") or node
        part.members = _keys(value, language, (*path, name), kind, most, depth + 1)
    return part


def _in_order(parts: list[Part]) -> list[Part]:
    """Drop parts that start before the end of the part before."""
    kept: list[Part] = []
    for part in parts:
        if not kept or part.first >= kept[-1].last:
            kept.append(part)
    return kept
