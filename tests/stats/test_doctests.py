"""The examples in the docstrings of the statistics are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import app.domain
import app.stats

MODULES = [
    f"{package.__name__}.{module.name}"
    for package in (app.stats, app.domain)
    for module in pkgutil.iter_modules(package.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_every_example_gives_what_it_says(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_ranking_does_not_import_slow_libraries() -> None:
    code = "import sys, app.stats.ranking; print([m for m in ('scipy.stats', 'matplotlib') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
