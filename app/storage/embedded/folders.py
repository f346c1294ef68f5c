"""Private folders and files, created so that no other user can interfere."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from app.storage.embedded.account import OsAccount, choose_initdb_account
from app.storage.embedded.errors import BadDataFolder

LOCK, USERS = "start.lock", "users.lock"  # the first also marks a folder as ours
BESIDE = ("worker.beat", "first-admin-link", "media")  # files that commands leave here even with another database
SOCKET_PATH_LIMIT = 107  # bytes in sockaddr_un, without the final NUL
NOTE = "socket-folder"  # the file that says where the socket is, if it cannot be in the data folder
PORT = 5432  # only a suffix in the name of the socket


def prepare_data_folder(path: Path) -> Path:
    """Return the real path of the data folder; make the folder and its lock file if they are missing.

    Raises BadDataFolder if the folder has other contents, because its mode and owner are then not ours to change.
    """
    folder = path.expanduser().resolve()
    if any(character in str(folder) for character in "\r\n\0"):
        raise BadDataFolder("its name holds a line break")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = {entry.name for entry in folder.iterdir()} - {"lost+found"}
    except OSError as error:
        raise BadDataFolder(f"{folder}: {error.strerror}") from error
    if LOCK not in content and not all(map(_is_ours, content)):
        raise BadDataFolder(f"{folder} is not empty and not made by Plumbline: name a new or an empty folder")
    return folder


def _is_ours(name: str) -> bool:
    """Tell whether a file may exist before any server does; a killed `write_private_file` may leave a scratch file."""
    return name == USERS or name in BESIDE or any(name.startswith(f".{written}.") for written in BESIDE)


def chown_data_folder(folder: Path, account: OsAccount) -> None:
    """Give the data folder to the account, with mode 0700.

    Raises BadDataFolder if the folder belongs to another user, or if the account cannot reach it.
    """
    status = folder.stat()
    if status.st_uid not in {os.geteuid(), account.uid, choose_initdb_account(account).uid}:
        raise BadDataFolder(f"{folder} belongs to another user")
    change_owner(folder, account)
    folder.chmod(0o700)
    if not account.is_current_account and (closed := _closed_to(account, folder)):
        hint = "under root the server runs as another user, so keep its data in /var/lib/plumbline or the like"
        raise BadDataFolder(f"{folder} lies in {closed}, which is closed to other users; {hint}")


def _closed_to(account: OsAccount, folder: Path) -> Path | None:
    """Return the outermost folder on the way to this one that the account may not enter."""
    if account.run(["test", "-x", folder]).returncode == 0:
        return None
    way = [*reversed(folder.parents), folder]
    return next((step for step in way if account.run(["test", "-x", step]).returncode != 0), folder)


def change_owner(path: Path, account: OsAccount) -> None:
    """Make the account the owner of a file or folder, unless it is the current account."""
    if not account.is_current_account:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def change_owner_of_tree(folder: Path, account: OsAccount) -> None:
    """Make the account the owner of everything in a folder; follow no link, hard or symbolic."""
    for _, folders, files, handle in os.fwalk(folder):
        for name in folders + files:
            status = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode) or status.st_nlink == 1:
                os.chown(name, account.uid, account.gid, dir_fd=handle, follow_symlinks=False)
    change_owner(folder, account)


def write_private_file(path: Path, text: str, account: OsAccount | None = None) -> None:
    """Write a file of mode 0600, whole or not at all, following no link; give it to the account, if any."""
    scratch = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)
            if account and not account.is_current_account:
                os.fchown(handle, account.uid, account.gid)
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    fsync_folder(path.parent)


def fsync_folder(folder: Path) -> None:
    """Make the names in a folder durable with fsync."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_socket_folder(home: Path, account: OsAccount) -> Path:
    """Return a private folder for the server's socket: in the data folder, or a short one if no socket fits there.

    The length of a socket's path is limited, and libpq takes a comma in it as the end of a host name.

    The short folder has a random name in the runtime folder. The data folder stores this name, so every starter looks
    in the same place.
    """
    inside = home / "run"
    if len(os.fsencode(inside / f".s.PGSQL.{PORT}")) <= SOCKET_PATH_LIMIT and "," not in str(inside):
        inside.mkdir(mode=0o700, exist_ok=True)
        inside.chmod(0o700)
        change_owner(inside, account)
        return inside
    note = home / NOTE
    if note.exists():
        noted = Path(note.read_text(encoding="utf-8"))
        if _is_private(noted, account):
            return noted
    short = Path(tempfile.mkdtemp(prefix="plumbline-", dir=_runtime_folder()))
    change_owner(short, account)
    write_private_file(note, str(short))
    return short


def find_socket_folder(home: Path) -> Path:
    """Return where starters have put the socket, without creating or checking anything."""
    note = home / NOTE
    return Path(note.read_text(encoding="utf-8")) if note.exists() else home / "run"


def _is_private(folder: Path, account: OsAccount) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == account.uid and stat.S_IMODE(status.st_mode) == 0o700


def _runtime_folder() -> Path:
    """Return the place for short-lived private folders, which get mode 0700 and an unpredictable name."""
    if os.geteuid() == 0:
        return Path("/run")
    ours = Path(os.environ.get("XDG_RUNTIME_DIR") or "/nonexistent")
    return ours if ours.is_dir() and os.access(ours, os.W_OK) and len(os.fsencode(ours)) < 60 else Path("/tmp")  # noqa: S108  (as above)
