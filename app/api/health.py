"""Whether the service lives, is ready, and which version it is."""

from __future__ import annotations

from importlib.metadata import version as installed
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from app.stats.result import METHOD_VERSION
from app.web.access import Public
from app.web.deps import DatabaseDep
from app.web.examples import shows

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """All is well; anything else is a problem."""

    status: Literal["ok"] = "ok"


class Version(BaseModel):
    """version: of the program. method_version: of the statistics; reports of one are comparable."""

    version: str
    method_version: str


@router.get("/livez", summary="Is the process alive", responses=shows(200, Health()))
async def livez(_: Public) -> Health:
    """Answers as long as the process can answer; it does not look at the database."""
    return Health()


@router.get("/readyz", summary="Can requests be served", responses=shows(200, Health()))
def readyz(_: Public, database: DatabaseDep) -> Health:
    """Asks the database; 503 while it cannot be reached."""
    database.ping()
    return Health()


@router.get("/version", summary="Which version", responses=shows(200, Version(version="0.1.0", method_version="1")))
async def version(_: Public) -> Version:
    """The version of the program and of its statistics."""
    return Version(version=installed("plumbline"), method_version=METHOD_VERSION)
