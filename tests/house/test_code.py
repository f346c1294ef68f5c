"""Habits of the code that neither the linter nor the import contracts can see."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import quantiles

import pytest

from tests.house.trees import nodes

LONGEST_FILE = 600
"""A backstop: a file is split where an idea ends, never to get under a number."""
USUAL_FUNCTION = 25  # lines, for nine in ten
COMMITTERS = {
    "app/storage/db.py",
    "app/storage/migrate.py",
    "app/storage/organization_schemas.py",
    "app/storage/recorder/answer_recorder.py",
}
JUNK_DRAWERS = {"utils.py", "util.py", "helpers.py", "common.py", "misc.py"}

Check = Callable[[ast.Module], Iterator[ast.AST]]


def swallowed(tree: ast.Module) -> Iterator[ast.AST]:
    """Handlers of every exception there is, unless they clean up and raise it again."""
    for node in nodes(tree):
        if isinstance(node, ast.ExceptHandler):
            named = {name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)} if node.type else {"all"}
            if named & {"Exception", "all"} or ("BaseException" in named and not _raises_again(node)):
                yield node


def _raises_again(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def commits(tree: ast.Module) -> Iterator[ast.AST]:
    """Calls of a method `commit`; a function of that name in an imported module is another thing."""
    imported = {
        name.asname or name.name.split(".")[0]
        for node in nodes(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    for node in nodes(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="commit")) if owner in imported:
                continue
            case ast.Call(func=ast.Attribute(attr="commit")):
                yield node


def branches_on_protocol(tree: ast.Module) -> Iterator[ast.AST]:
    """Comparisons of a protocol, or its name, with a literal: a protocol's module says what is special about it."""
    for node in nodes(tree):
        if isinstance(node, ast.Compare) and any(_is_protocol(side) for side in (node.left, *node.comparators)):
            if any(_is_literal(side) for side in (node.left, *node.comparators)):
                yield node
        elif isinstance(node, ast.Match) and _is_protocol(node.subject):
            yield node


def _is_protocol(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in {"protocol", "protocol_name"}:
            return True
        case ast.Attribute(value=inner, attr="name"):
            return _is_protocol(inner)
    return False


def _is_literal(node: ast.AST) -> bool:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(_is_literal(element) for element in node.elts)
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


@pytest.mark.parametrize(
    ("check", "allowed"), [(swallowed, set()), (commits, COMMITTERS), (branches_on_protocol, set())]
)
def test_the_code_keeps_its_habits(check: Check, allowed: set[str], modules: list[tuple[str, ast.Module]]) -> None:
    found = [
        f"{name}:{getattr(node, 'lineno', 0)}" for name, tree in modules if name not in allowed for node in check(tree)
    ]
    assert not found


@pytest.mark.parametrize(
    ("check", "offence"),
    [
        (swallowed, "try:\n    f()\nexcept Exception:\n    pass"),
        (swallowed, "try:\n    f()\nexcept (OSError, Exception) as error:\n    raise Broken from error"),
        (swallowed, "try:\n    f()\nexcept:\n    raise"),
        (swallowed, "try:\n    f()\nexcept BaseException:\n    log()"),
        (commits, "session.commit()"),
        (commits, "def f(session): session.connection().commit()"),
        (branches_on_protocol, "if campaign.protocol == 'mqm': pass"),
        (branches_on_protocol, "x = 1 if 'da' != protocol.name else 2"),
        (branches_on_protocol, "if protocol in ('da', 'sqm'): pass"),
        (branches_on_protocol, "match protocol:\n    case 'mqm': pass"),
    ],
)
def test_each_check_sees_what_it_refuses(check: Check, offence: str) -> None:
    assert list(check(ast.parse(offence)))


@pytest.mark.parametrize(
    ("check", "harmless"),
    [
        (swallowed, "try:\n    f()\nexcept BaseException:\n    close()\n    raise"),
        (swallowed, "try:\n    f()\nexcept OSError:\n    pass"),
        (commits, "from app.services.data import imports\nimports.commit(database)"),
        (commits, "commit(import_id)"),
        (branches_on_protocol, "if protocol == campaign.protocol: pass"),
    ],
)
def test_each_check_lets_through_what_is_right(check: Check, harmless: str) -> None:
    assert not list(check(ast.parse(harmless)))


def test_no_file_is_a_junk_drawer(files: list[Path]) -> None:
    assert not [str(path) for path in files if path.name in JUNK_DRAWERS]


def test_no_file_is_longer_than_one_idea(repository: Path, files: list[Path]) -> None:
    long = {
        str(path): lines
        for path in files
        if path.suffix in {".py", ".js", ".html", ".css"}
        and path.parts[0] != "migrations"
        and (lines := len((repository / path).read_text(encoding="utf-8").splitlines())) > LONGEST_FILE
    }
    assert not long


def test_nine_functions_in_ten_are_short(modules: list[tuple[str, ast.Module]]) -> None:
    lengths = [
        node.end_lineno - node.body[0].lineno + 1
        for _, tree in modules
        for node in nodes(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    ]
    assert quantiles(lengths, n=10)[-1] < USUAL_FUNCTION
