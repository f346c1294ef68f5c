"""The OpenAPI 3.1 document, from the framework's knowledge and the declarations of our own dependencies."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.reports.kit.report import ReportHeader
from app.web.access import RequiredRater, RequiredRole
from app.web.deps import get_database, get_database_session
from app.web.idempotency import get_idempotent_creation
from app.web.ifmatch import get_if_match
from app.web.openapi.components import (
    drop_derived_titles,
    drop_repeated_descriptions,
    merge_problem_responses,
    move_shared_parameters_to_components,
    move_shared_responses_to_components,
    write_inherited_fields_once,
    write_nullable_types_as_lists,
)
from app.web.openapi.representation_suffixes import fold_suffix_operations
from app.web.problems import MEDIA_TYPE, Problem
from app.web.query_parameters import RoutesCacheKey, generate_openapi_one_at_a_time
from app.web.request_bodies import JsonBodyReader, JsonOrFileBodyReader, receive_body_file

TITLES = {
    400: "The request cannot be read.",
    401: "The credential is missing or not valid.",
    403: "Your role lacks the right, or a cookie came from another page.",
    404: "It does not exist, or you may not see it.",
    408: "The body did not arrive in time.",
    409: "The current state does not allow it.",
    412: "It has changed since the state that `If-Match` names.",
    413: "The body is larger than allowed.",
    415: "This type of content is not accepted.",
    416: "The file has no such part.",
    422: "The input is not valid; `errors` says where.",
    428: "Send `If-Match` with the ETag that you saw.",
    429: "Too many requests; try again after `Retry-After` seconds.",
    503: "Busy; try again after `Retry-After` seconds.",
    507: "No space is left.",
}
TAGS = (
    "campaigns",
    "test sets",
    "raters",
    "plans",
    "tasks",
    "imports",
    "exports",
    "reports",
    "protocols",
    "access",
    "audit",
    "health",
)
DESCRIPTION = """
Human evaluation of machine translation and text generation: campaigns, judgments, rankings.

Send `Authorization: Bearer <token>`. Every error is an `application/problem+json` document (RFC 9457) with the id of
the request. The `default` response of an operation is such a problem; `x-problems` lists its possible statuses, and the
component `responses` describes each one. Lists have the form `{"items": […], "next": cursor}`. A `POST` that creates
something accepts an `Idempotency-Key`.

If a `GET` has `x-suffixes`, append one of them to its path to get the same data as a file, regardless of `Accept`:
`/v1/campaigns/ted/ranking.csv`. The query is the same.
"""
REQUEST_ID: Mapping[str, dict[str, Any]] = MappingProxyType(
    {"X-Request-Id": {"description": "Id of the request.", "schema": {"type": "string"}}}
)
SECURITY = {
    "token": {"type": "http", "scheme": "bearer", "description": "A token made by `POST /v1/tokens`."},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-staff",
        "description": "A browser session made by `POST /v1/session` (`staff` on plain http). Changes also need "
        "`X-CSRF-Token` and a request from our own page.",
    },
    "rater_session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-rater",
        "description": "The same for a rater, whose token came with a link or an invitation (`rater` on plain http).",
    },
}


class OpenApiDocument:
    """The document of an application and its bytes, made once: the first request makes them, others wait."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._making = threading.Lock()
        self._built: dict[str, Any] = {}
        self._bytes = b""

    def __call__(self) -> dict[str, Any]:
        """Return the document."""
        with self._making:
            if not self._built:
                self._built.update(build_openapi_document(self._app))
            return self._built

    def body(self) -> bytes:
        """Return the document as JSON bytes."""
        built = self()
        with self._making:
            if not self._bytes:
                self._bytes = json.dumps(built, ensure_ascii=False, separators=(",", ":")).encode()
            return self._bytes


def build_openapi_document(app: FastAPI) -> Mapping[str, Any]:
    """Build the document of all routes of the app that are in the schema, once for the same routes."""
    routes = (route for route in app.routes if isinstance(route, APIRoute) and route.include_in_schema)
    return MappingProxyType(_build(app.version, RoutesCacheKey(tuple(routes))))


@lru_cache(maxsize=2)
def _build(version: str, route_index: RoutesCacheKey) -> dict[str, Any]:
    routes = list(route_index.routes)
    document = generate_openapi_one_at_a_time(
        title="Plumbline",
        version=version,
        openapi_version="3.1.0",
        description=DESCRIPTION,
        tags=[{"name": name} for name in TAGS],
        routes=routes,
    )
    components = document.setdefault("components", {})
    components["securitySchemes"] = SECURITY
    components["responses"] = {str(status): _problem(status) for status in TITLES} | {"problem": _any_problem()}
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas.update(_schemas(routes))
    for route in routes:
        for method in route.methods or ():
            _complete(document["paths"][route.path_format][method.lower()], route)
    _close(document)
    fold_suffix_operations(document)
    drop_derived_titles(document)
    drop_repeated_descriptions(document)
    write_nullable_types_as_lists(document["components"]["schemas"])
    write_inherited_fields_once(document, ReportHeader.__name__)
    move_shared_parameters_to_components(document)
    move_shared_responses_to_components(document)
    merge_problem_responses(document)
    return document


