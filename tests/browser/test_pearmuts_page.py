"""Words marked with the mouse on Pearmut's own page come through our import and export, and stand there again."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from app import formats
from app.formats.base import InputFile, JudgmentRow, OutputRow, ReadContext, ReaderLimits, ReadLog, Record
from tests.formats.pearmut.program import ADD_EXISTING, PearmutProgram
from tests.formats.trees import contents, tree

# Each text with the words that are marked in it; the first also gets [missing].
MARKED = {
    "Erste Zeile.\nZweite Zeile falsch.\nDritte.": ["falsch", "Erste"],
    "<p>Der Hund</p><p>bellt <b>laut</b></p>": ["laut", "Hund"],
    "😀 Ja.\n😀 Nein und 🚀!": ["Nein", "🚀"],
    "الكلب\nينبح بصوت عال": ["ينبح", "الكلب"],
}
SCORE = """slider => {
    slider.value = 75;
    for (const name of ["input", "change"]) slider.dispatchEvent(new Event(name, {bubbles: true}));
}"""
CAMPAIGN = {
    "campaign_id": "talks",
    "info": {"assignment": "single-stream", "protocol": "cESA", "users": ["ann"], "shuffle": False},
    "data": [[{"item_id": f"d_#_{n}", "src": f"Source {n}.", "tgt": {"A": text}} for n, text in enumerate(MARKED)]],
}


def mark(page: Page, item: int, text: str, word: str) -> None:
    """Click on the first and the last character of a word, and call it minor.

    Of an emoji the page has two places, and only the first can be seen and clicked on.
    """
    start = len(text[: text.index(word)].encode("utf-16-le")) // 2
    end = start + len(word[:-1].encode("utf-16-le")) // 2
    output = page.locator(".output_tgt").nth(item)
    for place in (start, end):
        output.locator(f"[data-i='{place}']").click()
    page.locator(".span_toolbox_parent .error_minor:not([selected])").last.click()


def judge(page: Page) -> None:
    """Mark all words, and the first text's omission; score and hand in."""
    expect(page.locator(".output_tgt")).to_have_count(len(MARKED))
    for item, (text, words) in enumerate(MARKED.items()):
        for word in words:
            mark(page, item, text, word)
    page.locator(".output_tgt").first.locator(".special_token").click()
    page.locator(".span_toolbox_parent .error_major:not([selected])").last.click()
    for slider in page.locator("input[type=range]").all():
        slider.evaluate(SCORE)
    with page.expect_response("**/log-response") as answer:
        page.locator("#button_next").click()
    assert answer.value.json() == "ok"


def read(files: dict[str, bytes]) -> list[Record]:
    """The records of files."""
    inputs = [InputFile(name, lambda body=body: io.BytesIO(body)) for name, body in files.items()]
    reader = formats.get_format("pearmut").read
    assert reader is not None
    return list(reader(inputs, ReadContext({}, ReaderLimits()), ReadLog()))


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context()
    yield context.new_page()
    context.close()


@pytest.mark.soak
def test_words_marked_on_pearmuts_page_come_back_to_it(visit: Page, tmp_path: Path) -> None:
    theirs, again = PearmutProgram(tmp_path / "theirs"), PearmutProgram(tmp_path / "again")
    campaign = json.dumps(CAMPAIGN).encode()
    theirs.write({"c.json": campaign})
    theirs.run("add", "c.json")
    with theirs.serving() as address:
        visit.goto(f"{address}/annotate?campaign_id=talks&user_id=ann")
        judge(visit)
    log = theirs.log("talks")

    records = read({"c.json": campaign, "talks.jsonl": log})

    texts = {one.position: one.text for one in records if isinstance(one, OutputRow)}
    errors = {one.position: list(one.payload["errors"]) for one in records if isinstance(one, JudgmentRow)}
    assert errors[1].pop() == {"severity": "major", "omission": True}
    found = {texts[n]: [texts[n][e["start"] : e["end"]] for e in marks] for n, marks in errors.items()}
    assert found == MARKED

    lost = Counter[str]()
    files = tree("pearmut", contents(records), lost)
    ours, logged = json.loads(files["annotations.json"])["talks"], [json.loads(line) for line in log.splitlines()]
    (rocket,) = [mark for mark in logged[0]["annotation"][2]["A"]["error_spans"] if mark["start_i"] == mark["end_i"]]
    rocket["end_i"] += 1  # we write both places of an emoji
    assert [one["annotation"] for one in ours] == [one["annotation"] for one in logged]

    again.write(files)
    again.run(*ADD_EXISTING)
    with again.serving() as address:
        visit.goto(f"{address}/annotate?campaign_id=talks&user_id=ann")
        visit.locator(".progress_complete").first.click()
        for item, (text, words) in enumerate(MARKED.items()):
            shown = visit.locator(".output_tgt").nth(item).locator(".tgt_char.error_minor:not(.special_token)")
            expect(shown.first).to_be_visible()
            marked = "".join(word for _, word in sorted((text.index(word), word) for word in words))
            assert len(shown.all()) == len(marked.encode("utf-16-le")) // 2
            if marked.isascii():
                assert "".join(shown.all_text_contents()) == marked
