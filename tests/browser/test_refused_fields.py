"""What is refused of a form stands beside the field that it names, on every page that has a form."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from app.ui.manager.page_table import ABOVE, PAGES, ManagerPageDefinition
from app.ui.pages import TEMPLATES
from tests.browser.desk import glance, heard_errors, sign_in
from tests.browser.edges import widths_beyond
from tests.browser.test_accessible import EVERY_LOOK
from tests.browser.traffic import Traffic

FORM = 'form[method="dialog"]:not(#pick)'
# Forms that only choose what the page shows send nothing: they are `pick`, or have no method of dialogs.
SENDS = re.compile(r'<form method="dialog"(?![^>]* id="pick")')
WITH_FORMS = sorted(
    {
        page.template: page
        for page in (*PAGES.values(), *ABOVE)
        if SENDS.search((Path(TEMPLATES) / page.template).read_text())
    }.values(),
    key=lambda page: page.template,
)
OF_A_PLAN = {"Replan"}
# Fields beside and below each other, in a table, and the form that no other test looks at; others, unmarked, elsewhere.
LOOKED_AT = {"manager/settings.html", "manager/questionnaires.html", "manager/webhooks.html"}
ELSEWHERE = {("settings", "created_by"), ("after",)}  # what a form sends back as it came, and a list without a question
MARKS = """(form) => [...form.querySelectorAll(".fault")].map((fault) => {
  const described = (one) => (one.getAttribute("aria-describedby") ?? "").split(" ").includes(fault.id);
  const fields = [...form.elements].filter(described);
  const seen = (one) => one.getAttribute("aria-invalid") === "true" && one.checkVisibility();
  return [fault.innerText, fields.length > 0 && fields.every(seen)];
})"""

VALUES = """(form) => [...form.elements].filter((one) => one.matches("input, select, textarea") && one.type !== "file")
  .map((one) => (one.type === "checkbox" || one.type === "radio" ? one.checked : one.value))"""
FIRST = """(form) =>
  document.activeElement === [...form.elements].find((one) => one.getAttribute("aria-invalid") === "true")"""


@pytest.fixture(scope="module")
def campaigns(ask):
    """A draft, and a campaign with a plan, by whether the page needs one."""
    return {False: ask.draft("refusing"), True: ask.opened("refusing-open")}


@pytest.fixture
def manager(page, served, spine):
    """A manager of all campaigns."""
    return sign_in(page, served.url, spine, "manager")


def leaves(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every value in a body."""
    if isinstance(value, dict) and value:
        for name, one in value.items():
            yield from leaves(one, (*at, name))
    elif isinstance(value, list) and value:
        for n, one in enumerate(value):
            yield from leaves(one, (*at, n))
    else:
        yield at


def refuse_all(page: Page, sent: list[list[tuple[str | int, ...]]]) -> None:
    """Refuse every value of every body that the page sends."""

    def answer(route: Route) -> None:
        if route.request.method == "GET":
            route.continue_()
            return
        paths = list(leaves(json.loads(route.request.post_data or "{}")))
        sent.append(paths)
        places = [{"loc": ["body", *path], "msg": f"no {'.'.join(map(str, path))}"} for path in paths]
        problem = {"type": "urn:plumbline:problem:invalid", "title": "The input is not valid", "status": 422}
        body = {**problem, "detail": "The input is not valid", "instance": "x", "errors": places}
        route.fulfill(status=422, content_type="application/problem+json", body=json.dumps(body))

    page.route("**/v1/**", answer)


BEFORE = {"questionnaires": "Add a question", "protocol": "Write my own from it"}
WRITTEN = {"url": "https://example.org/", "datetime-local": "2031-05-04T12:00", "number": "5"}
BY_NAME = {"glossary": "dog, Hund", "source_language": "en", "target_language": "de"}
CHOOSE = """(one) => {
  if (one.value || one.options.length < 2) return;
  one.selectedIndex = 1;
  one.dispatchEvent(new Event("change", { bubbles: true }));
}"""

ABOUT = """(all) => all.map((one) => [one.checkVisibility({ visibilityProperty: true }) && !one.value,
  ...["type", "inputmode", "name"].map((name) => one.getAttribute(name))])"""
