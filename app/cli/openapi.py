"""`plumbline openapi`: the description of the HTTP interface, for the repository and for client generators."""

from __future__ import annotations

import json
from typing import Any

import typer

from app.main import create_app
from app.storage.db import Database
from app.web.deps import ServiceOptions

LEVELS = 3
"""How many levels of keys stand on lines of their own: section, path or kind of component, method or component."""


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("openapi")(print_openapi_document)


def print_openapi_document() -> None:
    """Print the OpenAPI document."""
    nowhere = Database("postgresql://", size=2)  # makes no connection: only the routes are read
    document = create_app(nowhere, ServiceOptions()).openapi()
    typer.echo(format_json_for_diffs(document, LEVELS))


def format_json_for_diffs(part: Any, levels: int) -> str:
    """Format JSON without spaces, but with each key of the upper levels on its own line, so that diffs are readable.

    >>> print(format_json_for_diffs({"paths": {"/b": {"get": {}}, "/a": {}}, "openapi": "3.1.0"}, 2))
    {
    "openapi":"3.1.0",
    "paths":{
    "/a":{},
    "/b":{"get":{}}}}
    """
    if not levels or not isinstance(part, dict) or not part:
        return json.dumps(part, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    keys = (
        f"\n{json.dumps(key, ensure_ascii=False)}:{format_json_for_diffs(part[key], levels - 1)}"
        for key in sorted(part)
    )
    return "{" + ",".join(keys) + "}"
