"""Audio and video in a rater's page: heard, marked in time, there without a network, and handed in when heard."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import changing
from tests.browser.desk import sign_in
from tests.browser.rater import Rater
from tests.browser.test_accessible import check
from tests.load.server import Served
from tests.media_files import VTT, make_png, make_video, make_wav

SOURCE = '<video src="assets/talk.webm" controls></video>Good morning.'
OUTPUT = '<audio src="assets/sysA/secret.wav" controls></audio>'
PICTURE = '<img src="assets/page.png">'
SECRET = "secret"
READY = "(player) => player.readyState >= 1"


def send(served: Served, key: str, **files: bytes) -> None:
    """The campaign's files, as its manager sends them."""
    head = {"Authorization": f"Bearer {served.secret}"}
    at = f"{served.url}/v1/campaigns/{key}/media"
    for name, content in files.items():
        answer = httpx.put(
            f"{at}/{name.replace('__', ':').replace('_', '.')}", content=content, headers=head, timeout=60
        )
        assert answer.status_code == 200, answer.text
    assert httpx.patch(f"{at}/talk.webm", json={"captions": "talk.vtt"}, headers=head).status_code == 200


@pytest.fixture
def service_worker() -> bool:
    """Here pages have theirs."""
    return True


@pytest.fixture
def hands(campaign: Callable[..., Any], rater: Callable[..., Rater], served: Served) -> Rater:
    """A rater who marks errors and scores: a film and what a system said, a picture and a text."""
    live = campaign(
        protocol="esa",
        systems=("sysA",),
        sources=(SOURCE, PICTURE),
        outputs=(OUTPUT, "What the picture says."),
        settings={"media": {"hear_all": True}},
    )
    files = {"talk_webm": make_video(1), "talk_vtt": VTT, "sysA__secret_wav": make_wav(2), "page_png": make_png(64, 48)}
    send(served, live.key, **files)
    return rater(live)


def player(hands: Rater, kind: str) -> Locator:
    """A player that knows how long its file is."""
    found = hands.row(1).locator(kind)
    hands.page.wait_for_function(READY, arg=found.element_handle())
    return found


def play_to_the_end(hands: Rater, *kinds: str) -> None:
    """All at once."""
    players = [player(hands, kind) for kind in kinds]
    for found in players:
        found.evaluate("(player) => { player.muted = true; player.currentTime = 0; return player.play(); }")
    for found in players:
        hands.page.wait_for_function("(player) => player.ended", arg=found.element_handle())


def seek(found: Locator, seconds: float) -> None:
    found.evaluate(
        """(player, at) => new Promise((done) => {
            player.addEventListener("seeked", done, { once: true });
            player.currentTime = at;
        })""",
        seconds,
    )


def test_a_task_with_sound_and_film_is_heard_marked_and_handed_in(hands: Rater, served: Served) -> None:
    sent: list[str] = []
    hands.page.on("response", lambda answer: sent.append(f"{answer.status} {answer.url}"))
    sound = player(hands, "audio")
    expect(hands.row(1).locator("video")).to_have_attribute("src", re.compile("/media/m_"))  # each asks for its own
    picture = hands.row(2).locator("img").element_handle()
    hands.page.wait_for_function("(shown) => shown.complete && shown.naturalWidth === 64", arg=picture)
    expect(hands.row(1).locator("details p")).to_have_text("Good morning.")
    assert SECRET not in hands.page.content() + "".join(sent)
    check(hands.page, "a task with media")

    seek(sound, 1.0)
    hands.row(1).get_by_role("button", name="I Start of an error").last.click()
    seek(sound, 1.6)
    hands.row(1).get_by_role("button", name="O End of the error").last.click()
    hands.row(1).locator("button.severity").first.click()
    typed = hands.row(1).get_by_label("End of error 1 in seconds")
    expect(typed).to_have_value("1.6")
    typed.fill("9")
    typed.press("Tab")
    expect(typed).to_have_value("2")  # the file is no longer
    expect(hands.row(1).locator(".strip span")).to_have_count(1)
    check(hands.page, "an error in time")
    hands.slide(hands.row(1), 60)
    hands.page.get_by_role("button", name="Next segment").first.click()
    hands.slide(hands.row(2), 80)
    hands.saved()
    (error,) = hands.latest()[(1, 1)]["errors"]
    assert (error["start"], error["side"]) == (None, "target")
    assert abs(error["start_ms"] - 1000) <= 100
    assert error["end_ms"] == 2000

    hands.page.get_by_role("button", name="Hand in").click()
    expect(hands.page.locator(".hand-in .note")).to_contain_text("Not handed in")
    play_to_the_end(hands, "audio", "video")
    assert hands.hand_in()
    listen_as_manager(hands, served)


def listen_as_manager(hands: Rater, served: Served) -> None:
    """Items and the public archive play the files, and show where the error is."""
    page, key = hands.page, hands.live.key
    sign_in(page, served.url, hands.spine, "manager").open(f"/campaigns/{key}/items?document=doc1")
    page.get_by_role("button", name=re.compile("^Play 0:0[01].*–0:02.0$")).click()
    page.wait_for_function("() => document.querySelector('audio').currentTime > 0.5")
    expect(page.locator(".media.audio .strip span")).to_have_count(1)
    expect(page.locator("video track")).to_have_count(1)
    check(page, "items with media")

    with changing(hands.spine) as run:
        run("UPDATE campaigns SET state = 'closed' WHERE id = %(id)s", hands.live.id)
    head = {"Authorization": f"Bearer {served.secret}"}
    archive = httpx.put(f"{served.url}/v1/campaigns/{key}/archive", headers=head).json()["link"]
    page.goto(archive)
    page.locator("main ul a").first.click()
    page.wait_for_function(READY, arg=page.locator("audio").element_handle())
    expect(page.get_by_role("link", name=re.compile("–0:02.0$"))).to_have_count(1)
    expect(page.locator("svg.strip rect")).to_have_count(1)
    check(page, "an archive with media")


def test_the_files_of_a_task_play_without_a_network(hands: Rater) -> None:
    player(hands, "audio")
    hands.page.wait_for_function("() => document.documentElement.dataset.media === 'kept'")
    hands.page.context.set_offline(True)
    hands.page.reload()
    play_to_the_end(hands, "audio", "video")
    hands.slide(hands.row(1), 60)
    hands.page.context.set_offline(False)
    hands.page.get_by_role("button", name="Next segment").first.click()
    hands.slide(hands.row(2), 80)
    hands.saved()
    assert hands.hand_in()
