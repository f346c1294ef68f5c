"""Texts that are imported after the spans on them, with white space at their ends (decisions.md, section 1)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import pytest

from app.domain.errors import Invalid
from app.storage import embedded
from tests.services.data.test_imports import lines, marked, output, source
from tests.spine import Spine, fresh

# Of `marked`: 2 to 9, counted in the text as the rater saw it.
TEXTS = {"leading": "  pointed at", "trailing": "a pointed  ", "both": " \u00a0pointed\n", "inside": "a pointed at"}
SAID = {"target": output, "source": source}


_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        yield found


@pytest.fixture
def campaign() -> str:
    """A key that no campaign has yet."""
    return f"c{next(_numbers)}"


def pointed_at(spine: Spine, campaign: str) -> set[str]:
    """What the spans of an exported campaign mark, by what stands in it."""
    records = [json.loads(line) for line in spine.export(campaign).splitlines()]
    texts = {record["type"]: record.get("text", record.get("source")) for record in records}
    texts = {"target": texts.get("output"), "source": texts.get("segment")}
    judged = [record for record in records if record["type"] == "judgment"]
    return {texts[e["side"]][e["start"] : e["end"]] for j in judged for e in j["payload"]["errors"]}


@pytest.mark.parametrize("side", SAID)
@pytest.mark.parametrize("text", TEXTS)
def test_spans_point_where_they_did_once_their_text_is_known(spine: Spine, campaign: str, side: str, text: str) -> None:
    """Or else the text is refused, with file and line: what is stored never points elsewhere."""
    spine.take(campaign, "jsonl", lines(marked(side)))
    if text in {"leading", "both"}:
        with pytest.raises(Invalid) as refused:
            spine.take(campaign, "jsonl", lines(SAID[side](TEXTS[text])))
        assert refused.value.places[0].loc[:2] == ("file", 2)
        assert "white space at the start" in refused.value.places[0].msg
        return
    spine.take(campaign, "jsonl", lines(SAID[side](TEXTS[text])))
    assert pointed_at(spine, campaign) == {TEXTS[text][2:9].strip()}


@pytest.mark.parametrize("side", SAID)
@pytest.mark.parametrize("text", TEXTS)
def test_spans_point_where_they_did_where_their_text_comes_later_in_the_file(
    spine: Spine, campaign: str, side: str, text: str
) -> None:
    try:
        spine.take(campaign, "jsonl", lines(marked(side), SAID[side](TEXTS[text])))
    except Invalid:
        assert text not in {"inside", "trailing"}
        return
    assert pointed_at(spine, campaign) == {TEXTS[text][2:9].strip()}


@pytest.mark.parametrize("side", SAID)
@pytest.mark.parametrize("text", TEXTS)
def test_spans_point_where_they_did_where_their_text_stands_before_them(
    spine: Spine, campaign: str, side: str, text: str
) -> None:
    spine.take(campaign, "jsonl", lines(SAID[side](TEXTS[text]), marked(side)))
    assert pointed_at(spine, campaign) == {TEXTS[text][2:9].strip()}
