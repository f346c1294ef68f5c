"""Cross-origin requests, allowed only from origins in the settings; a refusal is a problem like any other."""

from __future__ import annotations

from fastapi import FastAPI, Request
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Receive, Scope, Send

from app.web.problems import problem_response

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
SENT = ("Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "Prefer", "Plumbline-Rater")
SHOWN = ("ETag", "Location", "Retry-After", "X-Request-Id", "Idempotent-Replayed")


class ProblemCorsMiddleware(CORSMiddleware):
    """The framework's rules, with our form of errors. Credentials are tokens, so cookies are not sent."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer preflight requests, and add headers to the other responses."""
        if scope["type"] == "http" and scope["method"] == "OPTIONS":
            headers = Headers(scope=scope)
            if "origin" in headers and "access-control-request-method" in headers:
                answer = self.preflight_response(headers)
                if answer.status_code >= 400:
                    answer = problem_response(Request(scope), answer.status_code, "This origin may not do that")
                await answer(scope, receive, send)
                return
        await super().__call__(scope, receive, send)


def install_cors(app: FastAPI, origins: tuple[str, ...]) -> None:
    """Allow these origins; without any, add nothing."""
    if origins:
        app.add_middleware(
            ProblemCorsMiddleware,
            allow_origins=origins,
            allow_methods=METHODS,
            allow_headers=SENT,
            expose_headers=SHOWN,
            max_age=600,
        )
