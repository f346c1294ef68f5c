"""A coordinator and workers of Citus on loopback, each a Postgres with a folder of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from app.storage.embedded.account import OsAccount, choose_initdb_account
from app.storage.embedded.folders import change_owner, change_owner_of_tree
from tests.faults.archived import free_port
from tests.working import LIMIT, until

ADMIN, DATABASE = "postgres", "plumbline"
GUIDE = (Path(__file__).parents[2] / "docs/how-to/citus.md").read_text(encoding="utf-8")
# Beside what the guide tells the administrator to set: what many servers on one machine need, each for many databases.
SETTINGS = """
citus.local_hostname = '127.0.0.1'
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
port = {port}
max_worker_processes = 64
shared_buffers = 64MB
jit = off
log_min_messages = warning
citus.enable_statistics_collection = off
"""


def read_guide_block(beginning: str) -> str:
    """The lines of the guide that are set apart, from one that begins so on."""
    lines = GUIDE[GUIDE.index(f"    {beginning}") :].splitlines()
    end = next(n for n, line in enumerate(lines) if not line.startswith("    "))
    return "".join(f"{line.strip()}\n" for line in lines[:end])


@dataclass
class Node:
    """One server. The coordinator is the first."""

    folder: Path
    bin_dir: Path
    account: OsAccount
    port: int = 0

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, role: str = ADMIN, database: str = DATABASE) -> str:
        """The address for a role."""
        return f"postgresql://{role}@127.0.0.1:{self.port}/{database}"

    def create(self) -> None:
        """Its folder, which only it reads, and its settings. Everybody on loopback may connect: it is a test's."""
        maker = choose_initdb_account(self.account)
        self.folder.mkdir(mode=0o711)
        change_owner(self.folder, maker)
        command = [self.bin_dir / "initdb", "-D", self.data, "-U", ADMIN, "--auth=trust", "--no-locale", "-E", "UTF8"]
        made = maker.run(command, cwd=self.folder, timeout=LIMIT)
        assert made.returncode == 0, made.stdout
        self.port = free_port()
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(read_guide_block("shared_preload_libraries") + SETTINGS.format(port=self.port))
        (self.folder / "programs").write_text(str(self.bin_dir))
        change_owner_of_tree(self.folder, self.account)

    def start(self) -> None:
        """Start it, also after it was killed."""
        command = [self.bin_dir / "pg_ctl", "start", "-D", self.data, "-l", self.folder / "log", "-w", "-t", "120"]
        made = self.account.run(command, cwd=self.folder, timeout=LIMIT)
        assert made.returncode == 0, f"{made.stdout}{self.log()}"
        until(self.answers, "it answers")

    def answers(self) -> bool:
        """Whether it takes connections."""
        try:
            psycopg.connect(self.url(database="postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """End it at once, if it runs."""
        self.account.run([self.bin_dir / "pg_ctl", "stop", "-D", self.data, "-m", "immediate", "-w"], timeout=LIMIT)

    def log(self) -> str:
        """The end of what it said."""
        return (self.folder / "log").read_text(errors="replace")[-3000:]


def open_node(folder: Path) -> Node:
    """A server that somebody else made, by its folder: where its programs are and its port, it says itself."""
    lines = (folder / "data/postmaster.pid").read_text().splitlines()
    owner = folder.stat()
    bin_dir = Path((folder / "programs").read_text())
    return Node(folder, bin_dir, OsAccount(owner.st_uid, owner.st_gid), int(lines[3]))


@dataclass
class CitusCluster:
    """Servers, and a database on all of them. The first is the coordinator, whose address is the only one to know."""

    folder: Path
    bin_dir: Path
    account: OsAccount
    nodes: list[Node] = field(default_factory=list)

    @property
    def coordinator(self) -> Node:
        return self.nodes[0]

    def start(self, n_workers: int) -> None:
        """Make and start the servers, and the database on them."""
        for n in range(n_workers + 1):
            node = Node(self.folder / f"node{n}", self.bin_dir, self.account)
            self.nodes.append(node)
            node.create()
            node.start()
            self._create_database(node)
        with psycopg.connect(self.coordinator.url(), autocommit=True) as db:
            for statement in self.local(read_guide_block("psql plumbline <<'SQL'")).splitlines()[1:-1]:
                if "10.20.0." not in statement:  # else of a node that there is not
                    db.execute(statement.encode())

    def local(self, text: str) -> str:
        """What the guide says, with the addresses of these servers."""
        for n, node in enumerate(self.nodes, 1):
            text = text.replace(f"'10.20.0.1{n}', 5432", f"'127.0.0.1', {node.port}")
        return text

    def _create_database(self, node: Node) -> None:
        with psycopg.connect(node.url(database="postgres"), autocommit=True) as db:
            db.execute(f"CREATE DATABASE {DATABASE}")
        with psycopg.connect(node.url(), autocommit=True) as db:
            db.execute("CREATE EXTENSION citus")

    def stop(self) -> None:
        """End all servers."""
        for node in self.nodes:
            node.stop()
