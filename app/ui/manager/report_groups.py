"""Reports by the question that they answer, and why a report does not apply to a campaign."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.protocols.base import Protocol, SpansWidget, TextEditWidget
from app.reports import registry
from app.reports.inputs.campaign import CampaignInfo, find_campaign_protocol
from app.reports.kit.report import Report
from app.services.access.tokens import Caller
from app.services.campaigns.setup import CampaignSetupFacts
from app.ui.messages import mark_translatable

GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (mark_translatable("Ranking and claims"), ("gate", "multiverse", "robustness", "validation", "preferences")),
    (mark_translatable("Stability and study size"), ("stability", "forecast", "power", "components")),
    (
        mark_translatable("Raters and agreement"),
        (
            "agreement",
            "quality",
            "distributions",
            "calibration",
            "rater_groups",
            "composition",
            "timing",
            "revisions",
            "arms",
            "protocols",
        ),
    ),
    (
        mark_translatable("Texts and difficulty"),
        ("disagreements", "difficulty", "document_scores", "mqm2", "postediting"),
    ),
    (mark_translatable("Metrics|reports"), ("metrics",)),
    (mark_translatable("Publication"), ("card", "datasheet")),
)
"""Names of reports by topic, in the order of the page."""
PAGES_OF_THEIR_OWN: Mapping[str, str] = {
    "gate": "/gate",
    "stability": "/stability",
    "quality": "/quality",
    "timing": "/quality",
    "revisions": "/quality",
}


@dataclass(frozen=True, slots=True)
class ReportRequirement:
    """What a report needs from a campaign. why: the message if this is missing."""

    met: Callable[[CampaignSetupFacts, Protocol[Any]], bool]
    why: str


NEEDS: Mapping[str, ReportRequirement] = {
    "preferences": ReportRequirement(
        lambda facts, _: facts.side_by_side, mark_translatable("It needs outputs that raters compared side by side.")
    ),
    "arms": ReportRequirement(lambda facts, _: facts.arms, mark_translatable("It needs a plan with arms.")),
    "metrics": ReportRequirement(
        lambda facts, _: facts.metrics, mark_translatable("It needs scores of automatic metrics.")
    ),
    "mqm2": ReportRequirement(
        lambda _, protocol: any(isinstance(one, SpansWidget) for one in protocol.form),
        mark_translatable("It needs marked errors."),
    ),
    "postediting": ReportRequirement(
        lambda _, protocol: any(isinstance(one, TextEditWidget) for one in protocol.form),
        mark_translatable("It needs post-edits."),
    ),
    "document_scores": ReportRequirement(
        lambda _, protocol: bool(protocol.document_form), mark_translatable("It needs scores of whole documents.")
    ),
}


@dataclass(frozen=True, slots=True)
class OfferedReport:
    """A report on the page. why_not: None if it applies."""

    title: str
    summary: str
    address: str
    long: bool
    why_not: str | None


@dataclass(frozen=True, slots=True)
class ReportGroup:
    """Reports about one topic: those that apply to the campaign, and the others."""

    title: str
    fitting: tuple[OfferedReport, ...]
    others: tuple[OfferedReport, ...]


def list_report_groups(
    campaign: CampaignInfo, facts: CampaignSetupFacts, caller: Caller, base: str
) -> list[ReportGroup]:
    """Return every report of one campaign that the caller may see. base: the address of the campaign's pages."""
    protocol = find_campaign_protocol(campaign)
    groups = []
    for title, names in GROUPS:
        offered = [
            _make_offer(report, facts, protocol, base)
            for report in map(get_campaign_report_kind, names)
            if caller.has_rights_of(report.role)
        ]
        fitting = tuple(report for report in offered if report.why_not is None)
        others = tuple(report for report in offered if report.why_not is not None)
        groups.append(ReportGroup(title, fitting, others))
    return groups


def get_campaign_report_kind(name: str) -> Report[Any, Any]:
    """Return a report of one campaign by its name, with or without routes of its own. Raises KeyError."""
    of_campaign = f"campaign/{name}"
    return (
        registry.WITH_OWN_ROUTES[of_campaign] if of_campaign in registry.WITH_OWN_ROUTES else registry.ALL[of_campaign]
    )


def _make_offer(
    report: Report[Any, Any], facts: CampaignSetupFacts, protocol: Protocol[Any], base: str
) -> OfferedReport:
    need = NEEDS.get(report.name)
    why_not = None if need is None or need.met(facts, protocol) else need.why
    address = base + PAGES_OF_THEIR_OWN.get(report.name, f"/reports/{report.name}")
    return OfferedReport(report.title, report.summary, address, report.long, why_not)
