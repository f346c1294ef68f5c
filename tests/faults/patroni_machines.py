"""The machines of deploy/ha, an address of loopback each: etcd, Patroni, Postgres; before them HAProxy, PgBouncer."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import yaml

from tests.faults.archived import USER
from tests.working import LIMIT, until

LAYOUT = Path(__file__).resolve().parents[2] / "deploy" / "ha"
PROGRAMS = {"etcd": "etcd-server", "patroni": "patroni", "haproxy": "haproxy", "pgbouncer": "pgbouncer"}
"""What has to be installed, and Debian's package of it."""
NETWORK = "10.20.0."  # of the files
PORTS = (2379, 2380, 5432, 6432, 8008)
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # Patroni is the system's, not ours


def find_program(name: str) -> str | None:
    """Where a program is; some are where only root looks."""
    return shutil.which(name, path=SYSTEM_PATH)


def read_layout(file: str) -> str:
    """One of the files."""
    return (LAYOUT / file).read_text(encoding="utf-8")


@dataclass
class Machine:
    """One machine of the database. address: on loopback. runs_postgres: the third has etcd alone."""

    name: str
    address: str
    folder: Path
    runs_postgres: bool
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def postgres_processes(self) -> list[psutil.Process]:
        """The server that Patroni started here, with all its processes."""
        try:
            server = psutil.Process(int((self.data / "postmaster.pid").read_text().splitlines()[0]))
            if str(self.data) not in server.cmdline():  # the number is another's by now
                return []
            return [server, *server.children(recursive=True)]
        except (OSError, IndexError, ValueError, psutil.NoSuchProcess):
            return []

    def kill(self) -> None:
        """All at once, as where the power fails; its disk stays."""
        for process in self.processes:
            process.kill()
        for one in self.postgres_processes():
            with suppress(psutil.NoSuchProcess):
                one.kill()
        for process in self.processes:
            process.wait(LIMIT)
        self.processes.clear()
        until(lambda: not self.postgres_processes(), "its server is gone")

    def is_primary(self) -> bool:
        """Whether Patroni says so here, as HAProxy asks it."""
        try:
            return httpx.get(f"http://{self.address}:8008/primary", timeout=2, trust_env=False).is_success
        except httpx.HTTPError:
            return False


