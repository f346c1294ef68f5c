"""Routes of reports, two for each kind; their OpenAPI descriptions come from the kind of report and its options."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal

from anyio import to_thread
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field, StringConstraints, create_model

from app.api.kit.job_responses import LATER, Prefer, job_response, wait_for_report_or_job
from app.api.kit.recipe_choices import AsOfQuery
from app.api.models.times import parse_data_version_or_time
from app.reports.kit import store
from app.reports.kit.render import representations
from app.reports.kit.report import Report, StoredReport
from app.reports.kit.request import ReportRequest, list_report_campaigns
from app.reports.ranking.renderings import MEDIA_TYPES
from app.services.access.tokens import Caller
from app.services.jobs import report_requests
from app.services.jobs.jobs import JobView
from app.storage.db import Database
from app.web.access import Manager, Viewer, require_visible_campaigns
from app.web.conditional_requests import conditional_response
from app.web.deps import CampaignKey, DatabaseDep
from app.web.examples import example_response, non_json_example_response
from app.web.negotiation import choose_media_type
from app.web.rater_naming_rights import check_may_specify_raters

AnyKind = Report[Any, Any]
Handler = Callable[..., Awaitable[Response]]
OutputFormat = Literal["csv", "tex", "md", "svg"]
JSON = "application/json"
OUTPUT_FORMATS = {
    JSON: "json",
    **{media_type.partition(";")[0]: output_format for output_format, media_type in MEDIA_TYPES.items()},
}
PICTURE = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
KNOWN: dict[int | str, dict[str, Any]] = {304: {"description": "Not changed: `If-None-Match` has its ETag."}}
UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "One of the campaigns is not there, or not yours."}}
TEXTS = {
    "csv": ("text/csv", "system,score\r\nref,0.9115\r\n"),
    "tex": ("application/x-tex", "\\begin{tabular}{lr}\nref & 0.91 \\\\\n\\end{tabular}\n"),
    "md": ("text/markdown", "| System | Score |\n| :-- | --: |\n| `ref` | 0.91 |\n"),
    "svg": ("image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg"/>'),
}
ANY_REPORT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The report.",
        "content": {
            JSON: {"schema": {"type": "object"}, "example": {}},
            **non_json_example_response(200, "", **TEXTS)[200]["content"],
        },
    },
    **KNOWN,
}
KEYS = r"^[A-Za-z0-9._~:@+\-]{1,128}(,[A-Za-z0-9._~:@+\-]{1,128}){0,19}$"
WHO = {"viewer": Viewer, "manager": Manager}


class ComparedCampaignsQuery(BaseModel):
    """Which campaigns are compared."""

    campaigns: Annotated[str, StringConstraints(pattern=KEYS)] = Field(
        description="Keys separated by commas, each once.", examples=["ende-2025,ende-2026"]
    )

    def list_campaign_keys(self) -> tuple[str, ...]:
        """Return the keys in the given order, each once."""
        return tuple(dict.fromkeys(self.campaigns.split(",")))


def add_report_routes(router: APIRouter, kinds: Iterable[AnyKind]) -> None:
    """Add two routes for each kind: one chooses the format by `Accept`, the other by suffix."""
    for kind in kinds:
        query = _query(kind)
        for by_suffix in (False, True):
            handler = _handler(kind, query, by_suffix=by_suffix)
            router.add_api_route(
                _path(kind) + (".{kind}" if by_suffix else ""),
                handler,
                methods=["GET"],
                summary=kind.title + (", as a table or picture" if by_suffix else ""),
                description=f"{kind.summary} As CSV, LaTeX, Markdown or SVG." if by_suffix else kind.summary,
                response_class=Response,
                responses=_responses(kind, by_suffix=by_suffix),
            )


def _path(kind: AnyKind) -> str:
    return f"/campaigns/{{campaign}}/reports/{kind.name}" if kind.over == "campaign" else f"/comparisons/{kind.name}"


def _query(kind: AnyKind) -> type[BaseModel]:
    """Return the query model of a kind: its options, and the data version, campaigns and picture."""
    bases: tuple[type[BaseModel], ...] = (
        AsOfQuery,
        *((ComparedCampaignsQuery,) if kind.over == "campaigns" else ()),
        kind.options,
    )
    names = representations.list_chart_names(kind)
    picture: Any = (Literal[names], Field(names[0], description="Which picture, if the answer is SVG."))
    return create_model(f"{_camel(kind)}Query", __base__=bases, picture=picture)


def _camel(kind: AnyKind) -> str:
    return "".join(part.capitalize() for part in f"{kind.over}_{kind.name}".replace("-", "_").split("_"))


def _responses(kind: AnyKind, *, by_suffix: bool) -> dict[int | str, dict[str, Any]]:
    texts = non_json_example_response(200, kind.title, **TEXTS)
    known = {**KNOWN, **LATER}
    if kind.over == "campaigns" or kind.other_campaigns is not None:
        known = {**known, **UNKNOWN}
    if by_suffix:
        return {**texts, **known}
    in_json = example_response(200, kind.result.model_validate(kind.example), kind.title)[200]
    return {200: {**in_json, "content": {**in_json["content"], **texts[200]["content"]}}, **known}


def _handler(kind: AnyKind, query: type[BaseModel], *, by_suffix: bool) -> Handler:
    """Return a handler whose signature names the caller's role and the query, as in every other handler."""

    async def get_report(
        caller: Caller,
        request: Request,
        given: Any,
        database: Database,
        campaign: str = "",
        output_format: str = "",
        prefer: str = "",
    ) -> Response:
        check_may_specify_raters(caller, kind, given.model_fields_set)
        named = (campaign,) if kind.over == "campaign" else given.list_campaign_keys()
        campaigns = require_visible_campaigns(caller, list_report_campaigns(kind, named, given))
        ask = partial(report_requests.find_or_queue_report, database, make_report_request(kind, campaigns, given))
        report = await wait_for_report_or_job(request, database, prefer, ask)
        if isinstance(report, JobView):
            return job_response(report)
        return await to_thread.run_sync(report_response, request, caller, kind, report, given.picture, output_format)

    get_report.__name__ = f"get_{kind.over}_{kind.name.replace('-', '_')}" + ("_as" if by_suffix else "")
    get_report.__signature__ = _signature(kind, query, by_suffix=by_suffix)  # type: ignore[attr-defined]  # what FastAPI reads
    return get_report


