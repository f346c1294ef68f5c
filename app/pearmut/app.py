"""The application of Pearmut's pages. It has a separate origin, because campaigns contain scripts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from anyio import to_thread
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from app.pearmut import annotator, assets, manager
from app.pearmut.app_state import WINDOW, PearmutAppState
from app.pearmut.errors import install_error_handlers, make_json_response
from app.pearmut.files import ABSENT, PearmutPackageFiles
from app.services.tasks.answer_context import AnswerContextCache
from app.services.tasks.judging import JudgingService
from app.storage.db import Database
from app.storage.recorder.answer_recorder import AnswerRecorder
from app.web.admission import PER_CONNECTION, AdmissionMiddleware
from app.web.deps import ServiceOptions
from app.web.hosts import AllowedHostsMiddleware
from app.web.metrics import ServiceMetrics
from app.web.organizations import OrganizationDirectory, OrganizationMiddleware
from app.web.rate_limits import FailedSignIns, UnauthenticatedLimits
from app.web.request_log import RequestIdAndLogMiddleware
from app.web.traces import NO_TELEMETRY

LARGEST = 16 << 20  # bytes of a body: a page sends the document back, and every mouse movement
# A campaign's instructions may contain scripts, and some make forms; the policy keeps them from sending data elsewhere.
POLICY = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' https: data: blob:; connect-src 'self'; form-action 'none'; "
    "object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
)
SAFE = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache"}


def create_pearmut_app(database: Database, options: ServiceOptions, files: PearmutPackageFiles) -> FastAPI:
    """Create the application over a database, with Pearmut's files."""
    app = FastAPI(
        lifespan=_lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,
    )
    recorder = AnswerRecorder(database.url, role=database.role, pulse=database.pulse)
    judging = JudgingService(recorder, database, AnswerContextCache())
    limits = options.strangers or UnauthenticatedLimits()
    app.state.database = database
    app.state.options = replace(options, body_limit=max(options.body_limit, LARGEST))
    app.state.pearmut = PearmutAppState(judging, files, FailedSignIns(limits.failures, WINDOW))
    app.include_router(annotator.router)
    app.include_router(manager.router)
    app.include_router(assets.router)
    _add_pages(app, files)
    install_error_handlers(app)
    app.add_middleware(AdmissionMiddleware, limit=PER_CONNECTION * database.size, page=_no_page)
    app.state.metrics = ServiceMetrics()
    app.state.organizations = OrganizationDirectory(database)
    layers: ASGIApp = OrganizationMiddleware(app.build_middleware_stack())
    if options.allowed_hosts is not None:
        layers = AllowedHostsMiddleware(layers, options.allowed_hosts)
    app.middleware_stack = RequestIdAndLogMiddleware(layers, app.state.metrics)
    return app


def _add_pages(app: FastAPI, files: PearmutPackageFiles) -> None:
    folder = files.folder
    if folder is None:

        async def absent() -> Response:
            return make_json_response(ABSENT, 404)

        for path in ("/", "/annotate", "/dashboard"):
            app.add_api_route(path, absent, methods=["GET"])
        return

    def page(path: str, name: str) -> None:
        async def show() -> Response:
            return FileResponse(folder / f"{name}.html", headers=SAFE)

        app.add_api_route(path, show, methods=["GET", "HEAD"])

    for path, name in (("/", "index"), ("/annotate", "annotate"), ("/dashboard", "dashboard")):
        page(path, name)
    app.mount("/", StaticFiles(directory=folder), name="pearmut")


def _no_page(request: Request, status: int, headers: object) -> Response | None:  # noqa: ARG001 (as the layer calls it)
    return None


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    database: Database = app.state.database
    recorder = app.state.pearmut.judging.recorder
    to_thread.current_default_thread_limiter().total_tokens = PER_CONNECTION * database.size
    await recorder.open()
    yield
    await recorder.close()
    database.close()
