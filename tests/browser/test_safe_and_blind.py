"""Imported text never runs, the policy holds on every page, and nothing in the browser tells whose a text is."""

from __future__ import annotations

import json
import re

import httpx
import pytest
from playwright.sync_api import Page, Response, expect

from app import protocols
from app.services.people import guidelines
from tests.browser.hands import Mouse
from tests.browser.test_every_protocol import Session
from tests.browser.traffic import Traffic
from tests.load.test_blind_sessions import options_for

CORPUS = (
    "<script>document.title='ran'</script>",
    '"><img src=x onerror=alert(1)>',
    "<svg/onload=alert(2)>",
    "javascript:alert(3)",
    "<style>body{display:none}</style>",
    "{{7*7}}${7*7}<%= 7*7 %>",
    "</textarea></title><iframe srcdoc='<script>alert(4)</script>'>",
    "[x](javascript:alert(5)) ![y](x) <b onmouseover=alert(6)>z</b>",
    "\u202e<script>alert(7)</script>\u202c",
    "&lt;script&gt;alert(8)&lt;/script&gt;&#x3c;",
)
VIOLATED = (
    "addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective));"
)
MARK = "qx7"
PLANTED = (
    f"UPDATE systems SET key = '{MARK}sys' || id, name = '{MARK}sys', lab = '{MARK}lab' WHERE campaign_id = %(id)s",
    f"UPDATE documents SET key = '{MARK}doc' || id, name = '{MARK}doc' WHERE campaign_id = %(id)s",
    f"UPDATE tasks SET key = '{MARK}task' || id WHERE campaign_id = %(id)s",
    f"UPDATE items SET key = '{MARK}item' || id WHERE campaign_id = %(id)s",
    f"""INSERT INTO variants (campaign_id, output_id, kind, name, text)
        SELECT campaign_id, id, 'degraded', '{MARK}variant', 'Worte durcheinander hier sind viele' FROM outputs
        WHERE campaign_id = %(id)s""",
    f"UPDATE items SET role = 3, variant = '{MARK}variant' WHERE position = 2 AND campaign_id = %(id)s",
    "UPDATE campaigns SET name = 'qx7campaign', series = NULL WHERE id = %(id)s",
)
TELLING = re.compile(r'"(system|systems|role|credits|control|variant|group|bucket|seed|propensity|degraded)"\s*:')


def test_hostile_texts_are_shown_as_they_are_and_nothing_of_them_runs(campaign, rater, spine, open_context, served):
    context = open_context()
    context.add_init_script(VIOLATED)
    live = campaign(protocol="mqm", outputs=CORPUS, sources=CORPUS, systems=("sysA",))
    with spine.database.transaction() as session:
        guidelines.put_guidelines(session, live.key, "guidelines", {"en": "\n\n".join(CORPUS)}, actor="test")
    hands = rater(live, on=context.new_page())
    page = hands.page
    for n, text in enumerate(CORPUS, 1):
        if "\u202e" not in text:
            assert hands.row(n).locator(".body").last.text_content() == text
    row = hands.row(1)
    body = row.locator(".body").last
    body.focus()
    for key in ("Home", "Shift+End", "3", "1", "1"):
        page.keyboard.press(key)
    row.locator("summary").click()
    row.get_by_label("Note on error 1").fill(CORPUS[1])
    row.get_by_label("Note on error 1").blur()
    row.get_by_role("button", name="Report a problem").click()
    page.get_by_label("Note (optional)").fill(CORPUS[0])
    page.get_by_role("button", name="Send").click()
    page.get_by_text("the problem is reported").wait_for()
    hands.saved()
    page.reload()
    page.locator("mark").first.wait_for()
    traffic = Traffic(page)
    for path in ("guidelines", "hours", "codes", "consent"):
        page.goto(f"{served.url}/rate/{path}")
        traffic.settle()
        assert page.locator("main script, main style, main iframe, main img, main svg").count() == 0
        assert page.title() != "ran"
    assert hands.latest()[(1, 1)]["errors"][0]["note"] == CORPUS[1]


