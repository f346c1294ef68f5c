"""Configure the embedded server: its settings, who may connect, and the passwords."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

from app.storage.embedded.account import OsAccount, find_user_name
from app.storage.embedded.errors import DatabasePasswordsLost
from app.storage.embedded.folders import PORT, write_private_file

DATABASE = "plumbline"
ADMIN, OWNER, APP = "plumbline_admin", "plumbline", "plumbline_app"
PASSWORDS = "pgpass"
MEGABYTE = 1 << 20
SHARED = Path("/dev/shm")  # noqa: S108  (where the C library keeps shared memory)

# LOG and above go to one file, without the texts of statements and the values of rows, which may be personal data.
_SETTINGS = """\
# Written anew at every start. Settings of your own belong in local.conf beside this file.
listen_addresses = ''
unix_socket_directories = {sockets}
unix_socket_permissions = 0700
port = {port}
max_connections = 100
shared_buffers = {buffers}MB
dynamic_shared_memory_type = {shared}
fsync = on
full_page_writes = on
synchronous_commit = on
password_encryption = 'scram-sha-256'
timezone = 'UTC'
log_timezone = 'UTC'
jit = off
log_checkpoints = off
log_error_verbosity = terse
log_min_error_statement = panic
log_parameter_max_length_on_error = 0
include = 'local.conf'
"""


def write_server_settings(cluster: Path, sockets: Path, account: OsAccount) -> None:
    """Write postgresql.conf, pg_hba.conf and pg_ident.conf, and replace any earlier content, of initdb or others."""
    settings = _SETTINGS.format(
        sockets=_quote(f'"{_double_quotes(str(sockets))}"'),
        port=PORT,
        buffers=_shared_buffers(),
        shared=_shared_memory(account),
    )
    write_private_file(cluster / "postgresql.conf", settings, account)
    if not os.path.lexists(cluster / "local.conf"):
        write_private_file(cluster / "local.conf", "# Settings of your own\n", account)
    method = "peer map=plumbline" if account.is_current_account else "scram-sha-256"
    write_private_file(cluster / "pg_hba.conf", f"local all all {method}\n", account)
    write_private_file(cluster / "pg_ident.conf", _ident_map(account), account)


def _double_quotes(text: str) -> str:
    return text.replace('"', '""')


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _ident_map(account: OsAccount) -> str:
    """Return the map for peer authentication: the operating system user that may take each of the three roles."""
    name = find_user_name(account.uid)
    if not account.is_current_account or name is None:
        return ""
    return "".join(f'plumbline "{_double_quotes(name)}" {role}\n' for role in (ADMIN, OWNER, APP))


def _shared_buffers() -> int:
    """Return an eighth of the machine's memory, within 32 to 1024 megabytes."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MEGABYTE
    return max(32, min(1024, memory // 8))


def _shared_memory(account: OsAccount) -> str:
    """Choose how processes share memory in a query: files in /dev/shm or, without access, System V segments.

    If the account has no access to that folder, Postgres does not start with its own choice, which is the first on
    Linux.
    """
    reachable = sys.platform != "linux" or all(account.run(["test", f"-{may}", SHARED]).returncode == 0 for may in "wx")
    return "posix" if reachable else "sysv"


def read_or_make_passwords(home: Path, account: OsAccount, *, fresh: bool) -> dict[str, str]:
    """Return the password of each role; empty if we run the server ourselves, because it then knows our user id.

    The passwords are in a file in libpq's own format that only we can read, so no address or command line holds one.

    Raises DatabasePasswordsLost if the file is missing although the cluster exists.
    """
    if account.is_current_account:
        return {}
    file = home / PASSWORDS
    if not file.exists():
        if not fresh:
            raise DatabasePasswordsLost(
                f"put {file} back from a copy, or start with an empty folder and restore a backup"
            )
        write_private_file(file, "".join(f"*:*:*:{role}:{secrets.token_urlsafe(32)}\n" for role in (ADMIN, OWNER, APP)))
    lines = file.read_text(encoding="ascii").splitlines()
    return {line.split(":")[3]: line.split(":")[4] for line in lines}
