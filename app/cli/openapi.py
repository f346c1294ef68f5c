"""`plumbline openapi`: the document of the HTTP interface, for the repository and for generators of clients."""

from __future__ import annotations

import json

import typer

from app.main import create_app
from app.storage.db import Database
from app.web.deps import Options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("openapi")(openapi)


def openapi() -> None:
    """Print the OpenAPI document."""
    nowhere = Database("postgresql://", size=2)  # nothing connects: only the routes are looked at
    document = create_app(nowhere, Options()).openapi()
    typer.echo(json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True))
