"""Where the data folders of a test run lie."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from app.domain.errors import AppError
from app.storage import embedded
from app.storage.embedded import account

PREFIX = "plumbline-tests-"


def walkable_folder(parents: Sequence[Path]) -> Path:
    """A new folder in the first of these where the server's account can reach it: some machines close /dev/shm to all
    but root.
    """
    for parent in parents:
        _sweep(parent)
        folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))
        folder.chmod(0o711)
        if account.choose_server_account(folder / "none").run(["test", "-x", folder]).returncode == 0:
            return folder
        folder.rmdir()
    raise pytest.UsageError(f"the server's account can reach a folder in none of {[str(parent) for parent in parents]}")


def _sweep(parent: Path) -> None:
    """Stop and remove what a killed test run left behind; one process does it, and fails no test where it cannot."""
    handle = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for folder in filter(_is_left_behind, parent.glob(f"{PREFIX}*")):
            with suppress(OSError, AppError):
                for lock in [*folder.glob("*/start.lock"), *folder.glob("*/data/start.lock")]:
                    embedded.stop_server(lock.parent)
            shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass  # another process is at it
    finally:
        os.close(handle)


def _is_left_behind(folder: Path) -> bool:
    pid = folder.name.removeprefix(PREFIX).split("-")[0]
    try:
        return folder.stat().st_uid == os.geteuid() and not Path(f"/proc/{pid}").exists()
    except FileNotFoundError:
        return False