def _close(part: object) -> None:
    """Forbid additional keys in objects with keys of a pattern, which the library leaves open."""
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    if isinstance(part, dict) and "patternProperties" in part:
        part.setdefault("additionalProperties", False)
    for child in inner:
        _close(child)


def list_dependencies(dependant: Dependant) -> Iterator[Any]:
    """Yield every callable on which a handler depends."""
    for inner in dependant.dependencies:
        yield inner.call
        yield from list_dependencies(inner)


def _schemas(routes: list[APIRoute]) -> dict[str, Any]:
    calls = [call for route in routes for call in list_dependencies(route.dependant)]
    bodies = {call.model for call in calls if isinstance(call, JsonBodyReader)}
    bodies |= {call.body.model for call in calls if isinstance(call, JsonOrFileBodyReader)}
    wanted: list[type[BaseModel]] = [Problem, ReportHeader, *sorted(bodies, key=lambda model: model.__name__)]
    _, made = models_json_schema(
        [(model, "validation") for model in wanted], ref_template="#/components/schemas/{model}"
    )
    schemas: dict[str, Any] = made["$defs"]
    return schemas


def _complete(operation: dict[str, Any], route: APIRoute) -> None:
    """Add name, body, security and problems to one operation."""
    calls = list(list_dependencies(route.dependant))
    operation["operationId"] = route.name
    operation["security"] = []
    for call in calls:
        if isinstance(call, RequiredRole):
            operation["security"] = [{"token": []}, {"session": []}]
        if isinstance(call, RequiredRater):
            operation["security"] = [{"token": []}, {"rater_session": []}]
        if (body := _body(call)) is not None:
            operation["requestBody"] = body
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _without_null(parameter["schema"])
    responses = operation["responses"]
    for status, declared in route.responses.items():
        # Add the declared examples again, because the framework drops null values from examples.
        responses[str(status)].get("content", {}).update(_examples(declared, responses[str(status)].get("content", {})))
    for problem in sorted(_problems(calls, route) | {int(code) for code in responses if code.startswith(("4", "5"))}):
        responses[str(problem)] = {"$ref": f"#/components/responses/{problem}"}
    operation["responses"] = {code: responses[code] for code in sorted(responses)}


def _body(call: Any) -> dict[str, Any] | None:
    """Return the request body that a dependency reads."""
    if isinstance(call, JsonBodyReader):
        return _json_body(call)
    if isinstance(call, JsonOrFileBodyReader):
        both = {**_json_body(call.body)["content"], **_file_body()["content"]}
        described = f"A file where the query has `{call.parameter}`, else JSON."
        return {"required": True, "description": described, "content": both}
    return _file_body() if call is receive_body_file else None


def _problems(calls: list[Any], route: APIRoute) -> set[int]:
    """Return the statuses of possible problems, according to the handler's dependencies."""
    statuses = {400, 422}
    for call in calls:
        if isinstance(call, RequiredRole | RequiredRater):
            statuses |= {401, 403, 503} | ({404} if route.param_convertors else set())
        elif _body(call) is not None:
            statuses |= {408, 413, 415, 507}
        elif call is get_if_match:
            statuses |= {409, 412, 428}
        elif call is get_idempotent_creation:
            statuses |= {409, 507}
        elif call in (get_database, get_database_session):
            statuses |= {503}
    return statuses


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove null from a parameter's schema: a parameter is present or absent, but never null."""
    said = [part for part in schema.get("anyOf", ()) if part.get("type") != "null"]
    if len(said) != 1:
        return schema
    return {**{name: value for name, value in schema.items() if name not in {"anyOf", "default"}}, **said[0]}


def _examples(declared: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    given = declared.get("content", {})
    return {kind: {**content[kind], **media} for kind, media in given.items() if kind in content}


def _json_body(body: JsonBodyReader[Any]) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{body.model.__name__}"}
    return {"required": True, "content": {"application/json": {"schema": schema, "examples": dict(body.examples)}}}


def _file_body() -> dict[str, Any]:
    media = {"schema": {"type": "string", "format": "binary"}}
    described = "The bytes of the file, gzipped or not, under any content type but a form's."
    return {"required": True, "description": described, "content": {"application/octet-stream": media}}


def _problem(status: int) -> dict[str, Any]:
    title = TITLES[status]
    example = {
        "type": f"urn:plumbline:problem:{status}",
        "title": title.rstrip("."),
        "status": status,
        "detail": title,
        "instance": "r_9b1deb4d3b7d4bad9bdd2b0d7b3dcb6d",
        "errors": [{"loc": ["body", "key"], "msg": "Field required"}] if status == 422 else [],
    }
    headers = dict(REQUEST_ID)
    if status in {429, 503}:
        headers["Retry-After"] = {"description": "Seconds to wait.", "schema": {"type": "integer"}}
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}}
    return {"description": title, "headers": headers, "content": content}


def _any_problem() -> dict[str, Any]:
    """Make the response to which an operation refers instead of each of its problems."""
    described = "A problem. `x-problems` lists its possible statuses; the response named by a status describes it."
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": described, "headers": dict(REQUEST_ID), "content": content}
