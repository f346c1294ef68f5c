"""Whether the service is alive and ready, and which version it is."""

from __future__ import annotations

from importlib.metadata import version as installed
from typing import Literal

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from app.domain.errors import AppError
from app.services.access import readiness, service_gauges
from app.stats.ranking.result import METHOD_VERSION
from app.web import service_part_states
from app.web.access import Public, Viewer
from app.web.deps import DatabaseDep, SessionDep
from app.web.examples import example_response, non_json_example_response
from app.web.metrics import MEDIA_TYPE, ServiceMetrics, format_gauges

router = APIRouter(tags=["health"])
METRIC = 'plumbline_requests_total{method="GET",route="/v1/campaigns",status="200"} 42\n'
PROGRESS = 'plumbline_campaign_tasks{campaign="ted-ende",state="handed_in"} 42\n'
_limiter: RunVar[CapacityLimiter] = RunVar("readiness")


def _health_check_thread() -> CapacityLimiter:
    """Return a limiter with one thread for each event loop, so that the answer does not queue behind requests."""
    try:
        return _limiter.get()
    except LookupError:
        _limiter.set(CapacityLimiter(1))
        return _limiter.get()


class Health(BaseModel):
    """All is well; anything else is a problem."""

    status: Literal["ok"] = "ok"


class ServiceProcessOut(BaseModel):
    """One part of the service: a web process, the worker, the embedded Postgres. reason: why it does not run."""

    state: Literal["starting", "running", "restarting"]
    reason: str = ""


class Readiness(Health):
    """Requests can be served. parts: of the service, by name; empty where nobody supervises this process."""

    parts: dict[str, ServiceProcessOut] = {}


class Version(BaseModel):
    """version: of the program. method_version: of the statistics; reports with the same one are comparable."""

    version: str
    method_version: str


READY = Readiness(parts={"postgres": ServiceProcessOut(state="running"), "web": ServiceProcessOut(state="running")})


@router.get("/livez", summary="Check whether the process is alive", responses=example_response(200, Health()))
async def livez(_: Public) -> Health:
    """Answer as long as the process runs. The database is not checked."""
    return Health()


@router.get("/readyz", summary="Check whether requests can be served", responses=example_response(200, READY))
async def readyz(_: Public, database: DatabaseDep) -> Readiness:
    """Check the database; return 503 while it cannot be reached or has the schema of an earlier version.

    Either response gives the state of the parts of the service, such as an embedded Postgres that is being restarted,
    with the reason, or a worker that has ended. Requests are served without a worker, too.
    """
    try:
        await to_thread.run_sync(readiness.check_readiness, database, limiter=_health_check_thread())
    except AppError as error:
        error.members = (
            {"parts": service_part_states.get_service_part_states()}
            if service_part_states.get_service_part_states()
            else {}
        )
        raise
    return Readiness(
        parts={
            name: ServiceProcessOut.model_validate(part)
            for name, part in service_part_states.get_service_part_states().items()
        }
    )


@router.get(
    "/metrics",
    summary="Get metrics for Prometheus",
    response_class=PlainTextResponse,
    responses=non_json_example_response(200, "In Prometheus' text format.", any=("text/plain", METRIC)),
)
async def get_prometheus_metrics(_: Public, request: Request, database: DatabaseDep) -> Response:
    """Count requests, answers written, leases, queues, workers and connections. The metrics contain no names."""
    counted: ServiceMetrics = request.app.state.metrics
    counted.in_use.set(database.connections_in_use)
    state = await to_thread.run_sync(request.app.state.service_state.read, limiter=_health_check_thread())
    return Response(counted.format_all(state), media_type=MEDIA_TYPE)


@router.get(
    "/v1/metrics",
    summary="Get task counts for monitoring",
    response_class=PlainTextResponse,
    responses=non_json_example_response(200, "In Prometheus' text format.", any=("text/plain", PROGRESS)),
)
def get_campaign_task_gauges(caller: Viewer, session: SessionDep) -> Response:
    """Count tasks of open and paused campaigns by state; with a credential for one campaign, in that campaign only."""
    gauges = service_gauges.list_campaign_task_gauges(session, only=caller.campaign)
    return Response(format_gauges(gauges), media_type=MEDIA_TYPE)


EXAMPLE = Version(version="0.1.0", method_version=METHOD_VERSION)


@router.get("/version", summary="Get the version", responses=example_response(200, EXAMPLE))
async def version(_: Public) -> Version:
    """Return the versions of the program and of its statistics."""
    return Version(version=installed("plumbline"), method_version=METHOD_VERSION)
