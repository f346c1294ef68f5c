"""File formats, discovered: every module or folder here except `base` and `kit` holds one `FORMAT`."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from app.domain.errors import NotFound
from app.formats.base import Format
from app.formats.kit.reading import read_byte_blocks, read_lines

__all__ = ["ALL", "get_format", "read_byte_blocks", "read_lines"]


def _discover() -> Mapping[str, Format]:
    """Find all formats: a format is a module, or a folder with a module `format`; `base` and `kit` are shared."""
    modules = [module for module in pkgutil.iter_modules(__path__) if module.name not in {"base", "kit"}]
    paths = sorted(f"{module.name}.format" if module.ispkg else module.name for module in modules)
    formats: list[Format] = [import_module(f"{__name__}.{path}").FORMAT for path in paths]
    return MappingProxyType({each.name: each for each in sorted(formats, key=lambda each: each.name)})


ALL: Mapping[str, Format] = _discover()


def get_format(name: str) -> Format:
    """Return the format of that name. Raises NotFound, listing the existing ones."""
    if name not in ALL:
        raise NotFound(f"no format {name[:80]!r}; there are {', '.join(ALL)}")
    return ALL[name]
