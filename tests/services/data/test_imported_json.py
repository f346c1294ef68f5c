"""Judgments in JSON become campaigns that rank, agree and export like any other."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.spine import Spine, opened


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as world:
        yield world


QUALITIES = ("coherence", "consistency", "fluency", "relevance")
ERROR = {"term": "with", "startIndex": 0, "endIndex": 3, "error_category": "Grammar", "severity": "Major"}


def bio(n: int, source: str, system: str, errors: list[dict[str, object]]) -> dict[str, object]:
    """A segment as bio-MQM publishes it."""
    said = {"source": source, "target": "with it.", "SEG_ID": str(n), "filename": f"{system}_abstract_de2en_en.txt"}
    return said | {"MT_Engine": system, "Annotator_ID": 7, "target_errors": errors, "source_errors": []}


def test_bio_mqm_ranks_by_its_errors(spine: Spine) -> None:
    files = {
        f"{system}.json": json.dumps([bio(1, "Eins.", system, errors), bio(1, "Zwei.", system, errors)]).encode()
        for system, errors in (("A", []), ("B", [ERROR]))
    }
    report = spine.take("bio", "json", files, options={"map": "bio-mqm", "source_language": "de"})

    assert report["stored"]["documents"] == 2
    ranked = spine.rank("bio", "google-mqm")["systems"]
    assert [(row["system"], row["score"]) for row in ranked] == [("A", 0.0), ("B", 5.0)]


def summary(model: str, document: str, value: int) -> dict[str, object]:
    """A summary as SummEval publishes it."""
    answer = dict.fromkeys(QUALITIES, value) | {"relevance": 6 - value}
    annotations = {"expert_annotations": [answer] * 3, "turker_annotations": [answer] * 5}
    return {
        "id": document,
        "decoded": f"{model} on {document}.",
        "model_id": model,
        "references": ["One."],
    } | annotations


def test_summeval_ranks_by_each_quality_and_comes_back_equal(spine: Spine) -> None:
    lines = [summary(m, d, v) for m, v in (("M1", 2), ("M8", 4)) for d in ("dm-1", "dm-2")]
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    report = spine.take("summaries", "json", {"model_annotations.aligned.jsonl": content}, options={"map": "summeval"})

    assert (report["stored"]["judgments"], report["stored"]["raters"]) == (32, 8)
    by = {
        name: spine.rank("summaries", "recommended", scoring=f"criterion:{name}")["systems"]
        for name in ("coherence", "relevance")
    }
    assert [row["system"] for row in by["coherence"]] == ["M8", "M1"]
    assert [row["system"] for row in by["relevance"]] == ["M1", "M8"]
    exported = spine.export("summaries")
    spine.take("again", "jsonl", exported)
    assert spine.export("again") == exported
