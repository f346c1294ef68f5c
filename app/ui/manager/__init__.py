"""Pages of managers: the list of campaigns, and all about one. Every module here that has a `router` is part of it."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from fastapi import APIRouter

router = APIRouter(include_in_schema=False)
for module in pkgutil.iter_modules(__path__):
    page = import_module(f"{__name__}.{module.name}")
    if "router" in vars(page):
        router.routes.extend(page.router.routes)
