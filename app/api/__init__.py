"""REST under /v1, one module per noun. Each module here defines one `router` and is discovered."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # commands read models of this package, and most of them have no use for the framework
    from fastapi import APIRouter


def find_routers() -> list[APIRouter]:
    """The routers of this package, by name of their module."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.ispkg)
    return [import_module(f"{__name__}.{name}").router for name in names]
