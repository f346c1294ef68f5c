"""The commands of a guide, run by a shell as they are written, one block after another.

`plumbline` is a stand-in that hands its arguments to this process, where the interpreter is warm; `curl` and `jq` are
the machine's own. What a block prints is kept beside what the guide shows below it.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from unittest import mock

from app import cli

ROOT = Path(__file__).parents[2]
WORDS = re.compile(r"(plumbline|curl|make|git|cd|export|awk|kill)\b|[A-Z][A-Z_]*=")
"""What a block of commands begins with; any other block is what a command prints, or a file."""
NIGHTLY = re.compile(r"[\d*/,-]+(?: +[\d*/,-]+){4} +(?=plumbline)")
"""When cron runs a command; in its table a % is written with a backslash."""
ROW = re.compile(r"\| `(plumbline [^`]+)` \|")
"""A row of a table of commands."""
STAND_IN = """#!{python} -SI
import base64, json, os, socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect({path!r})
named = {{name: value for name, value in os.environ.items() if name.startswith("PLUMBLINE_")}}
asked = {{"argv": sys.argv[1:], "cwd": os.getcwd(), "env": named}}
line.sendall(json.dumps(asked).encode() + b"\\n")
told = json.loads(line.makefile().readline())
for name in ("stdout", "stderr"):
    getattr(sys, name).buffer.write(base64.b64decode(told[name]))
sys.exit(told["code"])
"""


@dataclass(frozen=True)
class Block:
    """An indented block. line: of the guide."""

    line: int
    text: str

    @property
    def commands(self) -> bool:
        """Whether it is to be run."""
        return WORDS.match(self.text) is not None


def blocks(text: str) -> Iterator[Block]:
    """Every indented or fenced block of a guide and every row of a table of commands, in order, but Python."""
    found: list[str] = []
    begun, fence, blank = 0, "", True
    for number, line in enumerate((*text.splitlines(), ""), 1):
        if row := ROW.match(line):
            yield Block(number, row[1])
        if line.startswith("```"):
            if fence and fence not in ("```python", "```mermaid"):
                yield Block(begun, "\n".join(found))
            fence, found, begun = ("" if fence else line.strip()), [], number + 1
            continue
        if fence:
            found.append(line)
            continue
        deep = re.match(r"( {4,})\S", line)
        if deep and (found or blank):
            if not found:
                begun, indent = number, len(deep[1])
            found.append(line[indent:])
        elif found and (line.strip() or not line):
            if any(one.strip() for one in found):
                whole = "\n".join(found)
                yield Block(begun, NIGHTLY.sub("", whole).replace("\\%", "%") if NIGHTLY.match(whole) else whole)
            found = []
        blank = not line.strip()


@dataclass(frozen=True)
class Run:
    """A block of commands, each of which ended as it should, and what it printed; shown: what the guide says."""

    block: Block
    printed: str
    shown: str | None


def script(guide: str) -> list[tuple[Block, str | None]]:
    """The blocks of commands of a guide, each with the output that is shown below it; JSON is a file."""
    found: list[tuple[Block, str | None]] = []
    for block in blocks(guide):
        if block.commands:
            found.append((block, None))
        elif found and not block.text.lstrip().startswith("{"):
            found[-1] = (found[-1][0], "\n".join(filter(None, (found[-1][1], block.text))))
    return found


def run(
    guide: str,
    folder: Path,
    environment: Mapping[str, str],
    *,
    before: str = "",
    between: Mapping[str, str] = MappingProxyType({}),
    without: re.Pattern[str] | None = None,
) -> list[Run]:
    """Run a guide in a folder.

    before: what the guide takes as given, in the shell's words. between: the same of what happens before the block
    that begins so. without: blocks to leave out.
    """
    parts = [(block, shown) for block, shown in script(guide) if without is None or not without.search(block.text)]
    unused = [start for start in between if not any(block.text.startswith(start) for block, _ in parts)]
    assert not unused, unused
    mark = "=== the end of a block"
    text = [before]
    for block, _ in parts:
        text += [f"{{ {words}\n}} > between" for start, words in between.items() if block.text.startswith(start)]
        text.append(f"{_ended_as_said(block.text)}\necho; echo '{mark}'")
    bins = folder / "bin"
    bins.mkdir(exist_ok=True)
    address = str(folder / "line")
    with socket.socket(socket.AF_UNIX) as listener, (folder / "printed").open("ab") as out:
        listener.bind(address)
        listener.listen(1)
        listener.settimeout(0.2)
        stand_in = bins / "plumbline"
        stand_in.write_text(STAND_IN.format(python=sys.executable, path=address), encoding="utf-8")
        stand_in.chmod(0o700)
        path = f"{bins}{os.pathsep}{os.environ['PATH']}"
        shell = subprocess.Popen(
            ["bash", "-ec", "exec 2>&1\n" + "\n".join(text)],
            cwd=folder,
            env={**os.environ, **environment, "PATH": path, "COLUMNS": "200"},
            stdin=subprocess.DEVNULL,
            stdout=out,  # a file: of a pipe nobody would read while the shell waits for us
        )
        try:
            _serve(listener, shell)
        finally:
            shell.kill()
            shell.wait()
    Path(address).unlink()
    printed = (folder / "printed").read_text(encoding="utf-8")
    *ended, rest = printed.split(f"\n{mark}\n")
    assert len(ended) == len(parts), (parts[len(ended)][0], rest[-2000:])
    return [Run(block, said, shown) for (block, shown), said in zip(parts, ended, strict=True)]


def _ended_as_said(commands: str) -> str:
    """The commands, of which one may end as its comment says; any other that fails ends the shell."""
    return re.sub(r"(.*?)\s+# exit code (\d)", r"code=0; \1 || code=$?; test $code -eq \2", commands)


def _serve(listener: socket.socket, shell: subprocess.Popen[bytes]) -> None:
    """Do what the stand-in is asked, until the shell has ended."""
    while shell.poll() is None:
        try:
            line, _ = listener.accept()
        except TimeoutError:
            continue
        with line:
            asked = json.loads(line.makefile().readline())
            line.sendall(json.dumps(_done(asked["argv"], asked["cwd"], asked["env"])).encode() + b"\n")


def _done(argv: list[str], cwd: str, environment: Mapping[str, str]) -> dict[str, object]:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code = 0
    if argv[:1] == ["serve"]:  # it serves already
        return {"code": 0, "stdout": "", "stderr": ""}
    named = {**environment, "COLUMNS": "200", "PLUMBLINE_ACTOR": "guide"}
    with (
        chdir(cwd),
        mock.patch.dict(os.environ, named),
        mock.patch.object(sys, "argv", ["plumbline", *argv]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    told = {"stdout": out, "stderr": err}
    return {"code": code, **{name: base64.b64encode(one.buffer.getvalue()).decode() for name, one in told.items()}}  # type: ignore[attr-defined]


def told(shown: str, printed: str) -> list[str]:
    """Lines that a guide shows and a command did not print, in their order; … stands for anything."""
    rest = [re.sub(r"\s+", " ", line).strip() for line in printed.splitlines()]
    missing = []
    for line in shown.splitlines():
        wanted = re.sub(r"\s+", " ", line).strip()
        if wanted in ("", "…"):
            continue
        fits = re.compile(".*".join(re.escape(part) for part in wanted.split("…")))
        at = next((n for n, one in enumerate(rest) if fits.search(one)), None)
        if at is None:
            missing.append(line)
        else:
            rest = rest[at + 1 :]
    return missing
