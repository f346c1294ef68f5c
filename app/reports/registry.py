"""All reports by name, found automatically: every module below `app.reports` that contains a `REPORT`."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any

import app.reports
from app.reports.kit.report import Report

MECHANISM = frozenset({"kit", "inputs", "registry"})


def _discover(package: ModuleType) -> Iterator[Report[Any, Any]]:
    for module in pkgutil.iter_modules(package.__path__):
        if module.name in MECHANISM:
            continue
        loaded = import_module(f"{package.__name__}.{module.name}")
        if module.ispkg:
            yield from _discover(loaded)
        elif "REPORT" in vars(loaded):
            yield loaded.REPORT


def _by_name(*, own_routes: bool) -> Mapping[str, Report[Any, Any]]:
    reports = sorted(_discover(app.reports), key=lambda report: report.name)
    wanted = [report for report in reports if report.own_routes == own_routes]
    return MappingProxyType({f"{report.over}/{report.name}": report for report in wanted})


ALL: Mapping[str, Report[Any, Any]] = _by_name(own_routes=False)
"""Reports offered by name, as `campaign/NAME` and `campaigns/NAME`; the two kinds may share a name."""
WITH_OWN_ROUTES: Mapping[str, Report[Any, Any]] = _by_name(own_routes=True)
"""Reports with their own routes."""