@dataclass
class PatroniMachines:
    """Three machines, two of them with Postgres, and what leads from a service to the primary."""

    folder: Path
    bin_dir: Path
    machines: list[Machine] = field(default_factory=list)
    leading: list[subprocess.Popen[bytes]] = field(default_factory=list)
    passwords: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        draw = secrets.SystemRandom()
        self.network = f"127.{draw.randrange(16, 240)}.{draw.randrange(240)}."
        self.passwords = {who: secrets.token_hex(12) for who in ("superuser", "replication", "plumbline")}
        for n in (1, 2, 3):
            name = f"db{n}"
            (self.folder / name).mkdir()
            self.machines.append(Machine(name, f"{self.network}1{n}", self.folder / name, n < 3))

    def taken_port(self) -> int | None:
        """A port that somebody has on all addresses, so that these machines cannot have it."""
        for port in PORTS:
            with socket.socket() as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    one.bind((f"{self.network}1", port))
                except OSError:
                    return port
        return None

    def url(self, port: int) -> str:
        """The owner's address by HAProxy (5432) or PgBouncer (6432)."""
        return f"postgresql://plumbline:{self.passwords['plumbline']}@{self.network}1:{port}/plumbline"

    def start(self) -> None:
        """All machines, the database in them, and what leads there."""
        self._certify()
        self._own()
        for machine in self.machines:
            self.start_machine(machine)
        self._lead("haproxy", ["haproxy", "-db", "-f", self._written("haproxy.cfg")])
        until(self.is_synchronous, "the other is its synchronous standby")
        admin = f"postgresql://postgres:{self.passwords['superuser']}@{self.network}1:5432/postgres"
        until(lambda: self._answers(admin), "HAProxy leads to the primary")
        with psycopg.connect(admin, autocommit=True) as db:
            db.execute(f"CREATE ROLE plumbline LOGIN CREATEROLE PASSWORD '{self.passwords['plumbline']}'")
            db.execute("CREATE DATABASE plumbline OWNER plumbline")
            (secret,) = db.execute("SELECT rolpassword FROM pg_authid WHERE rolname = 'plumbline'").fetchone() or ("",)
        users = self.folder / "userlist.txt"
        users.write_text(f'"plumbline" "{secret}"\n')
        settings = self._written("pgbouncer.ini", {"/etc/pgbouncer/userlist.txt": str(users)})
        self._own()
        self._lead("pgbouncer", ["pgbouncer", settings])
        until(lambda: self._answers(self.url(6432)), "PgBouncer leads there, too")

    def start_machine(self, machine: Machine) -> None:
        """etcd and, on two of them, Patroni, which starts Postgres."""
        lines = [line for line in read_layout("etcd.env").splitlines() if not line.startswith("#")]
        settings = dict(line.split("=", 1) for line in lines)
        of_all = settings.pop("ETCD_INITIAL_CLUSTER").replace(NETWORK, self.network)
        own = {name: self._local(value, machine) for name, value in settings.items()}
        own |= {"ETCD_INITIAL_CLUSTER": of_all, "ETCD_DATA_DIR": str(machine.folder / "etcd")}
        own |= {"ETCD_NAME": machine.name}
        machine.processes.append(self._begin(machine.folder / "etcd.log", ["etcd"], own))
        if machine.runs_postgres:
            file = machine.folder / "patroni.yml"
            file.write_text(yaml.safe_dump(self._patroni_settings(machine)))
            own = {f"PATRONI_{who.upper()}_PASSWORD": self.passwords[who] for who in ("superuser", "replication")}
            machine.processes.append(self._begin(machine.folder / "patroni.log", ["patroni", file], own))

    def _local(self, text: str, machine: Machine) -> str:
        return text.replace(f"{NETWORK}11", machine.address)

    def _patroni_settings(self, machine: Machine) -> dict[str, Any]:
        """As the file says to do: another name and other addresses; and the test's folders."""
        paths = {"/etc/plumbline": self.folder, "/usr/lib/postgresql/15/bin": self.bin_dir}
        paths |= {"/var/lib/postgresql/15/main": machine.data, f"{NETWORK}0/24": "127.0.0.0/8"}
        text = read_layout("patroni.yml")
        for path, ours in paths.items():
            text = text.replace(path, str(ours))
        # There is no archive here: tests/faults/test_any_second.py has one.
        text = text.replace("pgbackrest --stanza=plumbline archive-push %p", "/bin/true")
        settings: dict[str, Any] = yaml.safe_load(text)
        settings["name"] = machine.name
        settings["etcd3"]["hosts"] = [host.replace(NETWORK, self.network) for host in settings["etcd3"]["hosts"]]
        for part in ("restapi", "postgresql"):
            for key in ("listen", "connect_address"):
                settings[part][key] = self._local(settings[part][key], machine)
        # Both servers are on one machine here, with one port.
        settings["postgresql"]["parameters"] = {"unix_socket_directories": str(machine.folder)}
        return settings

    def _written(self, file: str, paths: Mapping[str, str] | None = None) -> Path:
        """A file of the machine of the service, with the test's addresses."""
        text = read_layout(file).replace(NETWORK, self.network).replace("127.0.0.1", f"{self.network}1")
        for path, ours in (paths or {}).items():
            text = text.replace(path, ours)
        (self.folder / file).write_text(text)
        return self.folder / file

    def _certify(self) -> None:
        key, certificate = self.folder / "db.key", self.folder / "db.crt"
        make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        named = ["-subj", "/CN=db", "-days", "2", "-keyout", str(key), "-out", str(certificate)]
        subprocess.run([*make, *named], check=True, capture_output=True)
        key.chmod(0o600)

    def _own(self) -> None:
        """Give all files to the user of the servers."""
        if os.geteuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                shutil.chown(path, USER, USER)

    def _begin(
        self, log: Path, command: Sequence[str | Path], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        become = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups"] if os.geteuid() == 0 else []
        program = find_program(str(command[0]))
        assert program is not None, command
        with log.open("ab") as said:
            return subprocess.Popen(
                [*become, program, *command[1:]],
                env={"PATH": SYSTEM_PATH, "LC_ALL": "C.UTF-8", "HOME": str(self.folder), **environment},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )

    def _lead(self, name: str, command: Sequence[str | Path]) -> None:
        self.leading.append(self._begin(self.folder / f"{name}.log", command, {}))

    def _answers(self, url: str) -> bool:
        with suppress(psycopg.OperationalError):
            psycopg.connect(url, connect_timeout=2).close()
            return True
        return False

    def primary(self) -> Machine | None:
        """Whose server is the primary."""
        return next((machine for machine in self.machines if machine.runs_postgres and machine.is_primary()), None)

    def is_synchronous(self) -> bool:
        """Whether the primary has a synchronous standby, and etcd knows that this one may take over."""
        primary = self.primary()
        if primary is None:
            return False
        with suppress(httpx.HTTPError):
            members = httpx.get(f"http://{primary.address}:8008/cluster", timeout=2, trust_env=False).json()["members"]
            return any(member["role"] == "sync_standby" and member["state"] != "stopped" for member in members)
        return False

    def stop(self) -> None:
        """End whatever runs here."""
        for process in self.leading:
            process.send_signal(signal.SIGKILL)
            process.wait(LIMIT)
        for machine in self.machines:
            machine.kill()

    def logs(self) -> str:
        """The ends of all logs."""
        files = sorted(self.folder.rglob("*.log"))
        return "\n".join(f"== {file.relative_to(self.folder)}\n{file.read_text()[-1500:]}" for file in files)
