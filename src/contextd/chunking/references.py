"""References in code: calls, base classes and imports, found by a few tree-sitter queries per language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from contextd.chunking.grammars import language_of, parse
from contextd.values.document import CALL, IMPORT, INHERIT, Reference

if TYPE_CHECKING:
    from tree_sitter import Query

_MOST = 4000  # distinct references per file; a file with more is generated data
_LONGEST = 120

_SCRIPT = """
(call_expression function: (identifier) @call)
(call_expression function: (member_expression property: (property_identifier) @call))
(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression property: (property_identifier) @call))
(import_statement source: (string (string_fragment) @import))
(export_statement source: (string (string_fragment) @import))
((call_expression function: (identifier) @_f arguments: (arguments . (string (string_fragment) @import))) (#eq? @_f "require"))
(call_expression function: (import) arguments: (arguments . (string (string_fragment) @import)))
"""
_JSX = """
(jsx_opening_element name: (identifier) @call)
(jsx_self_closing_element name: (identifier) @call)
"""
_TYPED = """
(extends_clause value: (identifier) @inherit)
(extends_clause value: (member_expression property: (property_identifier) @inherit))
(implements_clause (type_identifier) @inherit)
(implements_clause (generic_type name: (type_identifier) @inherit))
(implements_clause (nested_type_identifier name: (type_identifier) @inherit))
(implements_clause (generic_type name: (nested_type_identifier name: (type_identifier) @inherit)))
(extends_type_clause type: (type_identifier) @inherit)
(extends_type_clause type: (generic_type name: (type_identifier) @inherit))
(extends_type_clause type: (nested_type_identifier name: (type_identifier) @inherit))
"""
_C = """
(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
(preproc_include path: (string_literal) @import)
(preproc_include path: (system_lib_string) @import)
"""

# Built-in attributes.
_RUST_OWN = (
    "^(allow|cfg|cfg_attr|deny|deprecated|derive|doc|expect|feature|forbid|global_allocator|ignore|inline|macro_export|macro_use"
    "|must_use|no_mangle|non_exhaustive|path|proc_macro|proc_macro_attribute|proc_macro_derive|repr|should_panic|test|track_caller"
    "|warn)$"
)

PATTERNS = {
    "python": """
(call function: (identifier) @call)
(call function: (attribute attribute: (identifier) @call))
(decorator (identifier) @call)
(decorator (attribute attribute: (identifier) @call))
(class_definition superclasses: (argument_list (identifier) @inherit))
(class_definition superclasses: (argument_list (attribute attribute: (identifier) @inherit)))
(class_definition superclasses: (argument_list (subscript value: (identifier) @inherit)))
(class_definition superclasses: (argument_list (subscript value: (attribute attribute: (identifier) @inherit))))
(import_statement name: (dotted_name) @import)
(import_statement name: (aliased_import name: (dotted_name) @import))
(import_from_statement) @from
""",
    "javascript": _SCRIPT
    + _JSX
    + """
(class_heritage (identifier) @inherit)
(class_heritage (member_expression property: (property_identifier) @inherit))
""",
    "typescript": _SCRIPT + _TYPED,
    "tsx": _SCRIPT + _JSX + _TYPED,
    "java": """
(method_invocation name: (identifier) @call)
(object_creation_expression type: (type_identifier) @call)
(object_creation_expression type: (generic_type (type_identifier) @call))
(method_reference (identifier) @call .)
(marker_annotation name: (identifier) @call)
(annotation name: (identifier) @call)
(superclass (type_identifier) @inherit)
(superclass (generic_type (type_identifier) @inherit))
(super_interfaces (type_list (type_identifier) @inherit))
(super_interfaces (type_list (generic_type (type_identifier) @inherit)))
(extends_interfaces (type_list (type_identifier) @inherit))
(import_declaration (scoped_identifier) @import)
""",
    "go": """
(call_expression function: (identifier) @call)
(call_expression function: (selector_expression field: (field_identifier) @call))
(composite_literal type: (type_identifier) @call)
(composite_literal type: (qualified_type name: (type_identifier) @call))
(field_declaration !name type: (type_identifier) @inherit)
(import_spec path: (interpreted_string_literal) @import)
""",
    "rust": """
(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (field_identifier) @call))
(call_expression function: (scoped_identifier name: (identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (generic_function function: (scoped_identifier name: (identifier) @call)))
(call_expression function: (generic_function function: (field_expression field: (field_identifier) @call)))
(macro_invocation macro: (identifier) @call)
(token_tree (identifier) @call . (token_tree))
((attribute (identifier) @call) (#not-match? @call "OWN"))
(attribute (scoped_identifier name: (identifier) @call))
(struct_expression name: (type_identifier) @call)
(impl_item trait: (type_identifier) @inherit)
(impl_item trait: (generic_type type: (type_identifier) @inherit))
(impl_item trait: (scoped_type_identifier name: (type_identifier) @inherit))
(use_declaration argument: (_) @import)
(mod_item name: (identifier) @import !body)
""".replace("OWN", _RUST_OWN),
    "c": _C,
    "cpp": _C
    + """
(call_expression function: (qualified_identifier name: (identifier) @call))
(call_expression function: (template_function name: (identifier) @call))
(new_expression type: (type_identifier) @call)
(base_class_clause (type_identifier) @inherit)
(base_class_clause (qualified_identifier name: (type_identifier) @inherit))
""",
    "csharp": """
(invocation_expression function: (identifier) @call)
(invocation_expression function: (member_access_expression name: (identifier) @call))
(invocation_expression function: (generic_name (identifier) @call))
(invocation_expression function: (member_access_expression name: (generic_name (identifier) @call)))
(object_creation_expression type: (identifier) @call)
(object_creation_expression type: (generic_name (identifier) @call))
(base_list (identifier) @inherit)
(base_list (generic_name (identifier) @inherit))
(using_directive (qualified_name) @import)
(using_directive (identifier) @import)
""",
    "ruby": """
(call method: (identifier) @call)
(call receiver: (constant) @call)
(superclass (constant) @inherit)
(superclass (scope_resolution name: (constant) @inherit))
((call method: (identifier) @_f arguments: (argument_list (string (string_content) @import)))
  (#match? @_f "^(require|require_relative|load|autoload)$"))
""",
    "php": """
(function_call_expression function: (name) @call)
(function_call_expression function: (qualified_name (name) @call))
(member_call_expression name: (name) @call)
(nullsafe_member_call_expression name: (name) @call)
(scoped_call_expression name: (name) @call)
(object_creation_expression (name) @call)
(base_clause (name) @inherit)
(class_interface_clause (name) @inherit)
(use_declaration (name) @inherit)
(namespace_use_clause (qualified_name) @import)
""",
    "swift": """
(call_expression (simple_identifier) @call)
(call_expression (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @call)))
(inheritance_specifier inherits_from: (user_type (type_identifier) @inherit))
(import_declaration (identifier) @import)
""",
    "kotlin": """
(call_expression (identifier) @call)
(call_expression (navigation_expression (identifier) @call .))
(constructor_invocation (user_type (identifier) @inherit))
(delegation_specifier (user_type (identifier) @inherit))
(import (qualified_identifier) @import)
""",
    "scala": """
(call_expression function: (identifier) @call)
(call_expression function: (field_expression field: (identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (generic_function function: (field_expression field: (identifier) @call)))
(instance_expression (type_identifier) @call)
(extends_clause type: (type_identifier) @inherit)
(extends_clause type: (generic_type type: (type_identifier) @inherit))
(import_declaration) @from
""",
    "shell": """
(command name: (command_name (word) @call))
((command name: (command_name (word) @_f) argument: (word) @import) (#match? @_f "^(source|[.])$"))
((command name: (command_name (word) @_f) argument: (string (string_content) @import)) (#match? @_f "^(source|[.])$"))
""",
    "lua": """
(function_call name: (identifier) @call)
(function_call name: (dot_index_expression field: (identifier) @call))
(function_call name: (method_index_expression method: (identifier) @call))
((function_call name: (identifier) @_f arguments: (arguments (string content: (string_content) @import))) (#eq? @_f "require"))
""",
    "elixir": """
(call target: (identifier) @call)
(call target: (dot right: (identifier) @call))
((call target: (identifier) @_f (arguments (alias) @import)) (#match? @_f "^(alias|import|use|require)$"))
""",
    "zig": """
(call_expression function: (identifier) @call)
(call_expression function: (field_expression member: (identifier) @call))
((builtin_function (builtin_identifier) @_f (arguments (string (string_content) @import))) (#eq? @_f "@import"))
""",
    "haskell": """
(apply function: (variable) @call)
(infix (variable) @call)
(import module: (module) @import)
""",
}

_KINDS = {"call": CALL, "inherit": INHERIT, "import": IMPORT}
_FROM_PYTHON = re.compile(r"from\s+([.\w]+)\s+import\s+(.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][\w.]*")


def references(text: str, language: str) -> tuple[Reference, ...]:
    """Return every name that is called, inherited from or imported, with its lines."""
    if language not in PATTERNS:
        return ()
    from tree_sitter import QueryCursor

    tree = parse(text, language)
    found: dict[tuple[str, int], list[int]] = {}
    for capture, nodes in QueryCursor(_query(language)).captures(tree.root_node).items():
        for node in nodes:
            line = node.start_point.row + 1
            for name, kind in _named(capture, (node.text or b"").decode("utf-8", "replace"), language):
                lines = found.setdefault((name, kind), [])
                if not lines or lines[-1] != line:
                    lines.append(line)
    kept = list(found.items())[:_MOST]
    return tuple(Reference(name, kind, tuple(sorted(set(lines)))) for (name, kind), lines in kept)


@lru_cache(maxsize=32)
def _query(language: str) -> Query:
    from tree_sitter import Query

    return Query(language_of(language), PATTERNS[language])


def _named(capture: str, text: str, language: str) -> Iterator[tuple[str, int]]:
    """Yield the names of a capture; one that only serves a predicate has none."""
    if capture == "from":
        targets = _from_python(text) if language == "python" else _from_scala(text)
        yield from ((target[:_LONGEST], IMPORT) for target in targets)
    elif capture == "import":
        targets = _from_rust(text) if language == "rust" else [text.strip("\"'<>` ")]
        yield from ((target[:_LONGEST], IMPORT) for target in targets if target)
    elif capture in _KINDS and len(text) <= _LONGEST:
        yield text, _KINDS[capture]


def _from_python(text: str) -> list[str]:
    """`from a.b import c, d` may mean the module a.b, or modules c and d inside it."""
    match = _FROM_PYTHON.match(text)
    if not match:
        return []
    module, names = match[1], [part.split(" as ")[0].strip(" ()\n\\") for part in match[2].split(",")]
    inside = [f"{module}{'' if module.endswith('.') else '.'}{name}" for name in names if _NAME.fullmatch(name)]
    return [module, *inside] if module.strip(".") else inside or [module]


def _from_scala(text: str) -> list[str]:
    return [part.strip() for part in text.removeprefix("import").split(",") if part.strip()]


def _from_rust(text: str) -> list[str]:
    """Return the paths of a `use`: a::b, a::c::d and a::c::e for `a::{b, c::{d, e}}`."""
    found: list[str] = []
    prefixes, name = [""], ""
    for character in text:
        if character == "{":
            prefixes.append(prefixes[-1] + name.strip())
            name = ""
        elif character in ",}":
            found.append(_rust_path(prefixes[-1], name))
            name = ""
            if character == "}" and len(prefixes) > 1:
                prefixes.pop()
        else:
            name += character
    return [path for path in [*found, _rust_path(prefixes[-1], name)] if path]


def _rust_path(prefix: str, name: str) -> str:
    """Return one path of a `use`; empty if there is no name. `self` and `*` stand for the module itself."""
    name = name.split(" as ")[0].strip()
    if not name:
        return ""
    return prefix.removesuffix("::") if name in ("self", "*") else f"{prefix}{name}".removesuffix("::*")
