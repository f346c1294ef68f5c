"""Routes that call their handler directly, without the framework's resolution of dependencies.

Handler and dependencies are written once, as for any route, and the framework makes the document from them. Only the
path from a request to the handler is shorter: the framework's fields validate the parameters, the dependencies are
awaited one after another, and the response is sent. A request with an invalid parameter takes the framework's path,
which reports the fault.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

FROM_HANDLER: Final = frozenset({"path_params", "dependencies"})
FROM_DEPENDENCY: Final = frozenset({"header_params", "request_param_name"})
OF_ANY: Final = frozenset({"name", "call", "path", "use_cache", "scope"})
Parameters = Sequence[Any]
"""Parameters of a function as the framework stores them: each with its name, its alias and a validation."""


class FrameworkFeatureNeeded(TypeError):
    """A handler or a dependency needs a feature that only the framework provides."""


class InvalidParameter(Exception):
    """A parameter is not valid."""


@dataclass(frozen=True, slots=True)
class HandlerDependency:
    """A dependency of a handler. argument: the handler's name for it; request: its own name for the request."""

    argument: str
    call: Callable[..., Awaitable[Any]]
    request: str
    headers: Parameters


class FastRoute(APIRoute):
    """A route whose handler is awaited directly.

    Handler and dependencies are coroutine functions. A handler takes path parameters and dependencies and returns a
    Response. A dependency takes the request, and headers that may be missing. Raises FrameworkFeatureNeeded if one of
    them declares more.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _check(self.dependant, FROM_HANDLER)
        if self.response_field is not None:
            raise FrameworkFeatureNeeded(f"{self.name} has to return a Response")
        self.dependencies_in_order = [_dependency(dependant) for dependant in self.dependant.dependencies]

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Outer layers turn errors into problems, as for any route."""
        request = Request(scope, receive, send)
        try:
            arguments, headers = self._parameters(request)
        except InvalidParameter:
            await super().handle(scope, receive, send)
            return
        for dependency, given in zip(self.dependencies_in_order, headers, strict=True):
            arguments[dependency.argument] = await dependency.call(**{dependency.request: request}, **given)
        response: Response = await self.endpoint(**arguments)
        await response(scope, receive, send)

    def _parameters(self, request: Request) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the path parameters, and the headers of each dependency. Raises InvalidParameter."""
        if request.method not in (self.methods or ()):
            raise InvalidParameter
        path = _read_parameters(self.dependant.path_params, request.path_params)
        return path, [
            _read_parameters(dependency.headers, request.headers) for dependency in self.dependencies_in_order
        ]


def put_fast_routes_first(app: FastAPI) -> None:
    """Match fast routes before all others, because each route tried before them costs a regular expression."""
    app.router.routes.sort(key=lambda route: not isinstance(route, FastRoute))


def _read_parameters(parameters: Parameters, received: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by their names in the signature; missing ones keep their defaults.

    Raises InvalidParameter.
    """
    values: dict[str, Any] = {}
    for field in parameters:
        raw = received.get(field.alias)
        if raw is not None:
            values[field.name], faults = field.validate(raw, values, loc=())
            if faults:
                raise InvalidParameter
    return values


def _dependency(dependant: Dependant) -> HandlerDependency:
    """Convert a dependency from the framework's form. Raises FrameworkFeatureNeeded."""
    _check(dependant, FROM_DEPENDENCY)
    name, call, request = dependant.name, dependant.call, dependant.request_param_name
    required = [field.name for field in dependant.header_params if field.field_info.is_required()]
    if name is None or call is None or request is None or required:
        raise FrameworkFeatureNeeded(f"{call} has to take the request, and headers that may be missing")
    return HandlerDependency(name, call, request, dependant.header_params)


def _check(dependant: Dependant, allowed: frozenset[str]) -> None:
    """Raise FrameworkFeatureNeeded if a function needs more than is allowed, or is no coroutine function."""
    call = dependant.call
    if not (inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)):
        raise FrameworkFeatureNeeded(f"{call} is no coroutine function")
    wanted = {field.name for field in fields(dependant) if getattr(dependant, field.name)}
    if more := wanted - allowed - OF_ANY:
        raise FrameworkFeatureNeeded(f"{call} wants {', '.join(sorted(more))}")
