"""Dependencies of handlers: the database, one transaction per request, and the settings of the HTTP edge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from fastapi import Depends, Path, Request

from app.domain.keys import KEY_PATTERN
from app.services.access.provider_options import IdentityProviderOptions
from app.services.media.media_settings import MediaSettings
from app.services.tasks.judging import JudgingService
from app.services.webhooks.addresses import ONLY_PUBLIC, AllowedWebhookAddresses
from app.storage.db import Database, Session
from app.web.rate_limits import UnauthenticatedLimits

NO_MEDIA = MediaSettings()


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """Settings of an installation for its HTTP edge (see `app.config`).

    allowed_hosts: names to which requests may be sent; None: any. strangers: limits on their cost; None: no limits.
    media: their place and limits. provider: the identity provider with the organization's accounts.
    """

    body_limit: int = 1 << 20
    upload_limit: int = 1 << 30
    body_timeout: float = 30.0
    session_lifetime: timedelta = timedelta(hours=12)
    public_url: str | None = None
    cors_origins: tuple[str, ...] = ()
    allowed_hosts: frozenset[str] | None = None
    strangers: UnauthenticatedLimits | None = None
    webhook_addresses: AllowedWebhookAddresses = ONLY_PUBLIC
    media: MediaSettings = NO_MEDIA
    provider: IdentityProviderOptions | None = None


def get_service_options(request: Request) -> ServiceOptions:
    """Return the settings of this installation."""
    options: ServiceOptions = request.app.state.options
    return options


def database_of_request(request: Request) -> Database:
    """Return the database handle."""
    database: Database = request.app.state.database
    return database


async def get_database(request: Request) -> Database:
    """Return the database handle, for use cases with several transactions or none."""
    return database_of_request(request)


def get_database_session(request: Request) -> Iterator[Session]:
    """Yield the request's transaction, which is committed before the response leaves, rolled back on any error."""
    with database_of_request(request).transaction() as session:
        yield session


async def get_judging_service(request: Request) -> JudgingService:
    """Return this process's judging service."""
    service: JudgingService = request.app.state.judging
    return service


async def get_media_settings(request: Request) -> MediaSettings:
    """Return the place of media, and their limits."""
    return get_service_options(request).media


DatabaseDep = Annotated[Database, Depends(get_database)]
JudgingServiceDep = Annotated[JudgingService, Depends(get_judging_service)]
MediaSettingsDep = Annotated[MediaSettings, Depends(get_media_settings)]
SessionDep = Annotated[Session, Depends(get_database_session, scope="function")]
CampaignKey = Annotated[
    str, Path(alias="campaign", pattern=KEY_PATTERN, description="Key of the campaign.", examples=["ted-ende"])
]
