"""Files into a campaign: the format that a file tells, what is said of one that cannot be read, and the way on."""

from __future__ import annotations

import gzip

import pytest
from playwright.sync_api import expect

from app.formats.mqm_tsv.rows import COLUMNS as OF_ERRORS
from app.formats.wmt_da.rows import COLUMNS as OF_SCORES
from tests.browser.desk import glance, sign_in
from tests.browser.test_manager_way import texts

TOLD = {
    "errors.tsv.gz": (gzip.compress("\t".join(OF_ERRORS).encode() + b"\nx"), "mqm-tsv"),
    "scores.csv": (" ".join(OF_SCORES).encode() + b"\n1", "wmt-da"),
    "sheet.xlsx": (b"PK", "xlsx"),
    "wmt26.jsonl": (b'{"doc_id": "d1", "src_text": "One."}\n', "wmt-jsonl"),
    "own.jsonl": (b'{"sealed":true,"type":"plumbline","version":1}\n', "jsonl"),
}
FOLDER = {
    "texts": {"source.txt": "One.\nTwo.\n", "a.txt": "Eins.\nZwei.\n", "b.txt": "Ein.\nZwo.\n"},
    "wmt": {
        "documents/en-de.docs": "news d1\nnews d2\n",
        "sources/en-de.txt": "One.\nTwo.\n",
        "system-outputs/en-de/a.txt": "Eins.\nZwei.\n",
        "sources/en-cs.txt": "One.\nTwo.\nThree.\n",
        "human-scores/en-de.mqm.seg.score": "a 1\na 2\n",
        ".DS_Store": "x",
    },
}
SILENT = {"cut.tsv.gz": b"\x1f\x8b\x08no", "empty": b""}
OTHER = b"a\tb\n"
ODD = ({"loc": ["a.tsv", 1], "msg": "odd"}, {"loc": ["a.tsv", 13], "msg": "odd"})
FEW = ({"loc": ["body", "few"], "msg": "is odd"}, {"loc": ["body", "arms", 0, "few"], "msg": "is odd"})
QUOTING = {  # what a problem says, where, and which places its words leave to be told
    "a.tsv, line 13: odd; nothing was stored": (ODD, ["a.tsv › 1: odd"]),
    "the design is not valid: arms.0.few is odd": (FEW, ["few: is odd"]),
    "few: is odd; arms.0.few: is odd": (FEW, []),
    "2 bad lines; nothing was stored": (ODD, ["a.tsv › 1: odd", "a.tsv › 13: odd"]),
}
ANOTHER = "Is the file in another format?"


@pytest.fixture
def manager(page, served, spine):
    """A manager of all campaigns."""
    return sign_in(page, served.url, spine, "manager")


def give(page, name, content):
    """Choose a file."""
    page.get_by_label("Files").set_input_files([{"name": name, "mimeType": "text/plain", "buffer": content}])


def test_the_format_follows_the_file_until_somebody_chooses_it(manager, ask):
    ask("POST", "/campaigns", {"key": "follows", "protocol": "mqm"})
    page = manager.page
    manager.open("/campaigns/follows/texts")
    format_ = page.get_by_label("Format")
    for name, (content, told) in TOLD.items():
        give(page, name, content)
        expect(format_).to_have_value(told)
    for name, content in SILENT.items():
        give(page, name, content)
        expect(format_).to_have_value("jsonl")
    give(page, "other.tsv", OTHER)
    expect(format_).to_have_value("table")
    give(page, "errors.tsv.gz", TOLD["errors.tsv.gz"][0])
    split = page.get_by_label("Split into campaigns by")
    assert split.locator("option").evaluate_all("all => all.map((one) => one.value)") == [
        "",
        "language_pair",
        "protocol",
    ]
    glance(page, "a file of several campaigns")
    format_.select_option("text")
    give(page, "own.jsonl", TOLD["own.jsonl"][0])
    give(page, "scores.csv", TOLD["scores.csv"][0])
    expect(format_).to_have_value("text")


def test_a_folder_is_read_as_files_of_systems_or_as_a_published_test_set(manager, ask, tmp_path):
    page = manager.page
    stored = page.get_by_role("heading", name="Stored", exact=True).first
    for name, files in FOLDER.items():
        for path, content in files.items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_text(content)
        ask("POST", "/campaigns", {"key": f"folder-{name}", "protocol": "da"})
        manager.open(f"/campaigns/folder-{name}/texts")
        page.get_by_label("Or a folder").set_input_files(tmp_path / name)
        if name == "wmt":
            expect(page.get_by_label("Language pair")).to_have_value("en-cs")
            page.get_by_label("Language pair").select_option("en-de")
        else:
            page.get_by_label("The lines are").select_option("texts of their own, one each")
            glance(page, "a folder of texts")
        page.get_by_role("button", name="Read and store").click()
        expect(stored).to_be_visible()
    documents = {
        name: [one["key"] for one in ask("GET", f"/campaigns/folder-{name}/documents").json()["items"]]
        for name in FOLDER
    }
    assert documents == {"texts": ["text-1", "text-2"], "wmt": ["d1", "d2"]}


