"""Kinds of report, discovered: every module here without a leading underscore holds one `REPORT`."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from app.reports.kit.report import Report


def _discover() -> Mapping[str, Report[Any, Any]]:
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    found: list[Report[Any, Any]] = [import_module(f"{__name__}.{name}").REPORT for name in names]
    return MappingProxyType({f"{kind.over}/{kind.name}": kind for kind in sorted(found, key=lambda k: k.name)})


ALL: Mapping[str, Report[Any, Any]] = _discover()
"""By `campaign/NAME` and `campaigns/NAME`: a report and a comparison may share a name."""
