"""Pearmut's own page, on its own server and on ours: the same clicks are logged alike, and results are the same."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from playwright.sync_api import Browser, Page

from app.pearmut.app import create_pearmut_app
from app.pearmut.files import PearmutPackageFiles, find_pearmut_package_files
from app.services.access import tokens
from app.services.access.tokens import THE_OPERATOR
from app.services.data.exports import export_campaign_files
from app.services.media.library import store_media
from app.services.media.media_settings import MediaSettings
from app.services.pearmut.campaign_file import parse_campaign_file
from app.services.pearmut.loading import AddedCampaign, add_pearmut_campaign
from app.storage.db import Database
from app.storage.media.stores import FolderMediaStore
from app.web.deps import ServiceOptions
from tests.browser.pearmut_hands import SLIDERS, PearmutHands, page_address, pearmut_campaign
from tests.formats.pearmut.program import PearmutProgram
from tests.media_files import make_png, make_video, make_wav

CAMPAIGNS = [pearmut_campaign(name) for name in ("cESA", "ESA", "MQM", "DA")]
CAMPAIGNS += [pearmut_campaign("XSTSRP", sliders=SLIDERS, textfield="visible")]


@contextmanager
def our_server(database: Database, files: PearmutPackageFiles, media: MediaSettings | None = None) -> Iterator[str]:
    app = create_pearmut_app(database, ServiceOptions(media=media or MediaSettings()), files)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="on"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


def log_of(address: str, name: str) -> dict[Any, Any]:
    """What was logged, by place; and the results."""
    token = {"campaign_id": name, "token": "0123456789"}
    lines = httpx.get(f"{address}/download-annotations", params=token, trust_env=False).json()[name]
    results = httpx.post(f"{address}/dashboard-results", json=token, trust_env=False).json()
    places = {
        line["item_i"]: {key: line.get(key) for key in ("annotation", "validations", "comment")} for line in lines
    }
    assert len(places) == len(lines)
    return {"results": results, **places}


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(20_000)
    yield page
    context.close()


@pytest.fixture
def ours(database_url: str) -> Iterator[Database]:
    """Our store; a server closes the one that it serves."""
    with closing(Database(database_url, size=2, role="plumbline_app")) as database:
        yield database


def add(database: Database, given: dict[str, Any], *, old_ids: bool = True) -> AddedCampaign:
    with database.transaction() as session:
        file = parse_campaign_file(json.loads(json.dumps(given)))
        return add_pearmut_campaign(session, file, by=THE_OPERATOR, actor="test", old_ids=old_ids)


def annotations_written(database: Database, campaign: str) -> list[Any]:
    """The `annotation` of each line that the format `pearmut` writes, in the order of the documents."""
    files = {path: b"".join(chunks) for path, chunks in export_campaign_files(database, campaign, "pearmut")}
    lines = json.loads(files["annotations.json"])[campaign]
    return [line["annotation"] for line in sorted(lines, key=lambda line: line["item_i"])]


@pytest.mark.soak
@pytest.mark.parametrize("given", CAMPAIGNS, ids=lambda one: one["campaign_id"])
def test_the_same_clicks_are_logged_alike(
    visit: Page, tmp_path: Path, database_url: str, ours: Database, given: dict[str, Any]
) -> None:
    theirs, name, protocol = PearmutProgram(tmp_path / "theirs"), given["campaign_id"], given["info"]["protocol"]
    theirs.write({"c.json": json.dumps(given).encode()})
    theirs.run("add", "c.json")
    with theirs.serving() as address:
        visit.goto(page_address(address, name, "ann"))
        screens = PearmutHands(visit, protocol).finish()
        expected = log_of(address, name)

    key = add(ours, given).key
    with our_server(
        Database(database_url, size=8, role="plumbline_app"), find_pearmut_package_files(theirs.package)
    ) as address:
        visit.goto(page_address(address, name, "ann"))
        assert PearmutHands(visit, protocol).finish() == screens == 6
        logged = log_of(address, name)

    assert logged == expected
    assert expected.keys() == {"results", 0, 1, "welcome_0", "welcome_1", "random_0", "goodbye_0"}
    assert annotations_written(ours, key) == [expected[n]["annotation"] for n in (0, 1)]


FILES = {"talks:secret.webm": make_video, "Best:secret.wav": lambda: make_wav(30), "Worst:secret.png": make_png}
SHOWN = {
    "src": '<video src="assets/talks/secret.webm" controls></video>Good morning.',
    "tgt": {
        "Best": '<audio src="assets/Best/secret.wav" controls></audio>',
        "Worst": '<img src="assets/Worst/secret.png">',
    },
}


def media_addresses(page: Page) -> dict[str, str]:
    """Addresses of the files on a screen of Pearmut, each once it can be played or seen."""
    shown = {}
    for kind in ("video", "audio", "img"):
        element = page.locator(f".output_block {kind}, #output_div {kind}").first.element_handle()
        page.wait_for_function("(one) => (one.naturalWidth ?? one.readyState) > 0", arg=element)
        shown[kind] = str(element.evaluate("(one) => one.currentSrc || one.src"))
    return shown


@pytest.mark.soak
def test_sound_film_and_pictures_play_for_their_user_alone(
    visit: Page, chromium: Browser, tmp_path: Path, database_url: str, ours: Database
) -> None:
    policy = MediaSettings(FolderMediaStore(tmp_path / "media"), tmp_path / "parts")
    asked = {"assignment": "task-based", "protocol": "DA", "users": ["ann", "ben"]}
    given = {"campaign_id": "media", "token": "0123456789", "info": asked, "data": [[[SHOWN]], [[SHOWN]]]}
    added = add(ours, given, old_ids=False)
    ann, ben = (link.credential for link in added.links)
    for name, make in FILES.items():
        (tmp_path / "made").write_bytes(make())
        store_media(ours, policy, added.key, name, tmp_path / "made", actor="test")
    files = find_pearmut_package_files(PearmutProgram(tmp_path / "theirs").package)
    sent: list[tuple[int, str]] = []
    visit.on("response", lambda answer: sent.append((answer.status, answer.url)))
    with our_server(Database(database_url, size=8, role="plumbline_app"), files, policy) as address:
        visit.goto(page_address(address, added.name, ann))
        assert PearmutHands(visit, "DA").shown()
        of_ann = media_addresses(visit)
        assert "secret" not in visit.content() + str(sent)
        visit.locator("audio").evaluate(
            """(player) => new Promise((done) => {
                player.addEventListener("seeked", done, { once: true });
                player.currentTime = 25;
            })"""
        )
        assert (206, of_ann["audio"]) in sent
        part = httpx.get(of_ann["audio"], headers={"Range": "bytes=0-3"}, trust_env=False)
        assert (part.status_code, part.content) == (206, b"RIFF")

        other = chromium.new_context()
        page = other.new_page()
        page.goto(page_address(address, added.name, ben))
        assert PearmutHands(page, "DA").shown()
        of_ben = media_addresses(page)
        other.close()
        assert not set(of_ann.values()) & set(of_ben.values())

        with ours.transaction() as session:
            tokens.revoke_token(session, tokens.parse_token_prefix(ann) or "", by=None)
        for addresses, refused in ((of_ann, True), (of_ben, False)):
            codes = [httpx.get(one, trust_env=False).status_code for one in addresses.values()]
            assert all((code >= 400) == refused for code in codes), codes