MOST = 60  # fields that are filled in
FEW = {"manager/wording.html": 6}  # where all fields are alike; the soak fills in as many as elsewhere


def fill(form: Locator, traffic: Traffic, most: int) -> None:
    """Write something into every field that is empty."""
    form.evaluate("(form) => form.closest('details')?.setAttribute('open', '')")
    if before := BEFORE.get(form.get_attribute("id") or ""):
        form.get_by_role("button", name=before).first.click()
    if form.locator("[data-add]").count():
        form.locator("[data-add]").last.click()
    form.locator("details:not([open])").evaluate_all("all => all.forEach((one) => { one.open = true; })")
    form.locator("select:enabled").evaluate_all(f"all => all.forEach({CHOOSE})")
    traffic.settle()  # what was chosen may bring further fields
    for box in form.locator("input[type=checkbox]:enabled:visible").all():
        box.check()
    fields = form.locator(":is(input, textarea):enabled:not([type=file], [type=checkbox], [type=radio])")
    for field, (empty, kind, mode, name) in zip(fields.all()[:most], fields.evaluate_all(ABOUT), strict=False):
        if empty and kind != "search":
            usual = "5" if mode in {"numeric", "decimal"} else WRITTEN.get(kind or "", "x1")
            field.fill(BY_NAME.get(name or "", usual))
    for field in form.locator("#file, [name=media]").all():
        field.set_input_files({"name": "raters.csv", "mimeType": "text/csv", "buffer": b"rater\nr1\n"})
    form.evaluate("() => document.activeElement.blur()")


@pytest.mark.parametrize(
    ("of", "most"),
    [
        *((of, FEW.get(of.template, MOST)) for of in WITH_FORMS),
        *(pytest.param(of, MOST, marks=pytest.mark.soak) for of in WITH_FORMS if of.template in FEW),
    ],
    ids=lambda value: str(getattr(value, "template", value)),
)
def test_every_value_that_a_form_sends_has_a_field_that_says_why_it_is_refused(
    manager, campaigns, of: ManagerPageDefinition, most: int
):
    page, traffic, faults = manager.page, Traffic(manager.page), heard_errors(manager.page)
    key = campaigns[of.name in OF_A_PLAN]
    manager.open(of.route_pattern.replace("{campaign}", key))
    expect(page.locator("h1")).to_be_visible()
    assert faults == []
    sent: list[list[tuple[str | int, ...]]] = []
    refuse_all(page, sent)
    forms = page.locator(FORM).all()
    assert forms
    for form in forms:
        fill(form, traffic, most)
        before = form.evaluate(VALUES)
        sent.clear()
        form.locator("[data-look], [data-check], button[type=submit], button:not([type])").first.click()
        expect(form.locator(".fault")).not_to_have_count(0)
        told = form.evaluate(MARKS)
        assert all(near for _, near in told), told
        words = "\n".join(text for text, _ in told)
        missing = [path for path in sent[0] if path not in ELSEWHERE and f"no {'.'.join(map(str, path))}" not in words]
        assert missing == []
        assert form.evaluate(VALUES) == before
        assert form.evaluate(FIRST)
        assert form.locator(":scope > .faults li").count() == (len(told) if len(told) > 1 else 0)
    if of.template in LOOKED_AT or EVERY_LOOK in os.environ:
        glance(page, f"refused fields of {of.name}")
    assert widths_beyond(page) == {}


