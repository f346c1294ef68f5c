"""`plumbline doctor`: what is wrong with an installation, and what to do."""

from __future__ import annotations

import errno
import json
import platform
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import httpx
import typer

from app.cli.worker import BEAT_FILE, PATIENCE
from app.config import Settings
from app.domain.findings import HealthFinding
from app.storage import embedded
from app.storage.diagnosis import examine_database
from app.storage.embedded import diagnosis as embedded_diagnosis

ANSWER_WITHIN = 5.0  # seconds
SHOWN = {"ok": "ok", "warning": "look", "wrong": "WRONG"}


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(diagnose_installation)


def diagnose_installation(
    as_json: Annotated[bool, typer.Option("--json", help="The findings as JSON.")] = False,
) -> None:
    """Find out what is wrong and what to do, without changing anything. Exit code 1 if anything is wrong."""
    settings = Settings.load()
    results = list(list_installation_findings(settings))
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in results]))
    else:
        for finding in results:
            typer.echo(
                f"{SHOWN[finding.state]:6}{finding.what}: {finding.said}"
                + (f"\n      → {finding.do}" if finding.do else "")
            )
    if any(one.state == "wrong" for one in results):
        sys.exit(1)


def list_installation_findings(settings: Settings) -> Iterator[HealthFinding]:
    """Yield the findings of every check, one after another."""
    yield HealthFinding("version", "ok", f"Plumbline {version('plumbline')}, Python {platform.python_version()}")
    if settings.database_url:
        yield from examine_database(settings.database_url)
    else:
        yield from embedded_diagnosis.examine_embedded_server(settings.data_dir)
        yield from _own_database(settings.data_dir)
    yield _beat(settings.data_dir)
    yield from _port(settings.host, settings.port)


def _own_database(data_dir: Path) -> Iterator[HealthFinding]:
    """Yield findings about the embedded database, if it accepts connections."""
    url = embedded.find_running_server_url(data_dir)
    if url is not None:
        yield from examine_database(url)


def _beat(data_dir: Path) -> HealthFinding:
    beat = data_dir / BEAT_FILE
    if not beat.is_file():
        return HealthFinding("worker", "warning", "no heartbeat in this data folder", "`plumbline serve` has a worker")
    age = time.time() - beat.stat().st_mtime
    if age > PATIENCE:
        do = "see the log of `plumbline serve`, which restarts it automatically"
        return HealthFinding("worker", "warning", f"its last sign of life is {age:.0f} s old", do)
    return HealthFinding("worker", "ok", f"its last sign of life is {max(age, 0):.0f} s old")


def _port(host: str, port: int) -> Iterator[HealthFinding]:
    """Find out whether our server, another program or nothing listens on the port."""
    shown = f"{host}:{port}"
    try:
        with socket.create_server((host, port)):
            yield HealthFinding("port", "ok", f"{shown} is free: no server is running")
            return
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            do = "set another address in PLUMBLINE_HOST and PLUMBLINE_PORT"
            yield HealthFinding("port", "wrong", f"{shown} cannot be listened on: {error.strerror}", do)
            return
    yield from _service(f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}", shown)  # noqa: S104  (asked, not bound)


def _service(origin: str, shown: str) -> Iterator[HealthFinding]:
    try:
        answer = httpx.get(f"{origin}/readyz", timeout=ANSWER_WITHIN, trust_env=False)
        told = answer.json()
        parts = told.get("parts", {})
    except (httpx.HTTPError, ValueError, AttributeError):
        do = "stop it, or set another port in PLUMBLINE_PORT"
        yield HealthFinding(
            "port", "wrong", f"{shown} is used by another program, or by a server that does not respond", do
        )
        return
    ready = answer.status_code == httpx.codes.OK
    title = str(told.get("title", told.get("status", "")))
    yield HealthFinding(
        "service", "ok" if ready else "wrong", f"{shown} says: {title}", "" if ready else "see what is wrong above"
    )
    for name, part in parts.items():
        if part["state"] != "running":
            said = f"{part['state']}: {part['reason']}" if part["reason"] else part["state"]
            yield HealthFinding(name, "warning", said, "it is restarted automatically; see the log for details")
