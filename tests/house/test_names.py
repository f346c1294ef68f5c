"""Names say what they hold: no class name twice, no bare participle, no `found` or `one` beyond a comprehension."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.house.trees import nodes

Modules = list[tuple[str, ast.Module]]
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
VAGUE = frozenset({"found", "one"})
# Past participles that end otherwise than in -ed; words that end so and are none.
IRREGULAR = re.compile(
    "begun|bought|bound|chosen|cut|dealt|done|drawn|found|given|held|hidden|kept|known|laid|left|lost|made|met|put|said|"
    "seen|sent|set|shown|spoken|spread|taken|told|won|written"
)
NOT_PAST = re.compile("bed|embed|feed|need|red|seed|shed|speed")
TERMS = frozenset({"crossed", "paired", "put", "unpaired", "unauthorized"})
"""Participles that are terms: of statistics (factors, tests), and of HTTP."""
PUBLISHED = frozenset({"Left"})
"""Names of schemas in the released interface, which clients know."""


def is_participle(name: str) -> bool:
    """Whether a name, public or private, is one word, and that a past participle."""
    name = name.lstrip("_")
    if any(letter.isupper() for letter in name[1:]):
        return False
    word = name.lower()
    return (
        "_" not in word
        and word not in TERMS
        and name not in PUBLISHED
        and (bool(IRREGULAR.fullmatch(word)) or (word.endswith("ed") and not NOT_PAST.fullmatch(word)))
    )


def vague(scope: ast.AST) -> Iterator[str]:
    """Names of a function that say nothing and outlive a comprehension."""
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, (*COMPREHENSIONS, *SCOPES)):
            continue
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store) and child.id in VAGUE:
            yield child.id
        if isinstance(child, ast.arg) and child.arg in VAGUE:
            yield child.arg
        yield from vague(child)


def test_every_class_has_a_name_of_its_own(modules: Modules) -> None:
    places: dict[str, list[str]] = {}
    for name, tree in modules:
        for node in nodes(tree):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(name)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_name_is_a_bare_participle(modules: Modules) -> None:
    names = [(name, name.rpartition("/")[2].removesuffix(".py")) for name, _ in modules]
    names += [(name, node.name) for name, tree in modules for node in tree.body if isinstance(node, SCOPES)]
    assert [place for place in names if is_participle(place[1])] == []


def test_found_and_one_do_not_outlive_a_comprehension(modules: Modules) -> None:
    functions = (
        (name, node)
        for name, tree in modules
        for node in nodes(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    assert [(name, node.name, word) for name, node in functions for word in vague(node)] == []


@pytest.mark.parametrize(
    ("name", "bare"),
    [("told", True), ("Asked", True), ("_shown", True), ("seed", False), ("kept_rows", False), ("NotAsked", False)],
)
def test_what_a_participle_is(name: str, bare: bool) -> None:
    assert is_participle(name) is bare


def test_what_outlives_a_comprehension() -> None:
    tree = ast.parse("def f(one):\n    found = [one for one in x]\n    return [found for found in y]\n")
    assert sorted(vague(tree.body[0])) == ["found", "one"]
