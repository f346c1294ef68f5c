"""The protocol of one campaign, judged by the criteria for comparing several: discrimination, agreement, cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.reports.kit.report import Report
from app.reports.protocols.report import EXAMPLE, ProtocolComparisonOptions
from app.reports.protocols.report import REPORT as SEVERAL
from app.reports.protocols.view import ProtocolComparisonView

OF_ONE: dict[str, Any] = {**EXAMPLE, "campaigns": {"esa": 4}, "bridges": []}
REPORT: Report[ProtocolComparisonOptions, ProtocolComparisonView] = replace(
    SEVERAL,
    title="Performance of the protocol",
    summary="Separation of human and machine translations, agreement and time of one campaign's protocol.",
    example=OF_ONE,
    over="campaign",
)
