"""REST under /v1, with one module per noun. The package finds its modules itself; each defines a `router`."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # commands read models of this package, and most of them do not need the framework
    from fastapi import APIRouter


def find_routers() -> list[APIRouter]:
    """Return the routers of this package by the names of their modules."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.ispkg)
    return [import_module(f"{__name__}.{name}").router for name in names]
