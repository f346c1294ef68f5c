"""A real server on loopback in a thread of this process, and what a manager sets up on it over HTTP."""

from __future__ import annotations

import json
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn

from app.client.campaign_client import CampaignClient
from app.client.remote_server import RemoteServer
from app.main import create_app
from app.services.access import tokens
from app.services.access.provider_options import IdentityProviderOptions
from app.services.media.media_settings import MediaSettings
from app.storage.db import Database
from app.storage.media.stores import FolderMediaStore
from app.web.deps import ServiceOptions
from app.web.http_protocol import LimitedHttpProtocol
from tests.working import until as wait_until

STARTS_WITHIN = 60.0  # seconds, on a busy machine
ENDS_WITHIN = 15  # seconds, but for those in which the machine stands still; two of them for what is under way


@dataclass(frozen=True)
class Served:
    """A server, and the credential of somebody who may do everything."""

    url: str
    secret: str

    def managed(self, campaign: str) -> CampaignClient:
        """A campaign under that credential."""
        return CampaignClient(RemoteServer(self.url, self.secret), campaign)


@contextmanager
def serving(
    database_url: str, *, size: int = 6, provider: IdentityProviderOptions | None = None, media: Path | None = None
) -> Iterator[Served]:
    """Serve a migrated database.

    provider: where people sign in with their organization's accounts. media: folder of its media, in place of
    one of its own.
    """
    database = Database(database_url, size=size, role="plumbline_app")
    with database.transaction() as session:
        secret = tokens.issue_token(session, role="admin", name="test").secret
    folder = tempfile.TemporaryDirectory()
    media = media or Path(folder.name) / "media"
    app = create_app(
        database, ServiceOptions(media=MediaSettings(FolderMediaStore(media), media / "parts"), provider=provider)
    )
    config = uvicorn.Config(app, http=LimitedHttpProtocol, log_config=None, access_log=False, ws="none", lifespan="on")
    config.timeout_graceful_shutdown = 2
    server = uvicorn.Server(config)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1024)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until = time.monotonic() + STARTS_WITHIN
            while not server.started and time.monotonic() < until:
                time.sleep(0.01)
            assert server.started
            host, port = listener.getsockname()
            yield Served(f"http://{host}:{port}", secret)
        finally:
            server.should_exit = True
            wait_until(lambda: not thread.is_alive(), "the server ends", within=ENDS_WITHIN)
            database.close()
            folder.cleanup()


@dataclass(frozen=True)
class Made:
    """What is to be judged: segments of each document, systems by their quality, best first."""

    documents: Sequence[int]
    systems: Mapping[str, float]
    raters: Sequence[str]

    @property
    def outputs(self) -> int:
        """How many there are."""
        return sum(self.documents) * len(self.systems)


def set_up(
    served: Served,
    campaign: str,
    made: Made,
    design: Mapping[str, object],
    *,
    protocol: str = "da",
    settings: Mapping[str, object] | None = None,
) -> CampaignClient:
    """Make a campaign over HTTP as its manager would: texts by import, raters, plan, open."""
    managed = served.managed(campaign)
    remote, path = managed.remote, managed.campaign_path
    body = {"key": campaign, "protocol": protocol, "target_language": "de", "settings": dict(settings or {})}
    remote.send_change("POST", "/v1/campaigns", {}, body)
    read = httpx.post(
        f"{served.url}{path}/imports",
        params={"format": "jsonl"},
        headers={"Authorization": f"Bearer {served.secret}"},
        content=_lines(made),
        timeout=120,
    )
    assert read.status_code == httpx.codes.OK, read.text
    for rater in made.raters:
        managed.enrol_rater(rater, {})
    managed.compile_and_freeze_plan(design)
    managed.change_campaign_state("open")
    return managed


def _lines(made: Made) -> bytes:
    lines: list[dict[str, object]] = [{"type": "plumbline", "version": 1}]
    lines += [{"type": "system", "key": key, "name": key} for key in made.systems]
    for d, segments in enumerate(made.documents, 1):
        document = f"doc-{d:03}"
        lines.append({"type": "document", "key": document, "name": document, "position": d})
        for position in range(1, segments + 1):
            source = f"Sentence {position} of document {d}, as it was written."
            lines.append({"type": "segment", "document": document, "position": position, "source": source})
            for n, system in enumerate(made.systems):
                text = f"Satz {position} im Dokument {d}, in der Fassung {n * 7919 % 997}."
                where = {"system": system, "document": document, "position": position}
                lines.append({"type": "output", **where, "text": text})
    return "\n".join(json.dumps(line) for line in lines).encode()
