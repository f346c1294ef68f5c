"""Pages of managers: the list of campaigns, and the pages of one campaign. `page_table` lists them.

Either `pages` serves a page of the table, or a module of this package with a `router` does.
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
