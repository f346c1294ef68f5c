"""Test sets over HTTP: announced, sent file by file, committed, and looked through."""

from __future__ import annotations

import httpx

from app.web.pagination import make_cursor

C = "/v1/campaigns/c"
FILES = {
    "tree:sources:en-de.txt": b"One.\nTwo.\n",
    "tree:documents:en-de.docs": b"news d1\nnews d1\n",
    "tree:system-outputs:en-de:A.txt": b"Eins.\n\n",
}


def test_a_tree_is_sent_with_colons_for_slashes_and_looked_through(admin: httpx.Client) -> None:
    made = admin.post("/v1/campaigns", json={"key": "c", "protocol": "esa"})
    assert made.status_code == 201, made.text
    options = {"target_language": "de"}
    announced = admin.post(f"{C}/imports", json={"format": "mtme", "options": options}).json()["import"]
    for name, body in FILES.items():
        assert admin.put(f"{C}/imports/{announced}/files/{name}", content=body).status_code == 200

    dry = admin.post(f"{C}/imports/{announced}/commit", params={"dry_run": True}).json()
    report = admin.post(f"{C}/imports/{announced}/commit").json()

    assert report["ingest"]["systems"] == [
        {"system": "A", "outputs": 2, "missing": 0, "empty": 1, "identical": 0, "words": 1}
    ]
    assert dry["ingest"]["segments"] == 2
    assert report["ingest"] == admin.get(f"{C}/reports/ingest").json() | {"data_version": 1}
    assert admin.get(C).json()["target_language"] == "de"
    again = admin.post(f"{C}/imports/{announced}/commit").json()
    assert again == report


def test_an_option_that_contradicts_the_campaign_is_refused(admin: httpx.Client) -> None:
    made = admin.post("/v1/campaigns", json={"key": "c", "protocol": "esa"})
    assert made.status_code == 201, made.text

    refused = admin.post(f"{C}/imports?format=text&name=src&option=protocol%3Dmqm", content=b"One.\n")

    assert refused.status_code == 422
    assert "mqm" in refused.json()["detail"]


def test_imports_and_the_files_of_one_are_listed_page_by_page(admin: httpx.Client) -> None:
    assert admin.post("/v1/campaigns", json={"key": "c", "protocol": "esa"}).status_code == 201
    made = [admin.post(f"{C}/imports", json={"format": "mtme", "options": {}}).json()["import"] for _ in range(3)]
    for name, body in FILES.items():
        assert admin.put(f"{C}/imports/{made[1]}/files/{name}", content=body).status_code == 200

    first = admin.get(f"{C}/imports", params={"limit": 2}).json()
    assert [(one["import"], one["format"], one["state"]) for one in first["items"]] == [
        (one, "mtme", "receiving") for one in made[:2]
    ]
    rest = admin.get(f"{C}/imports", params={"cursor": first["next"]}).json()
    assert ([one["import"] for one in rest["items"]], rest["next"]) == (made[2:], None)
    assert admin.get(f"{C}/imports", params={"cursor": make_cursor("i_unknown")}).status_code == 404

    files = admin.get(f"{C}/imports/{made[1]}/files", params={"limit": 2}).json()
    more = admin.get(f"{C}/imports/{made[1]}/files", params={"cursor": files["next"]}).json()
    assert [one["name"] for one in files["items"] + more["items"]] == sorted(FILES)
    assert admin.get(f"{C}/imports/{made[0]}/files").json() == {"items": [], "next": None}
