"""All reports by address: those of `app.reports`, and those here, one `REPORT` in each module without an underscore."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app import reports
from app.reports.kit.discovery import discover
from app.reports.kit.report import Report


def _all() -> Mapping[str, Report[Any, Any]]:
    found = [*discover(reports), *discover(sys.modules[__name__])]
    return MappingProxyType({f"{one.over}/{one.name}": one for one in sorted(found, key=lambda one: one.name)})


ALL: Mapping[str, Report[Any, Any]] = _all()
"""By `campaign/NAME` and `campaigns/NAME`: a report and a comparison may share a name."""
