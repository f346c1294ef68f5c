"""Whatever keeps entries in memory, or opens a connection, says here how it tells organizations apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

APP = Path(__file__).resolve().parents[2] / "app"
SERVING = ("services", "web", "api", "ui", "jobs", "storage", "pearmut", "reports/inputs", "reports/kit")
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
    "AnswerContextCache._rules": NUMBER,
    "AnswerContextCache._tasks": RANDOM,
    "CopyBuffer._blocks": WORK,
    "CopyBuffer._lines": WORK,
    "ProgressCountCache._campaigns": NUMBER,
    "DaskCluster._sent": NUMBER,
    "IdleConnections._of": CLIENT,
    "JudgingService.pending_loads": NUMBER,
    "RecentlyValidCredentials._seen": SECRET,
    "EventStreams._shared": "by the organization with the campaign's key",
    "PearmutCampaignCache._held": NUMBER,
    "OpenApiDocument._built": PROGRAM,
    "CampaignProgressTallies.groups": NUMBER,
    "CampaignProgressTallies.systems": NUMBER,
    "CampaignProgressTallies.tasks": NUMBER,
    "QueueEntryComputer._held": NUMBER,
    "RaterCache._entries": SECRET,
    "AnswerRecorder._arrivals": NUMBER,
    "AnswerRecorder._lanes": NUMBER,
    "ServerSupervisor._stopped": PROGRAM,
    "ServiceMetrics._of_route": PROGRAM,
    "StagingWriter.items": WORK,
    "StagingWriter.facts_by_text": WORK,
    "StagingWriter.facts_by_identity": WORK,
    "UnauthenticatedLimitsMiddleware._arriving": CLIENT,
    "_BundleInProgress.left_out": WORK,
    "_BundleInProgress.refused": WORK,
    "_BundleInProgress.sums": WORK,
    "_ByAddress._of": CLIENT,
    "_CampaignTexts.answers": WORK,
    "_CampaignTexts.documents": WORK,
    "_CampaignTexts.segments": WORK,
    "_CampaignTexts.systems": WORK,
    "_StoredTallies.minutes": NUMBER,
    "_stored_form": PROGRAM,
    "_Streams._opened": WORK,
    "_build": PROGRAM,
    "_case_forms": PROGRAM,
    "_describe_protocol": PROGRAM,
    "_describe_route": PROGRAM,
    "_manager": PROGRAM,
    "_reader": PROGRAM,
    "_list_predecessors": PROGRAM,
    "find_head_revision": PROGRAM,
    "list_modules_to_preload": PROGRAM,
    "list_queue_migrations": PROGRAM,
    "load_error_message_patterns": PROGRAM,
    "load_catalogue": PROGRAM,
    "load_page_messages": PROGRAM,
    "load_static_files": PROGRAM,
    "make_template_environment": PROGRAM,
    "list_served_catalogues": PROGRAM,
    "compute_static_files_digest": PROGRAM,
}
PATH = "sets search_path in each transaction, as `pin_current_organization` says"
NOTHING = "reads nothing that is of an organization"
# Who opens connections, and how they come to an organization's tables.
CONNECTING = {
    "jobs/queue_worker.py": "the queue's own tables, which all organizations share",
    "storage/backup.py": "nothing is read but the server's version and whether there is anything",
    "storage/db.py": PATH,
    "storage/embedded/roles.py": NOTHING,
    "storage/diagnosis.py": "reads the list of organizations, and each one's schema by its number",
    "storage/migrate.py": "sets search_path once, as it connects, for one organization's schema",
    "storage/liveness_probe.py": NOTHING,
    "storage/recorder/answer_recorder.py": PATH,
    "storage/schema_revisions.py": "reads the revision of each organization's schema, which it names",
    "storage/server_checks.py": NOTHING,
}
OPENERS = {"create_engine", "connect", "AsyncConnectionPool", "ConnectionPool", "PsycopgConnector"}
MODULES = {
    "psycopg",
    "ConnectionWithStartupOptions",
    "AsyncConnectionWithStartupOptions",
    "sa",
    "ProbedConnection",
    "AsyncConnectionPool",
    "PsycopgConnector",
}


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
    found = {name for tree in modules.values() for name in holders(tree)}
    assert found == HELD.keys()


def test_whoever_opens_a_connection_says_how_it_comes_to_an_organization(modules: dict[str, ast.Module]) -> None:
    assert {path for path, tree in modules.items() if opens(tree)} == CONNECTING.keys()
