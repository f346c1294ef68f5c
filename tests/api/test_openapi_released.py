"""What was released stays: a removal or narrowing against the released document fails here.

`docs/openapi-released.json` is `openapi.json` as of the last release; a release copies the one over the other. Between
releases it stays as it is, so that a narrowing cannot be waved through by writing `openapi.json` anew.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.described import parameters, resolved

ROOT = Path(__file__).resolve().parents[2]
Json = dict[str, Any]
METHODS = {"get", "put", "post", "patch", "delete"}
LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")


def load(name: str) -> Json:
    document: Json = json.loads((ROOT / name).read_text())
    return document


class Comparison:
    """What a client of the old document could do, or rely on, that it cannot with the new one."""

    def __init__(self, old: Json, new: Json) -> None:
        self.old, self.new = old, new
        self.seen: set[tuple[str, str, bool]] = set()

    def all(self) -> Iterator[str]:
        for path, methods in self.old["paths"].items():
            for method in sorted(METHODS & set(methods)):
                name = f"{method.upper()} {path}"
                there = self.new["paths"].get(path, {}).get(method)
                if there is None:
                    yield f"{name} is gone"
                else:
                    yield from self.operation(name, methods[method], there)

    def operation(self, name: str, old: Json, new: Json) -> Iterator[str]:
        if old["operationId"] != new["operationId"]:
            yield f"{name}: operationId was {old['operationId']}"
        yield from self.parameters(name, old, new)
        yield from self.body(name, old, new)
        for code in (code for code in old["responses"] if code < "400"):
            if code not in new["responses"]:
                yield f"{name}: {code} is gone"
                continue
            before, after = resolved(self.old, old["responses"][code]), resolved(self.new, new["responses"][code])
            yield from self.content(f"{name} {code}", before, after, sent=False)

    def parameters(self, name: str, old: Json, new: Json) -> Iterator[str]:
        before = {(p["in"], p["name"]): p for p in parameters(self.old, old)}
        after = {(p["in"], p["name"]): p for p in parameters(self.new, new)}
        for key, parameter in before.items():
            if key not in after:
                yield f"{name}: parameter {key[1]} is gone"
            else:
                yield from self.schema(f"{name} ?{key[1]}", parameter["schema"], after[key]["schema"], sent=True)
        for key, parameter in after.items():
            if parameter.get("required") and not before.get(key, {}).get("required"):
                yield f"{name}: parameter {key[1]} is required now"

    def body(self, name: str, old: Json, new: Json) -> Iterator[str]:
        if "requestBody" not in new and "requestBody" in old:
            yield f"{name}: the body is gone"
        elif "requestBody" in old:
            yield from self.content(f"{name} body", old["requestBody"], new["requestBody"], sent=True)
        elif new.get("requestBody", {}).get("required"):
            yield f"{name}: a body is required now"

    def content(self, name: str, old: Json, new: Json, *, sent: bool) -> Iterator[str]:
        for kind, media in old.get("content", {}).items():
            if kind not in new.get("content", {}):
                yield f"{name}: {kind} is gone"
            else:
                yield from self.schema(name, media["schema"], new["content"][kind]["schema"], sent=sent)

    def schema(self, name: str, old: Json, new: Json, *, sent: bool) -> Iterator[str]:
        """sent: by the client, so less may not be taken; else by us, so less may not be told."""
        pair = (json.dumps(old, sort_keys=True), json.dumps(new, sort_keys=True), sent)
        if pair in self.seen:
            return
        self.seen.add(pair)
        old, new = by_alternative(resolved(self.old, old)), by_alternative(resolved(self.new, new))
        yield from self.kinds(name, old, new, sent=sent)
        if sent:
            yield from bounds(name, old, new)
        yield from self.properties(name, old, new, sent=sent)
        if "items" in old:
            yield from self.schema(f"{name}[]", old["items"], new.get("items", {}), sent=sent)

    def kinds(self, name: str, old: Json, new: Json, *, sent: bool) -> Iterator[str]:
        """Types and listed values: none less may be taken, none more may be told."""
        before, after = types(old), types(new)
        if before and after and ((before - after) if sent else (after - before)):
            yield f"{name}: type was {sorted(before)}, is {sorted(after)}"
        if sent and "enum" in new and not set(old.get("enum", [...])) <= set(new["enum"]):
            yield f"{name}: no longer takes every value"
        yield from self.choices(name, alternatives(old), alternatives(new), sent=sent)

    def choices(self, name: str, old: list[Json], new: list[Json], *, sent: bool) -> Iterator[str]:
        """Each old alternative that is taken must fit a new one; each new one that is told must fit an old one."""
        if not old or not new:
            return
        for part in old if sent else new:
            found = [
                list(self.fork().schema(name, *((part, o) if sent else (o, part)), sent=sent))
                for o in (new if sent else old)
            ]
            if all(found):
                yield min(found, key=len)[0]

    def fork(self) -> Comparison:
        return Comparison(self.old, self.new)

    def properties(self, name: str, old: Json, new: Json, *, sent: bool) -> Iterator[str]:
        before, after = old.get("properties", {}), new.get("properties", {})
        for field, inner in before.items():
            if field not in after:
                yield f"{name}.{field} is gone"
            else:
                yield from self.schema(f"{name}.{field}", inner, after[field], sent=sent)
        fewer, more = set(old.get("required", ())), set(new.get("required", ()))
        if sent and (now := more - fewer):
            yield f"{name}: {sorted(now)} is required now"
        if not sent and (missing := (fewer - more) & set(after)):
            yield f"{name}: {sorted(missing)} may be missing now"


def types(schema: Json) -> set[str]:
    given = schema.get("type", [])
    return {given} if isinstance(given, str) else set(given)


def alternatives(schema: Json) -> list[Json]:
    found: list[Json] = schema.get("anyOf") or schema.get("oneOf") or []
    return found


def by_alternative(schema: Json) -> Json:
    """A list of types as alternatives, since `type: [string, null]` says what `anyOf: [string, null]` does."""
    if not isinstance(schema.get("type"), list):
        return schema
    return {"anyOf": [{"type": "null"} if one == "null" else {**schema, "type": one} for one in schema["type"]]}


def bounds(name: str, old: Json, new: Json) -> Iterator[str]:
    """Limits on what is taken that are tighter now."""
    for word in LEAST:
        if new.get(word, float("-inf")) > old.get(word, float("-inf")):
            yield f"{name}: {word} is {new[word]} now"
    for word in MOST:
        if new.get(word, float("inf")) < old.get(word, float("inf")):
            yield f"{name}: {word} is {new[word]} now"
    if "pattern" in new and not ("pattern" in old and matches_as_much(old["pattern"], new["pattern"])):
        yield f"{name}: pattern is {new['pattern']} now"


def matches_as_much(old: str, new: str) -> bool:
    """Whether texts that fitted still fit, as far as many of them, drawn the same every time, can tell."""
    fits: list[bool] = [old == new]

    @settings(max_examples=300, database=None, deadline=None, derandomize=True, phases=[Phase.generate])
    @given(st.from_regex(old, fullmatch=True))
    def look(text: str) -> None:
        fits.append(re.search(new, text) is not None)

    if old != new:
        look()
    return all(fits[1:]) and (len(fits) > 1 or fits[0])


@pytest.fixture(scope="module")
def released() -> Json:
    return load("docs/openapi-released.json")


def test_what_was_released_is_still_there_and_no_narrower(released: Json) -> None:
    broken = list(Comparison(released, load("openapi.json")).all())
    assert not broken, "\n".join(broken)


def campaign_in(document: Json) -> Json:
    found: Json = document["components"]["schemas"]["CampaignIn"]
    return found


def of(path: str, method: str, document: Json) -> Json:
    found: Json = document["paths"][path][method]
    return found


NARROWINGS: dict[str, Callable[[Json], object]] = {
    "DELETE /v1/tokens/{prefix} is gone": lambda d: d["paths"]["/v1/tokens/{prefix}"].pop("delete"),
    "parameter limit is gone": lambda d: of("/v1/campaigns", "get", d)["parameters"].pop(0),
    "parameter x is required now": lambda d: of("/v1/campaigns", "get", d)["parameters"].append(
        {"in": "query", "name": "x", "required": True, "schema": {}}
    ),
    "maximum is 10 now": lambda d: of("/v1/campaigns", "get", d)["parameters"][0]["schema"].update(maximum=10),
    "minLength is 2 now": lambda d: campaign_in(d)["properties"].update(
        series={"type": ["string", "null"], "minLength": 2}
    ),
    ".series is gone": lambda d: campaign_in(d)["properties"].pop("series"),
    "['name'] is required now": lambda d: campaign_in(d)["required"].append("name"),
    "no longer takes every value": lambda d: campaign_in(d)["properties"]["basis"]["enum"].remove("none"),
    "pattern is ^x$ now": lambda d: campaign_in(d)["properties"]["protocol"].update(pattern="^x$"),
    ".data_version is gone": lambda d: d["components"]["schemas"]["CampaignOut"]["properties"].pop("data_version"),
    "['state'] may be missing now": lambda d: d["components"]["schemas"]["CampaignOut"]["required"].remove("state"),
    "type was ['integer'], is ['string']": lambda d: d["components"]["schemas"]["CampaignOut"]["properties"][
        "data_version"
    ].update(type="string"),
    "text/csv is gone": lambda d: of("/v1/campaigns/{campaign}/ranking.{kind}", "get", d)["responses"]["200"][
        "content"
    ].pop("text/csv"),
    "operationId was list_campaigns": lambda d: of("/v1/campaigns", "get", d).update(operationId="other"),
}


@pytest.mark.parametrize("told", NARROWINGS)
def test_a_narrowing_is_named(released: Json, told: str) -> None:
    """The negative controls."""
    narrowed = copy.deepcopy(released)
    NARROWINGS[told](narrowed)
    assert any(told in line for line in Comparison(released, narrowed).all())


WIDENINGS: list[Callable[[Json], object]] = [
    lambda d: campaign_in(d)["properties"].update(
        series={**campaign_in(d)["properties"]["series"]["anyOf"][0], "type": ["string", "null"]}
    ),
    lambda d: campaign_in(d)["properties"].update(more={"type": "string"}),
    lambda d: campaign_in(d)["required"].remove("protocol"),
    lambda d: campaign_in(d)["properties"]["basis"]["enum"].append("all"),
    lambda d: d["components"]["schemas"]["CampaignOut"]["properties"].update(more={"type": "string"}),
    lambda d: d["paths"].update({"/v1/more": {}}),
    lambda d: of("/v1/campaigns", "get", d)["parameters"].append({"in": "query", "name": "x", "schema": {}}),
]


@pytest.mark.parametrize("widen", WIDENINGS)
def test_an_addition_is_none(released: Json, widen: Callable[[Json], object]) -> None:
    wider = copy.deepcopy(released)
    widen(wider)
    assert not list(Comparison(released, wider).all())
