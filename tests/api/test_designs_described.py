"""The description of a design names every field that is read of one, and no other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from app.api.models.design import DesignJson, DesignSchema, PlanReport, ReportJson
from app.design import json_reader
from app.design.parse import parse_design
from app.domain.errors import Invalid
from tests.api.live_campaign import LIVE, open_live

# Designs that lead the reader to every part.
SENT: tuple[dict[str, Any], ...] = (
    {"buckets": {"explicit": [{"name": "a"}]}, "arms": [{"name": "a"}, {"name": "b"}], "overlap": {}, "task": {}},
    {"buckets": {"raters_per_bucket": 2}, "calibration": {"set": "s"}},
    {"controls": {"bad_reference": {}, "repeat": {}, "reference": {}}, "buckets": {"auto": True}},
    {"controls": {"mix": "70:10:10:10"}},
)
Place = tuple[str, ...]


def of_schema(schema: Mapping[str, Any], defs: Mapping[str, Any], at: Place = ()) -> dict[Place, set[str]]:
    """Fields by place; branches and items of a place are that place."""
    found: dict[Place, set[str]] = defaultdict(set)
    if "$ref" in schema:
        return of_schema(defs[schema["$ref"].rpartition("/")[2]], defs, at)
    for branch in (*schema.get("anyOf", ()), *([schema["items"]] if isinstance(schema.get("items"), dict) else ())):
        for place, names in of_schema(branch, defs, at).items():
            found[place] |= names
    for name, field in schema.get("properties", {}).items():
        found[at].add(name)
        for place, names in of_schema(field, defs, (*at, name)).items():
            found[place] |= names
    return found


def fields_of(schema: Mapping[str, Any]) -> dict[Place, set[str]]:
    return {place: names for place, names in of_schema(schema, schema.get("$defs", {})).items() if names}


def test_what_is_read_of_a_design_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    read: dict[Place, set[str]] = defaultdict(set)
    began = json_reader.JsonObjectReader.__init__

    def begin(self: Any, given: object, loc: tuple[str | int, ...], places: Any) -> None:
        began(self, given, loc, places)
        self._asked = read[tuple(part for part in loc if isinstance(part, str))]

    monkeypatch.setattr(json_reader.JsonObjectReader, "__init__", begin)
    for design in SENT:
        parse_design(design)
    described = fields_of(TypeAdapter(DesignJson).json_schema())
    for whole in ("balance", "documents"):
        del described[(whole,)]
    assert dict(read) == described


@pytest.mark.parametrize("balance", ["full", {"entropy": 0.7}, {"capacity": True}])
@pytest.mark.parametrize("documents", [None, 3, ["d1"], {"sample": 3}, {"sample": 3, "by": "domain"}])
def test_each_form_that_is_described_is_read(balance: Any, documents: Any) -> None:
    sent = {"balance": balance, "documents": documents}
    DesignSchema.model_validate(sent)
    parse_design(sent)
    with pytest.raises(Invalid):
        parse_design({"balance": {"entropy": 2}})


def test_a_field_that_is_left_out_is_described_with_no_null() -> None:
    properties = TypeAdapter(DesignJson).json_schema()["properties"]
    assert [name for name, one in properties.items() if one.get("default", 0) is None] == []
    assert PlanReport.model_json_schema()["properties"]["raters"]["anyOf"][0]["items"]


def named_in(value: object, at: Place = ()) -> dict[Place, set[str]]:
    """Fields of a value by place."""
    found: dict[Place, set[str]] = defaultdict(set)
    for one in value if isinstance(value, list) else [value]:
        for name, inner in one.items() if isinstance(one, dict) else ():
            found[at].add(name)
            for place, names in named_in(inner, (*at, name)).items():
                found[place] |= names
    return found


def test_each_field_of_a_report_is_described(admin: httpx.Client) -> None:
    open_live(admin, controls={"bad_reference": {"rate": 0.2}}, task={"max_segments": 8})
    report = admin.get(f"{LIVE}/plan").json()["report"]
    described = fields_of(TypeAdapter(ReportJson).json_schema())
    there = {place: names for place, names in named_in(report).items() if place in described}
    assert set(there) >= {(), ("total",), ("raters",), ("balance",), ("forecast",), ("srp",)}
    assert {place: names - described[place] for place, names in there.items() if names - described[place]} == {}
