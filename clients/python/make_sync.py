"""Make `plumbline_client/sync` of `plumbline_client/aio`: the same code without `await`. `--check` only compares.

ruff puts the result into form, so the same source gives the same bytes.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "plumbline_client"
REPLACED = (
    (r"\basync (def|for|with) ", r"\1 "),
    (r"\bawait ", ""),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\bimport asyncio\b", "import time"),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\b__a(enter|exit)__\b", r"__\1__"),
    (r"\baclose\b", "close"),
    (r"\baread\b", "read"),
    (r"\baiter_bytes\b", "iter_bytes"),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\bplumbline_client\.aio\b", "plumbline_client.sync"),
)
HEAD = "# Made from ../aio/{name} by make_sync.py; change that.\n"
PACKAGE_DOC = '"""The client that answers when the server has answered. Made by `make_sync.py`."""\n'


def sync_modules() -> dict[Path, str]:
    """What belongs into `sync`, by path."""
    modules = {PACKAGE / "sync" / "__init__.py": PACKAGE_DOC}
    for source in sorted((PACKAGE / "aio").glob("*.py")):
        if source.name != "__init__.py":
            modules[PACKAGE / "sync" / source.name] = in_form(sync_text(source), PACKAGE / "sync" / source.name)
    return modules


def sync_text(source: Path) -> str:
    """A module without `await`."""
    text = source.read_text(encoding="utf-8")
    for pattern, replacement in REPLACED:
        text = re.sub(pattern, replacement, text)
    lines = text.splitlines(keepends=True)
    once = [line for n, line in enumerate(lines) if line != "import time\n" or "import time\n" not in lines[:n]]
    return HEAD.format(name=source.name) + "".join(once)


def in_form(text: str, path: Path) -> str:
    """A module as ruff has it."""
    for command in (["check", "--quiet", "--fix", "--select", "I"], ["format", "--quiet"]):
        ran = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", path, "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        text = ran.stdout
    return text


def main() -> int:
    """Write, or compare; 1 where something differs."""
    differing = [
        (path, text)
        for path, text in sync_modules().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in differing:
        if "--check" in sys.argv:
            print(f"{path} is not what make_sync.py makes of aio", file=sys.stderr)
        else:
            path.write_text(text, encoding="utf-8")
    return int("--check" in sys.argv and bool(differing))


if __name__ == "__main__":
    sys.exit(main())
