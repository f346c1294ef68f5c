"""The document of the interface, read as a client does: what several operations share stands among the components."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def resolved(document: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """A part, or what it refers to, with the fields of the schemas that it extends."""
    while "$ref" in part:
        found: Any = document
        for name in part["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        part = found
    whole = dict(part)
    for extended in (resolved(document, base) for base in whole.pop("allOf", ())):
        whole["properties"] = {**extended["properties"], **whole["properties"]}
        whole["required"] = [*extended.get("required", ()), *whole.get("required", ())]
    return whole


def parameters(document: Mapping[str, Any], operation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parameters of an operation in their order."""
    return [resolved(document, one) for one in operation.get("parameters", ())]


def in_full(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with an operation for each address that `x-suffixes` names in short, and with each problem."""
    paths = {**dict(_by_suffix(document)), **document["paths"]}
    return {**document, "paths": {path: _with_problems(methods) for path, methods in paths.items()}}


def _with_problems(methods: Mapping[str, Any]) -> dict[str, Any]:
    """The operations of a path with a response for each status of `x-problems`, in place of `default`."""
    written = {}
    for method, operation in methods.items():
        responses = {status: response for status, response in operation["responses"].items() if status != "default"}
        for status in operation.get("x-problems", ()):
            responses[str(status)] = {"$ref": f"#/components/responses/{status}"}
        written[method] = {**operation, "responses": responses}
    return written


def _by_suffix(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        if suffixes := methods.get("get", {}).get("x-suffixes"):
            operation = {name: value for name, value in methods["get"].items() if name != "x-suffixes"}
            schema = {"type": "string", "enum": suffixes}
            kind = {"name": "kind", "in": "path", "required": True, "schema": schema}
            success = resolved(document, operation["responses"]["200"])
            files = {name: media for name, media in success["content"].items() if name != "application/json"}
            yield (
                f"{path}.{{kind}}",
                {
                    "get": {
                        **operation,
                        "operationId": f"{operation['operationId']}_as",
                        "parameters": [*operation.get("parameters", ()), kind],
                        "responses": {**operation["responses"], "200": {**success, "content": files}},
                    }
                },
            )
