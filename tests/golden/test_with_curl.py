"""The published rankings over HTTP alone: files in and rankings out with curl, from a real server.

Figures: ../shared/expected (independent scripts), checked against the official files beside the data.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.services.access import tokens
from tests.load import server as load_server
from tests.spine import BN_HI, CS_EN, CS_EN_Z, HI_BN, PLUMBLINE, SHARED, TED, Spine, expected, fresh

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the public data of ../shared/data are not here"),
]
LIMIT = 240  # seconds, on a busy machine
CURL = shutil.which("curl") or ""


@dataclass(frozen=True)
class Curl:
    """What a shell has: an address, a token, and curl."""

    origin: str
    token: str

    def __call__(self, method: str, path: str, *arguments: str) -> bytes:
        command = [CURL, "--silent", "--show-error", "--fail-with-body", "--max-time", str(LIMIT), "--request", method]
        command += ["--header", f"Authorization: Bearer {self.token}", *arguments, f"{self.origin}/v1/{path}"]
        answer = subprocess.run(command, capture_output=True, timeout=2 * LIMIT)
        assert answer.returncode == 0, answer.stdout
        return answer.stdout

    def rank(self, campaign: str, query: str) -> dict[str, Any]:
        ranking: dict[str, Any] = json.loads(self("GET", f"campaigns/{campaign}/ranking?{query}"))
        return ranking


@contextmanager
def serving(spine: Spine, *, workers: int) -> Iterator[Curl]:
    """A server process on a free port, and a token for it."""
    with spine.database.transaction() as session:
        secret = tokens.issue_token(session, role="admin").secret
    command = [str(PLUMBLINE), "serve", "--port", "0", "--workers", str(workers), "--no-worker"]
    environment = {**os.environ, "PLUMBLINE_DATABASE_URL": spine.url}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout
            said = server.stdout.readline()
            origin = re.search(r"http://[0-9.]+:[0-9]+", said)
            assert origin, said
            ready = [CURL, "-sf", "--retry", "60", "--retry-delay", "0", "--retry-all-errors", f"{origin[0]}/readyz"]
            subprocess.run(ready, check=True, capture_output=True, timeout=LIMIT)
            yield Curl(origin[0], secret)
        finally:
            server.terminate()
            server.wait(LIMIT)


@contextmanager
def serving_here(spine: Spine) -> Iterator[Curl]:
    """A server in a thread of this process, and a token for it: a process of its own takes seconds to start."""
    with load_server.serving(spine.url) as served:
        yield Curl(served.url, served.secret)


def send(curl: Curl, campaign: str, protocol: str, format: str, paths: list[str], options: dict[str, str]) -> None:
    """Make a campaign and fill it from public files."""
    new = json.dumps({"key": campaign, "protocol": protocol})
    curl("POST", "campaigns", "--header", "Content-Type: application/json", "--data", new)
    announced = json.dumps({"format": format, "options": options})
    answer = json.loads(
        curl("POST", f"campaigns/{campaign}/imports", "--header", "Content-Type: application/json", "--data", announced)
    )
    here = f"campaigns/{campaign}/imports/{answer['import']}"
    for path in paths:
        raw = ("--header", "Content-Type: application/octet-stream", "--data-binary", f"@{SHARED / 'data' / path}")
        curl("PUT", f"{here}/files/{Path(path).name.removesuffix('.gz')}", *raw)
    report = json.loads(curl("POST", f"{here}/commit"))
    assert report["bad_lines"]["count"] == 0


@pytest.fixture(scope="module")
def curl(published: Spine) -> Iterator[Curl]:
    with serving_here(published) as client:
        yield client


SENT: dict[str, tuple[str, str, str, list[str], dict[str, str]]] = {
    "bn-hi": ("bn-hi", "da", "wmt-da", [BN_HI], {}),
    "zhen": ("zhen", "mqm", "table", ["mqm_wmt23_zhen_calibration/ratings.tsv.gz"], {"map": "mqm-spans"}),
    "cal": (
        "cal-eng-ces",
        "da_sqm",
        "wmt-da-sqm",
        [f"da_sqm_wmt22_calibration/{name}.csv.gz" for name in ("calibration", "mapping")],
        {"mapping": "mapping.csv", "split": "language_pair"},
    ),
    "ted": ("ted", "mqm", "mqm-tsv", [TED], {}),
    "hi-bn": ("hi-bn", "da", "wmt-da", [HI_BN], {}),
    "cs-en": ("cs-en", "da", "wmt-da", [CS_EN], {}),
    "cs-en-z": ("cs-en-z", "da", "wmt-da", [CS_EN_Z], {"scale": "z"}),
    "sxs": ("sxs", "mqm", "table", ["sxs_mqm2023_ende/ratings.tsv.gz"], {"map": "sxs-mqm"}),
    "esa": (
        "esa-ESA-1",
        "esa",
        "table",
        [f"esa_wmt23_ende/{name}.tsv.gz" for name in ("annotations", "texts")],
        {"map": "esa-annotations", "split": "protocol"},
    ),
}
"""A campaign of each, its protocol, format, files and options."""
SMALL = ("bn-hi", "cal")


@pytest.mark.parametrize(
    "name", [name if name in SMALL else pytest.param(name, marks=pytest.mark.soak) for name in SENT]
)
def test_what_curl_sends_is_the_same_data(
    curl: Curl, postgres: Any, migrated_template: str, request: pytest.FixtureRequest, name: str
) -> None:
    """The rankings of the other tests are of data that were imported without HTTP."""
    if name in ("zhen", "cal", "sxs", "esa"):
        request.getfixturevalue(name)
    campaign, protocol, format, paths, options = SENT[name]
    plain = "normalize=none&test=none&clusters=none"
    with fresh(postgres, migrated_template) as other, serving_here(other) as there:
        send(there, name, protocol, format, paths, options)
        ours, theirs = there.rank(campaign, plain), curl.rank(campaign, plain)
        assert ours["data_hash"] == theirs["data_hash"]
        assert ours["systems"] == theirs["systems"]


def test_ted_gives_all_means_and_segment_averages(curl: Curl) -> None:
    theirs = {
        row["system"].replace("ref.A", "ref"): row["mqm"] for row in expected("mqm_ted.json")["ende"]["systems_ranked"]
    }
    ours = {row["system"]: row["score"] for row in curl.rank("ted", "recipe=google-mqm")["systems"]}
    assert ours == pytest.approx(theirs, abs=1e-9)
    lines = curl("GET", "campaigns/ted/ranking/segments?recipe=google-mqm").decode().splitlines()
    assert len(lines) == 1 + 7406


@pytest.mark.parametrize("pair", ["bn-hi", "hi-bn"])
def test_wikipedia_gives_scores_p_values_and_clusters(curl: Curl, pair: str) -> None:
    theirs = expected("da_wikipedia2021.json")[pair]
    ranking = curl.rank(pair, "recipe=wmt-da&clusters=wmt21")
    assert [row["cluster"] for row in ranking["systems"]] == theirs["published_cluster_of_each_system"]
    for ours, row in zip(ranking["systems"], theirs["systems"], strict=True):
        assert (ours["system"], ours["n_segments"], ours["wins"]) == (row["system"], row["n_segments"], row["wins"])
        assert (ours["score"], ours["raw"]) == pytest.approx((row["z"], row["raw"]), abs=1e-9)
    for ours in ranking["pairs"]:
        assert ours["p_value"] == pytest.approx(theirs["p_values"][ours["better"]][ours["worse"]], abs=1e-9)


def test_the_other_documented_clusters_of_hi_bn(curl: Curl) -> None:
    rule = "knowles2021: significantly better than every lower-ranked system"
    theirs = expected("da_wikipedia2021.json")["hi-bn"]["cluster_of_each_system"]
    ranking = curl.rank("hi-bn", "recipe=wmt-da&clusters=paper")
    assert [row["cluster"] for row in ranking["systems"]] == theirs[rule]
    assert theirs[rule] != theirs["official: wins over ANY system == number of lower-ranked systems"]


@pytest.mark.parametrize(
    ("campaign", "query", "tolerance"), [("cs-en", "", 1e-7), ("cs-en-z", "&normalize=none", 1e-12)]
)
def test_newstest_cs_en_from_raw_and_from_standardised_scores(
    curl: Curl, campaign: str, query: str, tolerance: float
) -> None:
    theirs = expected("da_toen.json")["2021 cs-en"]["from_ratings"]
    ranking = curl.rank(campaign, f"recipe=wmt-da{query}")
    assert [row["cluster"] for row in ranking["systems"]] == theirs["published_cluster_of_each_system"]
    for ours, row in zip(ranking["systems"], theirs["systems"], strict=True):
        assert (ours["system"], ours["n_segments"], ours["wins"]) == (row["system"], row["n_segments"], row["wins"])
        assert ours["score"] == pytest.approx(row["z"], abs=tolerance)


@pytest.mark.soak
def test_another_number_of_workers_gives_the_same_bytes(postgres: Any, migrated_template: str) -> None:
    paths = ["campaigns/bn-hi/ranking?recipe=wmt-da&seed=7"]
    paths.append("campaigns/ted/ranking?recipe=google-mqm&seed=7")
    bodies = []
    with fresh(postgres, migrated_template) as one, fresh(postgres, migrated_template) as other:
        for server in (serving_here(one), serving(other, workers=2)):
            with server as curl:
                for name in ("bn-hi", "ted"):
                    campaign, *what = SENT[name]
                    send(curl, campaign, *what)
                bodies.append([curl("GET", path) for path in paths])
                assert json.loads(curl("GET", paths[0].replace("seed=7", "seed=8")))["seed"] == 8
    assert bodies[0] == bodies[1]