def _signature(kind: AnyKind, query: type[BaseModel], *, by_suffix: bool) -> Signature:
    annotations: dict[str, Any] = {"caller": WHO[kind.role], "request": Request}
    if kind.over == "campaign":
        annotations["campaign"] = CampaignKey
    if by_suffix:
        annotations["output_format"] = Annotated[OutputFormat, Path(alias="kind", description="Suffix.")]
    annotations |= {"given": Annotated[query, Query()], "database": DatabaseDep}
    parameters = [Parameter(name, Parameter.KEYWORD_ONLY, annotation=one) for name, one in annotations.items()]
    parameters.append(Parameter("prefer", Parameter.KEYWORD_ONLY, default="", annotation=Prefer))
    return Signature(parameters, return_annotation=Response)


def make_report_request(kind: AnyKind, campaigns: tuple[str, ...], query: Any) -> ReportRequest:
    """Return the request for a report from a query, which also contains other options."""
    ours = query.model_dump(include=set(kind.options.model_fields), exclude_unset=True)
    return ReportRequest(kind, campaigns, kind.options.model_validate(ours), parse_data_version_or_time(query.as_of))


def report_response(
    request: Request, caller: Caller, kind: AnyKind, report: StoredReport, picture: str = "", output_format: str = ""
) -> Response:
    """Return a report in the format of the suffix or of `Accept`; without raters unless the caller is a manager."""
    if kind.role == "viewer" and not caller.has_rights_of("manager"):
        report = store.redact_report_for_viewers(kind, report)
    return formatted_report_response(
        request,
        kind,
        report,
        output_format or OUTPUT_FORMATS[choose_media_type(request, tuple(OUTPUT_FORMATS))],
        picture or representations.list_chart_names(kind)[0],
    )


def formatted_report_response(
    request: Request, kind: AnyKind, report: StoredReport, output_format: str, picture: str
) -> Response:
    """Return a report in one format, which has an ETag of its own."""
    if output_format == "json":
        return conditional_response(request, report.body, JSON, report.etag)
    headers = PICTURE if output_format == "svg" else {}
    tag = f"{report.etag}.svg.{picture}" if output_format == "svg" else f"{report.etag}.{output_format}"
    return conditional_response(
        request,
        lambda: representations.render_report(kind, report.body, output_format, picture),
        MEDIA_TYPES[output_format],
        tag,
        headers,
    )
