"""HEAD requests: for every GET route, the same response without its body."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadRequestsMiddleware:
    """Answers HEAD by GET, and sends status and headers only (RFC 9110, section 9.3.2)."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; send a HEAD request on as GET."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        asked = {**scope, "method": "GET"}
        ended = False

        async def bare(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                # The outer layers log and count by the route, which is set only in the copy of the scope.
                scope.update({name: asked[name] for name in ("route", "endpoint") if name in asked})
                await send(message)
            elif not ended:
                # The response ends here, so the rest of a stream is never computed.
                ended = True
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self.app(asked, receive, bare)
