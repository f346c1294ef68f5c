"""The public archive: closed campaigns only, no names, nothing void or written freely, and an address that ends."""

from __future__ import annotations

import json
import re

import psycopg
import pytest

from app.storage.tables import documents
from tests.collecting import collect

URL = "/v1/campaigns/live"


@pytest.fixture
def live(database, admin):
    """A closed campaign in which two raters judged one document."""
    made = collect(database, protocol="mqm", documents=1, segments=2, raters=("anna", "ben"), ratings=2, pooled=False)
    with psycopg.connect(database.url) as db:
        tasks = db.execute(
            """SELECT t.public_id, r.key, i.position FROM tasks t JOIN raters r ON r.id = t.rater_id
            JOIN items i ON i.task_id = t.id WHERE t.campaign_id = %s ORDER BY 1, 3""",
            [made.id],
        ).fetchall()
    error = {"start": 0, "end": 5, "severity": "minor", "category": "Style/Awkward", "note": "I, Anna, think so"}
    for task, rater, item in tasks:
        admin.post(f"{URL}/lease", headers=made.auth(rater))
        for segment in (1, 2):
            payload = {"protocol": "mqm", "errors": [error] if segment == 1 else []}
            admin.put(
                f"/v1/tasks/{task}/judgments/{item}/{segment}",
                json=payload,
                headers=made.auth(rater),
            ).raise_for_status()
    return made


def close(client):
    etag = client.get(URL).headers["ETag"]
    assert client.post(f"{URL}/close", json={}, headers={"If-Match": etag}).status_code in (200, 204)


def test_only_a_closed_campaign_has_one_and_its_address_ends_with_it(admin, live, database):
    assert admin.put(f"{URL}/archive").status_code == 409
    assert admin.get(f"{URL}/archive").status_code == 404
    close(admin)
    first = admin.put(f"{URL}/archive").json()
    assert admin.put(f"{URL}/archive").json() == first == admin.get(f"{URL}/archive").json()
    address = first["address"]
    stranger = {"Authorization": ""}
    assert admin.get(f"/v1/archive/{address}", headers=stranger).status_code == 200
    assert admin.get("/v1/archive/" + "x" * 22, headers=stranger).status_code == 404
    page = admin.get(f"/archive/{address}", headers={**stranger, "Accept": "text/html"})
    assert page.status_code == 200
    (link,) = re.findall(rf'href="(/archive/{address}/documents/[^"]+)"', page.text)
    assert admin.get(link, headers={**stranger, "Accept": "text/html"}).status_code == 200

    etag = admin.get(URL).headers["ETag"]
    assert admin.post(f"{URL}/open", json={}, headers={"If-Match": etag}).status_code in (200, 204)
    assert admin.get(f"/v1/archive/{address}", headers=stranger).status_code == 404
    close(admin)
    assert admin.get(f"/v1/archive/{address}", headers=stranger).status_code == 200

    assert admin.delete(f"{URL}/archive").status_code == 204
    assert admin.delete(f"{URL}/archive").status_code == 404
    assert admin.get(f"/v1/archive/{address}", headers=stranger).status_code == 404
    assert admin.put(f"{URL}/archive").json()["address"] != address


def test_a_page_of_a_document_leads_to_the_next_and_figures_are_those_of_its_language(admin, database):
    collect(database, key="sliders", protocol="da", documents=2, segments=1)
    with psycopg.connect(database.url) as db:
        db.execute("UPDATE campaigns SET state = 'closed' WHERE key = 'sliders'")
    address = admin.put("/v1/campaigns/sliders/archive").json()["address"]
    pages = {"headers": {"Accept": "text/html"}}
    [first, last] = re.findall(
        rf'href="(/archive/{address}/documents/[^"]+)"', admin.get(f"/archive/{address}", **pages).text
    )
    assert f'href="{last}"' in admin.get(first, **pages).text
    assert "Next document" not in admin.get(last, **pages).text


KINDS = ("test", "calibration", "tutorial", "attention")


def test_the_kinds_of_documents_are_all_of_the_table():
    [rule] = [str(one.sqltext) for one in documents.constraints if str(one.name).endswith("kind_known")]
    assert re.findall(r"'(\w+)'", rule) == list(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_only_documents_of_the_test_set_are_shown(kind, admin, live, ask):
    """Documents with known answers are used again in other campaigns: who has read them would know these answers."""
    close(admin)
    address = admin.put(f"{URL}/archive").json()["address"]
    [document] = admin.get(f"/v1/archive/{address}").json()["documents"]
    ask(f"UPDATE documents SET kind = '{kind}'")
    paths = [
        f"/v1/archive/{address}/documents/{document['document']}",
        f"/archive/{address}/documents/{document['document']}",
    ]
    shown = kind == "test"
    assert len(admin.get(f"/v1/archive/{address}").json()["documents"]) == shown
    assert ("/documents/" in admin.get(f"/archive/{address}", headers={"Accept": "text/html"}).text) == shown
    assert [admin.get(path).status_code for path in paths] == [200 if shown else 404] * 2
    assert admin.get(f"{paths[0]}/media/m_{'0' * 32}").status_code == 404


@pytest.mark.parametrize(("kind", "leads_on"), [(kind, kind == "test") for kind in KINDS])
def test_the_next_document_is_one_of_the_test_set(kind, leads_on, admin, database, ask):
    collect(database, key="sliders", protocol="da", documents=2, segments=1)
    ask("UPDATE campaigns SET state = 'closed' WHERE key = 'sliders'")
    address = admin.put("/v1/campaigns/sliders/archive").json()["address"]
    first, last = (one["document"] for one in admin.get(f"/v1/archive/{address}").json()["documents"])
    ask(f"UPDATE documents SET kind = '{kind}' WHERE key = '{last}'")
    page = admin.get(f"/archive/{address}/documents/{first}", headers={"Accept": "text/html"}).text
    assert ("Next document" in page) == leads_on


def test_a_document_has_its_judgments_without_names_notes_and_what_is_void(admin, live):
    close(admin)
    address = admin.put(f"{URL}/archive").json()["address"]
    [document] = admin.get(f"/v1/archive/{address}").json()["documents"]
    path = f"/v1/archive/{address}/documents/{document['document']}"
    shown = admin.get(path).json()
    first, second = shown["segments"]
    assert [len(one["judgments"]) for one in first["outputs"]] == [2, 2]
    assert sorted(j["rater"] for j in first["outputs"][0]["judgments"]) == [1, 2]
    assert first["outputs"][0]["judgments"][0]["payload"]["errors"][0]["category"] == "Style/Awkward"
    assert second["outputs"][0]["judgments"][0]["score"] == 0
    text = json.dumps(shown)
    assert "anna" not in text.lower()
    assert '"ben"' not in text

    page = admin.get(f"/archive/{address}/documents/{document['document']}", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert '<mark class="is-minor">' in page.text
    assert "anna" not in page.text.lower()
    assert page.headers["x-robots-tag"] == "noindex"
    german = admin.get(f"/archive/{address}/documents/{document['document']}?lang=de", headers={"Accept": "text/html"})
    assert "<li>leicht, Stil/Ungelenk" in german.text
    assert admin.get(f"/v1/archive/{address}/documents/none").status_code == 404

    sent = {"filter": {"rater": "anna"}, "reason": "did not read"}
    assert admin.post(f"{URL}/judgments/void", json=sent, headers={"Idempotency-Key": "v"}).status_code == 200
    outputs = admin.get(path).json()["segments"][0]["outputs"]
    assert [len(one["judgments"]) for one in outputs] == [1, 1]
