"""A throw-away Postgres for the tests, and the rule for skips."""

from __future__ import annotations

import asyncio
import gc
import importlib
import itertools
import os
import pickle
import pkgutil
import shutil
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# One thread, as in the service, however the tests are begun: with two, a fit differs from the sixth digit on.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import httpx
import psycopg
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from psycopg import sql
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.util import LRUCache

import app
import benchmarks
from app.storage import embedded, migrate, organization_schemas
from app.storage.embedded import settings as server_settings
from tests import organized
from tests.scratch import walkable_folder

DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"
DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")
# A disk in memory: fsync stays on, as the checks want it, and costs nothing.
MEMORY = Path("/dev/shm")  # noqa: S108  (of memory; each run makes a folder of its own)
ROOM_NEEDED = 1 << 30
COLLECTED_AFTER = 50_000  # objects
TESTS = Path(__file__).resolve().parent
# How long an example takes says how busy the machine is; by default 200 ms would be a failure. And what is drawn hangs
# on the source alone, so that another run finds what this one does; `make soak` draws others, by `anew` and its seed,
# and more where a test says no number.
settings.register_profile(
    "anew", max_examples=160, derandomize=False, deadline=10_000, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("patient", settings.get_profile("anew"), max_examples=50, derandomize=True)
settings.load_profile("patient")
# What takes longest, longest first: handed out late, it would keep one worker busy while the others have nothing left.
# The files with a browser follow one another, as it stays open while they do. What mostly waits stands among the rest,
# about one of three at a time, so that the processors have work meanwhile.
FIRST = [
    "jobs/test_jobs.py",
    "browser/test_manager_pages.py",
    "browser/test_manager_steering.py",
    "browser/test_manager_setup.py",
    "browser/test_manager_lists.py",
    "browser/test_spans.py",
    "browser/test_nothing_is_lost.py",
    "browser/test_manager_known_answers.py",
    "cli/test_demo_command.py",
    "browser/test_media.py",
    "browser/test_states.py",
    "browser/test_markup.py",
    "browser/test_every_protocol.py",
    "faults/test_supervised.py",
    "browser/test_rater_languages.py",
    "browser/test_languages.py",
    "browser/test_manager_way.py",
    "browser/test_accessible.py",
    "web/test_serve.py",
    "browser/test_offline.py",
    "browser/test_hostile_names.py",
    "browser/test_written_protocol.py",
    "browser/test_charts.py",
    "browser/test_safe_and_blind.py",
    "browser/test_newcomer.py",
    "browser/test_manager_templates.py",
    "browser/test_items_filters.py",
    "faults/test_memory.py",
    "browser/test_few_actions.py",
    "browser/test_manager_texts.py",
    "browser/test_first_task.py",
    "browser/test_menus.py",
    "browser/test_aligned.py",
    "browser/test_many_columns.py",
    "browser/test_responsive.py",
    "browser/test_pearmut_over_our_store.py",
    "browser/test_pearmuts_page.py",
    "browser/test_certified_provider.py",
    "browser/test_pearmut_nothing_is_lost.py",
    "browser/test_item_instructions.py",
    "browser/test_hands.py",
    "api/test_schemathesis.py",
    "api/test_access_matrix.py",
    "load/test_crowd.py",
    "storage/embedded/test_faults.py",
    "golden/test_client_from_document.py",
    "api/test_replans.py",
    "cli/test_worker.py",
    "cli/test_bundle.py",
    "stats/multiverse/test_public_data.py",
    "faults/test_acked.py",
    "api/test_hostile.py",
    "faults/test_flat_and_steady.py",
    "load/test_blind_sessions.py",
    "api/test_report_kinds.py",
    "storage/embedded/test_embedded.py",
    "services/data/parallel/test_dispatch.py",
    "services/data/isolated/test_dispatch.py",
    "jobs/test_stepping_back.py",
    "load/test_benchmarks.py",
    "web/test_overload.py",
    "api/test_blind.py",
    "faults/test_many_raters.py",
    "house/test_package.py",
    "stats/robustness/test_public_data.py",
    "api/test_viewers.py",
    "pearmut/test_annotating.py",
    "web/test_reading_over_http.py",
    "guides/test_as_written.py",
    "load/test_serve_benchmark.py",
    "api/test_contacts.py",
    "faults/test_killed_imports.py",
    "jobs/test_traces.py",
    "services/data/test_imports.py",
    "faults/test_upgrades.py",
    "cli/test_only_what_is_asked_for.py",
    "services/data/test_exports.py",
    "storage/test_stale_statistics.py",
    "storage/embedded/test_access.py",
    "formats/test_public_data.py",
    "formats/test_public_flat.py",
    "load/test_grouping.py",
    "stats/validation/test_validation.py",
]


TOGETHER = ("golden", "house")
"""Folders whose files one process takes, as they share what is dear to make: imported data, the parsed package."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Hand out file by file, but these folders whole."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class FoldersTogether(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return next((folder for folder in TOGETHER if file.startswith(f"tests/{folder}/")), file)

    return FoldersTogether(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, in their order; of the rest, and within a file, the order stays."""
    places = {TESTS / name: place for place, name in enumerate(FIRST)}
    if missing := [str(path) for path in places if not path.is_file()]:
        raise pytest.UsageError(f"these go first and are not there: {missing}")
    items.sort(key=lambda item: places.get(item.path, len(FIRST)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Nothing that is imported and collected is garbage: it is never looked at, neither meanwhile nor by any test.

    What tests leave is looked at now and then, as in a process that serves: by default that is a tenth of their time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(COLLECTED_AFTER, 20, 20)
        gc.enable()


def pytest_collection_finish() -> None:
    """Import all there is: hypothesis also draws what stands as a constant in any module of ours, once it is imported.

    Which tests ran before in the same process would otherwise decide about the examples.
    """
    for package in (app, benchmarks):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)


@pytest.fixture(scope="session", autouse=True)
def certificates_read_once() -> Iterator[None]:
    """Clients share what they would check certificates with, which takes each of them 20 ms to read.

    Who waits for a server makes a client for each look, and would take a processor for it.
    """
    create, made = httpx.create_ssl_context, dict[object, ssl.SSLContext]()

    def create_once(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
        if verify is not True or cert is not None:
            return create(verify, cert, trust_env)
        asked = trust_env, *map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR"))
        if asked not in made:
            made[asked] = create(trust_env=trust_env)
        return made[asked]

    with pytest.MonkeyPatch.context() as changed:
        changed.setattr("httpx._transports.default.create_ssl_context", create_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def statements_compiled_once() -> Iterator[None]:
    """Pools share the statements that they have compiled: each test has its own pool, which would compile all anew.

    What is compiled is kept under its dialect too, of which each pool has one; they differ in nothing.
    """
    shared: LRUCache[Any, Any] = LRUCache(5_000)
    create = sa.create_engine

    def create_sharing(*given: Any, **named: Any) -> sa.Engine:
        engine = create(*given, **named)
        engine._compiled_cache = shared
        return engine

    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(sa, "create_engine", create_sharing)
        changed.setattr(PGDialect_psycopg, "__eq__", lambda one, other: type(one) is type(other))
        changed.setattr(PGDialect_psycopg, "__hash__", lambda one: hash(type(one)))
        yield


class _Impatient:
    """The module `asyncio`, in which a sleep is short."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.02))


@pytest.fixture(scope="session", autouse=True)
def servers_end_when_told() -> Iterator[None]:
    """A server in a thread of ours looks every fiftieth of a second whether it is to end, and not every tenth.

    Each of hundreds would otherwise take two tenths to end, in which it does nothing.
    """
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr("uvicorn.server.asyncio", _Impatient())
        yield


@pytest.fixture(scope="session")
def scratch() -> Iterator[Path]:
    """A folder that other users can walk through, for data folders; in memory where there is room."""
    room = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM_NEEDED
    folder = walkable_folder([MEMORY] * room + [Path(tempfile.gettempdir()), Path("/var/tmp"), Path("/var/lib")])  # noqa: S108  (as above)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def data_dir(scratch: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A data folder that does not exist yet; what runs in it is stopped and removed afterwards."""
    folder = Path(tempfile.mkdtemp(dir=scratch)) / "data"
    folder.parent.chmod(0o711)
    yield folder
    if folder.exists():
        embedded.stop_server(folder)
    shutil.rmtree(folder.parent)


@pytest.fixture(scope="session")
def postgres(scratch: Path) -> Iterator[embedded.EmbeddedServer]:
    """An embedded server for the whole session.

    Its shared memory is small: whoever makes or drops a database looks through all of it.
    """
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(server_settings, "_shared_buffers", lambda: 64)  # MB
        running = embedded.start_server(scratch / "server")
    with running as server:
        _hash_passwords_once(server)
        yield server


def _hash_passwords_once(server: embedded.EmbeddedServer) -> None:
    """Store the passwords of a server that runs as another user so that to prove one takes one round, not 4,096.

    That is most of what a connection costs here, and there are tens of thousands. Other users cannot reach the server.
    """
    passwords = server_settings.read_or_make_passwords(server.cluster.home, server.cluster.account, fresh=False)
    with psycopg.connect(server.url("admin", "postgres"), autocommit=True) as connection:
        if passwords:
            connection.execute("SET scram_iterations = 1")
        for role, password in passwords.items():
            alter = sql.SQL("ALTER ROLE {} PASSWORD {}")
            connection.execute(alter.format(sql.Identifier(role), sql.Literal(password)))


@pytest.fixture(scope="session")
def bin_dir15() -> Path:
    """The programs of Debian's Postgres 15."""
    if not (DEBIAN_15 / "postgres").is_file():
        pytest.skip(f"Postgres 15 is not installed in {DEBIAN_15}")
    return DEBIAN_15


_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def migrated_template(postgres: embedded.EmbeddedServer, administrator: Administrator) -> str:
    """The name of a database with the schema in place."""
    administrator.create("migrated", "template0")
    migrate.upgrade_schema(postgres.url("owner", "migrated"))
    return "migrated"


@pytest.fixture(scope="session")
def organized_template(postgres: embedded.EmbeddedServer, migrated_template: str, administrator: Administrator) -> str:
    """The name of a database with two organizations beside the default one (`tests.organized`)."""
    administrator.create("organized", migrated_template)
    for key in organized.KEYS.values():
        organization_schemas.add_organization(postgres.url("owner", "organized"), key, key.title())
    return "organized"


@pytest.fixture
def template(migrated_template: str) -> str:
    """What fresh databases are copies of; others may have more in theirs (`tests.spine.template_of`)."""
    return migrated_template


@pytest.fixture
def database_url(postgres: embedded.EmbeddedServer, template: str, administrator: Administrator) -> Iterator[str]:
    """The owner's address of a fresh database with the schema in place."""
    with administrator.fresh(template) as name:
        yield postgres.url("owner", name)


@pytest.fixture
def empty_database_url(postgres: embedded.EmbeddedServer, administrator: Administrator) -> Iterator[str]:
    """The owner's address of a fresh, empty database."""
    with administrator.fresh("template0") as name:
        yield postgres.url("owner", name)


class Administrator:
    """Makes and drops databases over one connection: to open another each time costs a third as much again."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def create(self, name: str, template: str) -> None:
        create = sql.SQL("CREATE DATABASE {} OWNER plumbline TEMPLATE {} STRATEGY {}")
        strategy = sql.SQL("wal_log" if template == "template0" else "file_copy")
        self._connection.execute(create.format(sql.Identifier(name), sql.Identifier(template), strategy))

    @contextmanager
    def fresh(self, template: str) -> Iterator[str]:
        """The name of a new database, which is dropped at the end, whoever is connected."""
        name = f"test_{next(_numbers)}"
        self.create(name, template)
        yield name
        self._connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def administrator(postgres: embedded.EmbeddedServer) -> Iterator[Administrator]:
    """Who makes databases on the server of the session.

    To drop one waits until nobody is connecting to it: by default a minute, where a test does not end what it began.
    """
    with psycopg.connect(postgres.url("admin", "postgres"), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET authentication_timeout = '10s'")
        connection.execute("SELECT pg_reload_conf()")
        yield Administrator(connection)


@pytest.fixture(scope="session")
def run_as() -> Callable[[int, Callable[[], object]], object]:
    """Run a function as another user in a forked child and hand back what it returns or raises."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    return _run_as


def _run_as(uid: int, function: Callable[[], object]) -> object:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            answer: object = function()
        except BaseException as error:  # noqa: BLE001, the parent gets it whatever it is
            answer = error
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pickle.load(pipe)  # noqa: S301, from our own child
    os.waitpid(child, 0)
    return answer


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    _judge_skip(report, needs_data=item.get_closest_marker("golden") is not None)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    report = yield
    _judge_skip(report, needs_data=False)
    return report


def _judge_skip(report: pytest.TestReport | pytest.CollectReport, *, needs_data: bool) -> None:
    """Where the public data is present, a skipped test of it has failed; `-ra` lists the other skips with reasons."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if DATA.is_dir() and (needs_data or "shared/" in reason):
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} was skipped though {DATA} is there: {reason}"
