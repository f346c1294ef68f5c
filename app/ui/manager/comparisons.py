"""Comparisons of a campaign with other campaigns: the page of one comparison, with tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request, Response

from app.domain.errors import Conflict, Invalid
from app.domain.keys import is_key
from app.reports.inputs.campaign import CampaignInfo
from app.reports.kit import request, store
from app.reports.kit.render import representations
from app.reports.kit.report import Report, StoredReport
from app.reports.kit.request import ReportRequest
from app.services.access.tokens import Caller
from app.services.campaigns import campaigns
from app.services.jobs import report_requests
from app.services.jobs.jobs import JobNotRequested, JobView, get_running_job
from app.services.jobs.report_requests import MOST_CAMPAIGNS
from app.storage.db import Database, Session
from app.ui.access import Reader
from app.ui.manager.charts import make_page_chart
from app.ui.manager.forms import make_form_fields, mark_refused_fields, select_filled_form_values
from app.ui.manager.long_reports import make_start_button_values
from app.ui.manager.page_table import PAGES
from app.ui.manager.pages import render_campaign_page
from app.ui.manager.reports import SHAPES, collect_key_and_name_cells
from app.ui.pages import PageRoute
from app.web.access import CredentialBoundToCampaign, RoleLacksRights
from app.web.deps import CampaignKey, DatabaseDep

AnyKind = Report[Any, Any]
MOST_OFFERED = 300
Beside = Annotated[list[str], Query(alias="with", max_length=MOST_CAMPAIGNS - 1)]

PAGE = PAGES["Comparisons"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get(f"{PAGE.route_pattern}/{{kind}}")
def campaign_comparison_page(
    request: Request,
    caller: Reader,
    campaign: CampaignKey,
    kind: str,
    database: DatabaseDep,
    beside: Beside = [],  # noqa: B006  (pydantic copies it)
) -> Response:
    """One comparison, or the job that makes it; nothing is worked out before it is asked for.

    Raises ReportNotFound, RoleLacksRights, NotFound, and CredentialBoundToCampaign for a credential of one campaign.
    """
    report = report_requests.get_report_kind_by_name(kind, "campaigns")
    if not caller.has_rights_of(report.role):
        raise RoleLacksRights(f"it needs the rights of a {report.role}; yours is {caller.role}")
    if caller.campaign is not None:
        raise CredentialBoundToCampaign
    chosen = [key for key in dict.fromkeys(beside) if is_key(key) and key != campaign]
    given = select_filled_form_values(report.options, request.query_params)
    with database.transaction(snapshot=True) as session:
        about = campaigns.get_campaign(session, campaign)
        others = _others(session, campaign, chosen)
    begun = bool(chosen or given)
    values = {
        "kind": report,
        "others": others,
        "chosen": chosen,
        "fields": make_form_fields(report.options, given),
        "open": not begun,
        "job": None,
        "view": None,
        "why": "",
        "is_refused": False,
    }
    if begun:
        values |= _make_content(database, caller, report, (campaign, *chosen), given)
    page = replace(PAGE, name=report.title, file="comparison")
    return render_campaign_page(request, page, about, caller, values, status=422 if values["is_refused"] else 200)


def _others(session: Session, campaign: str, chosen: list[str]) -> list[CampaignInfo]:
    """Return the campaigns that can be ticked. Raises CampaignNotFound if a ticked one does not exist."""
    by_key = {one.key: one for one in campaigns.list_campaigns(session, after=None, limit=MOST_OFFERED, only=None)}
    by_key |= {key: campaigns.get_campaign(session, key) for key in chosen if key not in by_key}
    return [one for key, one in sorted(by_key.items()) if key != campaign]


def _make_content(
    database: Database, caller: Caller, kind: AnyKind, keys: tuple[str, ...], given: Mapping[str, str]
) -> dict[str, object]:
    try:
        outcome = report_requests.find_or_queue_report(
            database, ReportRequest(kind, keys, request.parse_report_options(kind, given)), ask=get_running_job
        )
    except JobNotRequested:
        return make_start_button_values(_address(kind, "", keys, given))
    except (Invalid, Conflict) as error:
        fields, why = mark_refused_fields(make_form_fields(kind.options, given), error)
        return {"fields": fields, "why": why, "open": True, "is_refused": True}
    if isinstance(outcome, JobView):
        return {"job": outcome, "script": "job"}
    return _make_report_content(caller, kind, outcome, keys, given)


def _make_report_content(
    caller: Caller, kind: AnyKind, report: StoredReport, keys: tuple[str, ...], given: Mapping[str, str]
) -> dict[str, object]:
    """Return tables, picture addresses and download links; nothing about raters unless the caller is a manager."""
    if not caller.has_rights_of("manager"):
        report = store.redact_report_for_viewers(kind, report)
    view = kind.result.model_validate_json(report.body)
    tables = kind.tables(view)
    return {
        "view": view,
        "warnings": view.warnings,
        "tables": tables,
        "keys": collect_key_and_name_cells(tables),
        "caption": kind.caption(view),
        "charts": [
            make_page_chart(
                _address(kind, ".svg", keys, {**given, "picture": name}),
                partial(kind.charts[name], view),
                "" if name == representations.PICTURE else name,
            )
            for name in representations.list_chart_names(kind)
        ],
        "links": [(name, _address(kind, suffix, keys, given)) for name, suffix in SHAPES],
    }


def _address(kind: AnyKind, suffix: str, keys: tuple[str, ...], given: Mapping[str, str]) -> str:
    query = urlencode({"campaigns": ",".join(keys), **given})
    return f"/v1/comparisons/{quote(kind.name)}{suffix}?{query}"
