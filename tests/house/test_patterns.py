"""No text, however it is made, takes a regular expression of the package longer than its length says.

Nor does a file of JSON that comes in small blocks, in which what was read may be read again.
"""

from __future__ import annotations

import ast
import io
import re
from contextlib import suppress

import pytest

from app.domain.errors import Invalid
from app.formats.base import InputFile, ReaderLimits, ReadLog
from app.formats.kit import reading as _reading
from app.formats.kit.json_stream import stream_json_values
from tests.house import patterns
from tests.house.patterns import EXPONENT, Used
from tests.house.trees import nodes

NESTED = r"(?:a+b?)+c"
KNOWN_BAD = [  # as they were; one in every run
    (r"(?P<document>(.+?_#_){2}.+)_#_(?P<index>[0-9]{1,6})", "fullmatch"),
    pytest.param(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', "finditer", marks=pytest.mark.soak),
    pytest.param(r"<(/?)([A-Za-z][\w:-]*)[^<>]*?(/?)>", "finditer", marks=pytest.mark.soak),
    pytest.param(NESTED, "fullmatch", marks=pytest.mark.soak),
]


def worst_growth(one: Used) -> float:
    """The exponent with which the time of the worst text found grows with its length."""
    return max(patterns.growth(one, text) for text in patterns.worst(one))


@pytest.fixture(scope="module")
def everything(modules: list[tuple[str, ast.Module]]) -> dict[tuple[str | bytes, int, str], Used]:
    """Each pattern and use of the package, once."""
    trees, imported = dict(modules), patterns.modules()
    assert len(imported) > 400
    found = [one for name, module in imported.items() for one in patterns.used(module, nodes(trees[name]))]
    return {(one.pattern.pattern, one.pattern.flags, one.use): one for one in found}


def test_every_pattern_grows_linearly(everything: dict[tuple[str | bytes, int, str], Used]) -> None:
    # Once more, where the machine stood still for a moment: what is not linear is so each time.
    grown = {one: growth for one in everything.values() if (growth := worst_growth(one)) > EXPONENT}
    again = {f"{one.place} ({one.use}): {one.pattern.pattern!r}": worst_growth(one) for one in grown}
    assert [f"{place} grows with the power {power:.1f}" for place, power in again.items() if power > EXPONENT] == []


def test_patterns_are_found_wherever_they_are_written(
    everything: dict[tuple[str | bytes, int, str], Used],
) -> None:
    """Compiled in a module, in a table of a module, and written where they are used."""
    places = {(one.place.split(":")[0], one.use) for one in everything.values()}
    assert {
        ("app.domain.strict_json._TEXT_OR_BRACKET", "finditer"),
        ("app.formats.mtme.format.ROLES", "fullmatch"),
        ("app.reports.kit.redact", "finditer"),
        ("app.web.problems", "finditer"),
    } <= places
    assert len(everything) > 40


@pytest.mark.parametrize(("pattern", "use"), KNOWN_BAD)
def test_what_was_not_linear_is_noticed(pattern: str, use: str) -> None:
    """The negative control."""
    assert worst_growth(Used(re.compile(pattern), use, "here")) > EXPONENT


def test_no_repeat_without_bound_holds_another(everything: dict[tuple[str | bytes, int, str], Used]) -> None:
    """Unless what was taken stays taken (possessive, atomic): else each division of a text is tried."""
    assert [one.place for one in everything.values() if patterns.nested(one.pattern)] == []
    assert patterns.nested(re.compile(NESTED))
    assert not patterns.nested(re.compile(r"(?:a++b?)++c"))


COUNTED = re.compile(r"(?:\\[dws]|\[\^[^\]]*\]|\[[^\]]*\\[dws][^\]]*\])\{\d+,\d*\}")


def test_no_pattern_of_a_model_counts_repeats_of_a_large_class(modules: list[tuple[str, ast.Module]]) -> None:
    r"""The engine of models writes such a class out for each repeat: 200 numbers of `\d{1,6}` took 11 MB.

    A longest length says the same without the memory.
    """
    written = {
        f"{name}: {node.value}"
        for name, tree in modules
        for node in nodes(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("^")
    }
    assert len(written) > 40
    assert [place for place in sorted(written) if COUNTED.search(place)] == []
    assert COUNTED.search(r"^\d{1,6}(,\d{1,6}){0,199}$")


WORST = [
    ('["', "a"),
    ('["', "\\\\"),
    ("[ ", " "),
    ("[1", "[]"),
    ('{"b":1', "[]"),
    ('[{"a":[', "{},"),
]
"""What a file of JSON begins with, and what then comes again and again without an end."""


@pytest.mark.parametrize(("begin", "again"), WORST)
def test_a_file_of_json_grows_linearly_however_small_its_blocks(
    begin: str, again: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def takes(size: int) -> float:
        body = (begin + again * (size // len(again))).encode()

        def read() -> None:
            with suppress(Invalid):
                for _ in stream_json_values(
                    InputFile("f", lambda: io.BytesIO(body)), ReaderLimits(), ReadLog(skip_bad_lines=True)
                ):
                    pass

        return patterns.processor(read, runs=2)

    monkeypatch.setattr(_reading, "BLOCK", 64)
    assert min(patterns.exponent(takes) for _ in range(2)) <= EXPONENT
