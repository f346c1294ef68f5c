"""HEAD requests: wherever there is GET, the same response without its body."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadRequestsLayer:
    """Answers HEAD by GET, and sends status and headers only (RFC 9110, section 9.3.2)."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request through."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        asked = {**scope, "method": "GET"}
        ended = False

        async def bare(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                # The layers around this one log and count by the route, which is found in the copy.
                scope.update({name: asked[name] for name in ("route", "endpoint") if name in asked})
                await send(message)
            elif not ended:
                # The response ends here, so the rest of a stream is not made.
                ended = True
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self.app(asked, receive, bare)