def test_a_table_says_whether_quotes_belong_to_its_texts_and_rows_to_each_other(manager, ask):
    ask("POST", "/campaigns", {"key": "quotes", "protocol": "da"})
    page = manager.page
    manager.open("/campaigns/quotes/texts")
    give(page, "t.tsv", b'source\tA\n"Go!", she said.\tGeh!\nTwo "\tZwei\n')
    expect(page.get_by_label("Double quotes")).to_have_value("text")
    page.get_by_label("The lines are").select_option("texts of their own, one each")
    page.get_by_label("Double quotes").select_option("enclose")
    page.get_by_role("button", name="Read and store").click()
    expect(page.locator("#upload .said")).to_contain_text("a double quote is not closed")
    page.get_by_label("Double quotes").select_option("text")
    expect(page.get_by_role("cell", name='"Go!", she said.')).to_be_visible()
    page.get_by_role("button", name="Read and store").click()
    expect(page.get_by_text("3 lines of t.tsv.")).to_be_visible()
    assert ask("GET", "/campaigns/quotes/documents/text-1").json()["segments"][0]["source"] == '"Go!", she said.'


def test_what_is_wrong_with_a_file_is_said_once(manager, ask):
    ask("POST", "/campaigns", {"key": "once", "protocol": "da"})
    page = manager.page
    manager.open("/campaigns/once/texts")
    give(page, "other.tsv", OTHER)
    page.get_by_label("Format").select_option("jsonl")
    page.get_by_role("button", name="Read and store").click()
    said = page.locator("#upload .said")
    expect(said).to_contain_text(ANOTHER)
    assert said.inner_text().count("the first line") == 1
    problem = {"title": "The service cannot do this now; try again", "status": 503, "detail": "", "errors": []}
    page.route("**/commit?*", lambda route: route.fulfill(status=503, json=problem))
    page.get_by_role("button", name="Read and store").click()
    expect(said).to_have_text(problem["title"])


def test_each_place_that_is_wrong_is_told_once_though_another_sounds_alike(manager, ask):
    ask("POST", "/campaigns", {"key": "alike", "protocol": "da"})
    page, answer = manager.page, {}
    manager.open("/campaigns/alike/texts")
    page.route("**/commit?*", lambda route: route.fulfill(status=409, json=answer))
    for detail, (places, left) in QUOTING.items():
        answer.update(title="Odd", detail=detail, errors=places)
        give(page, "own.jsonl", texts().encode())
        page.get_by_role("button", name="Read and store").click()
        said = page.locator("#upload .said")
        expect(said).to_contain_text(detail)
        assert said.inner_text().splitlines() == [detail, *left]


def test_a_design_and_an_invitation_lead_to_the_raters(manager, ask):
    ask("POST", "/campaigns", {"key": "led", "protocol": "da"})
    for way in ("design", "invitations"):
        manager.open(f"/campaigns/led/{way}")
        manager.page.locator("p.words").get_by_role("link", name="Raters").click()
        manager.page.wait_for_url("**/campaigns/led/raters")


def test_what_was_stored_begins_with_the_way_on_and_counts_nothing_that_there_is_not(manager, ask):
    ask("POST", "/campaigns", {"key": "way-on", "protocol": "da"})
    page = manager.page
    manager.open("/campaigns/way-on/texts")
    give(page, "own.jsonl", texts().encode())
    page.get_by_role("button", name="Read and store").click()
    expect(page.get_by_role("link", name="Enrol raters")).to_be_in_viewport()
    stored = page.get_by_role("region", name="Stored", exact=True)
    expect(stored.locator("td.right").first).to_be_visible()
    assert "0" not in stored.locator("td.right").all_inner_texts()


def test_what_is_odd_about_texts_leads_to_them_and_reading_is_told(manager, ask):
    ask("POST", "/campaigns", {"key": "odd", "protocol": "da"})
    table = "doc,source,a,b\n" + "".join(f"d:{n},One {n}.,Eins {n}.,Eins {n}.\n" for n in range(1, 31))
    page = manager.page
    manager.open("/campaigns/odd/texts")
    give(page, "own.csv", table.encode())
    expect(page.locator("#columns select").first).to_be_visible()
    told = []
    page.route("**/commit?*", lambda route: (told.append(page.locator("#result").inner_text()), route.continue_()))
    page.get_by_role("button", name="Read and store").click()
    findings = page.get_by_role("region", name="To look at")
    first = findings.get_by_role("link").first
    expect(first).to_be_visible()
    assert told == ["Reading the files …"]
    assert findings.locator("li").first.inner_text() == "d:1:1 a, b"
    expect(findings.get_by_role("link")).to_have_count(5)
    findings.get_by_text("Show more").click()
    expect(findings.get_by_role("link")).to_have_count(10)
    expect(findings).to_contain_text("and 40 more")
    first.click()
    page.wait_for_url("**/campaigns/odd/items?document=d%3A1")
    expect(page.locator("#items")).to_contain_text("Eins 1.")
