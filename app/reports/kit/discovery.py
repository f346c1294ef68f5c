"""Which reports there are: every module of a package that holds one `REPORT`."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from app.reports.kit.report import Report


def discover(package: ModuleType) -> Iterator[Report[Any, Any]]:
    """The reports of a package, by the names of their modules; folders and modules with a leading underscore serve."""
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda one: one.name):
        if not module.ispkg and not module.name.startswith("_"):
            yield import_module(f"{package.__name__}.{module.name}").REPORT
