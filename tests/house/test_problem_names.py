"""Names of problems stay when classes are renamed: clients tell problems apart by them.

`problem_names.txt` lists the names that answers have had. A new problem may be added there; none goes.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import app
from app.domain.errors import AppError

NAMES = Path(__file__).with_name("problem_names.txt")


def errors(kind: type[AppError] = AppError) -> Iterator[type[AppError]]:
    """Every class of errors, of all modules."""
    for child in kind.__subclasses__():
        yield child
        yield from errors(child)


def test_no_problem_loses_its_name() -> None:
    for module in pkgutil.walk_packages(app.__path__, "app."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    names = {re.sub(r"(?<!^)(?=[A-Z])", "-", kind.name()).lower() for kind in errors()}
    assert set(NAMES.read_text(encoding="utf-8").split()) - names == set()


def test_a_name_of_its_own_is_not_inherited() -> None:
    class Published(AppError):
        """A problem."""

        published = "Earlier"

    class Child(Published):
        """Another."""

    assert (Published.name(), Child.name()) == ("Earlier", "Child")
