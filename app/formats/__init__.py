"""Kinds of files, discovered: every module here without a leading underscore holds one `FORMAT`."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from app.domain.errors import NotFound
from app.formats._base import Format
from app.formats._reading import blocks, lines

__all__ = ["ALL", "blocks", "get", "lines"]


def _discover() -> Mapping[str, Format]:
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    found: list[Format] = [import_module(f"{__name__}.{name}").FORMAT for name in names]
    return MappingProxyType({f.name: f for f in sorted(found, key=lambda f: f.name)})


ALL: Mapping[str, Format] = _discover()


def get(name: str) -> Format:
    """The format of that name. Raises NotFound, listing what there is."""
    if name not in ALL:
        raise NotFound(f"no format {name[:80]!r}; there are {', '.join(ALL)}")
    return ALL[name]