@pytest.mark.parametrize("path", ["", "/guidelines", "/consent", "/test", "/questionnaire", "/hours", "/codes"])
def test_every_page_has_the_strict_policy_and_keeps_it_without_inline_script(path, campaign, served):
    live = campaign(protocol="da", segments=1)
    with httpx.Client(base_url=served.url, headers={"Accept": "text/html"}, timeout=60) as browser:
        assert browser.post("/v1/session", json={"token": live.secrets["r1"]}).is_success
        answer = browser.get(f"/rate{path}")

    policy = answer.headers["content-security-policy"]
    assert answer.status_code == 200
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", answer.text)
    assert answer.headers["cache-control"] == "no-store"


def test_the_cookie_is_out_of_reach_of_scripts_and_a_change_needs_the_pages_proof(campaign, served, page, rater):
    rater(campaign(protocol="da", segments=1))
    (cookie,) = [one for one in page.context.cookies() if one["name"] == "rater"]

    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert cookie["value"] not in page.evaluate("document.cookie + JSON.stringify({...localStorage})")
    status = page.evaluate("async () => (await fetch('/v1/me/consent', {method: 'POST', body: '{}'})).status")
    assert status == 403


def test_a_token_that_is_sent_before_the_script_is_there_goes_nowhere(served, page):
    asked, held = [], []
    page.on("request", lambda request: asked.append(request.url))

    def hold(route):
        held.append(route)

    page.route("**/session.js", hold, times=1)
    page.goto(f"{served.url}/", wait_until="commit")
    page.get_by_label("Access token").fill(served.secret)
    page.get_by_role("button", name="Sign in").click(no_wait_after=True)
    page.wait_for_function("() => document.querySelector('#token').matches(':valid')")
    assert held, "the script is on its way"
    assert not [url for url in asked if served.secret in url]
    held.pop().continue_()
    page.wait_for_load_state()
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/campaigns")
    assert not [url for url in asked if served.secret in url]


def test_another_role_is_told_that_the_page_is_for_raters(served, page):
    page.goto(f"{served.url}/#token={served.secret}")
    page.wait_for_url("**/campaigns")
    page.goto(f"{served.url}/rate")

    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


class Eye:
    """Everything that reaches the browser."""

    def __init__(self, page: Page) -> None:
        self.texts: list[str] = []
        page.on("response", self._came)

    def _came(self, answer: Response) -> None:
        if "/assets/" not in answer.url:
            body = "" if answer.status in (204, 303) else answer.text()
            self.texts.append(f"{answer.url}\n{json.dumps(answer.headers)}\n{body}")


@pytest.mark.parametrize("name", ["esa", pytest.param("xsts", marks=pytest.mark.soak)])
def test_a_whole_session_tells_no_system_role_or_control(name, campaign, rater, page):
    eye = Eye(page)
    live = campaign(protocol=name, options=options_for(name), segments=2, change=PLANTED)
    hands = rater(live)
    session = Session(hands, Mouse(page), protocols.get_protocol(name), 1, 2)
    for _ in (1, 2):
        session.on_one_screen()
        page.get_by_role("button", name="Next segment").click()
        eye.texts.append(page.content())
    session.hand_in()
    traffic = Traffic(page)
    for path in ("guidelines", "hours", "codes"):
        page.goto(f"{hands.url}/rate/{path}")
        traffic.settle()

    kept = page.evaluate("JSON.stringify({...localStorage, ...sessionStorage})")
    seen = [*eye.texts, kept]
    assert len(seen) > 15
    assert not [text[:300] for text in seen if MARK in text]
    told = [found.group() for text in seen if "/v1/protocols" not in text for found in TELLING.finditer(text)]
    assert not told


def test_the_two_texts_of_a_similarity_task_stand_in_the_page_without_a_hint(campaign, rater, page):
    live = campaign(protocol="xsts", segments=1, systems=("sysA", "sysB"))
    hands = rater(live)
    shown = []
    for n in (0, 1):
        if n:
            page.get_by_role("button", name="Document 2").click()
        cells = hands.row(1).locator(".cell")
        markup = [cell.evaluate("cell => cell.outerHTML") for cell in cells.all()]
        texts = [cell.locator(".body").inner_text() for cell in cells.all()]
        shown.append(["Source" in text for text in texts])
        plain = [
            html.replace(text, "").replace("Text 1", "").replace("Text 2", "")
            for html, text in zip(markup, texts, strict=True)
        ]
        assert plain[0] == plain[1]
    assert sorted(shown) == [[False, True], [True, False]]
