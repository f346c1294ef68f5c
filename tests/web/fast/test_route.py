"""Fast routes: they answer as the framework's own do, and refuse at the declaration what they cannot give."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Path, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.routing import Route

from app.web import problems
from app.web.access import NoCredential
from app.web.deps import ServiceOptions
from app.web.fast.route import FastRoute, FrameworkFeatureNeeded, put_fast_routes_first
from app.web.request_bodies import BodyModel, read_json_body_as

REQUESTS: list[dict[str, Any]] = [
    {},
    {"path": "/things/0"},
    {"path": "/things/007"},
    {"path": "/things/%31"},
    {"path": "/things/one"},
    {"path": "/things/99999999999"},
    {"method": "GET"},
    {"method": "POST"},
    {"headers": {"X-Name": "ada"}},
    {"headers": {"X-Name": "no name"}},
    {"headers": {"X-Age": "36"}},
    {"headers": {"X-Age": "old"}},
    {"headers": {"X-Pets": "cat"}},
    {"headers": {"Authorization": ""}},
    {"headers": {"Authorization": ""}, "path": "/things/one"},
    {"headers": {"X-Name": "no name"}, "path": "/things/one", "json": {"n": "x"}},
    {"json": {"n": "x"}},
    {"json": {}},
    {"json": {"n": 1, "m": 2}},
    {"json": {"n": 13}},
    {"content": b"{", "headers": {"Content-Type": "application/json"}},
    {"content": b"n=1"},
]


class Body(BodyModel):
    """What is sent."""

    n: int


class Model(BaseModel):
    """What is no Response."""


async def get_name(
    request: Request,
    name: Annotated[str | None, Header(alias="X-Name", pattern="^[a-z]+$")] = None,
    x_age: Annotated[int, Header()] = 0,
    x_pets: Annotated[list[str] | None, Header()] = None,
) -> str:
    """A name, an age and pets of the headers, for who shows a credential."""
    if not request.headers.get("authorization"):
        raise NoCredential
    return f"{name} {x_age} {x_pets}"


async def put_thing(
    name: Annotated[str, Depends(get_name)],
    thing: Annotated[int, Path(alias="id", ge=1, le=1000)],
    body: Annotated[Body, read_json_body_as(Body)],
) -> Response:
    """Says what it got."""
    if body.n == 13:
        raise ValueError
    return Response(f"{name} {thing} {body.n}", 201, headers={"ETag": '"1"'})


def app_of(route_class: type[APIRoute]) -> FastAPI:
    """An application of one route of this class."""
    app = FastAPI()
    app.state.options = ServiceOptions()
    problems.install_problem_handlers(app, page=lambda *_: None)
    router = APIRouter(route_class=route_class)
    router.put("/things/{id}", responses={201: {"description": "Made."}})(put_thing)
    app.router.routes.extend(router.routes)
    return app


@pytest.mark.parametrize("asked", REQUESTS, ids=str)
def test_a_fast_route_answers_as_the_frameworks_own(asked: dict[str, Any]) -> None:
    plain, fast = (_answer(app_of(route_class), asked) for route_class in (APIRoute, FastRoute))
    assert fast == plain


def test_the_usual_request_goes_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(APIRoute, "handle")
    monkeypatch.delattr(Route, "handle")
    assert _answer(app_of(FastRoute), {})[0] == 201


def test_both_have_the_same_document() -> None:
    fast, plain = (app_of(route_class).openapi() for route_class in (FastRoute, APIRoute))
    assert fast == plain


def test_fast_routes_are_looked_at_first_in_their_order() -> None:
    app, fast = FastAPI(), APIRouter(route_class=FastRoute)
    for path in ("/b", "/a"):
        fast.put(path)(no_arguments)
    app.get("/c")(no_arguments)
    app.router.routes.extend(fast.routes)
    put_fast_routes_first(app)
    paths = [getattr(route, "path", "") for route in app.router.routes]
    assert paths[:2] == ["/b", "/a"]
    assert paths[-1] == "/c"


async def no_arguments() -> Response:
    """Nothing."""
    return Response()


def in_a_thread() -> Response:
    """It would hold all others up."""
    return Response()


async def a_model() -> Model:
    """It would have to be made a response."""
    return Model()


async def a_query(n: int) -> Response:
    """A parameter that is not of the path."""
    return Response(str(n))


def generated() -> Iterator[int]:
    """It would have to be ended."""
    yield 1


async def nested(name: Annotated[str, Depends(get_name)]) -> str:
    """A dependency of its own."""
    return name


async def required(request: Request, x_name: Annotated[str, Header()]) -> str:
    """A header that may not be missing."""
    return x_name


async def with_required(name: Annotated[str, Depends(required)]) -> Response:
    """A handler of it."""
    return Response(name)


async def with_generated(one: Annotated[int, Depends(generated)]) -> Response:
    """A handler of it."""
    return Response(str(one))


async def with_nested(name: Annotated[str, Depends(nested)]) -> Response:
    """A handler of it."""
    return Response(name)


@pytest.mark.parametrize("handler", [in_a_thread, a_model, a_query, with_generated, with_nested, with_required])
def test_what_only_the_framework_gives_is_refused_at_the_declaration(handler: Callable[..., Any]) -> None:
    with pytest.raises(FrameworkFeatureNeeded):
        APIRouter(route_class=FastRoute).put("/")(handler)


def _answer(app: FastAPI, asked: dict[str, Any]) -> tuple[int, dict[str, Any], Any]:
    """Status, headers and body; the id of a request differs."""
    default = {} if "content" in asked or "json" in asked else {"json": {"n": 7}}
    given = {"method": "PUT", **default, **asked}
    headers = {"Authorization": "Bearer x", **given.pop("headers", {})}

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(url=given.pop("path", "/things/5"), headers=headers, **given)

    answer = asyncio.run(ask())
    if answer.headers.get("content-type") == problems.MEDIA_TYPE:
        return answer.status_code, {}, {**answer.json(), "instance": ""}
    return answer.status_code, dict(answer.headers), answer.text
