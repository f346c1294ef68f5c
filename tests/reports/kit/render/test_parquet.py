"""Flat tables as Parquet: what the CSV says, with types; and what is said where the extra is missing."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from app.domain.recipe import NAMED
from app.main import create_app
from app.reports.kit.render import parquet
from app.reports.ranking import report as ranking_report
from app.reports.ranking.renderings import render_ranking
from app.services.access import tokens
from app.services.data import exports
from app.storage import embedded
from tests.api.conftest import OPTIONS, TestClient
from tests.reports.languages import PLANTED, lines
from tests.spine import Spine, fresh

TABLES = ("systems", "pairs")
PAIRS = {"parquet": "csv", "ratings-parquet": "ratings-csv"}
installed = pytest.mark.skipif(find_spec("pyarrow") is None, reason="the extra parquet (pyarrow) is not installed")


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("hi", "jsonl", lines(PLANTED[0]))
        yield found


def read(data: bytes) -> Any:
    return pytest.importorskip("pyarrow.parquet").read_table(io.BytesIO(data))


def cell(value: object) -> str:
    """A value as either CSV writes it, truth apart."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def said(text: str, column: str) -> str:
    if column == "accepted":
        return text.lower()
    return str(float(text)) if column == "score" and text else text


@installed
@pytest.mark.parametrize("format", PAIRS)
def test_parquet_has_the_rows_of_the_csv(spine: Spine, format: str) -> None:
    table = read(spine.export("hi", format))
    rows = list(csv.DictReader(io.StringIO(spine.export("hi", PAIRS[format]).decode(), newline="")))
    assert rows
    assert table.column_names == list(rows[0])
    found = [{name: cell(value) for name, value in row.items()} for row in table.to_pylist()]
    assert found == [{name: said(text, name) for name, text in row.items()} for row in rows]
    assert str(table.schema.field("score").type) == "double"
    assert str(table.schema.field("accepted").type) == "bool"


@installed
@pytest.mark.parametrize("table", TABLES)
def test_a_ranking_as_parquet_has_the_rows_of_its_csv_with_numbers_and_truth_typed(spine: Spine, table: str) -> None:
    body = ranking_report.find_or_compute_ranking(spine.database, "hi", recipe=NAMED["recommended"]).body
    rows = list(csv.DictReader(io.StringIO(render_ranking(body, "csv", table).decode(), newline="")))
    found = read(render_ranking(body, "parquet", table))
    types = {field.name: str(field.type) for field in found.schema}
    assert rows
    assert list(types) == list(rows[0])
    for said, row in zip(rows, found.to_pylist(), strict=True):
        assert {name: row[name] for name in said} == {name: typed(text, types[name]) for name, text in said.items()}
    texts = {
        "system",
        "kind",
        "name",
        "better",
        "worse",
        "better_name",
        "worse_name",
        "campaign",
        "recipe",
        "recipe_hash",
    }
    assert {name for name, type_ in types.items() if type_ == "string"} == texts & set(types)


def typed(text: str, type_: str) -> object:
    """What a cell of the CSV is in a column of a type."""
    if text == "":
        return None
    return {"double": float, "int64": int, "bool": "true".__eq__, "string": str}[type_](text)


def asking(client: TestClient, spine: Spine) -> dict[str, str]:
    with spine.database.transaction() as session:
        return {"Authorization": f"Bearer {tokens.issue_token(session, role='manager').secret}"}


@installed
@pytest.mark.parametrize("table", TABLES)
def test_a_ranking_is_sent_as_parquet_by_suffix_and_by_accept(spine: Spine, table: str) -> None:
    with TestClient(create_app(spine.database, OPTIONS)) as client:
        head, path = asking(client, spine), "/v1/campaigns/hi/ranking"
        answer = client.get(f"{path}.parquet?table={table}", headers=head)
        other = client.get(f"{path}?table={table}", headers={**head, "Accept": parquet.MEDIA_TYPE})
        known = client.get(f"{path}.parquet?table={table}", headers={**head, "If-None-Match": answer.headers["etag"]})
    body = ranking_report.find_or_compute_ranking(spine.database, "hi", recipe=NAMED["recommended"]).body
    assert (answer.status_code, answer.headers["content-type"]) == (200, parquet.MEDIA_TYPE)
    assert read(answer.content).equals(read(render_ranking(body, "parquet", table)))
    assert (other.headers["content-type"], other.content) == (parquet.MEDIA_TYPE, answer.content)
    assert known.status_code == 304


def test_a_ranking_as_parquet_is_refused_by_name_without_the_extra(
    spine: Spine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "find_spec", lambda _: None)
    with TestClient(create_app(spine.database, OPTIONS)) as client:
        head, path = asking(client, spine), "/v1/campaigns/hi/ranking"
        answers = [
            client.get(f"{path}.parquet", headers=head),
            client.get(path, headers={**head, "Accept": parquet.MEDIA_TYPE}),
            client.post(path, headers={**head, "Accept": parquet.MEDIA_TYPE}, json={"name": "recommended"}),
        ]
        assert client.get(f"{path}.csv", headers=head).status_code == 200
        assert client.get(path, headers={**head, "Accept": "*/*"}).headers["content-type"] == "application/json"
    assert [answer.status_code for answer in answers] == [422, 422, 422]
    assert all("plumbline[parquet]" in answer.text for answer in answers)


@installed
def test_texts_with_ends_of_lines_and_long_ones_stay_whole_over_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BLOCK", 400_000)
    texts = ["plain", "two\nlines", "a\u2028b", 'a "quote", a comma', "x" * 300_000]
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows([["text", "score"], *[[text, n] for n, text in enumerate(texts)]])
    table = read(b"".join(parquet.convert_csv_to_parquet([out.getvalue().encode()], {"score": "float64"})))
    assert table.to_pydict() == {"text": texts, "score": [0.0, 1.0, 2.0, 3.0, 4.0]}


@pytest.mark.parametrize("format", PAIRS)
def test_without_the_extra_it_is_refused_by_name_before_the_first_byte(
    spine: Spine, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "find_spec", lambda _: None)
    assert format not in exports.list_writable_formats()
    with pytest.raises(parquet.ParquetNotInstalled):
        exports.export_campaign(spine.database, "hi", format)
    with spine.database.transaction() as session:
        secret = tokens.issue_token(session, role="manager").secret
    with TestClient(create_app(spine.database, OPTIONS)) as client:
        head = {"Authorization": f"Bearer {secret}"}
        answer = client.get(f"/v1/campaigns/hi/exports/{format}", headers=head)
    assert answer.status_code == 422
    assert "plumbline[parquet]" in answer.text
