"""Settings from `PLUMBLINE_*`, an optional `.env` and `/run/secrets`, read at the edge only. Importing does nothing."""

from __future__ import annotations

import json
import os
import re
from datetime import timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SecretsSettingsSource
from pydantic_settings import SettingsConfigDict as ConfigDict

from app.domain.errors import Invalid, Place
from app.domain.media_types import MediaLimits
from app.services.access.provider_options import USUAL_SCOPES, IdentityProviderOptions, is_safe_for_secrets
from app.services.access.provider_roles import BadGroupRole, parse_group_roles
from app.services.media.media_settings import MediaSettings
from app.storage.media.s3 import S3MediaStore
from app.storage.media.stores import FolderMediaStore
from app.web.rate_limits import UnauthenticatedLimits

if TYPE_CHECKING:
    from app.storage.ratings_folder import RatingsFolder

SECRETS = Path("/run/secrets")
USUAL = UnauthenticatedLimits()
USUAL_MEDIA = MediaLimits()


def get_default_data_dir() -> Path:
    """Return the default folder of the embedded database and the first credential."""
    if os.geteuid() == 0:
        return Path("/var/lib/plumbline")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "plumbline"


class Settings(BaseSettings):
    """The settings of an installation.

    database_url: libpq URL of the schema's owner; none for the embedded server.
    database_role: role to serve under after connecting as the owner; `plumbline serve` determines it.
    pool_size: database connections of one process; for each, it admits four requests at once.
    public_url: address under which browsers reach the service, if it is behind a proxy.
    pearmut_port: port of Pearmut's own pages, which form a separate origin; none: they are not served. pearmut_files:
        folder of its pages, if the package is not installed. pearmut_url: their address, if they are behind a proxy.
    allowed_hosts: host names that requests may use; `*` for any. By default: any if `public_url` is set, because links
        then do not contain the requested name, else this machine's names and `host`. IP addresses are always allowed.
    trusted_proxies: addresses and networks of proxies whose `X-Forwarded-For` is trusted; `*` alone for any.
    stranger_rate, failed_sign_ins: per address without a credential: requests per second, failed sign-ins per minute.
    body_limit, upload_limit: largest JSON body and largest uploaded file, in bytes.
    body_timeout: longest silence within a request body, in seconds.
    webhook_allowed: internal host names and networks to which webhooks may be sent, besides public addresses.
    media_store: where media are stored, as `s3://bucket/prefix`; none: the folder `media` in `data_dir`.
    media_endpoint: address of a store that is not Amazon's. media_folder: folder whose files managers may add by path.
    media_limit, media_seconds, media_pixels: largest size of a media file in bytes, longest duration, and most pixels.
    media_minutes: how long a rater's address of a file works.
    most_in_memory: the most judgments of a campaign that a ranking loads into memory; larger campaigns are ranked from
        sums over a file in `data_dir`, which needs the extra `large`.
    dask_scheduler: address of the Dask cluster that computes the chunks of reports; none: workers compute them.
    traces: address of a collector that accepts spans (OTLP over HTTP); none: there are no traces.
    organization: key of the organization for commands; none: the default one. For requests, the credential decides.
    session_hours: how long a browser stays signed in.
    oidc_issuer: identity provider at which people sign in; oidc_client_id, oidc_client_secret: our registration there.
    oidc_scopes: the requested scopes. oidc_groups_claim: the claim with a person's groups. oidc_roles: roles of groups.
    prolific_token: of a researcher, for `plumbline prolific`. prolific_url: address of Prolific's interface.
    mturk_url: address of the interface of Mechanical Turk, for `plumbline mturk`.
    huggingface_token: for `plumbline huggingface`. huggingface_url: address of Hugging Face's interface.
    server, token: for commands that read: the server to use instead of the database, and the credential for it.
    """

    model_config = ConfigDict(
        env_prefix="PLUMBLINE_", env_file=".env", extra="ignore", frozen=True, hide_input_in_errors=True
    )

    database_url: Annotated[str | None, Field(repr=False)] = None
    database_role: str | None = None
    data_dir: Path = Field(default_factory=get_default_data_dir)
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    workers: Annotated[int, Field(ge=1, le=256)] = 1
    pool_size: Annotated[int, Field(ge=2, le=500)] = 10
    public_url: str | None = None
    pearmut_port: Annotated[int | None, Field(ge=0, le=65535)] = None
    pearmut_files: Path | None = None
    pearmut_url: str | None = None
    cors_origins: Annotated[tuple[str, ...], NoDecode] = ()
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = ()
    webhook_allowed: Annotated[tuple[str, ...], NoDecode] = ()
    stranger_rate: Annotated[float, Field(gt=0)] = USUAL.rate
    failed_sign_ins: Annotated[int, Field(ge=1)] = USUAL.failures
    body_limit: Annotated[int, Field(ge=1024)] = 1 << 20
    upload_limit: Annotated[int, Field(ge=1024)] = 1 << 30
    body_timeout: Annotated[float, Field(gt=0)] = 30.0
    media_store: str | None = None
    media_endpoint: str | None = None
    media_folder: Path | None = None
    media_limit: Annotated[int, Field(ge=1024)] = USUAL_MEDIA.size
    media_seconds: Annotated[float, Field(gt=0)] = USUAL_MEDIA.duration
    media_pixels: Annotated[int, Field(ge=1)] = USUAL_MEDIA.pixels
    media_minutes: Annotated[float, Field(gt=0, le=24 * 60)] = 15.0
    most_in_memory: Annotated[int, Field(ge=1)] = 5_000_000
    dask_scheduler: Annotated[str | None, Field(pattern=r"^(tcp|tls)://[^\s/]+:[0-9]+$")] = None
    traces: str | None = None
    organization: str | None = None
    session_hours: Annotated[float, Field(gt=0, le=24 * 365)] = 12.0
    oidc_client_id: str | None = None
    oidc_client_secret: SecretStr | None = None
    oidc_scopes: Annotated[tuple[str, ...], NoDecode] = USUAL_SCOPES
    oidc_groups_claim: Annotated[str, Field(min_length=1)] = "groups"
    oidc_roles: Annotated[dict[str, str], NoDecode] = {}
    oidc_issuer: str | None = None  # after the other settings, which its check needs
    prolific_token: SecretStr | None = None
    prolific_url: str = "https://api.prolific.com"
    mturk_url: str = "https://mturk-requester-sandbox.us-east-1.amazonaws.com"
    huggingface_token: SecretStr | None = None
    huggingface_url: str = "https://huggingface.co"
    server: str | None = None
    token: SecretStr | None = None

    @classmethod
    def load(cls) -> Self:
        """Load the settings of this process. Raises Invalid, which names each wrong variable, but never its value."""
        try:
            return cls()
        except ValidationError as error:
            wrong = [(str(fault["loc"][0]), fault["msg"]) for fault in error.errors(include_input=False)]
            places = tuple(Place((f"PLUMBLINE_{name.upper()}",), msg) for name, msg in wrong)
            raise Invalid("the settings are not valid", places=places) from None

    @field_validator("cors_origins", "allowed_hosts", "trusted_proxies", "webhook_allowed", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        """Split settings with several values, which are in one variable, separated by commas."""
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("trusted_proxies")
    @classmethod
    def _proxies(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Accept only addresses and networks, not names. Host bits are cleared, as later no network may have them."""
        if value == ("*",):
            return value
        try:
            read = [ip_network(part, strict=False) if "/" in part else ip_address(part) for part in value]
        except ValueError:
            raise ValueError("must be an address such as 10.0.0.1, a network such as 10.0.0.0/8, or * alone") from None
        return tuple(str(part) for part in read)

    @field_validator("public_url", "pearmut_url", "prolific_url", "mturk_url", "huggingface_url", "traces")
    @classmethod
    def _origin(cls, value: str | None) -> str | None:
        """Accept only an origin, because the paths are ours."""
        if value is None:
            return None
        scheme, separator, rest = value.rstrip("/").partition("://")
        if scheme not in {"http", "https"} or not separator or not rest or "/" in rest:
            raise ValueError("must be like https://plumbline.example.org")
        return value.rstrip("/")

    @field_validator("media_store")
    @classmethod
    def _bucket(cls, value: str | None) -> str | None:
        """Accept a bucket, optionally with a prefix."""
        if value is not None and not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._/-]*)?", value):
            raise ValueError("must be like s3://bucket or s3://bucket/prefix")
        return value

    @field_validator("oidc_scopes", mode="before")
    @classmethod
    def _spaced(cls, value: object) -> object:
        """Split scopes, which are in one variable, separated by spaces as in the protocol."""
        return tuple(value.split()) if isinstance(value, str) else value

    @field_validator("oidc_roles", mode="before")
    @classmethod
    def _group_roles(cls, value: object) -> object:
        """Read a JSON object, because the names of groups may contain any characters."""
        try:
            given = json.loads(value) if isinstance(value, str) else value
            if not isinstance(given, dict) or not all(isinstance(role, str) for role in given.values()):
                raise ValueError("not an object of texts")
            parse_group_roles(given)
        except BadGroupRole as error:
            raise ValueError(error.detail) from None
        except ValueError:
            raise ValueError('must be JSON like {"mt-managers": "manager", "mt-readers": "viewer/ted-ende"}') from None
        return given

    @field_validator("oidc_issuer")
    @classmethod
    def _issuer(cls, value: str | None, info: ValidationInfo) -> str | None:
        """Check that the settings contain everything that signing in needs."""
        if value is None:
            return None
        if not is_safe_for_secrets(value):
            raise ValueError("must be like https://id.example.org, exactly as the provider's tokens name it")
        if not info.data.get("oidc_client_id") or not info.data.get("oidc_roles"):
            raise ValueError("needs PLUMBLINE_OIDC_CLIENT_ID and PLUMBLINE_OIDC_ROLES too")
        if "openid" not in info.data.get("oidc_scopes", ()):
            raise ValueError("needs the scope openid")
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: arguments, environment, `.env`, files such as `/run/secrets/plumbline_database_url`."""
        usual = (init_settings, env_settings, dotenv_settings)
        if not SECRETS.is_dir():
            return (*usual, file_secret_settings)
        return (*usual, SecretsSettingsSource(settings_cls, secrets_dir=SECRETS))


def make_media_settings(settings: Settings) -> MediaSettings:
    """Make the settings for media from those of the installation."""
    folder = settings.data_dir / "media"
    elsewhere = settings.media_store
    return MediaSettings(
        store=S3MediaStore.from_address(elsewhere, endpoint=settings.media_endpoint)
        if elsewhere
        else FolderMediaStore(folder),
        parts=folder / "parts",
        limits=MediaLimits(settings.media_limit, settings.media_seconds, settings.media_pixels),
        lifetime=timedelta(minutes=settings.media_minutes),
        shelf=settings.media_folder,
    )


def configure_ratings_folder(settings: Settings) -> RatingsFolder:
    """Make the folder for the ratings of large campaigns from the settings."""
    from app.storage.ratings_folder import RatingsFolder  # this loads SQLAlchemy, which a supervisor does not need

    return RatingsFolder(settings.data_dir / "ratings", settings.most_in_memory)


def make_identity_provider_options(settings: Settings) -> IdentityProviderOptions | None:
    """Make the options of the identity provider from the settings; None if there is none."""
    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        return None
    secret = settings.oidc_client_secret
    return IdentityProviderOptions(
        settings.oidc_issuer,
        settings.oidc_client_id,
        secret.get_secret_value() if secret is not None else None,
        groups_claim=settings.oidc_groups_claim,
        roles=parse_group_roles(settings.oidc_roles),
        scopes=settings.oidc_scopes,
    )
