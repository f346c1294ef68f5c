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
# Numbers that `useradd` (to 60000), Debian and systemd (60001-60705 and from 61184) do not assign.
UNNAMED_IDS = range(60906, 61184)
CLEAN_ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/local/bin:/usr/bin:/bin", "TZ": "UTC"}


@dataclass(frozen=True, slots=True)
class OsAccount:
    """A user and a group, as numbers, and a method that runs a program as them."""

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
            start_new_session=True,  # an interrupt at our terminal must not reach the server
            pass_fds=pass_fds,
            user=None if self.is_current_account else self.uid,
            group=None if self.is_current_account else self.gid,
            extra_groups=None if self.is_current_account else [],
        )


def get_current_os_account() -> OsAccount:
    """Return the account of this process."""
    return OsAccount(os.geteuid(), os.getegid())


def choose_server_account(cluster: Path) -> OsAccount:
    """Choose the account that runs the server: the current one, or a separate one under root, which Postgres refuses.

    Under root, this is the user `plumbline` if the machine has one, else a number without a name. A shared account
    (`postgres`, `nobody`) would let other programs under the same account read the data. A number needs no `useradd`,
    and no other program runs under it. The owner of an existing cluster continues to run it.

    Raises BadDataFolder if the cluster belongs to a person.
    """
    if os.geteuid() != 0:
        return get_current_os_account()
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
    """Choose the account for initdb: the server's, or `nobody` if that one has no name, because initdb needs a name."""
    if find_user_name(account.uid) is not None:
        return account
    entry = pwd.getpwnam("nobody")
    return OsAccount(entry.pw_uid, entry.pw_gid)


def find_user_name(uid: int) -> str | None:
    """Return the name of a user, or None."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None
