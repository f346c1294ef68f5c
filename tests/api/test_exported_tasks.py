"""What a plan gives raters, for those who work elsewhere: spreadsheets out and in again, batches for Appraise."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString

import httpx
import psycopg
import pytest
from openpyxl import Workbook, load_workbook

from app.services.data import bundle_check
from app.storage import embedded
from tests.api.conftest import template_asked_for, template_by_admin
from tests.spine import fresh

LIVE = "/v1/campaigns/sheets"
SYSTEMS = ("sysA", "sysB")
RATERS = ("r1", "r2")
FORMULA = "=cmd|' /C calc'!A0"


@pytest.fixture(scope="module")
def planned_template(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[str]:
    """The name of a database with the campaign of `planned`."""
    with template_by_admin(postgres, migrated_template, lambda admin, _: make_and_plan(admin)) as name:
        yield name


@pytest.fixture
def template(request: pytest.FixtureRequest, migrated_template: str) -> str:
    """Who asks for what is planned has it in the database from the start."""
    return template_asked_for(request, migrated_template, {"planned": "planned_template"})


@pytest.fixture
def planned(admin: httpx.Client) -> httpx.Client:
    """Four documents of two segments, two systems, two raters with a task each, by XSTS."""
    return admin


def make_and_plan(admin: httpx.Client) -> None:
    made = admin.post("/v1/campaigns", json={"key": "sheets", "protocol": "xsts", "target_language": "sw"})
    assert made.status_code == 201, made.text
    for d in range(1, 5):
        segments = [{"source": f"Source {d} {n}."} for n in (1, 2)]
        assert admin.put(f"{LIVE}/documents/d{d}", json={"position": d, "segments": segments}).status_code == 200
    for system in SYSTEMS:
        assert admin.put(f"{LIVE}/systems/{system}", json={}).status_code == 200
        for d in range(1, 5):
            texts = [FORMULA if d == 1 else f"{system} {d} one", f"{system} {d} two"]
            answer = admin.put(f"{LIVE}/systems/{system}/outputs/d{d}", json={"segments": texts})
            assert answer.status_code == 200
    for rater in RATERS:
        admin.put(f"{LIVE}/raters/{rater}", json={})
    design = {"seed": 5, "overlap": None, "balance": "full", "controls": {"bad_reference": {"rate": 0.1}}}
    answer = admin.post(f"{LIVE}/plan", json=design)
    assert answer.status_code == 201, answer.text


def exported(client: httpx.Client, format: str) -> bytes:
    answer = client.get(f"{LIVE}/exports/{format}")
    assert answer.status_code == 200, answer.text
    return answer.content


def brought(client: httpx.Client, format: str, body: bytes, status: int = 200) -> dict[str, Any]:
    answer = client.post(f"{LIVE}/imports", params={"format": format}, content=body)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def saved(book: Workbook) -> bytes:
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_a_sheet_of_each_rater_has_locked_texts_and_open_scores(planned: httpx.Client) -> None:
    book = load_workbook(io.BytesIO(exported(planned, "xlsx")))

    assert sorted(sheet.title for sheet in book) == sorted(RATERS)
    for sheet in book:
        assert sheet.protection.sheet
        assert [sheet.column_dimensions[letter].hidden for letter in "DEFG"] == [False, True, True, True]
        assert all(sheet.cell(row, 2).protection.locked for row in range(2, sheet.max_row + 1))
        assert not any(sheet.cell(row, 4).protection.locked for row in range(2, sheet.max_row + 1))
        (check,) = sheet.data_validations.dataValidation
        assert (check.type, check.formula1, check.formula2) == ("whole", "1", "5")
        assert [cell.value for cell in sheet[1]][:4] == ["No.", "Text 1", "Text 2", "Score"]


def test_nothing_in_a_sheet_runs_or_tells_a_system_or_a_side(
    planned: httpx.Client,
) -> None:
    book = load_workbook(io.BytesIO(exported(planned, "xlsx")))

    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row if isinstance(cell.value, str)]
    assert f"'{FORMULA}" in {cell.value for cell in cells}
    assert not any(cell.data_type == "f" or cell.value.startswith(("=", "+", "-", "@")) for cell in cells)
    hidden = {cell.value for cell in cells if cell.column_letter in "EFG"}
    assert not any(system in value for value in hidden for system in SYSTEMS)

    firsts = [sheet.cell(row, 2).value.startswith("Source") for sheet in book for row in range(2, sheet.max_row + 1)]
    assert set(firsts) == {True, False}


def test_a_sheet_shows_the_segments_of_each_item_alone_and_each_text_by_its_name(
    planned: httpx.Client, database_url: str
) -> None:
    with psycopg.connect(database_url) as db:
        (n,) = one(db, "SELECT sum(last_segment - first_segment + 1) FROM items")
        db.execute("UPDATE items SET first_segment = 2 WHERE id = (SELECT max(id) FROM items WHERE role = 0)")
        for name in ("aaa", "zzz"):
            db.execute(
                """INSERT INTO variants (campaign_id, output_id, kind, name, text)
                   SELECT campaign_id, output_id, 'back_translation', %s, 'OTHER' FROM variants
                   WHERE kind = 'degraded'""",
                (name,),
            )
        (degraded,) = one(db, "SELECT count(*) FROM items WHERE variant IS NOT NULL")
    book = load_workbook(io.BytesIO(exported(planned, "xlsx")))
    assert degraded > 0
    assert sum(sheet.max_row - 1 for sheet in book) == n - 1
    assert "OTHER" not in {cell.value for sheet in book for row in sheet.iter_rows() for cell in row}


def one(db: psycopg.Connection[Any], query: LiteralString) -> tuple[Any, ...]:
    row = db.execute(query).fetchone()
    assert row is not None
    return row


def test_scores_of_a_sheet_are_judgments_of_the_tasks(planned: httpx.Client) -> None:
    book = load_workbook(io.BytesIO(exported(planned, "xlsx")))
    n = 0
    for sheet in book:
        for row in range(2, sheet.max_row + 1):
            sheet.cell(row, 4).value = 1 + row % 5
            n += 1

    report = brought(planned, "xlsx", saved(book))

    assert report["stored"]["judgments"] == n
    assert planned.get(f"{LIVE}/ranking", params={"recipe": "nllb-xsts"}).status_code == 200
    again = load_workbook(io.BytesIO(exported(planned, "xlsx")))
    assert [[cell.value for cell in row] for sheet in again for row in sheet] == [
        [cell.value for cell in row] for sheet in book for row in sheet
    ]
    assert brought(planned, "xlsx", exported(planned, "xlsx"))["stored"]["unchanged"] == n


def test_a_wrong_cell_is_named_with_sheet_and_row_and_stores_nothing(planned: httpx.Client) -> None:
    sent = exported(planned, "xlsx")
    wrong = [
        (4, 9, "from 1 to 5"),
        (4, "good", "not a number"),
        (4, 3.5, ""),
        (5, "t_other", "no task"),
        (6, "x", "hid"),
    ]
    for column, value, said in wrong:
        book = load_workbook(io.BytesIO(sent))
        sheet = book.worksheets[0]
        sheet.cell(3, 4).value = 3
        sheet.cell(3, column).value = value

        (error,) = brought(planned, "xlsx", saved(book), 422)["errors"]

        assert said in error["msg"]
        assert error["loc"][1] == 3
    assert not planned.get(f"{LIVE}/judgments").json()["items"]


def test_what_is_no_spreadsheet_is_refused(planned: httpx.Client) -> None:
    for body in (b"no zip", b"PK\x03\x04 cut", b"\xd0\xcf\x11\xe0 an old one", saved(Workbook())):
        brought(planned, "xlsx", body, 422)


def test_tasks_are_batches_of_appraise_with_their_controls(planned: httpx.Client) -> None:
    with tarfile.open(fileobj=io.BytesIO(exported(planned, "appraise"))) as archive:
        assert archive.getnames() == ["batches.json", "results.csv"]
        member = archive.extractfile("batches.json")
        assert member is not None
        batches = json.load(member)

    listed = planned.get(f"{LIVE}/tasks").json()["items"]
    assert len(batches) == len(listed)
    kinds = [item["itemType"] for batch in batches for item in batch["items"]]
    assert set(kinds) == {"TGT", "BAD"}
    assert kinds.count("TGT") == len(SYSTEMS) * 4 * 2
    assert all(batch["task"]["batchSize"] == len(batch["items"]) for batch in batches)


def test_the_data_sheet_says_what_the_plan_and_the_controls_are(planned: httpx.Client) -> None:
    sheet = planned.get(f"{LIVE}/reports/datasheet").json()

    said = {one["number"]: one["answer"] for one in sheet["heds"]}
    assert "in tasks that this program assigned" in said["3.3.2"]
    assert said["4.3.3"] == "5"
    assert said["4.3.1"]
    points = {one["key"]: one for one in sheet["checklist"]}
    assert points["assignment"]["by"] == "plan, seed 5"
    assert points["preregistration"]["reported"] == "no"


@pytest.mark.parametrize("bundled", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_the_sheets_and_the_bundle_of_a_planned_campaign_give_its_ratings_and_rank_to_identical_numbers(
    planned: httpx.Client, postgres: embedded.EmbeddedServer, migrated_template: str, tmp_path: Path, bundled: bool
) -> None:
    """bundled: what the bundle holds is ranked again, as `tests/cli/test_bundle.py` does with that of an import."""
    book = load_workbook(io.BytesIO(exported(planned, "xlsx")))
    for sheet in book:
        for row in range(2, sheet.max_row + 1):
            sheet.cell(row, 4).value = 1 + (row * row) % 5
    brought(planned, "xlsx", saved(book))
    ratings = exported(planned, "ratings-csv").decode().splitlines()
    assert ratings[0].startswith("system,document,position,rater")
    assert len([line for line in ratings[1:] if ",rating," in line]) == len(SYSTEMS) * 4 * 2
    if not bundled:
        return
    archive, folder = tmp_path / "sheets.tar", tmp_path / "unpacked"
    archive.write_bytes(exported(planned, "bundle"))
    folder.mkdir()
    bundle_check.unpack_bundle(archive, folder)
    with fresh(postgres, migrated_template) as elsewhere:
        found = bundle_check.reproduce_bundle(folder, elsewhere.database)
    assert "nllb-xsts" in found.rankings
    assert json.loads((folder / "papers/datasheet.json").read_bytes())["answered"] > 20
    assert (folder / "papers/card.svg").read_bytes().startswith(b"<?xml")


def test_ratings_of_a_campaign_without_judgments_are_the_names_of_the_columns(admin: httpx.Client) -> None:
    """An export reads from a snapshot in which nothing can be written, not even the profile of scores to come."""
    assert admin.post("/v1/campaigns", json={"key": "empty", "protocol": "mqm"}).status_code == 201
    answer = admin.get("/v1/campaigns/empty/exports/ratings-csv")
    assert (answer.status_code, answer.text) == (
        200,
        "system,document,position,rater,task,judgment,role,accepted,score,n_errors\n",
    )
