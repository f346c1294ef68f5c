"""From a published table to the published ranking, over HTTP only."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import httpx
import pytest

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"
TED = SHARED / "data" / "mqm_ted_ende" / "mqm_ted_ende.tsv.gz"
RANKING = "/v1/campaigns/ted/ranking"


@pytest.mark.golden
def test_the_published_ranking_of_ted_comes_out_over_http_alone(admin: httpx.Client) -> None:
    if not TED.is_file():
        pytest.skip(f"the public data are not in {TED}")
    assert admin.post("/v1/campaigns", json={"key": "ted", "protocol": "mqm"}).status_code == 201
    read = admin.post("/v1/campaigns/ted/imports", params={"format": "mqm-tsv"}, content=TED.read_bytes())
    assert read.status_code == 200, read.text
    asked = {"recipe": "google-mqm", "permutations": "100"}

    ranked = admin.get(RANKING, params=asked)

    expected = json.loads((SHARED / "expected" / "mqm_ted.json").read_text())["ende"]["systems_ranked"]
    assert [s["score"] for s in ranked.json()["systems"]] == pytest.approx([s["mqm"] for s in expected], abs=1e-9)

    # The same report is known by its tag, in each representation by its own.
    tag = ranked.headers["ETag"]
    assert admin.get(RANKING, params=asked, headers={"If-None-Match": f'"x", W/{tag}'}).status_code == 304
    tags = {tag}
    for kind, media_type in {"csv": "text/csv", "tex": "application/x-tex", "md": "text/markdown"}.items():
        answer = admin.get(f"{RANKING}.{kind}", params=asked)
        assert answer.headers["Content-Type"].startswith(media_type)
        assert answer.content == admin.get(RANKING, params=asked, headers={"Accept": media_type}).content
        tags.add(answer.headers["ETag"])
    pairs = admin.get(f"{RANKING}.csv", params={**asked, "table": "pairs"})
    assert len(list(csv.DictReader(io.StringIO(pairs.text)))) == 14 * 13 / 2
    assert len(tags | {pairs.headers["ETag"]}) == 5

    picture = admin.get(f"{RANKING}.svg", params=asked)
    assert picture.headers["Content-Type"] == "image/svg+xml"
    assert picture.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "script" not in picture.headers["Content-Security-Policy"]

    # Sending back the recipe as it was resolved asks the same question.
    again = admin.post(RANKING, json=ranked.json()["recipe"])
    assert again.content == ranked.content

    rows = list(csv.DictReader(io.StringIO(admin.get(f"{RANKING}/segments", params=asked).text)))
    assert len(rows) == 7406
