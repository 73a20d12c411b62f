"""Grammars of tree-sitter: which node kinds are definitions, and which ones only contain definitions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Parser, Tree


@dataclass(frozen=True, slots=True)
class Grammar:
    """Node kinds of one language: functions are leaves, classes have members, `opened` nodes only contain definitions."""

    module: str
    functions: frozenset[str]
    classes: frozenset[str]
    opened: frozenset[str]
    entry: str = "language"


def _grammar(module: str, functions: str, classes: str = "", opened: str = "", entry: str = "language") -> Grammar:
    return Grammar(module, frozenset(functions.split()), frozenset(classes.split()), frozenset(opened.split()), entry)


_SCRIPT_FUNCTIONS = (
    "function_declaration generator_function_declaration method_definition function_signature abstract_method_signature"
)
_SCRIPT_CLASSES = (
    "class_declaration abstract_class_declaration interface_declaration enum_declaration type_alias_declaration "
    "internal_module module"
)
_SCRIPT_OPENED = "export_statement ambient_declaration class_body statement_block"
_PREPROCESSOR = "preproc_ifdef preproc_if preproc_else preproc_elif"

GRAMMARS: dict[str, Grammar] = {
    "python": _grammar(
        "python",
        "function_definition",
        "class_definition",
        "block if_statement else_clause elif_clause try_statement except_clause finally_clause with_statement",
    ),
    "javascript": _grammar("javascript", _SCRIPT_FUNCTIONS, "class_declaration", "export_statement class_body"),
    "typescript": _grammar("typescript", _SCRIPT_FUNCTIONS, _SCRIPT_CLASSES, _SCRIPT_OPENED, "language_typescript"),
    "tsx": _grammar("typescript", _SCRIPT_FUNCTIONS, _SCRIPT_CLASSES, _SCRIPT_OPENED, "language_tsx"),
    "kotlin": _grammar(
        "kotlin",
        "function_declaration secondary_constructor property_declaration",
        "class_declaration object_declaration companion_object",
        "class_body enum_class_body",
    ),
    "java": _grammar(
        "java",
        "method_declaration constructor_declaration compact_constructor_declaration",
        "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration",
        "class_body interface_body enum_body enum_body_declarations annotation_type_body",
    ),
    "go": _grammar("go", "function_declaration method_declaration", "type_declaration"),
    "rust": _grammar(
        "rust",
        "function_item macro_definition function_signature_item",
        "impl_item struct_item enum_item trait_item mod_item union_item type_item",
        "declaration_list",
    ),
    "c": _grammar(
        "c",
        "function_definition preproc_function_def",
        "struct_specifier enum_specifier union_specifier type_definition",
        f"{_PREPROCESSOR} linkage_specification declaration_list",
    ),
    "cpp": _grammar(
        "cpp",
        "function_definition preproc_function_def alias_declaration concept_definition",
        "class_specifier struct_specifier enum_specifier union_specifier namespace_definition",
        f"{_PREPROCESSOR} linkage_specification declaration_list field_declaration_list template_declaration",
    ),
    "csharp": _grammar(
        "c_sharp",
        "method_declaration constructor_declaration property_declaration operator_declaration delegate_declaration "
        "indexer_declaration event_declaration local_function_statement",
        "class_declaration interface_declaration struct_declaration enum_declaration record_declaration "
        "namespace_declaration",
        f"{_PREPROCESSOR} declaration_list file_scoped_namespace_declaration",
    ),
    "ruby": _grammar("ruby", "method singleton_method", "class module singleton_class", "body_statement begin"),
    "php": _grammar(
        "php",
        "function_definition method_declaration",
        "class_declaration interface_declaration trait_declaration enum_declaration",
        "declaration_list namespace_definition compound_statement enum_declaration_list",
        "language_php",
    ),
    "swift": _grammar(
        "swift",
        "function_declaration init_declaration deinit_declaration protocol_function_declaration subscript_declaration",
        "class_declaration protocol_declaration",
        "class_body enum_class_body protocol_body",
    ),
    "scala": _grammar(
        "scala",
        "function_definition function_declaration given_definition type_definition",
        "class_definition object_definition trait_definition enum_definition extension_definition package_object",
        "template_body enum_body",
    ),
    "shell": _grammar("bash", "function_definition", "", "compound_statement if_statement"),
    "lua": _grammar("lua", "function_declaration", "", "do_statement block"),
    "elixir": _grammar("elixir", "", "", "do_block"),
    "zig": _grammar(
        "zig", "function_declaration test_declaration", "", "struct_declaration union_declaration enum_declaration"
    ),
    "haskell": _grammar(
        "haskell",
        "function bind signature type_synomym type_family pattern_synonym",
        "data_type newtype class instance",
        "declarations class_declarations instance_declarations",
    ),
}  # fmt: skip
_DATA = {"yaml": "yaml", "toml": "toml", "json": "json"}


@lru_cache(maxsize=32)
def language_of(language: str) -> Language:
    """Return the tree-sitter language."""
    from tree_sitter import Language

    grammar = GRAMMARS.get(language)
    module, entry = (grammar.module, grammar.entry) if grammar else (_DATA[language], "language")
    return Language(getattr(import_module(f"tree_sitter_{module}"), entry)())


@lru_cache(maxsize=32)
def _parser(language: str) -> Parser:
    from tree_sitter import Parser as TreeSitter

    return TreeSitter(language_of(language))


@lru_cache(maxsize=1)  # chunking and references use the same tree, one after the other
def parse(text: str, language: str) -> Tree:
    """Return the syntax tree. Keep it alive as long as its nodes are used."""
    return _parser(language).parse(text.encode("utf-8"))
