"""The public data beside the repository, against the counts and segment scores that were published with it."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from app import protocols
from app.formats.base import CampaignRow, OutputRow, SegmentRow
from app.protocols.base import JudgedTexts, ScoringOptions
from app.stats.scoring import resolve_weight_profile
from tests.formats.conftest import Found, Read, Write

pytestmark = pytest.mark.golden
EXPECTED = Path(__file__).resolve().parents[2] / ".." / "shared" / "expected" / "datasets.json"
TED = "mqm_ted_ende/mqm_ted_ende.tsv.gz"
DA = [
    ("da_wikipedia2021_bn-hi", "ad-latest.csv.gz", {}),
    ("da_wikipedia2021_hi-bn", "ad-latest.csv.gz", {}),
    ("da_newstest2021_cs-en", "ad-good-stnd-redup.csv.gz", {"scale": "z"}),
    ("da_newstest2021_cs-en", "ad-good-raw-recovered.tsv.gz", {}),
]
Data = Callable[[str], bytes]


@cache
def expected(dataset: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(EXPECTED.read_text())[dataset]
    return found


def penalties(found: Found, profile: str) -> dict[tuple[str, str, int], list[float]]:
    """Scores by system, document and position, through the protocol and its checks."""
    mqm, options = protocols.get_protocol("mqm"), ScoringOptions(resolve_weight_profile(profile))
    sources = {(s.document, s.position): s.source for s in found.of(SegmentRow)}
    texts = {(o.system, o.document, o.position): o.text for o in found.of(OutputRow)}
    scores = defaultdict(list)
    for judgment in found.judgments:
        assert judgment.position is not None
        where = judgment.systems[0], judgment.document, judgment.position
        shown = JudgedTexts(sources[where[1:]], texts[where])
        payload = mqm.payload.model_validate(judgment.payload)
        mqm.check(payload, shown, options)
        scores[where].append(mqm.score(payload, shown, options).score)
    return scores


def test_ted_has_the_published_size(read: Read, data: Data) -> None:
    found, counts = read("mqm-tsv", data(TED)), expected("mqm_ted_ende")
    assert len(found.judgments) == counts["segment_ratings"] == 7406
    assert len({j.systems for j in found.judgments}) == counts["systems"]
    assert len({j.rater for j in found.judgments}) == counts["raters"]
    assert len({j.document for j in found.judgments}) == counts["documents"]
    assert len(found.of(SegmentRow)) == counts["segments"]
    assert sum(not j.payload["errors"] for j in found.judgments) == counts["no_error_rows"]
    assert found.log.repaired == {"span marks that were not in pairs": 1}


def test_ted_segment_scores_are_the_published_ones(read: Read, data: Data) -> None:
    found = read("mqm-tsv", data(TED))
    ids = {(s.document, s.position): s.meta["globalSegId"] for s in found.of(SegmentRow)}
    ours = {(w[0], ids[w[1:]]): sum(scores) / len(scores) for w, scores in penalties(found, "freitag2021").items()}
    lines = gzip.decompress(data("mqm_ted_ende/official_avg_seg_scores.tsv.gz")).decode().splitlines()[1:]
    official = {(s.replace("ref-A", "ref"), i): -float(x) for s, x, i in map(str.split, lines) if x != "None"}
    assert set(ours) == set(official)
    assert max(abs(ours[key] - official[key]) for key in ours) < 1e-9


def test_ted_in_another_order_and_written_again_is_the_same(read: Read, write: Write, data: Data) -> None:
    once = read("mqm-tsv", data(TED))
    header, *rows = gzip.decompress(data(TED)).splitlines()
    random.Random(5).shuffle(rows)
    assert read("mqm-tsv", b"\n".join([header, *rows])).plain == once.plain
    assert read("mqm-tsv", write("mqm-tsv", once.records)).plain == once.plain
    assert read("jsonl", write("jsonl", once.records)).judgments[0].payload == once.judgments[0].payload


def test_side_by_side_mqm_gives_the_segment_scores_of_the_annotation_tool(read: Read, data: Data) -> None:
    lines = gzip.decompress(data("sxs_mqm2023_ende/ratings.tsv.gz")).decode().removesuffix("\n").split("\n")
    header, *rows = (line.split("\t") for line in lines)
    table = "\n".join(_ten_columns(dict(zip(header, row, strict=True))) for row in rows)
    found, counts = read("mqm-tsv", table.encode()), expected("sxs_mqm2023_ende")
    assert len(found.judgments) == counts["segment_ratings"]
    assert found.log.dropped == {"attention checks (HOTW-test), kept with the judgment": counts["attention_check_rows"]}
    official = gzip.decompress(data("sxs_mqm2023_ende/official_segment_mqm.tsv.gz")).decode().splitlines()[1:]
    scores = penalties(found, "wmt24")
    compared = 0
    for system, document, position, published in (line.split("\t") for line in official):
        if not system.startswith("GPT4"):  # the tool summed both pairings of this one
            given = scores[system, document, int(position)]
            assert sum(given) / len(given) == pytest.approx(float(published), abs=1e-9)
            compared += 1
    assert compared == 8 * 104


def _ten_columns(row: dict[str, str]) -> str:
    meta: dict[str, object] = {"timestamp": int(row["timestamp_ms"])}
    meta.update({side: json.loads(row[side]) for side in ("source_spans", "target_spans") if row[side]})
    names = ("system", "doc", "docSegId", "globalSegId", "rater", "source", "target", "category", "severity")
    return "\t".join([*(row[name] for name in names), json.dumps(meta)])


@pytest.mark.parametrize(("dataset", "file", "options"), DA)
def test_direct_assessments_have_the_published_size(
    read: Read, data: Data, dataset: str, file: str, options: dict[str, str]
) -> None:
    found, counts = read("wmt-da", data(f"{dataset}/{file}"), **options), expected(dataset)
    assert len(found.judgments) == counts["rows"]
    assert len({j.rater for j in found.judgments}) == counts["workers"]
    assert len({j.systems for j in found.judgments}) == counts["systems"]
    assert len({(j.document, j.position) for j in found.judgments}) == counts["segments"]
    assert len({j.task_meta["HITId"] for j in found.judgments if j.task_meta}) == counts["hits"]
    types = {"rating": "SYSTEM", "repeat": "REPEAT", "reference": "REF", "degraded": "BAD_REF"}
    assert Counter(types[j.role] for j in found.judgments) == counts["types"]
    known = found.of(CampaignRow)[0].documents_known
    presented = {(j.task, j.item_meta["rid"]) for j in found.judgments if j.item_meta}
    assert len({j.document for j in found.judgments} if known else presented) == counts["documents"]


# One campaign in every run; standardised scores of one are imported and ranked by the golden tests.
@pytest.mark.parametrize(
    ("dataset", "file", "options"), [DA[0], *(pytest.param(*one, marks=pytest.mark.soak) for one in DA[1:])]
)
def test_direct_assessments_in_another_order_and_written_again_are_the_same(
    read: Read, write: Write, data: Data, dataset: str, file: str, options: dict[str, str]
) -> None:
    once = read("wmt-da", data(f"{dataset}/{file}"), **options)
    header, *rows = gzip.decompress(data(f"{dataset}/{file}")).splitlines()
    random.Random(5).shuffle(rows)
    assert read("wmt-da", b"\n".join([header, *rows]), **options).plain == once.plain
    assert read("wmt-da", write("wmt-da", once.records), **options).plain == once.plain
    assert read("jsonl", write("jsonl", once.records)).plain[0] == once.plain[0]
