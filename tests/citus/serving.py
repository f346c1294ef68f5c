"""The service on an organization of a Citus cluster, to be killed as that on one server is (`tests.faults.serving`)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import psutil
import psycopg

from app.storage.current_organization import organization_schema
from tests.citus.cluster import Node
from tests.faults.serving import Service
from tests.organized import TWIN, within
from tests.working import LIMIT

NAMES = ("worker", "coordinator", "all")
HOME = """
SELECT n.nodeport FROM pg_dist_schema s JOIN pg_dist_partition t ON t.colocationid = s.colocationid
JOIN pg_dist_shard h ON h.logicalrelid = t.logicalrelid JOIN pg_dist_placement p ON p.shardid = h.shardid
JOIN pg_dist_node n ON n.groupid = p.groupid WHERE s.schemaid = to_regnamespace(%s) LIMIT 1"""


def kill_node(node: Node) -> None:
    """End every process of a server, as a power cut does."""
    postmaster = psutil.Process(int((node.data / "postmaster.pid").read_text().splitlines()[0]))
    processes = [postmaster, *postmaster.children(recursive=True)]
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    gone, alive = psutil.wait_procs(processes, timeout=LIMIT)
    assert gone
    assert not alive


class CitusService(Service):
    """The application on a cluster. kinds: which nodes lose their power in turn."""

    nodes: list[Node]
    database: str
    killed: int = 0

    @classmethod
    def of(cls, nodes: list[Node], database: str, home: Path) -> CitusService:
        """On a database of a cluster; home: for its files."""
        run = cls(home, home, None)  # type: ignore[arg-type]  # its server is only asked for its address
        run.nodes, run.database = nodes, database
        return run

    @property
    def plain_url(self) -> str:
        """The one address that the service knows."""
        return self.nodes[0].url("plumbline", self.database)

    @property
    def url(self) -> str:
        """For who looks into the organization's tables."""
        return within(self.plain_url, TWIN)

    def start(self) -> None:
        self.environment = {**self.environment, "PLUMBLINE_ORGANIZATION": ""}
        super().start()

    def kill_postgres(self) -> None:
        """The node of the organization, the coordinator, and all of them in turn; then start them again."""
        which = NAMES[self.killed % len(NAMES)]
        self.killed += 1
        nodes = {"worker": [self.home_node()], "coordinator": self.nodes[:1], "all": self.nodes}[which]
        for node in nodes:
            kill_node(node)
        for node in nodes:
            node.start()

    def home_node(self) -> Node:
        """Which node has the organization."""
        with psycopg.connect(self.nodes[0].url(database=self.database)) as db:
            row = db.execute(HOME, [organization_schema(TWIN)]).fetchone()
        assert row is not None
        return next(node for node in self.nodes if node.port == row[0])

    def kill_backends(self) -> None:
        """End every other connection to the database, on all nodes."""
        for node in self.nodes:
            with psycopg.connect(node.url(database=self.database), autocommit=True) as db:
                db.execute(
                    """SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
                       AND pid <> pg_backend_pid() AND backend_type = 'client backend'"""
                )
