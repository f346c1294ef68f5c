"""TLS by nginx before the service on loopback, as docs/how-to/proxy.md says: its file, a private CA, Debian's nginx."""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.services.access import tokens
from tests.certificates import make_certificates
from tests.collecting import Collecting, collect
from tests.spine import Spine, fresh
from tests.working import until

pytestmark = pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed (Debian's nginx-light)")

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = ROOT / "deploy" / "proxy" / "nginx.conf"
PROXY = "127.0.0.2"  # from where nginx asks the service; it alone is trusted
SOMEBODY, LIAR = "127.0.0.3", "203.0.113.9"
UPLOAD_LIMIT = 3 << 20
LIMIT = 120  # seconds
GIB = 1 << 30


@dataclass(frozen=True)
class Proxied:
    """A service behind its proxy. secret: of an admin. log: of the service."""

    service: str
    https: str
    http: str
    trust: ssl.SSLContext
    log: Path
    secret: str
    campaign: Collecting

    def ask(self, source: str = SOMEBODY, **more: Any) -> httpx.Client:
        """A client behind the proxy's certificate, from an address of its own."""
        transport = httpx.HTTPTransport(verify=self.trust, local_address=source)
        return httpx.Client(base_url=self.https, transport=transport, timeout=LIMIT, **more)

    @property
    def auth(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}"}

    def refused(self) -> list[str]:
        """From where credentials came that were refused, as the service sees it."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line["address"] for line in lines if line["logger"] == "plumbline.access"]


def free_ports(n: int) -> list[int]:
    """Ports that nobody has now."""
    held = [socket.socket() for _ in range(n)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports: list[int] = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


@contextmanager
def nginx(folder: Path, service: int, http: int, https: int) -> Iterator[None]:
    """The proxy with its committed configuration; only addresses and folders are others."""
    text = CONFIGURATION.read_text(encoding="utf-8")
    for there, here in {
        "server api:8000;": f"server 127.0.0.1:{service};",
        "listen 8080;": f"listen 127.0.0.1:{http};",
        "listen 8443 ssl": f"listen 127.0.0.1:{https} ssl",
        "/run/secrets/": f"{folder}/",
        "/tmp/nginx": f"{folder}/nginx",  # noqa: S108
        "proxy_pass http://plumbline;": f"proxy_pass http://plumbline; proxy_bind {PROXY};",
    }.items():
        assert there in text, there
        text = text.replace(there, here)
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    more = "daemon off;" + (" user root;" if os.geteuid() == 0 else "")
    process = subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-e", "stderr", "-g", more])
    try:

        def listens() -> bool:
            assert process.poll() is None, "nginx ended"
            with socket.socket() as one:
                return one.connect_ex(("127.0.0.1", https)) == 0

        until(listens, "nginx listens")
        yield
    finally:
        process.terminate()
        process.wait(LIMIT)


@pytest.fixture(scope="module")
def spine(postgres: Any, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        yield found


@contextmanager
def serving_behind_nginx(spine: Spine, folder: Path, *, key: str, limit: int) -> Iterator[Proxied]:
    """The service with a campaign, behind its proxy. limit: of uploads, in bytes."""
    service, http, https = free_ports(3)
    campaign = collect(spine.database, key=key)
    with spine.database.transaction() as session:
        secret = tokens.issue_token(session, role="admin", name="test").secret
    environment = {
        **os.environ,
        "PLUMBLINE_DATABASE_URL": spine.url,
        "PLUMBLINE_DATA_DIR": str(folder / "data"),
        "PLUMBLINE_PUBLIC_URL": f"https://localhost:{https}",
        "PLUMBLINE_TRUSTED_PROXIES": PROXY,
        "PLUMBLINE_UPLOAD_LIMIT": str(limit),
    }
    command = [sys.executable, "-m", "app.cli", "serve", "--port", str(service), "--no-worker", "--no-migrate"]
    with (folder / "log").open("wb") as log:
        serving = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert serving.stdout is not None
        assert serving.stdout.readline().startswith(f"Plumbline at https://localhost:{https} ")
        trust = make_certificates(folder)
        with nginx(folder, service, http, https):
            yield Proxied(
                f"http://127.0.0.1:{service}",
                f"https://localhost:{https}",
                f"http://localhost:{http}",
                trust,
                folder / "log",
                secret,
                campaign,
            )
    finally:
        serving.terminate()
        serving.communicate(timeout=LIMIT)


@pytest.fixture(scope="module")
def proxied(spine: Spine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    with serving_behind_nginx(spine, tmp_path_factory.mktemp("proxied"), key="live", limit=UPLOAD_LIMIT) as found:
        yield found


def test_a_rater_judges_over_https(proxied: Proxied) -> None:
    """From sign-in by a link to a stored judgment; the cookie is one that browsers send over https alone."""
    campaign = proxied.campaign
    with proxied.ask() as client:
        assert client.get("/readyz").status_code == 200
        signed = client.post("/v1/session", json={"token": proxied.secret})
        assert signed.status_code < 300, signed.text
        cookie = signed.headers["set-cookie"]
        assert cookie.startswith("__Host-")
        assert "Secure" in cookie
        auth = campaign.auth("r1")
        leased = client.post(f"/v1/campaigns/{campaign.key}/lease", headers=auth).json()["task"]
        stored = client.put(
            f"/v1/tasks/{leased['task']}/judgments/1/1", json={"protocol": "da", "score": 50}, headers=auth
        )
        assert stored.status_code == 200, stored.text
        assert stored.headers["strict-transport-security"] == "max-age=31536000"
        assert client.get("/nowhere").headers["strict-transport-security"]
        assert "server" not in stored.headers or stored.headers["server"] == "nginx"


def test_who_comes_without_tls_is_sent_on_and_who_does_not_know_the_ca_stays_away(proxied: Proxied) -> None:
    sent = httpx.get(f"{proxied.http}/rate?x=1", trust_env=False)
    assert (sent.status_code, sent.headers["location"]) == (301, "https://localhost/rate?x=1")
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(proxied.https, verify=ssl.create_default_context(), trust_env=False)


FORGED = {
    "X-Forwarded-For": LIAR,
    "X-Forwarded-Proto": "http",
    "X-Forwarded-Host": "evil.example",
    "Forwarded": f"for={LIAR};host=evil.example;proto=http",
}


def test_headers_that_are_forged_outside_are_ignored(proxied: Proxied) -> None:
    """Through the proxy the service sees the client's own address; past it, nobody is believed."""
    wrong = {**FORGED, "Authorization": "Bearer plb_nobody_at_all"}
    with proxied.ask() as client:
        assert client.get("/v1/me", headers=wrong).status_code == 401
    until(lambda: proxied.refused()[-1:] == [SOMEBODY], "the refusal is logged", within=LIMIT)
    with httpx.Client(base_url=proxied.service, trust_env=False, timeout=LIMIT) as direct:
        assert direct.get("/v1/me", headers=wrong).status_code == 401
    until(lambda: proxied.refused()[-1:] == ["127.0.0.1"], "the refusal is logged", within=LIMIT)
    assert LIAR not in proxied.refused()
    with proxied.ask() as client:
        answer = client.get("/", headers={**FORGED, "Accept": "text/html"})
        assert "evil.example" not in answer.text + str(answer.headers)


def test_events_arrive_when_they_happen(proxied: Proxied) -> None:
    """Each through the proxy while the stream stays open, the second after a change."""
    campaign = proxied.campaign
    address = f"/v1/campaigns/{campaign.key}/progress/stream"
    headers = {**proxied.auth, "Accept": "text/event-stream"}
    with proxied.ask() as client, client.stream("GET", address, headers=headers) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = (json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: "))
        before = next(events)["total"]["judgments"]
        auth = campaign.auth("r2")
        with proxied.ask() as rater:
            leased = rater.post(f"/v1/campaigns/{campaign.key}/lease", headers=auth).json()["task"]
            address = f"/v1/tasks/{leased['task']}/judgments/1/1"
            assert rater.put(address, json={"protocol": "da", "score": 7}, headers=auth).status_code == 200
        assert next(event for event in events if event["total"]["judgments"] > before)


@pytest.mark.parametrize("chunked", [False, True])
def test_the_limit_of_uploads_is_the_services(proxied: Proxied, chunked: bool) -> None:
    """A body of exactly the limit passes; one byte more is refused with a problem, even if no size is told."""
    start = b'{"type": "plumbline", "version": 1}\n'
    imports = f"/v1/campaigns/{proxied.campaign.key}/imports?format=jsonl&dry_run=true"

    def send(size: int) -> httpx.Response:
        body = start + b"\n" * (size - len(start))
        pieces = (body[at : at + 65536] for at in range(0, size, 65536))
        with proxied.ask() as client:
            return client.post(imports, content=pieces if chunked else body, headers=proxied.auth)

    assert send(UPLOAD_LIMIT).status_code != 413
    refused = send(UPLOAD_LIMIT + 1)
    assert refused.status_code == 413
    assert refused.headers["content-type"] == "application/problem+json"


@pytest.mark.soak
def test_a_file_of_one_gibibyte_passes(spine: Spine, tmp_path: Path) -> None:
    """As large as the service takes unless told otherwise."""
    file = tmp_path / "talk.wav"
    with wave.open(str(file), "wb") as out:
        out.setparams((2, 2, 48_000, 0, "NONE", ""))
        for _ in range(GIB // (1 << 20) - 1):
            out.writeframesraw(b"\x01\x02" * (1 << 19))
        out.writeframesraw(bytes((1 << 20) - 44))
    assert file.stat().st_size == GIB
    with (
        serving_behind_nginx(spine, tmp_path, key="large", limit=GIB) as proxied,
        proxied.ask() as client,
        file.open("rb") as content,
    ):
        stored = client.put("/v1/campaigns/large/media/talk.wav", content=content, headers=proxied.auth)
        assert stored.status_code == 200, stored.text
        assert stored.json()["size"] == GIB
