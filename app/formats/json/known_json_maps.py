"""JSON maps for published data sets, by name.

Sources: the layout of amazon-science/bio-mqm-dataset (Zouhar et al. 2024, "Fine-Tuned Machine Translation Metrics
Struggle in Unseen Domains") and of SummEval (Fabbri et al. 2021, `model_annotations.aligned.jsonl`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

from app.formats.json.json_map import AnswerListMapping, JsonFieldMap, MarkedErrorsMapping

QUALITIES = ("coherence", "consistency", "fluency", "relevance")


def _five(name: str) -> JsonValue:
    return {"name": name, "minimum": 1.0, "maximum": 5.0}


def _errors(side: Literal["source", "target"]) -> MarkedErrorsMapping:
    return MarkedErrorsMapping(
        list=f"{side}_errors",
        side=side,
        start="startIndex",
        end="endIndex",
        ends="inclusive",
        severity="severity",
        category="error_category",
        words="term",
    )


MAPS: Mapping[str, JsonFieldMap] = {
    "bio-mqm": JsonFieldMap(
        protocol="mqm",
        fields={
            "system": "MT_Engine",
            "position": "SEG_ID",
            "rater": "Annotator_ID",
            "source": "source",
            "target": "target",
            "language_pair": "filename",
        },
        documents="position",
        errors=(_errors("target"), _errors("source")),
    ),
    "summeval": JsonFieldMap(
        protocol="rating",
        options={"criteria": [_five(name) for name in QUALITIES]},
        fields={"system": "model_id", "document": "id", "source": "text", "target": "decoded"},
        constants={"source_language": "en", "target_language": "en"},
        references="references",
        answers=(
            AnswerListMapping(list="expert_annotations", raters="expert"),
            AnswerListMapping(list="turker_annotations", raters="crowd"),
        ),
        criteria={name: name for name in QUALITIES},
    ),
}
