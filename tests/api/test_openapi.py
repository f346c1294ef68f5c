"""The document says what the application does, and every operation of it is explained."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel

from app.api.kit.recipe_choices import RecipeAndChoicesQuery
from app.api.models.ranking import PairOut, RankedSystemOut, RankingOut
from app.api.models.recipe import RecipeIn
from app.domain.recipe import CHOICES, NAMED
from app.main import create_app
from app.storage.db import Database
from app.web.access import PublicAccess, RequiredRater, RequiredRole
from app.web.deps import ServiceOptions
from app.web.openapi.document import list_dependencies
from app.web.query_parameters import list_declared_parameters
from tests.described import in_full, parameters, resolved

LARGEST = 680_000  # bytes
COMMITTED = Path(__file__).resolve().parents[2] / "openapi.json"
PUBLIC = {
    "livez",
    "readyz",
    "get_prometheus_metrics",
    "version",
    "get_openapi_document",
    "get_docs_page",
    "get_docs_asset",
    "open_session",
}
PUBLIC |= {"list_protocols", "get_protocol", "list_recipes", "claim_invitation", "get_language_biography_questions"}
PUBLIC |= {
    "list_campaign_templates",
    "get_campaign_template",
    "get_archive",
    "get_archived_document",
    "get_custom_copy_of_protocol",
}
VERBS = {
    "get": {"get", "list", "export", "count", "stream"},
    "put": {"put"},
    "patch": {"patch"},
    "delete": {"delete", "revoke", "lift", "erase", "close", "cancel"},
}
"""What the name of an operation begins with, by method; a `POST` has the verb of what it does."""
WITHOUT_VERB = {"livez", "readyz", "version"}
REFERENCE = re.compile(r'"#/components/schemas/([^"]+)"')
SENT = ("In", "Patch", "Payload")
ANSWERED = ("Out", "View", "Own", "Out_", "Row_")
OLDER_THAN_THE_RULE = {
    "Health",
    "ImportReport",
    "ExportLosses",
    "Me",
    "Progress",
    "Readiness",
}
OLDER_THAN_THE_RULE |= {"TokenIssued", "Version"}


@pytest.fixture
def unconnected() -> FastAPI:
    """The application over no database: its routes and document need none."""
    return create_app(Database("postgresql://", size=2), ServiceOptions())


@pytest.fixture
def document(unconnected: FastAPI) -> dict[str, Any]:
    return unconnected.openapi()


def described(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield f"{method.upper()} {path}", operation


VALIDATORS: dict[tuple[int, str], tuple[Any, Any]] = {}
"""By what the document names, kept so that its number stays its own, and schema: most operations share theirs."""


def fits(document: dict[str, Any], schema: dict[str, Any], value: object) -> bool:
    components = document["components"]
    known = id(components), json.dumps(schema, sort_keys=True)
    if known not in VALIDATORS:
        # With the schemas that it names alone: a validator reads all that it is given.
        named, unread = dict[str, Any](), [schema]
        while unread:
            for name in REFERENCE.findall(json.dumps(unread.pop())):
                if name not in named:
                    named[name] = components["schemas"][name]
                    unread.append(named[name])
        whole = jsonschema_rs.Draft202012Validator({**schema, "components": {"schemas": named}})
        VALIDATORS[known] = components, whole
    return bool(VALIDATORS[known][1].is_valid(value))


def test_the_document_is_openapi_3_1_and_the_committed_one(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    assert document == json.loads(COMMITTED.read_text()), "the interface changed: look at it, then `make openapi`"


def test_the_committed_document_is_short_and_has_each_path_and_component_on_a_line(document: dict[str, Any]) -> None:
    lines = COMMITTED.read_text().splitlines()
    for part in (document["paths"], *document["components"].values()):
        for name in part:
            assert sum(line.startswith(f"{json.dumps(name)}:") for line in lines) >= 1, name
    assert "".join(lines) == json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert COMMITTED.stat().st_size < LARGEST


def test_what_only_adds_a_suffix_is_said_at_the_address_without_it(
    unconnected: FastAPI, document: dict[str, Any]
) -> None:
    whole = in_full(document)["paths"]
    routes = [route for route in unconnected.routes if isinstance(route, APIRoute) and route.include_in_schema]
    by_suffix = {route.path_format: route for route in routes if route.path_format.endswith(".{kind}")}
    assert len(by_suffix) > 30
    assert {path for path in whole if path.endswith(".{kind}")} == set(by_suffix)
    assert [path for path in document["paths"] if path in by_suffix] == ["/v1/campaigns/{campaign}/ranking.{kind}"]
    for path, route in by_suffix.items():
        assert route.responses[200]["content"].keys() <= whole[path]["get"]["responses"]["200"]["content"].keys(), path


def test_an_operation_names_its_problems_in_one_response(document: dict[str, Any]) -> None:
    for name, operation in described(document):
        assert not [status for status in operation["responses"] if status.startswith(("4", "5"))], name
        assert operation["responses"]["default"] == {"$ref": "#/components/responses/problem"}, name
        assert operation["x-problems"] == sorted(operation["x-problems"]), name
        assert {str(status) for status in operation["x-problems"]} <= set(document["components"]["responses"]), name


def test_keys_of_a_pattern_are_the_only_ones(document: dict[str, Any]) -> None:
    sent = document["components"]["schemas"]["MetricScoresIn"]
    assert fits(document, sent, {"in_order": {"sys-a": [0.5, None]}})
    assert not fits(document, sent, {"in_order": {"C\u0084": ["nothing of a score"]}})


def test_a_query_is_held_against_what_the_document_says(unconnected: FastAPI, document: dict[str, Any]) -> None:
    said, checked, whole = {}, {}, in_full(document)
    for route in unconnected.routes:
        if isinstance(route, APIRoute) and route.include_in_schema:
            for method in route.methods or ():
                operation = whole["paths"][route.path_format][method.lower()]
                said[method, route.path] = [p["name"] for p in parameters(document, operation) if p["in"] == "query"]
                checked[method, route.path] = list(list_declared_parameters(route, method))
    assert checked == said
    lists = [
        name
        for route in unconnected.routes
        for name, several in list_declared_parameters(route, "GET").items()
        if several
    ]
    assert "exclude" in lists
    assert "limit" not in lists


def test_every_operation_is_explained_with_examples_and_problems(document: dict[str, Any]) -> None:
    for name, operation in described(in_full(document)):
        assert operation["summary"], name
        assert operation["description"], name
        assert operation["tags"], name
        assert "security" in operation, name
        assert {"400", "422"} <= set(operation["responses"]), name
        good = [resolved(document, part) for code, part in operation["responses"].items() if code < "300"]
        assert good, name
        for media in (media for part in good for media in part.get("content", {}).values()):
            assert "example" in media, name
        for kind, media in operation.get("requestBody", {}).get("content", {}).items():
            assert kind == "application/octet-stream" or media["examples"], name
        for code, part in operation["responses"].items():
            if code >= "400":
                assert list(resolved(document, part)["content"]) == ["application/problem+json"], (name, code)


def test_every_example_fits_its_schema(document: dict[str, Any]) -> None:
    checked = 0
    for name, operation in described(document):
        bodies = [operation["requestBody"]] if "requestBody" in operation else []
        for part in [*bodies, *(resolved(document, response) for response in operation["responses"].values())]:
            for media in part.get("content", {}).values():
                examples = [example["value"] for example in media.get("examples", {}).values()]
                for value in [*examples, *([media["example"]] if "example" in media else [])]:
                    assert fits(document, media["schema"], value), (name, value)
                    checked += 1
        for parameter in parameters(document, operation):
            for value in parameter["schema"].get("examples", ()):
                assert fits(document, parameter["schema"], value), (name, parameter["name"])
    assert checked > 40


def test_a_parameter_of_several_operations_stands_once_under_its_name(document: dict[str, Any]) -> None:
    given = [one for _, operation in described(document) for one in operation.get("parameters", ())]
    uses = Counter(json.dumps(one, sort_keys=True) for one in given)
    shared = document["components"]["parameters"]
    for text, n in uses.items():
        if "$ref" in (one := json.loads(text)):
            key = one["$ref"].rpartition("/")[2]
            assert n > 1, key
            assert key.startswith(shared[key]["name"]), key
        else:
            assert n == 1, one["name"]
    assert {one["$ref"].rpartition("/")[2] for one in given if "$ref" in one} == set(shared)
    assert len({json.dumps(one, sort_keys=True) for one in shared.values()}) == len(shared) > 80


def test_no_title_only_repeats_the_name_of_a_field(document: dict[str, Any]) -> None:
    fields = [item for s in document["components"]["schemas"].values() for item in s.get("properties", {}).items()]
    fields += [(one["name"], one["schema"]) for _, o in described(document) for one in parameters(document, o)]
    assert len(fields) > 1000
    assert [name for name, schema in fields if schema.get("title", "").lower() == name.replace("_", " ").lower()] == []


def test_schemas_have_names_and_titles_of_their_own_and_none_is_only_another(document: dict[str, Any]) -> None:
    """Generators name classes by either, and drop what would take a name that is taken."""
    schemas = document["components"]["schemas"]
    titles = [schema["title"] for schema in schemas.values() if "title" in schema]
    assert sorted(titles) == sorted(set(titles))
    assert not [name for name, schema in schemas.items() if "__" in name or "$ref" in schema]


def test_every_operation_has_a_name_of_its_own(document: dict[str, Any]) -> None:
    """Generators name functions and types by it."""
    uses = Counter(operation["operationId"] for _, operation in described(document))
    assert [name for name, n in uses.items() if n > 1] == []


def test_operations_are_named_by_verb_and_noun(document: dict[str, Any]) -> None:
    for name, operation in described(document):
        verb, _, noun = operation["operationId"].partition("_")
        method = name.partition(" ")[0].lower()
        if operation["operationId"] in WITHOUT_VERB:
            continue
        assert noun, name
        if method == "post":
            assert verb not in {"get", "list", "put", "patch", "delete"}, name
        else:
            assert verb in VERBS[method], name


def schema_names(document: dict[str, Any], part: dict[str, Any]) -> set[str]:
    """The schemas that a body or an answer is as a whole."""
    contents = resolved(document, part).get("content", {}).values()
    references = (media["schema"].get("$ref", "") for media in contents)
    return {reference.rpartition("/")[2] for reference in references if reference} - {"JsonValue", "Problem"}


def test_schemas_are_named_by_their_direction(document: dict[str, Any]) -> None:
    sent, answered = set(), set()
    for _, operation in described(document):
        sent |= schema_names(document, operation.get("requestBody", {}))
        for response in operation["responses"].values():
            answered |= schema_names(document, response)
    assert len(sent) > 40
    assert len(answered) > 80
    assert [name for name in sorted(sent) if not name.endswith(SENT)] == []
    assert {name for name in answered if not name.endswith(ANSWERED)} == OLDER_THAN_THE_RULE


def test_every_handler_says_first_who_may_call(unconnected: FastAPI) -> None:
    routes = [route for route in unconnected.routes if isinstance(route, APIRoute)]
    assert routes
    for route in routes:
        calls = list(list_dependencies(route.dependant))
        assert isinstance(calls[0], RequiredRole | RequiredRater | PublicAccess), route.name
        assert sum(isinstance(call, RequiredRole | RequiredRater | PublicAccess) for call in calls) == 1, route.name
        assert isinstance(calls[0], PublicAccess) is (route.name in PUBLIC), route.name


def test_everything_but_the_public_part_asks_for_a_credential(app: FastAPI, anonymous: httpx.Client) -> None:
    for route in (route for route in app.routes if isinstance(route, APIRoute) and route.name not in PUBLIC):
        path = route.path_format.replace("{import}", "i_" + "0" * 32).replace("{prefix}", "0" * 12)
        path = path.replace("{kind}", "csv").replace("{", "").replace("}", "")
        for method in route.methods or ():
            assert anonymous.request(method, path).status_code == 401, (method, path)


@pytest.mark.parametrize(
    ("model", "besides"), [(RecipeAndChoicesQuery, {"recipe", "as_of"}), (RecipeIn, {"name", "hash"})]
)
def test_query_and_body_of_a_ranking_have_every_choice_of_a_recipe(model: type[BaseModel], besides: set[str]) -> None:
    assert set(model.model_fields) - besides == set(NAMED["recommended"].as_json()) - {"name"}
    for name, choice in CHOICES.items():
        described = model.model_fields[name].description or ""
        assert described.startswith(choice.wording.sentence), name


def test_the_documented_ranking_is_the_one_that_is_sent(admin: httpx.Client, populated: dict[str, str]) -> None:
    for recipe in ("google-mqm", "recommended"):
        sent = admin.get(f"/v1/campaigns/demo/ranking?recipe={recipe}").json()
        assert set(sent) == set(RankingOut.model_fields)
        assert set(sent["systems"][0]) == set(RankedSystemOut.model_fields)
        assert set(sent["pairs"][0]) == set(PairOut.model_fields)
        RankingOut.model_validate(sent)


def test_the_pages_of_the_document_load_from_here_only(anonymous: httpx.Client) -> None:
    page = anonymous.get("/docs")
    assert "<script>" not in page.text
    assert "://" not in page.text
    assert "'unsafe" not in page.headers["Content-Security-Policy"]
    for file in ("start.js", "swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png"):
        assert f"docs/{file}" in page.text
        assert anonymous.get(f"/docs/{file}").status_code == 200
    assert anonymous.get("/docs/docs.html").status_code == 422
    assert "://" not in anonymous.get("/docs/start.js").text
