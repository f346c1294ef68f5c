"""A page's module and all modules that it imports in one file: a first page needs few requests and no build step.

Every module becomes a function that runs once, after the modules that it imports, and returns its exports. Two rules
for the modules keep this simple. Each `import` statement stands at the start of a line and names one module by a
relative address. Whatever is exported is declared where it is exported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath

IMPORT = re.compile(r'^import (?:(\* as \w+|\{[^}"]*\}) from )?"(\.[^"]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let) ([\w$]+))", re.MULTILINE)


def bundle_module(name: str, sources: Mapping[str, str]) -> str:
    """Return one module that does the same as a module together with those that it imports.

    sources: the text of every module by its name. Raises KeyError if a module imports one that does not exist, and
    ValueError if modules import each other.
    """
    order = list(_order(name, sources, ()))
    places = {module: f"module{n}" for n, module in enumerate(dict.fromkeys(order))}
    parts = [_wrap_module(module, sources[module], places) for module in places if module != name]
    return "\n".join([*parts, _body(name, sources[name], places)])


def find_direct_imports(name: str, source: str) -> list[str]:
    """Return the names of the modules that a module imports directly."""
    return [normpath(join(dirname(name), found[2])) for found in IMPORT.finditer(source)]


def list_transitive_imports(name: str, sources: Mapping[str, str]) -> tuple[str, ...]:
    """Return all modules that a module needs, each after those that it imports. Raises as `bundle_module` does."""
    return tuple(dict.fromkeys(_order(name, sources, ())))[:-1]


def _order(name: str, sources: Mapping[str, str], above: tuple[str, ...]) -> Iterator[str]:
    """Yield a module after all modules that it imports."""
    if name in above:
        raise ValueError(f"these modules import each other: {' → '.join((*above, name))}")
    for other in find_direct_imports(name, sources[name]):
        yield from _order(other, sources, (*above, name))
    yield name


def _wrap_module(name: str, source: str, places: Mapping[str, str]) -> str:
    given = ", ".join(found[1] for found in EXPORT.finditer(source))
    return f"const {places[name]} = (() => {{\n{_body(name, source, places)}\nreturn {{ {given} }};\n}})();"


def _body(name: str, source: str, places: Mapping[str, str]) -> str:
    def taken(match: re.Match[str]) -> str:
        place, names = places[normpath(join(dirname(name), match[2]))], match[1]
        if names is None:
            return ""
        if names.startswith("*"):
            return f"const {names.removeprefix('* as ')} = {place};"
        return f"const {names.replace(' as ', ': ')} = {place};"

    return EXPORT.sub("", IMPORT.sub(taken, source))
