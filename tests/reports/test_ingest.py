"""The ingest report finds what it is there to find, and nothing in a clean set."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.reports import ingest
from app.services.campaigns import campaigns
from app.services.campaigns.campaigns import NewCampaign
from app.services.data import test_sets
from app.services.data.test_sets import DocumentInput, DocumentOutputsInput, SegmentInput, SystemInput
from tests.spine import Spine, opened

SOURCES = ("The <b>dog</b> barked.", "Silence.", "Привет, мир.")
CLEAN = ("Der <b>Hund</b> bellte.", "Stille.", "Hallo, Welt.")


@pytest.fixture
def filled(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as made:
        with made.database.transaction() as session:
            campaigns.create_campaign(
                session,
                NewCampaign(key="c", protocol="esa", source_language="en", target_language="de"),
                actor="test",
            )
            references = ({"refA": CLEAN[0]}, {"refA": "Ruhe."}, {})
            pairs = zip(SOURCES, references, strict=True)
            segments = tuple(SegmentInput(source, reference) for source, reference in pairs)
            test_sets.put_document(session, "c", "d", DocumentInput(segments), actor="test")
        yield made


def _put(spine: Spine, system: str, *texts: str | None) -> None:
    with spine.database.transaction() as session:
        test_sets.put_system(session, "c", system, SystemInput(), actor="test")
        test_sets.put_system_outputs_on_document(session, "c", system, "d", DocumentOutputsInput(texts), actor="test")


def _report(spine: Spine) -> ingest.IngestReport:
    with spine.database.transaction(snapshot=True) as session:
        return ingest.make_ingest_report(session, "c")


def _found(spine: Spine) -> dict[str, tuple[str, ...]]:
    return {finding.what: finding.examples for finding in _report(spine).findings}


def test_it_counts_what_there_is(filled: Spine) -> None:
    _put(filled, "A", "Der <b>Hund</b> hat gebellt.", "", None)

    found = _report(filled)

    assert (found.documents, found.segments, found.words, found.references) == (1, 3, 6, ("refA",))
    assert found.systems == (ingest.SystemOutputCounts("A", outputs=2, missing=1, empty=1, identical=0, words=4),)


@pytest.mark.parametrize(
    ("texts", "what", "address"),
    [
        (("Der <b>Hund</b> bellt.", None, "x"), "output missing", "A d:2"),
        (("Der <b>Hund</b> bellt.", "", "x"), "output empty", "A d:2"),
        (("Der <b>Hund</b> bellt.", "Silence.", "x"), "output identical to the source", "A d:2"),
        (("Der <b>Hund</b> bellt.", "Ruhe.", "x"), "output identical to a reference", "A d:2"),
        (("Der Hund bellt.", "Stille", "x"), "other markup than the source", "A d:1"),
        (("Der <b>Hund bellt.", "Stille", "x"), "broken markup in an output", "A d:1"),
        (("Der <b>Hund</b> bellt.", "沉默。", "x"), "output in a script other than that of its language", "A d:2"),
    ],
)
def test_each_kind_of_fault_is_found_where_it_is(
    filled: Spine, texts: tuple[str | None, ...], what: str, address: str
) -> None:
    _put(filled, "A", *texts)

    assert _found(filled)[what] == (address,)


def test_outputs_that_two_systems_share_are_named_for_each(filled: Spine) -> None:
    _put(filled, "A", "Der <b>Hund</b> bellt.", "Stille", "x")
    _put(filled, "B", "Ein <b>Hund</b> bellt.", "Stille", "y")

    assert _found(filled)["output identical to another system's"] == ("A d:2", "B d:2")
    assert [one.identical for one in _report(filled).systems] == [1, 1]


def test_a_source_in_another_script_is_named_and_a_clean_output_is_not(filled: Spine) -> None:
    _put(filled, "A", "Der <b>Hund</b> bellt.", "Stille", "Hallo<br>Welt")

    assert set(_found(filled)) == {"source in a script other than that of its language", "other markup than the source"}
