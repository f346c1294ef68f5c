"""What docstrings name is there: the errors that are raised, and the fields of a class."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

Modules = list[tuple[str, ast.Module]]
Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
RAISED = re.compile(r"Raises? ([^.;]*)")
NAME = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][A-Za-z]*)?\b")
FIELDS = re.compile(r"(?:^|[.;:]\s+|\n\s*)([a-z_][a-z0-9_]*(?:, [a-z_][a-z0-9_]*)*) ?: ")
WORDS = frozenset({"Idempotency", "LinAlgError", "NaN", "Parquet", "Unicode", "WebVTT"})
"""Words after "Raises" that are no errors of ours: of HTTP, of formats, and one of numpy that only docstrings name."""
VALUES = frozenset({"block", "empty", "none", "share"})
"""Values that a field may have, not fields."""


def documented(tree: ast.Module) -> Iterator[tuple[Documented, str]]:
    for node in ast.walk(tree):
        if isinstance(node, Documented) and (text := ast.get_docstring(node)):
            yield node, text


def known_errors(modules: Modules) -> set[str]:
    """Names of classes, of what is imported, and of Python's own."""
    names = set(dir(builtins)) | WORDS
    for _, tree in modules:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.ImportFrom):
                names |= {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.Attribute):
                names.add(node.attr)
    return names


def unknown_errors(modules: Modules, known: set[str]) -> Iterator[str]:
    for module, tree in modules:
        for node, text in documented(tree):
            for sentence in RAISED.finditer(text):
                yield from (f"{module}.{node.name}: {name}" for name in NAME.findall(sentence[1]) if name not in known)


def names_within(scope: ast.ClassDef) -> set[str]:
    """Its fields, parameters and attributes."""
    nodes = list(ast.walk(scope))
    return (
        {node.id for node in nodes if isinstance(node, ast.Name)}
        | {node.arg for node in nodes if isinstance(node, ast.arg)}
        | {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        | {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    )


def unknown_fields(modules: Modules) -> Iterator[str]:
    for module, tree in modules:
        for node, text in documented(tree):
            if isinstance(node, ast.ClassDef):
                told = {name for names in FIELDS.findall(text) for name in names.split(", ")}
                yield from (f"{module}.{node.name}: {name}" for name in sorted(told - names_within(node) - VALUES))


def test_errors_that_docstrings_name_are_there(modules: Modules) -> None:
    assert list(unknown_errors(modules, known_errors(modules))) == []


def test_fields_that_docstrings_of_classes_name_are_there(modules: Modules) -> None:
    assert list(unknown_fields(modules)) == []


def test_a_renamed_error_and_a_renamed_field_are_seen() -> None:
    pair = 'class Pair:\n    """Two. first: the better one; n: ratings."""\n    first: int\n'
    rate = 'def rate(pair):\n    """It. Raises Late."""\n'
    modules = [("m", ast.parse(pair + rate))]
    assert list(unknown_fields(modules)) == ["m.Pair: n"]
    assert list(unknown_errors(modules, known_errors(modules))) == ["m.rate: Late"]
