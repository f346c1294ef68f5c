"""The command within this process: a start of the interpreter saved."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from app import cli
from tests.patience import patience as patience  # a fixture


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    returncode: int
    stdout: bytes
    stderr: bytes


Command = Callable[..., Answer]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    """command(url, *arguments): run `plumbline` on a database."""

    def run(url: str, *arguments: str | Path) -> Answer:
        monkeypatch.setenv("PLUMBLINE_DATABASE_URL", url)
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(sys, "argv", ["plumbline", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        sys.stdout.flush()
        return Answer(int(ended.value.code or 0), *capfdbinary.readouterr())

    return run
