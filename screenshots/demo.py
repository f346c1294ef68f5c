"""The demo on a folder that is thrown away, with the links that it prints."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROGRAM: Final = (sys.executable, "-c", "from app.cli import main; main()")
MANAGER, RATER, READY = "As its manager: ", "As a rater: ", "Ctrl+C ends it."


@dataclass(frozen=True, slots=True)
class Demo:
    """A demo that is served. manager, rater: links, each with a secret. environment: finds its database."""

    origin: str
    manager: str
    rater: str
    environment: dict[str, str]

    def ask(self, *words: str) -> bytes:
        """What a command prints about it. Raises CalledProcessError where it fails."""
        return subprocess.run([*PROGRAM, *words], env=self.environment, check=True, stdout=subprocess.PIPE).stdout


@contextmanager
def demo() -> Iterator[Demo]:
    """Serve a new demo for as long as the block lasts. Raises RuntimeError where it ends before it is ready."""
    with tempfile.TemporaryDirectory(prefix="plumbline-pictures-") as scratch:
        Path(scratch).chmod(0o711)  # under root the database runs as another user, who must get through
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PLUMBLINE_")}
        environment |= {"PLUMBLINE_DATA_DIR": str(Path(scratch) / "data"), "PLUMBLINE_PORT": "0", "COLUMNS": "200"}
        with subprocess.Popen([*PROGRAM, "demo"], env=environment, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield _served(process, environment)
            finally:
                process.terminate()
                process.communicate()


def _served(process: subprocess.Popen[str], environment: dict[str, str]) -> Demo:
    links: dict[str, str] = {}
    for line in process.stdout or ():
        print(line, end="", file=sys.stderr)
        links |= {label: line.removeprefix(label).strip() for label in (MANAGER, RATER) if line.startswith(label)}
        if line.startswith(READY):
            return Demo(links[MANAGER].partition("/#")[0], links[MANAGER], links[RATER], environment)
    raise RuntimeError("the demo ended before it was ready")
