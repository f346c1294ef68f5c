"""The web application, assembled from its parts. Importing this does nothing; `create_app` does it all."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import version
from typing import TYPE_CHECKING

from anyio import to_thread
from fastapi import FastAPI
from starlette.types import ASGIApp

from app import api, ui
from app.config import Settings, configure_ratings_folder, make_identity_provider_options, make_media_settings
from app.pearmut.app import create_pearmut_app
from app.pearmut.files import find_pearmut_package_files
from app.services.access.service_gauges import ServiceGaugeReader
from app.services.tasks.answer_context import AnswerContextCache
from app.services.tasks.judging import JudgingService
from app.services.tasks.progress_cache import ProgressCountCache
from app.services.tasks.progress_jobs import find_or_request_progress_counts
from app.services.webhooks.addresses import AllowedWebhookAddresses
from app.storage.db import REQUEST_TIMEOUT, Database
from app.storage.recorder.answer_recorder import AnswerRecorder
from app.web import cors, hosts, problems
from app.web.admission import PER_CONNECTION, AdmissionMiddleware
from app.web.deps import ServiceOptions
from app.web.fast import route as fast_routes
from app.web.fast.rater_cache import RaterCache
from app.web.head_requests import HeadRequestsMiddleware
from app.web.hosts import AllowedHostsMiddleware
from app.web.metrics import ServiceMetrics
from app.web.openapi.document import OpenApiDocument
from app.web.organizations import OrganizationDirectory, OrganizationMiddleware
from app.web.rate_limits import UnauthenticatedLimits
from app.web.request_log import RequestIdAndLogMiddleware
from app.web.server_sent_events import STOPPING, EventStreams
from app.web.traces import NO_TELEMETRY, start_tracing
from app.web.unauthenticated_limits import RecentlyValidCredentials, UnauthenticatedLimitsMiddleware

if TYPE_CHECKING:
    from app.web.single_sign_on.provider import IdentityProviderClient

COLLECT_AFTER = 10_000  # objects; checking five times as many stopped all threads for 25 ms


def create_app(database: Database, options: ServiceOptions) -> FastAPI:
    """Create the application over a database, with the settings of this installation."""
    app = FastAPI(
        title="Plumbline",
        version=version("plumbline"),
        lifespan=_lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,
    )
    app.state.database = database
    app.state.options = options
    app.state.provider = _provider(options)
    for router in api.find_routers():
        app.router.routes.extend(router.routes)
    app.include_router(ui.router)
    fast_routes.put_fast_routes_first(app)
    problems.install_problem_handlers(app, page=ui.render_problem_page)
    app.add_middleware(AdmissionMiddleware, limit=PER_CONNECTION * database.size, page=ui.render_problem_page)
    cors.install_cors(app, options.cors_origins)
    app.openapi = OpenApiDocument(app)  # type: ignore[method-assign]  # the framework's way to replace the document
    metrics = app.state.metrics = ServiceMetrics()
    metrics.connections.set(database.size)
    database.connection_wait_observer = metrics.connection_wait.observe
    app.state.service_state = ServiceGaugeReader(database)
    app.state.organizations = OrganizationDirectory(database)
    app.state.raters = RaterCache()
    app.state.live = EventStreams()
    app.state.counts = ProgressCountCache(find_stored=find_or_request_progress_counts)
    app.state.judging = JudgingService(
        AnswerRecorder(database.url, role=database.role, pulse=database.pulse, on_flush=metrics.count_flushed_answers),
        database,
        AnswerContextCache(),
    )
    layers = OrganizationMiddleware(HeadRequestsMiddleware(app.build_middleware_stack()))
    app.middleware_stack = RequestIdAndLogMiddleware(_add_guards(layers, app), app.state.metrics)
    return app


def _provider(options: ServiceOptions) -> IdentityProviderClient | None:
    """Create the client of the identity provider; its code is imported only if there is a provider."""
    if options.provider is None:
        return None
    from app.web.single_sign_on.provider import IdentityProviderClient

    return IdentityProviderClient(options.provider)


def _add_guards(layers: ASGIApp, app: FastAPI) -> ASGIApp:
    """Add the outermost checks: the host name of a request, and the limits for strangers."""
    options: ServiceOptions = app.state.options
    app.state.familiar = RecentlyValidCredentials()
    if options.strangers is not None:
        layers = UnauthenticatedLimitsMiddleware(layers, options.strangers, app.state.familiar, ui.render_problem_page)
    return layers if options.allowed_hosts is None else AllowedHostsMiddleware(layers, options.allowed_hosts)


def create_app_from_environment() -> FastAPI:
    """Create the application from its environment, for the server's worker processes.

    The garbage collector never checks objects that exist after the start, which keeps the slowest responses fast.
    """
    settings = Settings.load()
    start_tracing(settings.traces, "plumbline-web")
    app = create_app(_database(settings), make_service_options(settings))
    _collect_rarely()
    return app


def create_pearmut_app_from_environment() -> FastAPI:
    """Create the application of Pearmut's pages from its environment, for a separate process."""
    settings = Settings.load()
    start_tracing(settings.traces, "plumbline-pearmut")
    chosen = make_service_options(settings)
    if settings.pearmut_url and not settings.allowed_hosts:
        chosen = replace(chosen, allowed_hosts=None)
    app = create_pearmut_app(_database(settings), chosen, find_pearmut_package_files(settings.pearmut_files))
    _collect_rarely()
    return app


def _database(settings: Settings) -> Database:
    if settings.database_url is None:
        raise SystemExit("PLUMBLINE_DATABASE_URL is not set; `plumbline serve` brings its own database")
    role = settings.database_role or None
    return Database(
        settings.database_url,
        size=settings.pool_size,
        role=role,
        timeout=REQUEST_TIMEOUT,
        watched=True,
        ratings_folder=configure_ratings_folder(settings),
    )


def _collect_rarely() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 20)
    gc.enable()


def make_service_options(settings: Settings) -> ServiceOptions:
    """Make the options of the HTTP edge from the settings."""
    return ServiceOptions(
        body_limit=settings.body_limit,
        upload_limit=settings.upload_limit,
        body_timeout=settings.body_timeout,
        session_lifetime=timedelta(hours=settings.session_hours),
        public_url=settings.public_url,
        cors_origins=settings.cors_origins,
        allowed_hosts=_hosts(settings),
        webhook_addresses=AllowedWebhookAddresses.parse(settings.webhook_allowed),
        media=make_media_settings(settings),
        provider=make_identity_provider_options(settings),
        strangers=UnauthenticatedLimits(
            rate=settings.stranger_rate, burst=int(10 * settings.stranger_rate), failures=settings.failed_sign_ins
        ),
    )


def _hosts(settings: Settings) -> frozenset[str] | None:
    if settings.allowed_hosts:
        return frozenset(hosts.parse_host_name(name) for name in settings.allowed_hosts)
    return None if settings.public_url else hosts.list_own_host_names(settings.host)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[dict[str, object]]:
    """Provide a thread for every admitted request; at the end, write all waiting answers.

    With fewer threads, requests that wait for a row could hold all of them, while the request that has locked the row
    waits for a thread to serialize its response. A request without a connection fails within seconds
    (`app.storage.db`).
    """
    database: Database = app.state.database
    service: JudgingService = app.state.judging
    to_thread.current_default_thread_limiter().total_tokens = PER_CONNECTION * database.size
    await service.recorder.open()
    yield {STOPPING: asyncio.Event()}
    await service.recorder.close()
    if app.state.provider is not None:
        app.state.provider.close()
    database.close()
