"""Pages of managers: the list of campaigns, and all about one. `table` lists them.

A page of the table is served as `pages` does it, or by a module here with a `router`.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from fastapi import APIRouter

from app.ui.manager.pages import add_pages_without_handlers
from app.ui.pages import PageRoute

router = APIRouter(route_class=PageRoute, include_in_schema=False)
add_pages_without_handlers(router)
for module in pkgutil.iter_modules(__path__):
    page = import_module(f"{__name__}.{module.name}")
    if "router" in vars(page):
        router.routes.extend(page.router.routes)
