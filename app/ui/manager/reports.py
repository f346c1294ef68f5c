"""Reports of a campaign: one page for every kind and for the gate; for a long report, it shows the job."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request, Response

from app.domain.errors import Conflict, Invalid
from app.reports.gate.report import REPORT as GATE
from app.reports.gate.view import VERDICTS, GateView, make_claim_sentence
from app.reports.kit import store
from app.reports.kit.render import representations
from app.reports.kit.report import Report, StoredReport, TableSection
from app.reports.kit.request import ReportRequest, list_report_campaigns, parse_report_options
from app.services.access.tokens import Caller
from app.services.campaigns import campaigns
from app.services.data.test_set_views import list_systems
from app.services.jobs import report_requests
from app.services.jobs.jobs import JobNotRequested, JobView, get_running_job
from app.storage.campaigns import CampaignNotFound
from app.storage.db import Database
from app.ui.access import Reader
from app.ui.manager.charts import make_page_chart
from app.ui.manager.forms import make_form_fields, mark_refused_fields, select_filled_form_values
from app.ui.manager.long_reports import make_start_button_values
from app.ui.manager.page_table import PAGES, ManagerPageDefinition
from app.ui.manager.pages import render_campaign_page
from app.ui.messages import choose_request_language
from app.ui.pages import PageRoute
from app.web.access import RoleLacksRights, require_visible_campaigns
from app.web.deps import CampaignKey, DatabaseDep
from app.web.rater_naming_rights import check_may_specify_raters

AnyKind = Report[Any, Any]
MOST_SYSTEMS = 1000
"""The most systems that a field suggests."""
SHAPES = (("CSV", ".csv"), ("LaTeX", ".tex"), ("Markdown", ".md"), ("SVG", ".svg"), ("JSON", ""))

PAGE = PAGES["Reports"]
GATE_PAGE = PAGES["Gate"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get(f"{PAGE.route_pattern}/{{kind}}")
def report_page(request: Request, caller: Reader, campaign: CampaignKey, kind: str, database: DatabaseDep) -> Response:
    """One report, the job that makes it, or the button that begins one."""
    wanted = report_requests.get_report_kind_by_name(kind)
    if not caller.has_rights_of(wanted.role):
        raise RoleLacksRights(f"it needs the rights of a {wanted.role}; yours is {caller.role}")
    address = f"/v1/campaigns/{quote(campaign, safe='')}/reports/{quote(kind)}"
    page = replace(PAGE, name=wanted.title, file="report")
    return _page(request, page, caller, campaign, database, wanted, address, begun=True)


@router.get(GATE_PAGE.route_pattern)
def gate_claim_page(request: Request, caller: Reader, campaign: CampaignKey, database: DatabaseDep) -> Response:
    """One claim about two systems; nothing is worked out before they are named."""
    begun = "candidate" in request.query_params
    address = f"/v1/campaigns/{quote(campaign, safe='')}/gate"
    return _page(request, GATE_PAGE, caller, campaign, database, GATE, address, begun=begun)


def _page(
    request: Request,
    page: ManagerPageDefinition,
    caller: Caller,
    campaign: str,
    database: Database,
    kind: AnyKind,
    address: str,
    *,
    begun: bool,
) -> Response:
    with database.transaction(snapshot=True) as session:
        about = campaigns.get_campaign(session, campaign)
        systems = [one.key for one in list_systems(session, campaign, after=None, limit=MOST_SYSTEMS)]
    given = select_filled_form_values(kind.options, request.query_params, choose_request_language(request))
    check_may_specify_raters(caller, kind, given)
    values = {
        "kind": kind,
        "fields": make_form_fields(kind.options, given),
        "open": not begun,
        "systems": systems,
        "job": None,
        "view": None,
        "why": "",
    }
    if not begun:
        return render_campaign_page(request, page, about, caller, values)
    try:
        question = parse_report_options(kind, given)
        read = require_visible_campaigns(caller, list_report_campaigns(kind, (campaign,), question))
        outcome = report_requests.find_or_queue_report(
            database, ReportRequest(kind, read, question), ask=get_running_job
        )
    except JobNotRequested:
        return render_campaign_page(
            request, page, about, caller, {**values, **make_start_button_values(_at(address, "", given))}
        )
    except (CampaignNotFound, Conflict, Invalid) as error:
        fields, why = mark_refused_fields(make_form_fields(kind.options, given), error)
        failed = {**values, "fields": fields, "why": why, "open": True}
        return render_campaign_page(request, page, about, caller, failed, status=422)
    if isinstance(outcome, JobView):
        return render_campaign_page(request, page, about, caller, {**values, "job": outcome, "script": "job"})
    return render_campaign_page(
        request,
        page,
        about,
        caller,
        {**values, **_make_report_content(caller, kind, outcome, campaign, address, given)},
    )


def make_gate_command(campaign: str, given: Mapping[str, str]) -> str:
    """Return the command that asks the gate the same question, for CI.

    >>> make_gate_command("ende", {"candidate": "new", "baseline": "my old", "claim": "not_worse", "margin": "0.5"})
    "plumbline gate ende --candidate new --baseline 'my old' --claim not-worse --margin 0.5"
    """
    usual = {name: str(field.default) for name, field in GATE.options.model_fields.items()}
    words = ["plumbline", "gate", campaign]
    for name, text in given.items():
        if text != usual[name]:
            words += [f"--{name.replace('_', '-')}", text.replace("_", "-") if name == "claim" else text]
    return shlex.join(words)


def collect_key_and_name_cells(tables: Iterable[TableSection]) -> frozenset[str]:
    """Return the values in columns of keys and names. A warning that begins with one of them keeps its case."""
    return frozenset(row[n] for one in tables for row in one.table.rows for n in one.names)


def _make_report_content(
    caller: Caller,
    kind: AnyKind,
    stored: StoredReport,
    campaign: str,
    address: str,
    given: Mapping[str, str],
) -> dict[str, object]:
    """Return tables, picture addresses and download links; nothing about raters unless the caller is a manager."""
    if not caller.has_rights_of("manager"):
        stored = store.redact_report_for_viewers(kind, stored)
    view = kind.result.model_validate_json(stored.body)
    tables = kind.tables(view)
    drawn = [
        (name, _at(address, ".svg", {**given, **({} if kind.own_routes else {"picture": name})}))
        for name in representations.list_chart_names(kind)
    ]
    return {
        "view": view,
        "command": make_gate_command(campaign, given) if isinstance(view, GateView) else None,
        "decision": (make_claim_sentence(view), VERDICTS[view.verdict]) if isinstance(view, GateView) else None,
        "warnings": view.warnings,
        "tables": tables,
        "keys": collect_key_and_name_cells(tables),
        "caption": kind.caption(view),
        "charts": [
            make_page_chart(there, partial(kind.charts[name], view), "" if name == representations.PICTURE else name)
            for name, there in drawn
        ],
        "links": [(name, _at(address, suffix, given)) for name, suffix in SHAPES],
    }


def _at(address: str, suffix: str, given: Mapping[str, str]) -> str:
    return address + suffix + (f"?{urlencode(given)}" if given else "")
