"""What the database holds of a secret, and whom the service speaks to."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import psycopg
import pytest

from app.storage import embedded


def test_a_dump_of_the_database_holds_no_secret(
    anonymous: httpx.Client, secret: Callable[..., str], postgres: embedded.EmbeddedServer, database_url: str
) -> None:
    token = secret()
    csrf = anonymous.post("/v1/session", json={"token": token}).json()["csrf"]
    session = anonymous.cookies["staff"]
    anonymous.cookies.clear()
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "dumped"}
    issued = anonymous.post("/v1/tokens", json={"role": "viewer", "name": "findme"}, headers=headers).json()["token"]

    dump = everything_in(database_url)

    assert "findme" in dump
    for text in (token, issued, session, csrf):
        rest = text.split("_", 2)[2] if text.startswith("plb_") else text
        assert rest not in dump
        assert rest.encode().hex() not in dump


def everything_in(url: str) -> str:
    """Every row of every table as text, as a dump has them."""
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        rows = [connection.execute(f'SELECT t::text FROM "{name}" t').fetchall() for (name,) in tables]
    return "\n".join(text for table in rows for (text,) in table)


def test_the_service_connects_to_its_database_and_to_nobody_else(
    admin: httpx.Client, populated: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("the service tried to open a connection")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    ranking = "/v1/campaigns/demo/ranking"
    for path in (
        "/docs",
        "/openapi.json",
        "/v1/protocols",
        ranking,
        f"{ranking}.svg",
        "/v1/campaigns/demo/exports/jsonl",
    ):
        assert admin.get(path).status_code == 200, path
    with pytest.raises(AssertionError, match="tried to open"):  # the control: such an attempt would be seen
        socket.create_connection(("192.0.2.1", 80), timeout=0.1)


def test_importing_the_application_does_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, threading; import app.main, app.config\n"
        "heavy = {'matplotlib', 'scipy.stats'} & set(sys.modules)\n"
        "print(threading.active_count(), sorted(heavy))"
    )
    environment = {"PATH": os.environ["PATH"], "PLUMBLINE_PORT": "no number", "HOME": str(tmp_path)}
    root = Path(__file__).resolve().parents[2]
    python = sys.executable
    done = subprocess.run([python, "-c", code], cwd=root, env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == "1 []\n", done.stderr
    assert list(tmp_path.iterdir()) == []