def test_a_field_that_is_changed_is_marked_no_longer_and_a_list_above_leads_to_each(manager, ask):
    page = manager.page
    ask("POST", "/campaigns", {"key": "refused", "protocol": "da"})
    manager.open("/campaigns/refused/settings?lang=de")
    lease, speed = page.locator("#lease_hours"), page.locator("#seconds_per_word")
    lease.fill("-1")
    speed.fill("-2")
    page.get_by_role("button", name="Speichern").click()
    expect(lease).to_be_focused()
    expect(page.locator("#settings .fault")).to_have_text(
        [
            "muss eine Zahl von 30 bis 1.209.600 oder leer sein",
            "muss eine Zahl über 0 und höchstens 3.599 oder leer sein",
        ]
    )
    expect(page.locator("#settings .fault [lang]")).to_have_count(0)
    page.locator(".faults").get_by_role("link", name="Erwartete Sekunden je Wort").click()
    expect(speed).to_be_focused()
    speed.fill("zwei")
    expect(speed).not_to_have_attribute("aria-invalid", "true")
    expect(lease).to_have_attribute("aria-invalid", "true")
    page.get_by_role("button", name="Speichern").click()
    expect(speed).to_have_accessible_description(
        "Daraus folgen die Stunden in Plänen. Leer für das übliche Tempo des Protokolls. „zwei“ ist keine Zahl."
    )
    expect(page.locator(".faults")).to_have_count(0)
    assert ask("GET", "/campaigns/refused").json()["settings"].keys() == {"created_by"}


def test_a_question_in_an_address_is_refused_at_its_field(manager, campaigns):
    page = manager.page
    manager.open(f"/campaigns/{campaigns[False]}/stability?designs=paper&studies=1&seed=-1")
    studies = page.get_by_label("Studies", exact=True)
    expect(studies).to_have_attribute("aria-invalid", "true")
    expect(studies).to_have_accessible_description(re.compile("^Input should be greater than or equal to 2"))
    expect(studies).to_be_focused()
    expect(studies).to_have_value("1")
    expect(page.locator(".faults li")).to_have_count(2)
    glance(page, "a question that is refused")


def test_a_token_that_is_unknown_is_said_at_its_field(page, served):
    page.goto(served.url)
    token = page.get_by_label("Access token")
    token.fill("t_unknown")
    page.get_by_role("button", name="Sign in").click()
    expect(token).to_have_accessible_description(re.compile("This token is unknown or has expired"))
    expect(token).to_have_attribute("aria-invalid", "true")
    expect(token).to_be_focused()
    expect(token).to_have_value("t_unknown")


ROLES = [{"value": "expert", "label": {"en": "expert"}}, {"value": "crowd", "label": {"en": "crowd"}}]
QUESTIONS = [
    {"name": "years", "kind": "number", "label": {"en": "Years?"}, "minimum": 0, "required": True},
    {"name": "role", "kind": "choice", "label": {"en": "Role?"}, "required": True, "options": ROLES},
]

QUESTIONNAIRE = json.dumps({"questionnaires": {"before": QUESTIONS, "after": []}})


def test_raters_read_what_is_refused_at_each_question_and_at_the_fields_of_a_dispute(campaign, page, served):
    live = campaign(change=(f"update campaigns set settings = settings || '{QUESTIONNAIRE}' where id = %(id)s",))
    assert page.context.request.post(f"{served.url}/v1/session", data={"token": live.secrets["r1"]}).ok
    page.goto(f"{served.url}/rate/questionnaire")
    page.get_by_role("button", name="Send the answers").click()
    years = page.get_by_label("Years?")
    expect(years).to_have_accessible_description("This question must be answered.")
    expect(years).to_be_focused()
    expect(page.locator("[data-name=role] .fault")).to_have_text("This question must be answered.")
    expect(page.locator(".faults li")).to_have_count(2)
    years.fill("9")
    page.get_by_label("expert").check()
    expect(page.locator(".faults, .fault")).to_have_count(0)
    problem = {
        "type": "urn:plumbline:problem:invalid",
        "title": "The input is not valid",
        "errors": [{"loc": ["body", "answers", "years"], "msg": "is too few"}],
    }
    page.route("**/answers", lambda route: route.fulfill(status=422, json=problem))
    page.get_by_role("button", name="Send the answers").click()
    expect(years).to_have_accessible_description("is too few")
    page.unroute("**/answers")
    page.goto(f"{served.url}/rate/hours")
    page.get_by_label("How many minutes").fill("9")
    page.get_by_label("Why?").fill("A pause.")
    problem["errors"] = [{"loc": ["body", "seconds"], "msg": "is too much"}]
    page.route("**/disputes", lambda route: route.fulfill(status=422, json=problem))
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_label("How many minutes")).to_have_accessible_description("is too much")
    glance(page, "a dispute that is refused")
