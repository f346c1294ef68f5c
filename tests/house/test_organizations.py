"""Whatever keeps entries in memory, or opens a connection, says here how it tells organizations apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

APP = Path(__file__).resolve().parents[2] / "app"
SERVING = ("services", "web", "api", "ui", "jobs", "storage", "pearmut", "reports/source", "reports/kit")
CACHES = {"cache", "lru_cache"}
KEPT = {"OrderedDict", "defaultdict", "dict"}

NUMBER = "by the number of a row, which no two organizations share"
SECRET = "by a credential or its digest, which leads to one organization"
RANDOM = "by random words of 128 bits"
WORK = "of one piece of work, which is one organization's"
PROGRAM = "what the program is made of, the same for all"
CLIENT = "by the address of whoever asks, whomever they ask about"

# What is kept longer than a call: how its entries are told apart. A new one has to be thought about.
HELD = {
    "api/protocols.py _describe_protocol": PROGRAM,
    "jobs/dask_cluster.py DaskCluster._sent": NUMBER,
    "jobs/work.py QueueComputer._held": NUMBER,
    "services/data/back_translations.py _CampaignTexts.answers": WORK,
    "services/data/back_translations.py _CampaignTexts.documents": WORK,
    "services/data/back_translations.py _CampaignTexts.segments": WORK,
    "services/data/back_translations.py _CampaignTexts.systems": WORK,
    "services/data/bundle.py _BundleInProgress.left_out": WORK,
    "services/data/bundle.py _BundleInProgress.refused": WORK,
    "services/data/bundle.py _BundleInProgress.sums": WORK,
    "services/data/isolated/reading.py _Streams._opened": WORK,
    "services/data/staging_writer.py StagingWriter.items": WORK,
    "services/data/staging_writer.py StagingWriter.remembered": WORK,
    "services/data/staging_writer.py StagingWriter.seen": WORK,
    "services/pearmut/documents.py LoadedCampaignCache._held": NUMBER,
    "services/tasks/addresses.py AnswerableTaskCache._rules": NUMBER,
    "services/tasks/addresses.py AnswerableTaskCache._tasks": RANDOM,
    "services/tasks/judging.py JudgingService.under_way": NUMBER,
    "services/tasks/progress_cache.py CountsKeeper._campaigns": NUMBER,
    "services/tasks/progress_cache.py ProgressTallies.groups": NUMBER,
    "services/tasks/progress_cache.py ProgressTallies.systems": NUMBER,
    "services/tasks/progress_cache.py ProgressTallies.tasks": NUMBER,
    "services/tasks/progress_cache.py _StoredTallies.minutes": NUMBER,
    "storage/embedded/supervision.py ServerSupervisor._stopped": PROGRAM,
    "storage/imports/copy_text.py CopyLines._blocks": WORK,
    "storage/imports/copy_text.py CopyLines._lines": WORK,
    "storage/jobs_queue.py _manager": PROGRAM,
    "storage/migrate.py find_head_revision": PROGRAM,
    "storage/migrate.py list_known_revisions": PROGRAM,
    "storage/queue_schema.py list_queue_migrations": PROGRAM,
    "storage/recorder/recorder.py Recorder._arrivals": NUMBER,
    "storage/recorder/recorder.py Recorder._lanes": NUMBER,
    "ui/assets.py load_static_files": PROGRAM,
    "ui/assets.py static_files_digest": PROGRAM,
    "ui/markdown.py _reader": PROGRAM,
    "ui/messages.py load_catalogue": PROGRAM,
    "ui/messages.py load_page_messages": PROGRAM,
    "ui/messages.py served_catalogues": PROGRAM,
    "ui/pages.py make_template_environment": PROGRAM,
    "web/fast/rater_cache.py RaterCache._entries": SECRET,
    "web/live.py LiveStreams._shared": "by the organization with the campaign's key",
    "web/openapi/document.py OpenApiDocument._built": PROGRAM,
    "web/openapi/document.py _build": PROGRAM,
    "web/protocol.py IdleConnections._of": CLIENT,
    "web/queries.py _describe_route": PROGRAM,
    "web/rate_limits.py _ByAddress._of": CLIENT,
    "web/strangers.py KnownCredentials._seen": SECRET,
    "web/strangers.py StrangersLayer._arriving": CLIENT,
}
PATH = "sets search_path in each transaction, as `rely_on_organization` says"
NOTHING = "reads nothing that is of an organization"
# Who opens connections, and how they come to an organization's tables.
CONNECTING = {
    "jobs/queue.py": "the queue's own tables, which all organizations share",
    "storage/backup.py": "nothing is read but the server's version and whether there is anything",
    "storage/db.py": PATH,
    "storage/embedded/roles.py": NOTHING,
    "storage/examining.py": NOTHING,
    "storage/migrate.py": "sets search_path once, as it connects, for one organization's schema",
    "storage/pulse.py": NOTHING,
    "storage/recorder/recorder.py": PATH,
    "storage/server_checks.py": NOTHING,
}
OPENERS = {"create_engine", "connect", "AsyncConnectionPool", "ConnectionPool", "PsycopgConnector"}
MODULES = {"psycopg", "sa", "PulsedConnection", "AsyncConnectionPool", "PsycopgConnector"}


def name_of(node: ast.AST | None) -> str:
    """The last word of what a name, a call or a subscript is of."""
    while isinstance(node, ast.Subscript | ast.Call):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def holders(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any(name_of(one) in CACHES for one in node.decorator_list):
            yield node.name
        if not isinstance(node, ast.ClassDef):
            continue
        for part in ast.walk(node):
            if not isinstance(part, ast.AnnAssign) or name_of(part.annotation) not in KEPT:
                continue
            if isinstance(part.target, ast.Attribute):
                yield f"{node.name}.{part.target.attr}"
            elif (
                part in node.body and isinstance(part.value, ast.Call) and name_of(part.value) == "field"
            ):  # a field that begins empty
                yield f"{node.name}.{ast.unparse(part.target)}"


def opens(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func) in OPENERS:
            of = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            if name_of(of) in MODULES:
                return True
    return False


@pytest.fixture(scope="module")
def modules() -> dict[str, ast.Module]:
    """All that serves, by its path below the package."""
    files = [file for folder in SERVING for file in sorted((APP / folder).rglob("*.py"))]
    return {str(file.relative_to(APP)): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def test_whatever_is_kept_is_kept_for_one_organization(modules: dict[str, ast.Module]) -> None:
    found = {f"{path} {name}" for path, tree in modules.items() for name in holders(tree)}
    assert found == HELD.keys()


def test_whoever_opens_a_connection_says_how_it_comes_to_an_organization(modules: dict[str, ast.Module]) -> None:
    assert {path for path, tree in modules.items() if opens(tree)} == CONNECTING.keys()
