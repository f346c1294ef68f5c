"""How long commands take to start: `python -m benchmarks.serve [--repeats N] [--only PART …] [--write PAGE]`.

`plumbline serve` on an empty folder until it is ready: everything counts, Python, making the database cluster, the
schema, the first answer of /readyz; worker included, as people start it. `plumbline --help`. `plumbline rank` of a
ranking that is stored, on a Postgres that runs already. Each is told as a multiple of `python -c "import numpy"`, taken
in turn with them, for what the machine is busy with slows them all.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import httpx

from benchmarks import pages, synthetic
from benchmarks.children import ROOT, run
from benchmarks.hot import throw_away
from benchmarks.processes import load_average

GOAL: Final = 5.0  # seconds
PATIENCE: Final = 120.0
PLUMBLINE: Final = (sys.executable, "-c", "from app.cli import main; main()")
COMMAND: Final = (*PLUMBLINE, "serve", "--port", "0")
ANNOUNCED: Final = "Plumbline at "
BASE: Final = (sys.executable, "-c", "import numpy")
PARTS: Final[Mapping[str, tuple[str, float]]] = {
    "serve": ("serve on an empty folder, until ready", GOAL),
    "help": ("`plumbline --help`", 0.5),
    "rank": ("`plumbline rank` of a stored ranking", 1.2),
}
"""The name of each part, and its goal in seconds on a machine where `serve` took 9.8 s."""
JUDGMENTS: Final = 10_000


def main() -> None:
    """Measure, and print a Markdown table and the same figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="how often each is started")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--folder", type=Path, help="where the data folders go (default: the temporary folder)")
    parser.add_argument("--write", type=Path, help="page to put the table into, between the marks of `start`")
    asked = parser.parse_args()
    with ExitStack() as stack:
        starts: dict[str, Callable[[], float]] = {}
        for part in asked.only:
            if part == "serve":
                starts[part] = partial(until_ready, asked.folder)
            elif part == "help":
                starts[part] = partial(until_done, (*PLUMBLINE, "--help"))
            else:
                starts[part] = stack.enter_context(stored_ranking(asked.folder))
        base: list[float] = []
        seconds: dict[str, list[float]] = {part: [] for part in starts}
        for _ in range(asked.repeats):
            for part, start in starts.items():
                base.append(until_done(BASE))
                seconds[part].append(start())
    lines = table(median(base), seconds)
    print(lines)
    print(json.dumps({**{f"{part}_seconds": taken for part, taken in seconds.items()}, "goal": GOAL}))
    if asked.write:
        pages.write(asked.write, f"{load_average()}.\n\n{lines}", "start")


def table(base: float, seconds: Mapping[str, Sequence[float]]) -> str:
    """Make a table with a line for each command. base: seconds for numpy."""
    lines = ["| what | median | slowest | × `import numpy` | goal |", "|---|--:|--:|--:|--:|"]
    for part, taken in seconds.items():
        what, goal = PARTS[part]
        mid = median(taken)
        lines.append(f"| {what} | {mid:.2f} s | {max(taken):.2f} s | {mid / base:.1f} | ≤ {goal:g} s |")
    return "\n".join([*lines, f'| `python -c "import numpy"` | {base:.2f} s | | 1 | |']) + "\n"


def until_done(command: Sequence[str], environment: Mapping[str, str] | None = None, checkout: Path = ROOT) -> float:
    """Return the seconds of a command. environment: ours by default. Raises CalledProcessError if it fails."""
    begun = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=checkout, env=environment)
    return time.monotonic() - begun


@contextmanager
def stored_ranking(folder: Path | None) -> Iterator[Callable[[], float]]:
    """Store a ranking; yield a function that shows it and returns the seconds for this."""
    with (
        tempfile.TemporaryDirectory(prefix="plumbline-bench-", dir=folder) as scratch,
        throw_away(Path(scratch)) as (server, _),
    ):
        file = Path(scratch) / "mqm.tsv"
        synthetic.mqm_tsv(file, synthetic.whole(JUDGMENTS))
        run("import", server.url("app"), "large", "mqm-tsv", "mqm", str(file))
        environment = {**os.environ, "PLUMBLINE_DATABASE_URL": server.url("owner")}
        show = partial(until_done, (*PLUMBLINE, "rank", "large"), environment)
        show()
        yield show


def until_ready(folder: Path | None = None, command: Sequence[str] | None = None, checkout: Path = ROOT) -> float:
    """Return the seconds from the start of the command on a new data folder to its first 200 at /readyz.

    command: COMMAND by default.

    Raises RuntimeError if the command ends before that, or is not ready in time.
    """
    with tempfile.TemporaryDirectory(prefix="plumbline-bench-", dir=folder) as scratch:
        Path(scratch).chmod(0o711)  # under root, the server runs as another user, who needs access
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PLUMBLINE_")}
        environment["PLUMBLINE_DATA_DIR"] = str(Path(scratch) / "data")
        begun = time.monotonic()
        with subprocess.Popen(
            command or COMMAND,
            cwd=checkout,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            try:
                origin = _origin(process)
                while not _ready(origin):
                    if time.monotonic() - begun > PATIENCE or process.poll() is not None:
                        raise RuntimeError(f"not ready after {time.monotonic() - begun:.0f} s")
                    time.sleep(0.01)
                return time.monotonic() - begun
            finally:
                process.terminate()
                process.communicate(timeout=PATIENCE)


def _origin(process: subprocess.Popen[str]) -> str:
    lines: Sequence[str] = [process.stdout.readline()] if process.stdout else []
    if not lines or not lines[0].startswith(ANNOUNCED):
        raise RuntimeError(f"serve did not say where it is: {lines}")
    return lines[0].removeprefix(ANNOUNCED).split()[0]


def _ready(origin: str) -> bool:
    try:
        return httpx.get(f"{origin}/readyz", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


if __name__ == "__main__":
    main()
