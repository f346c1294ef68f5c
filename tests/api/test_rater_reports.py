"""Reports on raters: what a manager sees of quality, time and revisions, in every shape."""

from __future__ import annotations

import csv
import io
import json

import httpx
import pytest

from app.reports import registry

REPORTS = "/v1/campaigns/qc/reports"
KINDS = ("quality", "timing", "revisions")
HEAD = "HITId\tWorkerId\tInput.src\tInput.trg\tInput.item\thit\tsys_id\trid\ttype\tsid\tscore\ttime\n"


def rows(worker: str, scores: dict[str, int]) -> str:
    """Twelve outputs by one worker, of each kind with its score."""
    return "".join(
        f"H1\t{worker}\ten\tde\tad\t1\tA\tr{kind}\t{kind}\tdoc.{n}\t{score + n}\t0\n"
        for kind, score in scores.items()
        for n in range(1, 13)
    )


@pytest.fixture
def client(admin: httpx.Client) -> httpx.Client:
    """One worker who sees what is degraded, one who does not, one who was shown nothing degraded."""
    data = (
        HEAD + rows("good", {"SYSTEM": 70, "BAD_REF": 20, "REPEAT": 72}) + rows("=bad", {"SYSTEM": 50, "BAD_REF": 50})
    )
    assert admin.post("/v1/campaigns", json={"key": "qc", "protocol": "da"}).status_code == 201
    data += rows("plain", {"SYSTEM": 60})
    read = admin.post("/v1/campaigns/qc/imports", params={"format": "wmt-da"}, content=data.encode())
    assert read.status_code == 200, read.text
    return admin


def test_verdicts_come_with_their_evidence(client: httpx.Client) -> None:
    told = client.get(f"{REPORTS}/quality")
    assert told.status_code == 200, told.text
    shown = told.json()
    by_rater = {one["rater"]: one for one in shown["raters"]}
    good = by_rater.pop("good")
    assert (good["verdict"], good["control"]["n_pairs"], good["control"]["mean_difference"]) == ("pass", 12, -50.0)
    assert good["control"]["p_value"] == pytest.approx(2**-12)
    assert good["repeats"] == {"n": 12, "mean_difference": 2.0, "icc": good["repeats"]["icc"], **WITHIN}
    plain = by_rater.pop("plain")
    assert (plain["verdict"], plain["why"], plain["completion"]) == ("not_testable", "no degraded items", "complete")
    (bad,) = by_rater.values()
    assert (bad["verdict"], bad["completion"], bad["control"]["share_worse"]) == ("fail", "review", 0.0)
    assert shown["counts"] == {"pass": 1, "fail": 1, "not_testable": 1}


WITHIN = {"within": 1.0, "tolerance": 10.0, "usual": None, "q_value": None}
"""One rater has repeats: there are no others to be compared with."""


def test_the_test_and_its_limits_are_chosen_in_the_query(client: httpx.Client) -> None:
    asked = client.get(f"{REPORTS}/quality", params={"test": "rank_sum", "min_pairs": 13, "adjust": "none"}).json()
    assert asked["counts"] == {"pass": 0, "fail": 0, "not_testable": 3}
    assert (asked["choices"]["test"], asked["choices"]["adjust"]) == ("rank_sum", "none")
    for query in ({"test": "sign"}, {"min_pairs": 1}, {"on": "errors"}, {"unknown": 1}):
        assert client.get(f"{REPORTS}/quality", params=query).status_code == 422, query


@pytest.mark.parametrize("about", KINDS)
def test_every_shape_is_the_same_report(client: httpx.Client, about: str) -> None:
    whole = client.get(f"{REPORTS}/{about}")
    assert whole.status_code == 200, whole.text
    names = [one["rater"] for one in whole.json()["raters"]]
    lines = list(csv.DictReader(io.StringIO(client.get(f"{REPORTS}/{about}.csv").text)))
    assert [line["rater"].removeprefix("'") for line in lines] == names
    assert all(None not in line and None not in line.values() for line in lines)
    picture = client.get(f"{REPORTS}/{about}.svg")
    assert all(f">{name}<" in picture.text for name in names)
    assert "sandbox" in picture.headers["content-security-policy"]
    assert client.get(f"{REPORTS}/{about}.md").text.count("\n| `") == len(names) + (about == "revisions")
    assert "\\bottomrule" in client.get(f"{REPORTS}/{about}.tex").text
    by_accept = client.get(f"{REPORTS}/{about}", headers={"Accept": "text/csv"})
    assert by_accept.text == client.get(f"{REPORTS}/{about}.csv").text


@pytest.mark.parametrize("about", KINDS)
def test_the_same_question_is_the_same_answer_until_the_data_change(client: httpx.Client, about: str) -> None:
    first = client.get(f"{REPORTS}/{about}")
    again = client.get(f"{REPORTS}/{about}")
    assert (again.content, again.headers["etag"]) == (first.content, first.headers["etag"])
    known = client.get(f"{REPORTS}/{about}", headers={"If-None-Match": first.headers["etag"]})
    assert known.status_code == 304
    more = client.post(
        "/v1/campaigns/qc/imports",
        params={"format": "wmt-da"},
        content=(HEAD + rows("more", {"SYSTEM": 10, "BAD_REF": 5})).encode(),
    )
    assert more.status_code == 200, more.text
    assert client.get(f"{REPORTS}/{about}").headers["etag"] != first.headers["etag"]
    version = first.json()["data_version"]
    assert client.get(f"{REPORTS}/{about}", params={"as_of": version}).content == first.content


def test_a_stored_report_reads_back_whole(client: httpx.Client) -> None:
    for about in KINDS:
        body = client.get(f"{REPORTS}/{about}").content
        assert json.loads(
            registry.WITH_OWN_ROUTES[f"campaign/{about}"].result.model_validate_json(body).model_dump_json()
        ) == json.loads(body)
