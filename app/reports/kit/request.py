"""A request for a report: its campaigns and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from app.domain.errors import Invalid, Place
from app.reports.kit.report import Report

Over = Literal["campaign", "campaigns"]


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """A report, with the campaigns and options it is requested for.

    as_of: a data version, or a time, which selects each campaign's last version by then.
    """

    report: Report[Any, Any]
    campaigns: tuple[str, ...]
    options: BaseModel
    as_of: int | datetime | None = None


def parse_report_options(report: Report[Any, Any], values: Mapping[str, object], *, place: str = "query") -> BaseModel:
    """Parse the options of a report from names and values. Raises Invalid, naming every wrong one."""
    unknown = [
        Place((place, name), _explain_unknown_option(report))
        for name in values
        if name not in report.options.model_fields
    ]
    if unknown:
        raise Invalid(f"the {place} is not valid", places=tuple(unknown[:20]))
    try:
        options: BaseModel = report.options.model_validate(values)
    except ValidationError as error:
        places = [Place((place, *map(str, each["loc"])), each["msg"]) for each in error.errors()[:20]]
        raise Invalid(f"the {place} is not valid", places=tuple(places)) from None
    return options


def _explain_unknown_option(report: Report[Any, Any]) -> str:
    known = ", ".join(report.options.model_fields)
    return f"unknown; there are: {known}" if known else "there are none here"


def list_report_campaigns(report: Report[Any, Any], campaigns: Sequence[str], options: BaseModel) -> tuple[str, ...]:
    """Return all campaigns that a report reads, each once: those that it covers and those that its options name."""
    others = () if report.other_campaigns is None else report.other_campaigns(options)
    return tuple(dict.fromkeys((*campaigns, *others)))
