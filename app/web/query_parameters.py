"""Strict query strings: only declared parameters, each once unless it is a list, in UTF-8.

The declared parameters are read from the OpenAPI document, so the two cannot disagree.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from fastapi import Request
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from app.domain.errors import AppError, Invalid, Place
from app.web.problems import mask_unsafe_name

MOST = 200
LONGEST = 8192
_DESCRIBING = threading.Lock()


class UnreadableQueryString(AppError):
    """The query string cannot be read."""

    published = "NotAQuery"

    kind = "bad_request"


class InvalidQueryParameters(Invalid):
    """The query is not valid."""

    published = "BadQuery"


@dataclass(frozen=True, eq=False)
class RoutesCacheKey:
    """A hashable key of routes, equal if all routes are the very same objects."""

    routes: tuple[APIRoute, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RoutesCacheKey) and self._ids() == other._ids()

    def __hash__(self) -> int:
        return hash(self._ids())

    def _ids(self) -> tuple[int, ...]:
        return tuple(map(id, self.routes))


def check_query_parameters(request: Request) -> None:
    """Raise UnreadableQueryString or InvalidQueryParameters unless the address declares every parameter."""
    raw: bytes = request.scope["query_string"]
    if not raw:
        return
    known = list_declared_parameters(request.scope["route"], request.method)
    seen: set[str] = set()
    wrong: list[Place] = []
    for name, value in _parse_query(raw):
        if name not in known:
            there = f"there are: {', '.join(known)}" if known else "there are none here"
            wrong.append(Place(("query", mask_unsafe_name(name)), f"unknown parameter; {there}"))
        elif name in seen and not known[name]:
            wrong.append(Place(("query", name), "give it once"))
        elif "\0" in value:
            wrong.append(Place(("query", name), "there is a NUL in it"))
        seen.add(name)
    if wrong:
        raise InvalidQueryParameters(places=tuple(wrong[:20]))


def _parse_query(raw: bytes) -> list[tuple[str, str]]:
    if len(raw) > LONGEST:
        raise UnreadableQueryString(f"it is longer than {LONGEST} bytes")
    try:
        return parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST)
    except UnicodeDecodeError:
        raise UnreadableQueryString("it is not percent-encoded UTF-8") from None
    except ValueError:
        raise UnreadableQueryString(f"it has more than {MOST} parameters") from None


def list_declared_parameters(route: BaseRoute, method: str) -> Mapping[str, bool]:
    """Return the parameters of a route, and whether each may be repeated."""
    if not isinstance(route, APIRoute) or not route.include_in_schema:
        return {}
    return _describe_route(RoutesCacheKey((route,))).get(method.lower(), {})


def generate_openapi_one_at_a_time(**what: Any) -> dict[str, Any]:
    """Call FastAPI's `get_openapi` in one thread at a time: if several call it, it sometimes misses a field.

    It then raises KeyError, which a client would see as a 500 on one of the first requests to a process.
    """
    with _DESCRIBING:
        return get_openapi(**what)


@lru_cache(maxsize=1024)
def _describe_route(routes: RoutesCacheKey) -> Mapping[str, Mapping[str, bool]]:
    """Return the parameters of one route by method in lower case, from the document of that route alone."""
    (route,) = routes.routes
    document = generate_openapi_one_at_a_time(title="", version="", routes=[route])
    return {
        method: {p["name"]: _is_list(p["schema"]) for p in operation.get("parameters", ()) if p["in"] == "query"}
        for method, operation in document["paths"].get(route.path_format, {}).items()
    }


def _is_list(schema: Mapping[str, Any]) -> bool:
    return "array" in [schema.get("type"), *(part.get("type") for part in schema.get("anyOf", ()))]
