"""The public data out of Postgres and in again: nothing is lost, and every figure stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.storage import embedded, migrate
from tests.spine import TED, Spine, fresh, opened, shared

pytestmark = pytest.mark.golden
NORMALIZED_ELSEWHERE = ("wmt-da", {"normalize": "none"})
RECIPES = {
    "ted": ("google-mqm", {}),
    "bn-hi": ("wmt-da", {}),
    "hi-bn": ("wmt-da", {}),
    "cs-en": ("wmt-da", {}),
    "cs-en-z": NORMALIZED_ELSEWHERE,
}


@pytest.fixture
def elsewhere(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


# In every run the options of the recipe for direct assessments; marked errors, in another database, further below.
@pytest.mark.parametrize(
    "campaign",
    [name if name == "bn-hi" else pytest.param(name, marks=pytest.mark.soak) for name in RECIPES],
)
def test_jsonl_out_and_in_again_gives_the_same_file_and_the_same_report(
    published: Spine, elsewhere: Spine, campaign: str
) -> None:
    exported = published.export(campaign)
    elsewhere.take(campaign, "jsonl", exported)
    assert elsewhere.export(campaign) == exported
    for recipe, options in [RECIPES[campaign], *[NORMALIZED_ELSEWHERE][: campaign == "bn-hi"]]:
        assert elsewhere.body(campaign, recipe, **options) == published.body(campaign, recipe, **options)


@pytest.mark.parametrize(
    ("campaign", "format"),
    [("ted", "mqm-tsv"), ("bn-hi", "wmt-da"), pytest.param("cs-en", "wmt-da", marks=pytest.mark.soak)],
)
def test_the_fields_formats_out_and_in_again_give_the_same_scores(
    published: Spine, elsewhere: Spine, campaign: str, format: str
) -> None:
    recipe, options = RECIPES[campaign]
    exported = published.export(campaign, format)
    elsewhere.take(campaign, format, exported)
    if format == "mqm-tsv":
        assert elsewhere.export(campaign, format) == exported, "out, in and out again it is the same file"
    ours, theirs = (spine.rank(campaign, recipe, **options)["systems"] for spine in (elsewhere, published))
    assert [row["system"] for row in ours] == [row["system"] for row in theirs]
    for row, their in zip(ours, theirs, strict=True):
        assert row["score"] == pytest.approx(their["score"], abs=1e-12)
        assert row["cluster"] == their["cluster"]


@pytest.mark.soak
def test_one_changed_score_would_be_seen(published: Spine, elsewhere: Spine) -> None:
    """Negative control: the comparison of reports sees a single point on a single segment."""
    header, *lines = published.export("bn-hi").decode().splitlines(keepends=True)
    n = next(i for i, line in enumerate(lines) if '"type":"judgment"' in line)
    record = json.loads(lines[n])
    record["payload"]["score"] = (record["payload"]["score"] + 1) % 100
    lines[n] = json.dumps(record) + "\n"
    unsealed = header.replace('"sealed":true', '"sealed":false')
    elsewhere.take("bn-hi", "jsonl", "".join([unsealed, *lines[:-1]]).encode())
    assert elsewhere.body("bn-hi", "wmt-da") != published.body("bn-hi", "wmt-da")


@pytest.mark.parametrize("talks", [1, pytest.param(5, marks=pytest.mark.soak)])
def test_postgres_15_gives_the_same_bytes(elsewhere: Spine, data_dir: Path, bin_dir15: Path, talks: int) -> None:
    header, *rows = shared(TED).splitlines(keepends=True)
    of = sorted({row.split(b"\t")[1] for row in rows})[:talks]
    data = b"".join([header, *(row for row in rows if row.split(b"\t")[1] in of)])
    elsewhere.take("ted", "mqm-tsv", data)
    with embedded.start_server(data_dir, bin_dir=bin_dir15) as old:
        url = old.url("owner")
        migrate.upgrade_schema(url)
        migrate.check_schema(url)
        with opened(url) as spine:
            assert spine.ask("SHOW server_version_num")[0][0].startswith("15")
            stored = spine.take("ted", "mqm-tsv", data)["stored"]
            assert spine.body("ted", "google-mqm") == elsewhere.body("ted", "google-mqm")
            assert spine.export("ted") == elsewhere.export("ted")
            again = spine.take("ted", "mqm-tsv", data)["stored"]
            assert (again["unchanged"], again["data_version"]) == (stored["judgments"], 1)
            assert (stored["judgments"] == 7406) is (talks == 5)


def test_parts_imported_in_another_order_give_the_same_report(
    published: Spine, postgres: embedded.EmbeddedServer, migrated_template: str
) -> None:
    """Five talks one by one, last first: five versions, other numbers of every row, one and the same report."""
    header, *rows = shared(TED).splitlines(keepends=True)
    talks = sorted({row.split(b"\t")[1] for row in rows}, reverse=True)
    with fresh(postgres, migrated_template) as spine:
        for talk in talks:
            part = [row for row in rows if row.split(b"\t")[1] == talk]
            spine.take("ted", "mqm-tsv", b"".join([header, *reversed(part)]))
        ours, theirs = spine.rank("ted", "google-mqm"), published.rank("ted", "google-mqm")
        assert ours.pop("data_version") == len(talks) == 5
        assert theirs.pop("data_version") == 1
        assert ours == theirs
        assert list(ours["systems"]) == list(theirs["systems"])
