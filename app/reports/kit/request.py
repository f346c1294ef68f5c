"""What is asked of a report: about which campaigns, with which options."""

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
    """A kind of report, about which campaigns, and the question.

    as_of: a data version, or a time for each campaign's last version by then.
    """

    kind: Report[Any, Any]
    campaigns: tuple[str, ...]
    asked: BaseModel
    as_of: int | datetime | None = None


def parse_options(kind: Report[Any, Any], given: Mapping[str, object], *, place: str = "query") -> BaseModel:
    """The question in names and values. Raises Invalid, naming each that is wrong."""
    unknown = [Place((place, name), _there_are(kind)) for name in given if name not in kind.asked.model_fields]
    if unknown:
        raise Invalid(f"the {place} is not valid", places=tuple(unknown[:20]))
    try:
        asked: BaseModel = kind.asked.model_validate(given)
    except ValidationError as error:
        places = [Place((place, *map(str, each["loc"])), each["msg"]) for each in error.errors()[:20]]
        raise Invalid(f"the {place} is not valid", places=tuple(places)) from None
    return asked


def _there_are(kind: Report[Any, Any]) -> str:
    known = ", ".join(kind.asked.model_fields)
    return f"unknown; there are: {known}" if known else "there are none here"


def campaigns_of(kind: Report[Any, Any], campaigns: Sequence[str], asked: BaseModel) -> tuple[str, ...]:
    """All campaigns that a report reads, each once: those that it is over, and those that its question names."""
    also = () if kind.also is None else kind.also(asked)
    return tuple(dict.fromkeys((*campaigns, *also)))
