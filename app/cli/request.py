"""`plumbline request`: sends any request of the HTTP API from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from app.cli.kit.output_formats import write_to_stdout
from app.client import remote_server as _remote
from app.domain.errors import Invalid, Place
from app.domain.strict_json import parse_strict_json

METHODS = ("GET", "PUT", "POST", "PATCH", "DELETE")
NOT_VALID = "the request is not valid"


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("request")(send_api_request)


def send_api_request(
    method: Annotated[str, typer.Argument(help=f"One of {', '.join(METHODS)}.")],
    path: Annotated[str, typer.Argument(help="Path and query, as in the API: /v1/campaigns/demo/guidelines?x=y")],
    file: Annotated[Path | None, typer.Argument(help="The body as JSON; - is standard input.")] = None,
    if_match: Annotated[str | None, typer.Option(help="The version that you saw, if the API asks for it.")] = None,
    server: _remote.Server = None,
) -> None:
    """Send any request of the API to a server, for actions that have no command."""
    remote = _remote.find_configured_remote_server(server)
    if remote is None:
        raise Invalid(NOT_VALID, places=(Place(("--server",), "is missing: a request goes to a server"),))
    if method.upper() not in METHODS:
        raise Invalid(NOT_VALID, places=(Place(("METHOD",), f"must be one of {', '.join(METHODS)}"),))
    if not path.startswith("/"):
        raise Invalid(NOT_VALID, places=(Place(("PATH",), "must begin with /"),))
    body = _body(file) if file is not None else None
    answer = remote.send_request(method.upper(), path, body, if_match=if_match)
    if answer.content:
        write_to_stdout([answer.content])


def _body(file: Path) -> object:
    """Parse the body here, so that a mistake is reported before anything is sent. Raises Invalid."""
    try:
        text = typer.get_text_stream("stdin").read() if str(file) == "-" else file.read_text("utf-8")
        return parse_strict_json(text)
    except (OSError, ValueError, json.JSONDecodeError) as error:
        raise Invalid(NOT_VALID, places=(Place((str(file),), str(error)[:200]),)) from None
