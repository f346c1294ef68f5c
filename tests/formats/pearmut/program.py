"""The real Pearmut, for long tests: in a virtual environment of its own, because it needs Python 3.12.

PLUMBLINE_TEST_PEARMUT names its program where it is installed; else it is installed for the tests.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import httpx
import pytest

PACKAGE = "pearmut==1.1.6"
ADD_EXISTING = (
    *("add-existing", "-o", "--campaigns", "campaign.json"),
    *("--annotations", "annotations.json", "--progress", "progress.json"),
)


@cache
def _installed() -> str:
    """The program, installed into a folder that stays for the next run. Skips the test where that cannot be done."""
    folder = Path(tempfile.gettempdir()) / f"plumbline-test-{PACKAGE}"
    program = folder / "bin" / "pearmut"
    if not program.exists():
        python = shutil.which("python3.12") or shutil.which("python3.13")
        if python is None:
            pytest.skip("there is no Python 3.12, which Pearmut needs; or PLUMBLINE_TEST_PEARMUT names its program")
        for command in ([python, "-m", "venv", folder], [folder / "bin" / "pip", "install", "-q", PACKAGE]):
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if done.returncode:
                pytest.skip(f"Pearmut cannot be installed: {done.stderr.strip()[-300:]}")
    return str(program)


class PearmutProgram:
    """Pearmut in one folder. Skips the test where there is none."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.program = folder, os.environ.get("PLUMBLINE_TEST_PEARMUT") or _installed()
        folder.mkdir(exist_ok=True)

    @property
    def package(self) -> Path:
        """Where its files are."""
        (package,) = Path(self.program).parent.parent.glob("lib/python3*/site-packages/pearmut")
        return package

    def write(self, files: Mapping[str, bytes]) -> None:
        """Put files into its folder."""
        for name, body in files.items():
            (self.folder / name).write_bytes(body)

    def run(self, *arguments: str) -> str:
        """What a command prints; it must succeed."""
        done = subprocess.run(self._command(arguments), **self._how(), capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def log(self, campaign: str) -> bytes:
        """What was answered."""
        return (self.folder / "data" / "annotations" / f"{campaign}.jsonl").read_bytes()

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Its address while it serves its pages."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with (self.folder / "served").open("wb") as out:
            process = subprocess.Popen(
                self._command(("run", "--port", str(port))), **self._how(), stdout=out, stderr=out
            )
        try:
            for _ in range(300):
                try:
                    httpx.get(f"http://localhost:{port}/favicon.svg", trust_env=False)
                    break
                except httpx.TransportError:
                    time.sleep(0.1)
            yield f"http://localhost:{port}"
        finally:
            process.terminate()
            process.wait(20)
            (self.folder / "data" / ".lock").unlink(missing_ok=True)

    def _command(self, arguments: Sequence[str]) -> list[str]:
        return [self.program, *arguments]

    def _how(self) -> dict[str, object]:
        return {"cwd": self.folder, "env": {**os.environ, "PEARMUT_ROOT": str(self.folder)}}
