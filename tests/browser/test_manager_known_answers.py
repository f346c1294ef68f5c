"""What raters do before their first task, written on managers' pages and then done: test, tutorial, questionnaires."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.desk import glance, sign_in
from tests.browser.hands import Mouse, type_number
from tests.browser.test_accessible import check

HOSTILE = "<img src=x onerror=window.hacked=1>"


@pytest.fixture
def manager(page, served, spine):
    """A manager of all campaigns."""
    return sign_in(page, served.url, spine, "manager")


def test_a_test_is_written_by_its_form_and_a_rater_is_spared_it(manager, ask):
    ask("POST", "/campaigns", {"key": "tested", "protocol": "da"})
    ask("PUT", "/campaigns/tested/raters/r1", {})
    page = manager.page
    manager.open("/campaigns/tested/qualification")
    page.get_by_role("button", name="Add a judgment").click()
    first = page.get_by_role("group", name="Item 1")
    expect(first.get_by_label("Source")).to_be_focused()
    first.get_by_label("Source").fill("The dog barked.")
    first.get_by_label("Output that is judged").fill("Der Hund bellte.")
    expect(first.locator(".body").last).to_have_text("Der Hund bellte.")
    page.get_by_role("button", name="Save the test").click()
    expect(page.locator("#test .said")).to_contain_text("Item 1: Still missing: the score")
    type_number(first.locator("input[type=range]"), 90)
    first.get_by_label("Tolerance for “score”").fill("ten")
    page.get_by_role("button", name="Save the test").click()
    expect(page.locator("#test .said")).to_contain_text("Item 1: “ten” is not a number.")
    first.get_by_label("Tolerance for “score”").fill("7.5")
    first.get_by_label("Explanation").fill("en: Nothing is wrong.\nde: Nichts ist falsch.")
    page.get_by_role("button", name="Add a choice").click()
    second = page.get_by_role("group", name="Item 2")
    second.get_by_label("Question").fill("Which?")
    second.get_by_label("Choices, one per line").fill("good\nbad")
    second.get_by_label("The right one").fill("neither")
    page.get_by_role("button", name="Save the test").click()
    expect(page.locator("#test .fault")).to_contain_text("must be one of the choices")
    second.get_by_label("The right one").fill("bad")
    page.get_by_role("button", name="Save the test").click()
    expect(page.locator("#version")).to_contain_text("Version 1")
    check(page, "qualification")
    stored = ask("GET", "/campaigns/tested/qualification").json()["items"]
    assert [one["choice"] for one in stored] == [None, "bad"]
    assert (stored[0]["payload"], stored[0]["tolerance"]) == ({"protocol": "da", "score": 90}, {"score": 7.5})
    assert stored[0]["reasons"] == {"en": "Nothing is wrong.", "de": "Nichts ist falsch."}
    page.get_by_role("button", name="Waive the test for r1").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("judged before")
    page.get_by_role("button", name="Waive the test", exact=True).click()
    expect(page.get_by_role("cell", name="waived judged before")).to_be_visible()


def test_errors_of_a_known_answer_are_marked_and_move_with_their_text(manager, ask):
    ask("POST", "/campaigns", {"key": "marked", "protocol": "esa", "target_language": "de"})
    page = manager.page
    manager.open("/campaigns/marked/qualification")
    marked = {"Der Hund bellte nicht.": ((2, "minor"), (0, "major")), "Die Katze schlief lange.": ((2, "minor"),)}
    for n, (text, errors) in enumerate(marked.items(), 1):
        page.get_by_role("button", name="Add a judgment").click()
        item = page.get_by_role("group", name=f"Item {n}")
        item.get_by_label("Output that is judged").fill(text)
        for word, severity in errors:
            Mouse(page).mark(item.locator(".body"), item.locator(f"button.severity.is-{severity}"), (), word=word)
        type_number(item.locator("input[type=range]"), 40)
    check(page, "known answers with errors")
    first = page.get_by_role("group", name="Item 1")
    expect(first.locator("mark")).to_have_text(["Der", "bellte"])
    first.get_by_label("Output that is judged").fill("Ja, der Hund bellte nicht.")
    expect(first.locator("mark")).to_have_text(["bellte"])
    page.get_by_role("button", name="Save the test").click()
    expect(page.locator("#version")).to_contain_text("Version 1")
    stored = [one["payload"] for one in ask("GET", "/campaigns/marked/qualification").json()["items"]]
    places = [[(error["start"], error["end"], error["severity"]) for error in one["errors"]] for one in stored]
    assert places == [[(13, 19, "minor")], [(10, 17, "minor")]]
    assert [one["score"] for one in stored] == [40, 40]


def test_a_tutorial_is_written_then_judged_before_the_first_task(manager, ask, served):
    key = ask.opened("taught", raters=("r1",))
    page = manager.page
    manager.open(f"/campaigns/{key}/tutorial")
    page.get_by_role("button", name="Add a segment").click()
    first = page.get_by_role("group", name="Segment 1")
    first.get_by_label("Source").fill("The dog barked.")
    first.get_by_label("Output that is judged").fill("Der Hund bellte nicht.")
    type_number(first.locator("input[type=range]"), 10)
    first.get_by_label("Explanation").fill(f"en: It says the opposite. {HOSTILE}")
    page.get_by_role("button", name="Save the document").click()
    page.get_by_role("button", name="Change tutorial").click()
    expect(page.get_by_role("group", name="Segment 1").get_by_label("Source")).to_have_value("The dog barked.")
    expect(page.get_by_role("group", name="Segment 1").locator("output")).to_have_text("10")
    check(page, "tutorial of a manager")
    learner = page.context.new_page()
    assert learner.context.request.post(f"{served.url}/v1/session", data={"token": ask.secret(key, "r1")}).ok
    learner.goto(f"{served.url}/rate")
    learner.wait_for_url("**/rate/tutorial")
    learner.get_by_role("button", name="See how it is judged").click()
    expect(learner.locator(".said")).to_contain_text("Still missing: the score")
    type_number(learner.locator("input[type=range]"), 80)
    expect(learner.locator(".said")).to_be_empty()
    check(learner, "tutorial of a rater")
    learner.get_by_role("button", name="See how it is judged").click()
    expect(learner.locator(".verdict.wrong")).to_contain_text("It says the opposite.")
    expect(learner.locator("output").last).to_have_text("10")
    glance(learner, "tutorial, judged")
    assert learner.evaluate("window.hacked") is None
    learner.get_by_role("button", name="End of the tutorial").click()
    learner.get_by_role("link", name="Go to the task").first.click()
    expect(learner.locator("#work .row").first).to_be_visible()
    manager.open(f"/campaigns/{key}/tutorial")
    expect(page.get_by_role("cell", name="0 of 1")).to_be_visible()


def test_texts_side_by_side_are_judged_until_the_rules_are_kept(manager, ask, served):
    key, page = ask.opened("ruled", raters=("r1",)), manager.page
    manager.open(f"/campaigns/{key}/tutorial")
    page.get_by_role("button", name="Add a segment").click()
    first = page.get_by_role("group", name="Segment 1")
    first.get_by_label("Source").fill("The dog barked.")
    first.get_by_text("Rules and several texts").click()
    first.get_by_label("Texts side by side").fill("Der Hund bellte.\nDie Katze bellte.")
    first.get_by_role("button", name="Add: One text is judged better than another").click()
    first.get_by_label("Warning").fill(f"en: The second has another animal. {HOSTILE}")
    first.get_by_label("Raters answer again until everything is right").check()
    check(page, "rules of a tutorial")
    page.get_by_role("button", name="Save the document").click()
    page.get_by_role("button", name="Change tutorial").click()
    expect(first.get_by_label("Warning")).to_have_value(f"en: The second has another animal. {HOSTILE}")
    learner = page.context.new_page()
    assert learner.context.request.post(f"{served.url}/v1/session", data={"token": ask.secret(key, "r1")}).ok
    learner.goto(f"{served.url}/rate/tutorial")
    scales = learner.locator("input[type=range]")
    type_number(scales.nth(0), 20)
    type_number(scales.nth(1), 80)
    learner.get_by_role("button", name="See how it is judged").click()
    expect(learner.locator(".verdict.wrong")).to_contain_text("The second has another animal.")
    check(learner, "several texts of a tutorial")
    type_number(scales.nth(0), 90)
    learner.get_by_role("button", name="Check again").click()
    expect(learner.locator(".verdict.right")).to_be_visible()
    assert learner.evaluate("window.hacked") is None


def test_questions_are_written_then_answered_before_the_first_task_and_after_it(manager, ask, served, open_context):
    key, page = ask.draft("asked"), manager.page
    manager.open(f"/campaigns/{key}/questionnaires")
    before = page.locator("section[data-moment=before]")
    before.get_by_role("button", name="Add a language biography").click()
    parts = before.locator("fieldset.part")
    expect(parts).to_have_count(9)
    for _ in range(8):
        parts.nth(1).get_by_role("button", name="Remove").click()
    before.get_by_role("button", name="Add a question").click()
    parts.nth(1).get_by_label("Kind of answer").select_option("number")
    parts.nth(1).get_by_label("Question", exact=True).fill(f"How many years? {HOSTILE}")
    parts.nth(1).get_by_label("At least").fill("0")
    parts.nth(1).get_by_label("At most").fill("80")
    page.locator("section[data-moment=after]").get_by_role("button", name="Add a question").click()
    expect(page.locator("#shown")).to_contain_text("Which languages did you learn first")
    page.get_by_role("button", name="Save the questions").click()
    expect(page.locator("#saved")).to_have_text("Saved.")
    check(page, "questionnaires of a manager")
    ask("PUT", f"/campaigns/{key}/raters/r1", {})
    ask("POST", f"/campaigns/{key}/plan", {"grouping": "psxs", "seed": 1})
    ask("POST", f"/campaigns/{key}/open")
    rater = open_context(locale="de-DE").new_page()
    assert rater.context.request.post(f"{served.url}/v1/session", data={"token": ask.secret(key, "r1")}).ok
    rater.goto(f"{served.url}/rate")
    rater.wait_for_url("**/rate/questionnaire")
    rater.get_by_role("button", name="Antworten senden").click()
    expect(rater.get_by_text("Diese Frage muss beantwortet werden.")).to_be_visible()
    rater.get_by_label("Welche Sprachen").fill("Deutsch, Sorbisch")
    rater.get_by_label("How many years?").fill("99")
    rater.get_by_role("button", name="Antworten senden").click()
    expect(rater.get_by_text("Geben Sie eine Zahl von 0 bis 80 ein.")).to_be_visible()
    check(rater, "questionnaire of a rater")
    assert rater.evaluate("window.hacked") is None
    rater.get_by_label("How many years?").fill("12,5")
    rater.get_by_role("button", name="Antworten senden").click()
    expect(rater.locator("#work .row").first).to_be_visible()
    rater.goto(f"{served.url}/rate/questionnaire#after")
    rater.get_by_role("textbox").fill("Gern.")
    rater.get_by_role("button", name="Antworten senden").click()
    expect(rater.locator("#work .row").first).to_be_visible()
    manager.open(f"/campaigns/{key}/questionnaires")
    expect(page.get_by_role("cell", name="Deutsch, Sorbisch")).to_be_visible()
    expect(page.get_by_role("cell", name="12.5")).to_be_visible()
    expect(page.get_by_role("button", name="Save the questions")).to_have_count(0)


def test_errors_are_marked_in_advance_in_the_texts_of_a_check(manager, ask):
    ask("POST", "/campaigns", {"key": "prefilled", "protocol": "esa", "target_language": "de"})
    page = manager.page
    manager.open("/campaigns/prefilled/tutorial")
    page.get_by_label("Key", exact=True).fill("check-1")
    page.get_by_role("button", name="Add a segment").click()
    first = page.get_by_role("group", name="Segment 1")
    advance = first.get_by_text("Errors marked in advance", exact=True)
    expect(advance).to_be_hidden()
    page.get_by_label("When raters judge it").select_option("attention")
    first.get_by_label("Source").fill("The dog barked.")
    first.get_by_text("Rules and several texts").click()
    first.get_by_label("Texts side by side").fill("Der Hund bellte.\nDie Katze bellte.")
    first.get_by_role("button", name="Add: One text is judged better than another").click()
    advance.click()
    second = first.get_by_role("group", name="Errors marked in advance in text 2")
    Mouse(page).mark(second.locator(".body").last, second.locator("button.severity.is-major"), (), word=1)
    expect(second.locator("mark")).to_have_text("Katze")
    expect(second.locator(".confirm")).to_be_hidden()
    first.get_by_label("Texts side by side").fill("Der Hund bellte.\nOh, die Katze bellte.")
    expect(second.locator("mark")).to_have_text("Katze")
    check(page, "errors marked in advance")
    for said in ("check-1", "again"):
        page.get_by_label("Key", exact=True).fill(said)
        page.get_by_role("button", name="Save the document").click()
        page.get_by_role("button", name=f"Change {said}").click()
        expect(second.locator("mark")).to_have_text("Katze")
        stored = ask("GET", f"/campaigns/prefilled/documents/{said}").json()["segments"][0]["meta"]["attention"]
        places = [[(one["start"], one["end"], one["severity"]) for one in errors] for errors in stored["prefill"]]
        assert places == [[], [(8, 13, "major")]]
    ask("POST", "/campaigns", {"key": "plainly", "protocol": "da"})
    manager.open("/campaigns/plainly/tutorial")
    page.get_by_role("button", name="Add a segment").click()
    expect(page.get_by_text("Errors marked in advance", exact=True)).to_have_count(0)


def test_an_attention_check_is_written_set_and_met_among_the_tasks(manager, ask, served):
    key, page = ask.opened("attentive", raters=("r1",)), manager.page
    manager.open(f"/campaigns/{key}/tutorial")
    page.get_by_label("Key", exact=True).fill("check-1")
    page.get_by_label("When raters judge it").select_option("attention")
    page.get_by_role("button", name="Add a segment").click()
    first = page.get_by_role("group", name="Segment 1")
    first.get_by_label("Source").fill("The dog barked.")
    first.get_by_label("Output that is judged").fill("Die Katze schlief.")
    first.get_by_text("Rules and several texts").click()
    first.get_by_role("button", name="Add: A score within bounds").click()
    first.get_by_label("At least").fill("")
    first.get_by_label("At most").fill("40")
    first.get_by_label("Warning").fill(f"en: It speaks of a cat. {HOSTILE}")
    first.get_by_label("Explanation").fill("en: x")
    page.get_by_role("button", name="Save the document").click()
    expect(page.locator("#tutorial > .said")).to_contain_text("it has no question, no explanation")
    first.get_by_label("Explanation").fill("")
    page.get_by_role("button", name="Save the document").click()
    expect(page.get_by_role("cell", name="Attention check")).to_be_visible()
    settings = page.locator("#attention")
    settings.get_by_label("Share of tasks with a check before them").fill("100")
    settings.get_by_label("Repetitions").fill("1")
    settings.get_by_label("Warn raters at once").check()
    settings.get_by_role("button", name="Save").click()
    expect(page.locator("#attention-saved")).to_have_text("Saved.")
    check(page, "attention checks of a manager")
    learner = page.context.new_page()
    assert learner.context.request.post(f"{served.url}/v1/session", data={"token": ask.secret(key, "r1")}).ok
    learner.goto(f"{served.url}/rate")
    expect(learner.locator("#work")).to_contain_text("Die Katze schlief.")
    assert "ttention" not in learner.content()
    type_number(learner.locator("input[type=range]").first, 80)
    learner.get_by_role("button", name="Hand in").click()
    expect(learner.locator(".completed .note")).to_contain_text("It speaks of a cat.")
    expect(learner.locator(".completed .note")).to_contain_text("The same text comes once more.")
    check(learner, "a warning of an attention check")
    assert learner.evaluate("window.hacked") is None
    learner.get_by_role("button", name="Next task").click()
    expect(learner.locator("#work")).to_contain_text("Die Katze schlief.")
    type_number(learner.locator("input[type=range]").first, 10)
    learner.get_by_role("button", name="Hand in").click()
    expect(learner.locator(".completed")).to_be_visible()
    assert learner.locator(".completed .note").count() == 0
    learner.get_by_role("button", name="Next task").click()
    expect(learner.locator("#work .row").first).to_be_visible()
    expect(learner.locator("#work")).not_to_contain_text("Die Katze schlief.")
    manager.open(f"/campaigns/{key}/tutorial")
    row = page.locator("#checks tbody tr")
    expect(row.get_by_role("cell")).to_contain_text(["r1", "1", "0", "1", "2", "–"])
