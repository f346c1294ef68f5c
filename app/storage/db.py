"""The database handle: one pool, one kind of transaction.

Apart from this module, only the recorder of judgments (`storage/recorder`) commits: it writes many answers in one
flush."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import psycopg
import sqlalchemy as sa
from psycopg.types.json import set_json_loads
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from app.domain.errors import AppError, Conflict, Invalid, NotFound, StorageFull, Unavailable
from app.storage.connections import ConnectionWithStartupOptions
from app.storage.current_organization import (
    DEFAULT,
    current_organization_number,
    pin_current_organization,
    search_path_statement,
)
from app.storage.liveness_probe import SILENT, DatabaseLivenessProbe, ProbedConnection
from app.storage.ratings_folder import RatingsFolder
from app.storage.temporary_tables import install_temporary_table_subqueries

__all__ = ["Database", "Session", "driver_connection", "make_sqlalchemy_url", "translate_database_errors"]

APP_ROLE = "plumbline_app"
POOL_TIMEOUT = 2.0
CONNECT_TIMEOUT = 2  # seconds, the smallest value that libpq accepts
REQUEST_TIMEOUT = 60.0  # seconds for one statement of a request, so that a few requests cannot hold every connection
COMMAND_TIMEOUT = 3600.0  # seconds for one statement of an import, a job or a command


class DatabaseBusy(Unavailable):
    """Every database connection is in use."""


class DatabaseDown(Unavailable):
    """The database cannot be reached."""


class StatementTimedOut(Unavailable):
    """The database took too long for this and was stopped; ask for less at once, or try again later."""

    published = "StatementTooLong"


class DiskFull(StorageFull):
    """The database has no space left."""


class ConcurrentChange(Conflict):
    """Somebody else changed the same thing at the same time."""

    published = "ChangedMeanwhile"


class OrganizationGone(NotFound):
    """This organization was removed."""


class DatabaseLimitExceeded(Invalid):
    """The request covers more data than the database can handle in one value; ask for less at once."""


class ValueNotStorable(Invalid):
    """A value cannot be stored."""

    published = "NotStorable"


class _Pool(sa.QueuePool):
    """A pool that keeps no connection after `dispose`: connections then in use are closed when they are returned."""

    _over = False
    on_wait: Callable[[float], object] | None = None

    def _do_get(self) -> sa.pool.ConnectionPoolEntry:
        begun = time.monotonic()
        try:
            return super()._do_get()
        finally:
            if self.on_wait is not None:
                self.on_wait(time.monotonic() - begun)

    def dispose(self) -> None:
        """Close the idle connections now, and the others when they are returned."""
        self._over = True
        super().dispose()

    def _do_return_conn(self, record: sa.pool.ConnectionPoolEntry) -> None:
        super()._do_return_conn(record)
        if self._over:  # checked after the return, so that no connection slips in while the pool is being emptied
            super().dispose()


class Database:
    """A pool of connections to one Postgres, named by a libpq URL.

    size: number of connections in the pool, and so the number of threads that can be in a transaction at once.
    role: role to serve under, so that the process lacks the rights that only the owner needs; None keeps the login
    role.
    timeout: seconds after which a statement is stopped.
    watched: whether to notice within two seconds that the server is frozen or cut off; nothing then waits for it any
        longer (`app.storage.liveness_probe`).
    ratings_folder: where files with the ratings of large campaigns are kept; None: all ratings are loaded into memory.
    """

    def __init__(
        self,
        url: str,
        *,
        size: int = 10,
        role: str | None = None,
        timeout: float = COMMAND_TIMEOUT,
        watched: bool = False,
        ratings_folder: RatingsFolder | None = None,
    ) -> None:
        self.url = url
        self.size = size
        self.role = role
        self.timeout = timeout
        self.ratings_folder = ratings_folder
        self.pulse = DatabaseLivenessProbe(_libpq(url), _options(role)) if watched else None
        self._engine = self._pool(size, role)
        self._probe = self._pool(1, role)
        sa.event.listen(self._engine, "connect", _read_numbers_as_written)
        install_temporary_table_subqueries(self._engine)

    def _pool(self, size: int, role: str | None) -> sa.Engine:
        limit = f"-c statement_timeout={round(self.timeout * 1000)}"
        engine = sa.create_engine(
            make_sqlalchemy_url(self.url),
            poolclass=_Pool,
            pool_size=size,
            max_overflow=0,
            pool_timeout=POOL_TIMEOUT,
            pool_pre_ping=True,
            use_native_hstore=False,  # not used here, and it would cost a query at the first connection of each pool
            hide_parameters=True,  # a traceback in the log shows no values
            connect_args={
                "options": f"{_options(role)} {limit}",
                "connect_timeout": CONNECT_TIMEOUT,
                # Plan each statement for its own values. For a prepared statement, the server keeps a plan for any
                # values, which may read the whole table.
                "prepare_threshold": None,
            },
        )
        sa.event.listen(engine, "do_connect", self._connect)
        return engine

    def _connect(
        self, _dialect: object, _record: object, given: Sequence[Any], named: dict[str, Any]
    ) -> ConnectionWithStartupOptions:
        """Open a connection; if there is a liveness probe, the connection stops waiting when the probe fails."""
        if self.pulse is None:
            return ConnectionWithStartupOptions.connect(*given, **named)
        self.pulse.wait_for_answer()
        made = ProbedConnection.connect(*given, **named)
        made.pulse = self.pulse
        return made

    def _expect_answers(self) -> None:
        """Raise DatabaseDown at once if the server is known not to answer."""
        if self.pulse is not None and self.pulse.silent:
            raise DatabaseDown(SILENT, retry_after=1)

    @contextmanager
    def transaction(self, *, snapshot: bool = False) -> Iterator[Session]:
        """Run one transaction: commit it at the end of the block, and roll it back on any error.

        It sees only the tables of the current organization (`app.storage.current_organization`).

        snapshot: repeatable read and read-only, so that several queries see the same state.

        Raises Unavailable, StorageFull, Conflict or Invalid if the database refuses a statement.
        """
        self._expect_answers()
        about = {"ratings_folder": self.ratings_folder}
        with (
            translate_database_errors(),
            Session(self._engine, expire_on_commit=False, info=about) as session,
            session.begin(),
        ):
            if snapshot:
                session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
                session.execute(sa.text("SET TRANSACTION READ ONLY"))
            if (organization := pin_current_organization()) != DEFAULT:
                session.execute(sa.text(search_path_statement(organization)))
            yield session

    def ping(self) -> None:
        """Raise Unavailable unless the database answers."""
        with self.transaction() as session:
            session.execute(sa.text("SELECT 1"))

    @property
    def connection_wait_observer(self) -> Callable[[float], object] | None:
        """The function that gets the seconds spent waiting for each connection."""
        pool = self._engine.pool
        return pool.on_wait if isinstance(pool, _Pool) else None

    @connection_wait_observer.setter
    def connection_wait_observer(self, tell: Callable[[float], object] | None) -> None:
        if isinstance(self._engine.pool, _Pool):
            self._engine.pool.on_wait = tell

    @property
    def connections_in_use(self) -> int:
        """Connections that are in a transaction now."""
        pool = self._engine.pool
        return pool.checkedout() if isinstance(pool, sa.QueuePool) else 0

    def schema_revision(self) -> str | None:
        """Return the revision of the schema, or None if there is no schema.

        The query uses its own connection, so it does not wait for requests. Raises Unavailable.
        """
        self._expect_answers()
        with translate_database_errors(), self._probe.connect() as connection:
            there = connection.execute(sa.text("SELECT to_regclass('alembic_version')")).scalar()
            revision = sa.text("SELECT version_num FROM alembic_version")
            return str(connection.execute(revision).scalar()) if there else None

    def close(self) -> None:
        """Close idle connections now, and the others after their transactions. A later transaction opens new ones."""
        if self.pulse is not None:
            self.pulse.close()
        self._engine.dispose()
        self._probe.dispose()


def _options(role: str | None) -> str:
    return "-c timezone=UTC" + (f" -c role={role}" if role else "")


def _libpq(url: str) -> str:
    return make_sqlalchemy_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def make_sqlalchemy_url(url: str) -> sa.URL:
    """Convert the URL of a libpq connection to a SQLAlchemy URL for psycopg 3.

    Raises Invalid if the scheme is not one of libpq's.
    """
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in {"postgresql", "postgres", "postgresql+psycopg"}:
        raise Invalid("the database URL must start with postgresql://")
    return sa.make_url(f"postgresql+psycopg://{rest}")


def _read_numbers_as_written(connection: psycopg.Connection[object], _: object) -> None:
    """Read JSON numbers beyond 64 bits as floats: Postgres writes 1e300 as 301 digits."""
    set_json_loads(partial(json.loads, parse_int=_int_or_float), connection)


def _int_or_float(digits: str) -> int | float:
    return int(digits) if len(digits) < 19 or -(1 << 63) <= int(digits) < 1 << 63 else float(digits)


def driver_connection(session: Session) -> psycopg.Connection[tuple[object, ...]]:
    """Return the psycopg connection of a transaction, for COPY."""
    raw = session.connection().connection.driver_connection
    return cast("psycopg.Connection[tuple[object, ...]]", raw)


@contextmanager
def translate_database_errors() -> Iterator[None]:
    """Translate errors of the database or its driver into the program's own errors."""
    try:
        yield
    except PoolTimeout as error:
        raise DatabaseBusy(retry_after=1) from error
    except DBAPIError as error:
        raise _translate_error(error.orig, disconnected=error.connection_invalidated) from error
    except psycopg.Error as error:
        raise _translate_error(error, disconnected=isinstance(error, psycopg.OperationalError)) from error


