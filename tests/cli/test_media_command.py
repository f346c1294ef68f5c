"""`plumbline media`: files are added here and to a server, where an upload that was killed goes on where it ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.cli.kit.simulated_raters import SimulatedRaterSettings
from app.cli.simulate import run_rehearsal
from app.client import remote_server
from app.client.campaign_client import CampaignClient
from app.client.remote_server import RemoteServer
from app.demo.pictures import GUEST_OF_PICTURES, PICTURES, SYSTEMS, ensure_picture_campaign, make_picture_rater_model
from app.services.campaigns.campaigns import NewCampaign, create_campaign
from app.storage import embedded
from tests.cli.conftest import Command
from tests.load.server import Served, serving
from tests.media_files import VTT, make_png, make_wav
from tests.spine import Spine, fresh


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        with found.database.transaction() as session:
            create_campaign(session, NewCampaign(key="talks", protocol="da"), actor="test")
        yield found


@pytest.fixture(scope="module")
def served(spine: Spine) -> Iterator[Served]:
    with serving(spine.url) as found:
        yield found


def test_files_and_folders_are_added_captioned_and_deleted(
    spine: Spine, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLUMBLINE_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "set" / "talks").mkdir(parents=True)
    (tmp_path / "set" / "talks" / "1.wav").write_bytes(make_wav(2))
    (tmp_path / "set" / "1.vtt").write_bytes(VTT)
    (tmp_path / "page.png").write_bytes(make_png())
    (tmp_path / "said.txt").write_text("Good morning.")
    added = command(spine.url, "media", "add", "talks", tmp_path / "set", tmp_path / "page.png")
    assert added.returncode == 0, added.stderr
    assert "talks:1.wav: audio/wav" in added.stdout.decode()
    assert "2.0 s" in added.stdout.decode()
    assert len([path for path in (tmp_path / "data" / "media").rglob("*") if path.is_file()]) == 3
    said = ("--captions", "1.vtt", "--transcript", tmp_path / "said.txt")
    assert command(spine.url, "media", "caption", "talks", "talks:1.wav", *said).returncode == 0
    listed = json.loads(command(spine.url, "media", "list", "talks", "--json").stdout)
    assert {one["name"]: one["transcript"] for one in listed}["talks:1.wav"] == "Good morning."
    assert command(spine.url, "media", "delete", "talks", "1.vtt").returncode != 0  # it is in use
    assert command(spine.url, "media", "delete", "talks", "page.png").returncode == 0
    (tmp_path / "bad.png").write_bytes(make_png() + b"PK\x05\x06" + bytes(18))
    refused = command(spine.url, "media", "add", "talks", tmp_path / "bad.png")
    assert refused.returncode != 0
    assert "has data after its end" in refused.stderr.decode()


def test_an_upload_that_broke_goes_on_where_it_ended(
    spine: Spine, served: Served, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = make_wav(30)
    (tmp_path / "long.wav").write_bytes(content)
    monkeypatch.setenv("PLUMBLINE_TOKEN", served.secret)
    monkeypatch.setattr("app.cli.media.PART", 50_000)
    sent: list[int] = []
    send = remote_server.RemoteServer.upload_part

    def broken(self: remote_server.RemoteServer, path: str, part: bytes, offset: int) -> bytes:
        sent.append(offset)
        if len(sent) == 3:
            raise remote_server.ServerUnreachable("the network went away")
        return send(self, path, part, offset)

    monkeypatch.setattr(remote_server.RemoteServer, "upload_part", broken)
    words = ("media", "add", "talks", tmp_path / "long.wav", "--server", served.url)
    assert command(spine.url, *words).returncode != 0
    assert command(spine.url, *words).returncode == 0
    assert sent == [0, 50_000, 100_000, 100_000, 150_000, 200_000]
    head = {"Authorization": f"Bearer {served.secret}"}
    stored = httpx.get(f"{served.url}/v1/campaigns/talks/media/long.wav/content", headers=head)
    assert stored.content == content


@pytest.mark.soak  # every run judges media in `browser.test_media`
def test_the_demo_has_a_campaign_with_pictures_judged_by_a_protocol_of_its_manager(served: Served) -> None:
    for _ in range(2):
        managed = ensure_picture_campaign(RemoteServer(served.url, served.secret))
    about = managed.fetch_campaign()
    assert (about["state"], about["protocol"]) == ("open", "custom")
    parts = about["options"]["parts"]
    assert [part["kind"] for part in parts] == ["spans", "slider", "slider", "yes_no"]
    assert all(category["subcategories"] for category in parts[0]["categories"])
    assert about["options"]["preference"] == "best"

    assert run_rehearsal(managed, make_picture_rater_model(managed), SimulatedRaterSettings()).judgments > 20
    assert run_rehearsal(managed, make_picture_rater_model(managed), SimulatedRaterSettings()).judgments == 0
    ranking = json.loads(managed.remote.fetch_body(f"{managed.campaign_path}/ranking", accept="application/json"))
    assert [row["system"] for row in ranking["systems"]] == list(SYSTEMS)
    assert len({tuple(label.partition("/")[::2]) for label in categories(managed)}) > 3

    secret = managed.renew_rater_tokens([GUEST_OF_PICTURES])[GUEST_OF_PICTURES]
    rater = {"Authorization": f"Bearer {secret}"}
    task = httpx.post(f"{served.url}/v1/campaigns/{PICTURES}/lease", headers=rater).json()["task"]
    (shown, *texts) = task["items"][0]["segments"][0]["texts"]
    assert (shown["media"]["kind"], shown["media"]["width"]) == ("image", 320)
    assert not any("media" in text for text in texts)


def categories(managed: CampaignClient) -> set[str]:
    """Categories of all marked errors, from the export."""
    lines = b"".join(managed.remote.stream_body(f"{managed.campaign_path}/exports/jsonl")).splitlines()
    judgments = [line for line in map(json.loads, lines) if line["type"] == "judgment"]
    return {error["category"] for one in judgments for error in one["payload"].get("errors", ())}


@pytest.mark.soak
def test_a_large_upload_that_is_killed_goes_on_where_it_ended(spine: Spine, served: Served, tmp_path: Path) -> None:
    """300 MB of sound, by a process that is killed in the middle."""
    file = tmp_path / "large.wav"
    head, seconds = make_wav(1, rate=32_000), 9600
    size = 32_000 * seconds
    file.write_bytes(head[:4] + (size + 36).to_bytes(4, "little") + head[8:40] + size.to_bytes(4, "little"))
    with file.open("ab") as out:
        for n in range(300):
            out.write(bytes([n % 251]) * (size // 300))
    words = [sys.executable, "-m", "app.cli", "media", "add", "talks", str(file), "--server", served.url]
    environment = {**os.environ, "PLUMBLINE_TOKEN": served.secret}
    at = {"Authorization": f"Bearer {served.secret}"}

    def arrived() -> int:
        uploads = httpx.get(f"{served.url}/v1/campaigns/talks/media-uploads", headers=at).json()["uploads"]
        return sum(int(one["offset"]) for one in uploads)

    process = subprocess.Popen(words, env=environment)
    until = time.monotonic() + 300
    while arrived() < size // 3 and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert size // 3 <= arrived() < size
    subprocess.run(words, env=environment, check=True, timeout=600)
    stored = httpx.get(f"{served.url}/v1/campaigns/talks/media/large.wav", headers=at).json()
    assert (stored["size"], stored["duration_ms"]) == (size + 44, 1000 * seconds)
    part = httpx.get(
        f"{served.url}/v1/campaigns/talks/media/large.wav/content",
        headers={**at, "Range": f"bytes={size - 100}-{size - 1}"},
    )
    with file.open("rb") as content:
        content.seek(size - 100)
        assert part.content == content.read(100)
