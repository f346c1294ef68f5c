"""Every regular expression of the package as it is used, and the worst texts for it, made from its own parts."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import log
from pathlib import Path
from re import _constants as parts  # type: ignore[attr-defined]  # the standard library's own parser
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

import app

USES = ("match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split")
AS_USED = {"findall": "finditer", "sub": "finditer", "subn": "finditer", "split": "finditer"}
FOREIGN = "\x01"  # that no pattern names
TRIAL = 1 << 9  # characters with which the worst texts are looked for
SIZES = (1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16)
FINALISTS = 3  # texts of each pattern that are tried at all sizes
SHORT = 24  # characters with which those are found that would never end
UNHURRIED = 0.1  # seconds of processor time at one size, after which no larger one is tried
CLEAR = 0.002  # seconds at the largest size that nobody could tell from none
EXPONENT = 1.5  # between a linear and a quadratic one


@dataclass(frozen=True)
class Used:
    """A pattern and how it is used. place: module and line."""

    pattern: re.Pattern[Any]
    use: str
    place: str


def modules() -> dict[str, ModuleType]:
    """Every module of the package, by its file as the repository names it."""
    found = pkgutil.walk_packages(app.__path__, "app.")
    imported = [importlib.import_module(one.name) for one in found if not one.name.endswith("__main__")]
    root = Path(app.__path__[0]).parent
    return {Path(str(module.__file__)).relative_to(root).as_posix(): module for module in imported}


def used(module: ModuleType, nodes: Sequence[ast.AST]) -> Iterator[Used]:
    """The patterns of a module: those that it keeps, wherever in it, and those that it writes where it uses them.

    nodes: of its source.
    """
    attributes = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr in USES]
    # A pattern in a table is used under another name; texts can be split and substituted as well, so that says nothing.
    others = {one.attr for one in attributes if one.attr in USES[:5] and ast.unparse(one.value) not in vars(module)}
    for name, value in vars(module).items():
        for pattern in kept(value):
            own = {one.attr for one in attributes if ast.unparse(one.value).split("[")[0].endswith(name)}
            for use in {AS_USED.get(one, one) for one in own or others or {"search"}}:
                yield Used(pattern, use, f"{module.__name__}.{name}")
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        match call.func:
            case ast.Attribute(value=ast.Name(id="re"), attr=use) if use in USES:
                yield Used(written(call, module), AS_USED.get(use, use), f"{module.__name__}:{call.lineno}")


def kept(value: object, seen: set[int] | None = None) -> Iterator[re.Pattern[Any]]:
    """The patterns in a value of a module."""
    seen = set() if seen is None else seen
    inner: Iterable[object] = ()
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        inner = value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        inner = value
    elif isinstance(value, type) and value.__module__.startswith("app."):
        inner = [one for one in vars(value).values() if isinstance(one, re.Pattern | dict | tuple)]
    for one in inner:
        yield from kept(one, seen)


def written(call: ast.Call, module: ModuleType) -> re.Pattern[Any]:
    """The pattern of a call such as `re.sub("…", …)`. Words that only the call knows stand for themselves."""
    names: dict[str, Any] = dict(vars(module))
    try:
        return re.compile(eval(ast.unparse(call.args[0]), names))  # noqa: S307  (our own source)
    except NameError:
        assert isinstance(call.args[0], ast.JoinedStr), ast.unparse(call)
        said = [
            eval(ast.unparse(ast.JoinedStr([part])), names) if _known(part, names) else "ab|a"  # noqa: S307
            for part in call.args[0].values
        ]
        return re.compile("".join(said))


def _known(part: ast.expr, names: dict[str, Any]) -> bool:
    wanted = {node.id for node in ast.walk(part) if isinstance(node, ast.Name)}
    return wanted <= set(names)


def letters(pattern: re.Pattern[Any]) -> list[str]:
    """A character or two for each thing that a pattern names, and one that it does not."""
    found: dict[str, None] = {}

    def look(tree: Any) -> None:
        for op, value in tree:
            if op in (parts.LITERAL, parts.NOT_LITERAL):
                found[chr(value)] = None
            elif op is parts.RANGE:
                found[chr(value[0])] = None
            elif op is parts.CATEGORY:
                found[{"DIGIT": "1", "SPACE": " ", "WORD": "a"}[str(value).rsplit("_", 1)[-1]]] = None
            elif op is parts.IN:
                look(value)
            else:
                for inner in _inner(value):
                    look(inner)

    look(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    return [*found, FOREIGN]


def _inner(value: Any) -> Iterator[Any]:
    """The patterns within a part of a pattern."""
    if isinstance(value, parser.SubPattern):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _inner(one)


def literals(pattern: re.Pattern[Any]) -> list[str]:
    """Runs of plain characters within a pattern, such as the word that it begins with."""
    found: dict[str, None] = {}

    def look(tree: Any) -> None:
        run = ""
        for op, value in [*tree, (None, None)]:
            if op is parts.LITERAL:
                run += chr(value)
                continue
            found[run] = None
            run = ""
            for inner in _inner(value):
                look(inner)

    look(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    return [run for run in found if len(run) > 1]


Text = Callable[[int], Any]


def texts(pattern: re.Pattern[Any], *, most: int = 7) -> Iterator[Text]:
    """Long texts of a few characters of a pattern again and again, with something before and something after.

    most: letters that are tried; of more, those that come first and last.
    """
    there = letters(pattern)
    there = there if len(there) <= most else [*there[: most - 2], *there[-2:]]
    words = literals(pattern)
    again = [*there, *(a + b for a, b in product(there, there) if a != b), *words]
    begins = ["", *there, *words, *(word + letter for word in words for letter in there)][:12]
    for before, pump, after in product(begins, again, ("", FOREIGN, there[0])):
        yield _text(pattern, before, pump, after)


def _text(pattern: re.Pattern[Any], before: str, pump: str, after: str) -> Text:
    def text(size: int) -> Any:
        said = before + pump * (size // len(pump)) + after
        return said.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else said

    return text


def seconds(one: Used, text: Text, size: int, *, runs: int = 3) -> float:
    """Processor time that a text of a size takes, at least."""
    given = text(size)
    find = getattr(one.pattern, one.use)

    def run() -> None:
        found = find(given)
        if one.use == "finditer":
            for _ in found:
                pass

    return processor(run, runs=runs)


def processor(run: Callable[[], None], *, runs: int = 3) -> float:
    """Seconds of processor time that something takes, at least."""
    best = float("inf")
    for _ in range(runs):
        started = time.process_time_ns()
        run()
        best = min(best, (time.process_time_ns() - started) / 1e9)
        if best > UNHURRIED:
            break
    return best


def worst(one: Used) -> list[Text]:
    """The texts that take a pattern longest."""
    for text in texts(one.pattern):
        if seconds(one, text, SHORT, runs=1) > UNHURRIED:
            return [text]
    timed = []
    for n, text in enumerate(texts(one.pattern)):
        timed.append((seconds(one, text, TRIAL, runs=1), n, text))
        if timed[-1][0] > UNHURRIED / 4:
            break
    return [text for _, _, text in sorted(timed)[-FINALISTS:]]


def growth(one: Used, text: Text) -> float:
    """The exponent with which the time of a pattern grows with a text."""
    return exponent(lambda size: seconds(one, text, size))


def exponent(takes: Callable[[int], float]) -> float:
    """The power with which a time grows, between the first size that takes measurable time and the last tried."""
    taken: list[tuple[int, float]] = []
    for size in (SHORT, *SIZES):
        taken.append((size, takes(size)))
        if taken[-1][1] > UNHURRIED:
            break
    if taken[-1][1] < CLEAR:
        return 0.0
    (small, first), (large, last) = taken[0], taken[-1]
    if large == small:
        return float("inf")
    return log(last / max(first, 1e-6)) / log(large / small)


def nested(pattern: re.Pattern[Any]) -> bool:
    """Whether a repeat without a bound that may give back what it took holds another such."""

    def look(tree: Any, *, within: bool) -> bool:
        for op, value in tree:
            free = op in (parts.MAX_REPEAT, parts.MIN_REPEAT) and value[1] is parts.MAXREPEAT
            if free and within:
                return True
            kept_apart = op in (parts.POSSESSIVE_REPEAT, parts.ATOMIC_GROUP)
            if any(look(inner, within=not kept_apart and (within or free)) for inner in _inner(value)):
                return True
        return False

    return look(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG), within=False)
