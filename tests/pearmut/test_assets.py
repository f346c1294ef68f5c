"""Media on Pearmut's pages: served with ranges, at addresses that tell no name, end, and end with their user."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from app.pearmut.app import create_pearmut_app
from app.pearmut.files import PearmutPackageFiles
from app.services.access import tokens
from app.services.media.library import store_media
from app.services.media.media_settings import MediaSettings
from app.services.pearmut import assets
from app.services.pearmut.loading import AddedCampaign
from app.storage.db import Database
from app.storage.media.stores import FolderMediaStore
from app.web.deps import ServiceOptions
from tests.media_files import make_wav
from tests.pearmut.campaigns import Annotator, campaign
from tests.pearmut.conftest import TestClient

SOUND = [
    {
        "src": '<audio src="assets/talks/secret.wav" controls></audio>Good <b>morning</b>.',
        "tgt": {"Best": "Guten Morgen.", "Worst": '<video src="assets/Worst/missing.mp4"></video>'},
    }
]


@pytest.fixture
def policy(tmp_path: Path) -> MediaSettings:
    return MediaSettings(FolderMediaStore(tmp_path / "media"), tmp_path / "parts")


@pytest.fixture
def pages(database: Database, policy: MediaSettings) -> Iterator[httpx.Client]:
    with TestClient(create_pearmut_app(database, ServiceOptions(media=policy), PearmutPackageFiles())) as client:
        yield client


def test_a_page_plays_the_campaigns_files_and_learns_no_name(
    pages: httpx.Client,
    add: Callable[..., AddedCampaign],
    database: Database,
    policy: MediaSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    added = add(campaign(data=[SOUND]))
    (tmp_path / "made.wav").write_bytes(make_wav())
    store_media(database, policy, added.key, "talks:secret.wav", tmp_path / "made.wav", actor="test")
    ann = Annotator(pages, added.name, added.links[0].credential)
    document = ann.next()
    assert not {word for word in ("secret", "missing.mp4", "Worst/") if word in json.dumps(document)}
    source = document["payload"][0]["src"]
    address = source.split('"')[1]
    assert source == f'<audio src="{address}" controls></audio><p>Good morning.</p>'
    part = pages.get(f"/{address}", headers={"Range": "bytes=4-9"})
    assert (part.status_code, part.content) == (206, make_wav()[4:10])
    assert part.headers["X-Content-Type-Options"] == "nosniff"
    assert "secret" not in str(part.headers)
    token, expires, signature, media = address.removeprefix("assets/").split(".")
    for forged in (
        f"{token}.{int(expires) + 9}.{signature}.{media}",
        f"{int(token) + 1}.{expires}.{signature}.{media}",
        f"{token}.{expires}.{signature}.m_{'0' * 32}",
        "talks/secret.wav",
        "secret.wav",
    ):
        assert pages.get(f"/assets/{forged}").status_code >= 400
    monkeypatch.setattr(assets, "LASTS", -assets.LASTS)
    ended = ann.next()["payload"][0]["src"].split('"')[1]
    assert pages.get(f"/{ended}").status_code >= 400
    with database.transaction() as session:
        tokens.revoke_token(session, tokens.parse_token_prefix(added.links[0].credential) or "", by=None)
    assert pages.get(f"/{address}").status_code >= 400
