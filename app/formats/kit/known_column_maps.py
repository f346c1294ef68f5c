"""Column maps for existing layouts, by name."""

from __future__ import annotations

from collections.abc import Mapping

from app.formats.base import RoleName
from app.formats.kit.column_map import ColumnMap, ProtocolWithOptions, RowSkipRule

TYPES: dict[str, RoleName] = {"TGT": "rating", "BAD": "degraded", "REF": "reference", "CHK": "repeat"}
MISTAKES = ProtocolWithOptions(protocol="mqm", options={"weights": "esa-mqm"})

MAPS: Mapping[str, ColumnMap] = {
    "sxs-mqm": ColumnMap(
        rows="errors",
        protocol="mqm",
        columns={
            "system": "system",
            "document": "doc",
            "position": "docSegId",
            "global_id": "globalSegId",
            "rater": "rater",
            "source": "source",
            "target": "target",
            "category": "category",
            "severity": "severity",
            "ended": "timestamp_ms",
        },
        time="milliseconds",
        keep=("time_ms", "side", "hotw_type", "note", "source_spans", "target_spans"),
    ),
    "esa-annotations": ColumnMap(
        protocols={
            **{name: ProtocolWithOptions(protocol="esa") for name in ("ESA-1", "ESA-2", "ESA-IAA")},
            **{name: ProtocolWithOptions(protocol="esa") for name in ("ESAAI-1", "ESAAI-2", "ESAAI-IAA")},
            "MQM-1": MISTAKES,
            "MQM-IAA": MISTAKES,
        },
        columns={
            "protocol": "protocol",
            "person": "annotator",
            "rater": "login",
            "type": "item_type",
            "system": "system",
            "position": "line",
            "domain": "domain",
            "document": "doc",
            "presented": "bad_id",
            "score": "score",
            "errors": "error_spans",
            "started": "t_start",
            "ended": "t_end",
        },
        types=TYPES,
        first_position=0,
        leave_out=(RowSkipRule(column="duplicate", reason="filler repetitions (#dup)"),),
        keep=("batch", "item_no"),
        texts={"system": "system", "position": "line", "source": "source", "target": "target"},
    ),
    "mqm-spans": ColumnMap(
        rows="errors",
        protocol="mqm",
        columns={
            "system": "system",
            "position": "line",
            "domain": "domain",
            "document": "doc",
            "rater": "rater",
            "category": "category",
            "severity": "severity",
            "start": "start",
            "end": "end",
            "source_side": "is_source_error",
        },
        first_position=0,
        keep=("weight",),
    ),
}
