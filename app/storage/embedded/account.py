"""The operating system user that runs the embedded server."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.storage.embedded.errors import BadDataFolder

SERVICE_USER = "plumbline"
# Numbers that neither `useradd` (to 60000), nor Debian, nor systemd (60001-60705 and from 61184) hands out.
UNNAMED_IDS = range(60906, 61184)
CLEAN_ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/local/bin:/usr/bin:/bin", "TZ": "UTC"}


@dataclass(frozen=True, slots=True)
class OsAccount:
    """A user and group by number, and how to run a program as them."""

    uid: int
    gid: int

    @property
    def is_current_account(self) -> bool:
        """Whether this process runs as this account."""
        return self.uid == os.geteuid()

    def run(
        self,
        command: Sequence[str | Path],
        *,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
        timeout: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end as this account, in an environment without our variables or terminal."""
        return subprocess.run(
            [str(part) for part in command],
            cwd=cwd or "/",
            env={**CLEAN_ENVIRONMENT, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            umask=0o077,
            start_new_session=True,  # an interrupt at our terminal is not one for the server
            pass_fds=pass_fds,
            user=None if self.is_current_account else self.uid,
            group=None if self.is_current_account else self.gid,
            extra_groups=None if self.is_current_account else [],
        )


def current_os_account() -> OsAccount:
    """The account of this process."""
    return OsAccount(os.geteuid(), os.getegid())


def choose_server_account(cluster: Path) -> OsAccount:
    """Who runs the server: we, or, under root, whom Postgres refuses, an account of its own.

    Under root that is the user `plumbline` where the machine has one, else a number without a name. A shared account
    (`postgres`, `nobody`) would let the other programs that run under it read the data; a number needs no `useradd`,
    and nobody else runs under it. Whoever owns an existing cluster goes on running it.

    Raises BadDataFolder where the cluster belongs to a person.
    """
    if os.geteuid() != 0:
        return current_os_account()
    if cluster.exists():
        owner = cluster.lstat()
        account = OsAccount(owner.st_uid, owner.st_gid)
        name = find_user_name(account.uid)
        if account.uid == 0 or name not in {None, SERVICE_USER}:
            raise BadDataFolder(f"{cluster} belongs to user {name}: run as that user")
        return account
    return _fresh_account()


def _fresh_account() -> OsAccount:
    try:
        entry = pwd.getpwnam(SERVICE_USER)
    except KeyError:
        number = next(number for number in UNNAMED_IDS if find_user_name(number) is None)
        return OsAccount(number, number)
    return OsAccount(entry.pw_uid, entry.pw_gid)


def choose_initdb_account(account: OsAccount) -> OsAccount:
    """Who runs initdb: the server's account, or `nobody` where that has no name, which initdb insists on."""
    if find_user_name(account.uid) is not None:
        return account
    entry = pwd.getpwnam("nobody")
    return OsAccount(entry.pw_uid, entry.pw_gid)


def find_user_name(uid: int) -> str | None:
    """The name of a user, or None."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None
