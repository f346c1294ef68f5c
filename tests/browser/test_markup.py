"""Light markup: laid out by the page, nothing of it runs, and marked stretches are right in the stored text."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Page, expect

from app.domain.markup import BLOCKS, INLINE, parse_markup
from app.services.data import public_archive
from tests.browser.axe import violations
from tests.browser.conftest import changing
from tests.browser.desk import sign_in
from tests.browser.hands import type_number
from tests.browser.test_safe_and_blind import CORPUS, VIOLATED
from tests.browser.test_spans import drag, drawn

ON = {"markup": True}
TAGS = sorted(BLOCKS | INLINE)
# The hostile text within an element, in its attributes, as its name, and where it breaks out of it.
PLACES = (
    "<{tag}>{text}</{tag}>",
    '<{tag} title="{text}" onclick="{text}" onmouseover=alert(9) style="display:none">a</{tag}>',
    "<{tag}{text}>b</{tag}{text}>",
    "</{tag}>{text}<{tag}",
    "<br {text}><{tag}><{tag}>{text}</{tag}>",
)
NEVER = ", ".join(
    f"#work {one}"
    for one in (
        "script",
        "style",
        "iframe",
        "img",
        "svg",
        "textarea",
        "title",
        "[onclick]",
        "[onmouseover]",
        ".body [style]",
    )
)
FOREIGN = ("script", "style", "iframe", "img", "svg", "textarea", "title", "[onclick]", "[onmouseover]")
STORED = [
    "<p>Der <b>alte Hund</b> bellte &amp; schlief.</p>\n<p>كلب <i>عجوز</i> 😀.</p>",
    "<h2>Titel</h2><ul><li>eins</li>\n<li>zwei <code>x &lt; y</code></li></ul>",
]


def hostile() -> list[str]:
    """A text for each tag, with the whole corpus in every place."""
    return ["".join(place.format(tag=tag, text=text) for place in PLACES for text in CORPUS) for tag in TAGS]


def test_hostile_texts_in_every_element_are_shown_and_never_run(campaign, rater, open_context):
    context = open_context()
    context.add_init_script(VIOLATED)
    texts = hostile()
    live = campaign(protocol="esa", systems=("sysA",), outputs=texts, sources=texts, settings=ON)
    hands = rater(live, on=context.new_page())
    page = hands.page

    assert page.locator(NEVER).count() == 0
    for n, text in enumerate(texts, 1):
        assert hands.row(n).locator(".body").last.evaluate(TEXT) == parse_markup(text).shown.replace(
            "\u202e", "RLO"
        ).replace("\u202c", "PDF")
    page.locator(".body *").evaluate_all(TOUCH)
    assert page.title() != "ran"


TEXT = "(body) => body.textContent"
TOUCH = """(all) => {
  for (const element of all.slice(0, 400))
    for (const kind of ["mouseover", "click"])
      element.dispatchEvent(new MouseEvent(kind, { bubbles: true, cancelable: true, composed: true }));
}"""


@pytest.mark.parametrize("side", ["target", pytest.param("source", marks=pytest.mark.soak)])
def test_marks_over_tags_are_right_in_the_stored_text_and_drawn_again(side, campaign, rater):
    hands = rater(campaign(protocol="esa", systems=("sysA",), outputs=STORED, sources=STORED, settings=ON))
    page = hands.page
    shown = [parse_markup(text) for text in STORED]
    at = 0 if side == "source" else 1
    for n, stretches in enumerate([["alte Hund bellte & schlief", "bellte & schlief.\nكلب"], ["zwei x < y"]], 1):
        row, text = hands.row(n), shown[n - 1]
        row.locator(".opener").click()
        for words in stretches:
            start = text.shown.index(words)
            drag(page, row.locator(".body").nth(at), start, start + len(words))
            row.locator(".severity").first.click()
        type_number(row.locator("input[type=range]"), 50)
        hands.saved()
        places = [(one["start"], one["end"]) for one in hands.latest()[(1, n)]["errors"] if one["side"] == side]
        assert [text.shown[slice(*text.to_shown_range(*place))] for place in places] == stretches
        assert STORED[n - 1][slice(*places[0])] in ("alte Hund</b> bellte &amp; schlief", "zwei <code>x &lt; y")
    page.reload()
    body = hands.row(1).locator(".body").nth(0 if side == "source" else 1)
    expect(body.locator("mark").first).to_be_visible()
    assert "".join(drawn(body)).replace("\n", "") == "alte Hund bellte & schlief.كلب"


def test_texts_are_laid_out_for_eyes_and_screen_readers(campaign, rater):
    page: Page = rater(campaign(protocol="da", systems=("sysA",), outputs=STORED, sources=STORED, settings=ON)).page

    assert page.locator(".row .body b").first.inner_text() == "alte Hund"
    assert page.locator(".row .body li").first.inner_text() == "eins"
    assert page.locator(".row .body :is(h1, h2, h3)").count() == 0
    assert violations(page) == []


def test_pages_of_managers_and_the_public_lay_texts_out_and_run_nothing(campaign, rater, open_context, spine):
    context = open_context()
    context.add_init_script(VIOLATED)
    texts = [STORED[0], *hostile()[:2]]
    live = campaign(protocol="esa", systems=("sysA",), outputs=texts, sources=texts, settings=ON)
    hands = rater(live, on=context.new_page())
    hands.page.close()
    start = texts[0].index("alte")
    payload = {"protocol": "esa", "errors": [{"start": start, "end": start + 4, "severity": "minor"}], "score": 50}
    auth = {"Authorization": f"Bearer {live.secrets['r1']}"}
    task = httpx.post(f"{hands.url}/v1/campaigns/{live.key}/lease", headers=auth).json()["task"]["task"]
    put = httpx.put(f"{hands.url}/v1/tasks/{task}/judgments/1/1", json=payload, headers=auth)
    assert put.status_code == 200, put.text
    staff = sign_in(context.new_page(), hands.url, spine, "manager")
    page = staff.page
    staff.open(f"/campaigns/{live.key}/items?document=doc1")
    expect(page.locator("#segment-1 .output > .laid-out b").first).to_have_text("alte Hund")
    expect(page.locator("#segment-1 .judged mark.is-minor")).to_have_text("alte")
    assert page.locator(", ".join(f"#items {one}" for one in FOREIGN)).count() == 0
    assert violations(page) == []
    with changing(spine) as run:
        run("UPDATE campaigns SET state = 'closed' WHERE id = %(id)s", live.id)
    with spine.database.transaction() as session:
        address = public_archive.publish_archive(session, live.key, actor="test").address
    public = context.new_page()
    public.goto(f"{hands.url}/archive/{address}/documents/doc1")
    expect(public.locator(".output > .laid-out b").first).to_have_text("alte Hund")
    expect(public.locator(".judged mark.is-minor").first).to_have_text("alte")
    assert public.locator(", ".join(f"main {one}" for one in FOREIGN)).count() == 0
    assert violations(public) == []
    assert "ran" not in public.title()


def test_without_the_setting_tags_are_text(campaign, rater):
    page = rater(campaign(protocol="da", systems=("sysA",), outputs=STORED, sources=STORED)).page

    assert page.locator(".row .body").first.evaluate(TEXT) == STORED[0]


def test_terms_of_the_glossary_stand_out_over_tags_with_their_translations(campaign, rater):
    sources = ["<p>The <b>old</b> dog &amp; the Old  dog barked.</p>", "The dogma."]
    terms = [{"term": "old dog", "translation": "<i>alter</i> Hund"}, {"term": "dog", "translation": "Hund"}]
    settings = {**ON, "glossary": terms}
    page = rater(
        campaign(protocol="esa", systems=("sysA",), outputs=["a", "b"], sources=sources, settings=settings)
    ).page

    row = page.locator(".row[data-segment='1']")
    assert "".join(row.locator("mark.term").all_inner_texts()) == "old dogdog"
    assert row.locator("mark.term").first.get_attribute("title") == "<i>alter</i> Hund"
    assert row.locator(".glossary").inner_text().split("\n") == ["old dog", "<i>alter</i> Hund", "dog", "Hund"]
    assert page.locator(".row[data-segment='2'] mark.term").count() == 0
    assert violations(page) == []
