"""A client made from `/openapi.json` alone imports public data and fetches their ranking, each answer as documented."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema_rs
import pytest

from tests import described
from tests.golden.test_with_curl import serving_here
from tests.spine import BN_HI, SHARED, TED, expected, fresh, shared

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the public data of ../shared/data are not here"),
]
JSON, RAW = "application/json", "application/octet-stream"


@dataclass(slots=True)
class Client:
    """Operations by their identifiers; what is sent and what comes is checked against the schemas of the document."""

    http: httpx.Client
    document: Mapping[str, Any] = field(init=False)
    operations: dict[str, tuple[str, str, Mapping[str, Any]]] = field(init=False)

    def __post_init__(self) -> None:
        self.document = self.http.get("/openapi.json").json()
        self.operations = {
            operation["operationId"]: (method, path, operation)
            for path, methods in self.document["paths"].items()
            for method, operation in methods.items()
        }

    def check(self, schema: Mapping[str, Any], value: object) -> None:
        """Raise ValidationError where a value is not as its schema says."""
        whole = {**schema, "components": self.document["components"]}
        jsonschema_rs.validator_for({"$schema": "https://json-schema.org/draft/2020-12/schema", **whole}).validate(
            value
        )

    def call(self, name: str, body: object = None, /, **arguments: str) -> Any:
        """Call an operation. Raises KeyError for a parameter that the document does not know."""
        method, path, operation = self.operations[name]
        parameters = {one["name"]: one for one in described.parameters(self.document, operation)}
        query = {}
        for key, value in arguments.items():
            self.check(parameters[key]["schema"], value)
            if parameters[key]["in"] == "path":
                path = path.replace(f"{{{key}}}", quote(value, safe=""))
            else:
                query[key] = value
        assert "{" not in path
        sent: dict[str, Any] = {}
        if body is not None:
            kind = RAW if isinstance(body, bytes) else JSON
            schema = operation["requestBody"]["content"][kind]["schema"]
            if kind == JSON:
                self.check(schema, body)
            sent = {"content": body if isinstance(body, bytes) else json.dumps(body), "headers": {"Content-Type": kind}}
        answer = self.http.request(method.upper(), path, params=query, **sent)
        assert answer.status_code < 300, answer.text
        told = described.resolved(self.document, operation["responses"][str(answer.status_code)])["content"][JSON][
            "schema"
        ]
        self.check(told, answer.json())
        return answer.json()


@pytest.fixture(scope="module")
def client(postgres: Any, migrated_template: str) -> Iterator[Client]:
    with fresh(postgres, migrated_template) as spine, serving_here(spine) as curl:
        headers = {"Authorization": f"Bearer {curl.token}", "Accept": JSON}
        with httpx.Client(base_url=curl.origin, headers=headers, timeout=60) as http:
            yield Client(http)


def of_ted() -> dict[str, float]:
    rows = expected("mqm_ted.json")["ende"]["systems_ranked"]
    return {row["system"].replace("ref.A", "ref"): row["mqm"] for row in rows}


def of_bn_hi() -> dict[str, float]:
    return {row["system"]: row["z"] for row in expected("da_wikipedia2021.json")["bn-hi"]["systems"]}


@pytest.mark.parametrize(
    ("campaign", "protocol", "format", "path", "recipe", "judgments", "theirs"),
    [
        ("bn-hi", "da", "wmt-da", BN_HI, "wmt-da", 4461, of_bn_hi),
        pytest.param("ted", "mqm", "mqm-tsv", TED, "google-mqm", 7406, of_ted, marks=pytest.mark.soak),
    ],
    ids=["bn-hi", "ted"],
)
def test_public_data_are_imported_and_ranked(
    client: Client,
    campaign: str,
    protocol: str,
    format: str,
    path: str,
    recipe: str,
    judgments: int,
    theirs: Callable[[], dict[str, float]],
) -> None:
    client.call("create_campaign", {"key": campaign, "protocol": protocol})
    made = client.call("create_import", {"format": format}, campaign=campaign)
    where = {"campaign": campaign, "import": made["import"]}
    client.call("put_import_file", shared(path), **where, name="ratings.tsv")
    report = client.call("commit_import", **where)
    assert report["stored"]["judgments"] == judgments
    ranking = client.call("get_ranking", campaign=campaign, recipe=recipe)
    assert {row["system"]: row["score"] for row in ranking["systems"]} == pytest.approx(theirs(), abs=1e-9)


def test_what_the_document_does_not_say_is_caught(client: Client) -> None:
    """Negative control."""
    with pytest.raises(jsonschema_rs.ValidationError):
        client.call("create_campaign", {"key": "ted 2", "protocol": "mqm"})
    with pytest.raises(KeyError):
        client.call("get_ranking", campaign="bn-hi", colour="red")
