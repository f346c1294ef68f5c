"""Routes that only choose a representation by a suffix (`….csv`) are listed once, at the path without it."""

from __future__ import annotations

from typing import Any

SUFFIX = ".{kind}"
RELEASED = frozenset({"get_ranking_as"})
"""Operations with a suffix that are in a release: generated clients call them, so they stay."""


def fold_suffix_operations(document: dict[str, Any]) -> None:
    """List the suffixes of each path in `x-suffixes`, and remove the operations that only add a suffix.

    Raises KeyError if a path with a suffix does not exist without it.
    """
    paths = document["paths"]
    for path in [path for path in paths if path.endswith(SUFFIX)]:
        by_suffix = paths[path]["get"]
        paths[path.removesuffix(SUFFIX)]["get"]["x-suffixes"] = _suffixes(by_suffix)
        if by_suffix["operationId"] not in RELEASED:
            del paths[path]


def _suffixes(operation: dict[str, Any]) -> list[str]:
    (schema,) = [parameter["schema"] for parameter in operation["parameters"] if parameter["name"] == "kind"]
    return schema.get("enum") or [schema["const"]]