NO_SUCH_TABLE = "42P01"
_BY_STATE: dict[str, type[AppError]] = {
    "53100": DiskFull,
    "53300": DatabaseBusy,
    "54000": DatabaseLimitExceeded,
    "40001": ConcurrentChange,
    "40P01": ConcurrentChange,
    "23505": ConcurrentChange,
    "23503": ConcurrentChange,
    "55P03": DatabaseBusy,
    "57014": StatementTimedOut,
    "CIINF": DatabaseBusy,  # Citus moved the organization to another node within the transaction
}
# Messages, without an SQLSTATE of their own, with which Citus reports that it lost a node during a transaction.
_NODE_LOST = ("could not commit transaction for shard", "failed to prepare transaction", "failed to read result")


def _translate_error(error: BaseException | None, *, disconnected: bool) -> BaseException:
    state = getattr(error, "sqlstate", None)
    if state in _BY_STATE:
        kind = _BY_STATE[state]
        return kind(retry_after=1 if issubclass(kind, Unavailable) else None)
    if state == "XX000" and str(error).startswith(_NODE_LOST):
        return DatabaseDown(retry_after=1)
    if state == NO_SUCH_TABLE and current_organization_number() != DEFAULT:
        return OrganizationGone()
    if isinstance(error, psycopg.DataError | UnicodeEncodeError) or (state or "").startswith(("22", "23")):
        return ValueNotStorable()
    if disconnected or isinstance(error, psycopg.OperationalError) or (state or "").startswith(("08", "57P")):
        return DatabaseDown(retry_after=1)
    return error if error is not None else OperationalError("", None, Exception())
