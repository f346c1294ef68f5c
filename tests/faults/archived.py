"""A Postgres whose log is archived with the files of deploy/backup, to be lost with its disk and restored."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.working import LIMIT, until

ROOT = Path(__file__).resolve().parents[2]
BACKUP = ROOT / "deploy" / "backup"
USER = "postgres"  # of Debian's packages; under root, the server and pgBackRest run as this one
PASSPHRASE = "a passphrase for a test"


def read_settings(file: str) -> str:
    """One of the files."""
    return (BACKUP / file).read_text(encoding="utf-8")


@dataclass(frozen=True)
class BackupStore:
    """A store like S3, on loopback with TLS. authority: the certificate of who signed its own."""

    port: int
    authority: Path


@dataclass
class ArchivedServer:
    """One cluster in `folder`. port: of this process alone, as its socket is in the folder.

    store: where the backups are; none: in a folder.
    """

    folder: Path
    bin_dir: Path
    port: int = 5432
    store: BackupStore | None = None
    process: subprocess.Popen[bytes] | None = None
    receiver: subprocess.Popen[bytes] | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.environment = {
            "PGBACKREST_CONFIG": str(self.folder / "pgbackrest.conf"),
            "PGBACKREST_REPO1_CIPHER_PASS": PASSPHRASE,
            "PGBACKREST_REPO1_S3_KEY": "test",
            "PGBACKREST_REPO1_S3_KEY_SECRET": "test",
            "PG_BIN": str(self.bin_dir),
            "PATH": os.environ["PATH"],
            "TMPDIR": str(self.folder / "tmp"),
            "LC_ALL": "C.UTF-8",
        }

    @property
    def url(self) -> str:
        """The owner's address."""
        return f"postgresql://plumbline@/plumbline?host={self.folder}&port={self.port}"

    def command(self, command: Sequence[str | Path]) -> list[str | Path]:
        """As the user who may run a server."""
        become = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups"]
        return [*become, *command] if os.geteuid() == 0 else list(command)

    def run(self, *command: str | Path, **more: str) -> str:
        """What a command printed; it has to end well."""
        done = subprocess.run(
            self.command(command),
            env={**self.environment, **more},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def create(self, archive_timeout: int) -> None:
        """A cluster with a database, its archive, and a first backup. archive_timeout: in seconds."""
        for name in ("repository", "logs", "locks", "tmp", "received"):
            (self.folder / name).mkdir()
        text = read_settings("pgbackrest.conf")
        if self.store is not None:
            authority = self.folder / "authority"  # where the server's user can read it
            shutil.copy(self.store.authority, authority)
            text = _in_store(text, self.store.port, authority)
        text = text.replace("/var/lib/pgbackrest", str(self.folder / "repository"))
        text = text.replace("/var/lib/postgresql/15/main", str(self.data)).replace("5432", str(self.port))
        text = text.replace("/var/run/postgresql", str(self.folder))
        text = text.replace("/var/log/pgbackrest", f"{self.folder / 'logs'}\nlock-path={self.folder / 'locks'}")
        (self.folder / "pgbackrest.conf").write_text(text)
        archived = read_settings("postgresql.conf").replace("60s", f"{archive_timeout}s")
        (self.folder / "archived.conf").write_text(archived)
        for name in ("fetch-wal", "receive-wal", "rehearse"):
            shutil.copy(BACKUP / name, self.folder)
        self.own()
        self.run(self.bin_dir / "initdb", "--auth=trust", "--encoding=UTF8", "--data-checksums", "-D", self.data)
        self.include()
        self.start()
        self.run(self.bin_dir / "createuser", *self.socket, "--createrole", "plumbline")
        self.run(self.bin_dir / "createdb", *self.socket, "--owner=plumbline", "plumbline")
        self.run("pgbackrest", "--stanza=plumbline", "stanza-create")

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def socket(self) -> list[str]:
        return [f"--host={self.folder}", f"--port={self.port}"]

    def own(self) -> None:
        """Give all files to the user of the server."""
        if os.geteuid() == 0:
            user = pwd.getpwnam(USER)
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, user.pw_uid, user.pw_gid)

    def include(self) -> None:
        """Have the server read the settings of the archive, and ours of its place."""
        place = f"listen_addresses = ''\nport = {self.port}\nunix_socket_directories = '{self.folder}'\n"
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(f"include '{self.folder / 'archived.conf'}'\n{place}")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command([self.bin_dir / "postgres", "-D", self.data]),
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        ready = self.command([self.bin_dir / "pg_isready", "--quiet", *self.socket])

        def answers() -> bool:
            assert self.process is not None
            assert self.process.poll() is None, (self.folder / "log").read_text()[-3000:]
            return subprocess.run(ready).returncode == 0

        until(answers, "the server answers")

    def psql(self, statement: str, user: str = USER) -> str:
        """What a statement gives."""
        return self.run(
            self.bin_dir / "psql", *self.socket, f"--username={user}", "-d", "plumbline", "-XAtc", statement
        ).strip()

    def archive_all(self) -> None:
        """Have what was written until now in the archive."""
        self.psql("SELECT pg_switch_wal()")
        newest = "SELECT last_archived_wal >= pg_walfile_name(pg_current_wal_lsn() - 1) FROM pg_stat_archiver"
        until(lambda: self.psql(newest) == "t", "it is archived")

    def receive(self) -> None:
        """Have each commit wait until its log was received elsewhere."""
        connection = f"host={self.folder} port={self.port} user={USER}"
        with (self.folder / "receiver-log").open("ab") as log:
            self.receiver = subprocess.Popen(
                self.command([self.folder / "receive-wal", self.folder / "received", connection]),
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until(lambda: self.psql("SELECT count(*) FROM pg_stat_replication") == "1", "it receives")
        self.psql("ALTER SYSTEM SET synchronous_standby_names = 'plumbline_wal'")
        self.psql("SELECT pg_reload_conf()")
        until(lambda: self.psql("SELECT sync_state FROM pg_stat_replication") == "sync", "commits wait for it")

    def lose(self) -> None:
        """All at once: the processes are killed and the disk is gone; what was archived or received stays."""
        for process in (self.process, self.receiver):
            if process is not None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(LIMIT)
        self.process = self.receiver = None
        shutil.rmtree(self.data)

    def restore(self, *options: str, received: bool) -> None:
        """Restore into the empty folder, and start. options: up to when."""
        fetch = [f'--recovery-option=restore_command={self.folder / "fetch-wal"} {self.folder / "received"} %f "%p"']
        self.data.mkdir(mode=0o700)
        self.own()
        self.run("pgbackrest", "--stanza=plumbline", *options, *(fetch if received else []), "restore")
        alone = "synchronous_standby_names = ''\n"  # whoever received is to be started anew
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.write(alone)
        self.start()
        until(lambda: self.psql("SELECT pg_is_in_recovery()") == "f", "it is restored")

    def stop(self) -> None:
        """End whatever runs."""
        if self.data.exists():
            self.lose()


def _in_store(settings: str, port: int, authority: Path) -> str:
    """The settings with what the file offers in place of a folder, and where a test's store is."""
    settings = settings.replace("repo1-path=/var/lib/pgbackrest\n", "").replace("#repo1-", "repo1-")
    settings = settings.replace("s3.example.org", "localhost")
    place = f"repo1-storage-port={port}\nrepo1-s3-uri-style=path\n"
    return settings.replace("[plumbline]", f"{place}repo1-storage-ca-file={authority}\n\n[plumbline]")


def free_port() -> int:
    """A number that no server on loopback has; the server listens on a socket of this name only."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
