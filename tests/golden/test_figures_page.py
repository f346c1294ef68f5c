"""The page on published figures is complete: every figure of the files stands there once, every named test exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.golden.asking import GOLDEN
from tests.spine import expected

pytestmark = GOLDEN
HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "published-figures.md"
FILES = (
    "esa_rankings.json",
    "esa_wmt23.json",
    "agreement_sxs2023.json",
    "agreement_wmt23_zhen_8raters.json",
    "calibration_wmt22.json",
    "qc_mturk2021.json",
)


@dataclass(frozen=True)
class Line:
    """A row of the page. met: whether it says which test meets the figures, in `says`."""

    file: str
    met: bool
    pattern: str
    says: str

    def takes(self, figure: str) -> bool:
        text = re.escape(self.pattern).replace(r"\*\*", ".+").replace(r"\*", "[^/]+")
        text = re.sub(r"\\{(.*?)\\}", lambda found: f"(?:{found[1].replace(',', '|')})", text)
        return re.fullmatch(text, figure) is not None


def lines() -> list[Line]:
    """The rows of the page, one for each pattern."""
    found, file, met = [], "", True
    for text in PAGE.read_text(encoding="utf-8").splitlines():
        if text.startswith("## "):
            met = text == "## Met"
        elif text.startswith("### "):
            file = text.removeprefix("### ")
        elif text.startswith("| `"):
            cells = [cell.strip() for cell in text.strip("|").split("|")]
            found += [Line(file, met, pattern, cells[-1]) for pattern in re.findall(r"`([^`]+)`", cells[0])]
    return found


def figures(plain: Any, *at: str) -> Iterator[str]:
    """Addresses of all values that a file holds."""
    if isinstance(plain, dict | list):
        inner = plain.items() if isinstance(plain, dict) else enumerate(plain)
        for name, value in inner:
            yield from figures(value, *at, str(name))
    else:
        yield "/".join(at)


@pytest.mark.parametrize("file", FILES)
def test_every_figure_stands_on_the_page_once_and_every_row_has_some(file: str) -> None:
    rows = [line for line in lines() if line.file == file]
    used = set()
    for figure in figures(expected(file)):
        left = [line for line in rows if not line.met and line.takes(figure)]
        fits = left or [line for line in rows if line.takes(figure)]
        assert len(fits) == 1, (figure, fits)
        used |= {fits[0]}
    assert used == set(rows)


def test_every_test_that_is_named_exists() -> None:
    named = {line.says.strip("`") for line in lines() if line.met}
    assert len(named) > 20
    for name in named:
        path, *inside = name.split("::")
        held = ast.parse((HERE / path).read_text(encoding="utf-8")).body
        for part in inside:
            (found,) = [one for one in held if getattr(one, "name", None) == part]
            held = getattr(found, "body", [])


def test_a_figure_that_no_row_names_is_seen() -> None:
    """Negative control."""
    assert not [line for line in lines() if line.takes("protocols/ESA-1/kappa")]
    row = Line("", met=True, pattern="a/{b,c}/*", says="")
    assert row.takes("a/c/d")
    assert not row.takes("a/c/d/e")
