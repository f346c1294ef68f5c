"""Raters of WMT22 on identical items, over HTTP, against figures of an independent implementation.

Sources: expected/calibration_wmt22.json, under the conventions of expected/README.md; the table of Knowles & Lo's data
recomputed (annotators, spread of their means, split halves).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from statistics import fmean, stdev

import pytest

from app.formats._base import JudgmentRow
from app.main import create_app
from app.services import exports, tokens
from app.storage import embedded
from tests.api.conftest import OPTIONS, TestClient
from tests.golden.test_published_agreement import LANGUAGES, NEAR, Asked
from tests.spine import SHARED, expected, fresh, shared

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not beside the repository: shared/data"),
]

Item = tuple[str, str, int]
"""System, document and segment."""


@pytest.fixture(scope="module")
def asked(postgres: embedded.Server, migrated_template: str) -> Iterator[Asked]:
    with fresh(postgres, migrated_template) as spine:
        files = {name: shared(f"da_sqm_wmt22_calibration/{name}.gz") for name in ("calibration.csv", "mapping.csv")}
        spine.take("cal", "wmt-da-sqm", files, options={"mapping": "mapping.csv", "split": "language_pair"})
        with spine.database.transaction() as session:
            token = tokens.issue(session, role="admin").secret
        with TestClient(create_app(spine.database, OPTIONS)) as client:
            yield Asked(client, token, spine.database)


@pytest.mark.parametrize("languages", LANGUAGES)
def test_raters_systems_and_z_on_identical_items(asked: Asked, languages: str) -> None:
    theirs = expected("calibration_wmt22.json")[languages]
    ours = asked.report(f"cal-{languages}", "calibration", raters="complete", repeats="latest")
    raters = {one["rater"]: one for one in ours["raters"]}

    assert (ours["items"], ours["agreed"], ours["n_items"]) == ("common", "panel", theirs["items"])
    assert ours["consensus"] == pytest.approx(theirs["consensus_mean_of_item_medians"], abs=NEAR)
    assert set(raters) == set(theirs["per_annotator_on_shared_items"])
    for name, wanted in theirs["per_annotator_on_shared_items"].items():
        found = (raters[name]["mean"], raters[name]["sd"], raters[name]["shift"], raters[name]["correlation"])
        assert found == pytest.approx(tuple(wanted.values()), abs=NEAR)
    for name, wanted in theirs["system_means_on_shared_items"].items():
        (system,) = [one for one in ours["systems"] if one["system"] == name]
        assert system["raw"] == pytest.approx(wanted["raw"], abs=NEAR)
        assert system["z"] == pytest.approx(wanted["z"], abs=NEAR)
    assert any("no calibration set" in one for one in ours["warnings"])


def test_severity_is_a_trait_where_several_documents_are_shared(asked: Asked) -> None:
    table = {
        "eng-ces": (27, 61, 50.8, 92.8, 8.49, 0.91),
        "eng-deu": (15, 93, 76.5, 99.3, 7.63, 0.94),
        "eng-hrv": (13, 100, 71.2, 96.9, 7.81, 0.93),
    }
    for languages, (n, items, low, high, sd, halves) in table.items():
        everybody = asked.report(f"cal-{languages}", "calibration")["severity"]
        assert (everybody["n_raters"], everybody["n_items"]) == (n, items)
        report = asked.report(f"cal-{languages}", "calibration", raters="complete")
        complete = report["severity"]
        assert complete["sd"] == pytest.approx(sd, abs=0.06)
        assert complete["split_half"] == pytest.approx(halves, abs=0.03)
        # The table's ends are of all ratings, repeats counted as often as they were given; ours of each item once.
        given = _given(asked, languages)
        every = [fmean(chain.from_iterable(items.values())) for items in given.values()]
        assert (min(every), max(every)) == pytest.approx((low, high), abs=0.051)
        assert stdev(every) == pytest.approx(sd, abs=0.0051)
        theirs = [given[one["rater"]] for one in report["raters"]]
        shared_by_all = set.intersection(*map(set, theirs))
        assert (len(theirs), len(shared_by_all)) == (complete["n_raters"], complete["n_items"])
        once = [fmean(fmean(items[item]) for item in shared_by_all) for items in theirs]
        assert (complete["lowest"], complete["highest"]) == pytest.approx((min(once), max(once)), abs=1e-9)
        assert complete["sd"] == pytest.approx(stdev(once), abs=1e-9)


def _given(asked: Asked, languages: str) -> dict[str, dict[Item, list[float]]]:
    """All scores of segments by rater and item, as they are stored."""
    found: dict[str, dict[Item, list[float]]] = {}
    with asked.database.transaction(snapshot=True) as session:
        for one in exports.records(session, f"cal-{languages}"):
            if isinstance(one, JudgmentRow) and one.position is not None:
                item = one.systems[0], one.document, one.position
                found.setdefault(one.rater, {}).setdefault(item, []).append(float(one.payload["score"]))
    return found


TIMED = {
    "segment": "seconds_per_segment",
    "document_score": "seconds_per_document_score",
    "all_segments": "seconds_per_annotator_total_of_items",
}
KEYS = {"median": "median", "low": "p10", "high": "p90", "mean": "trimmed_mean", "sd": "trimmed_sd"}


def test_seconds_of_what_counts(asked: Asked) -> None:
    """Published times are binary fractions of a second; a stored one is at most half a microsecond off, a duration of
    two of them one, the sum of a rater's up to a hundred durations a tenth of a millisecond at the worst."""
    pairs = ",".join(f"cal-{languages}" for languages in LANGUAGES)
    ours = asked.compare("protocols", pairs, repeats="latest", bootstrap="0")
    for languages, one in zip(LANGUAGES, ours["protocols"], strict=True):
        theirs = expected("calibration_wmt22.json")[languages]
        found = {line["what"]: line for line in one["times"]}
        for what, name in TIMED.items():
            wanted, line = theirs[name], found[what]
            assert (line["n"], line["kept"]) == (wanted["n"], wanted["trimmed_n"])
            off = NEAR * (100 if what == "all_segments" else 1) + 1e-9
            for key, their in KEYS.items():
                assert line[key] == pytest.approx(wanted[their], abs=off, rel=0), (languages, what, key)
        segment = found["segment"]
        assert (one["n_timed"], one["seconds"], one["seconds_sd"]) == (segment["n"], segment["mean"], segment["sd"])
