"""The document of the interface, read as a client does: what several operations share stands among the components."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def resolved(document: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """A part, or what it refers to."""
    while "$ref" in part:
        found: Any = document
        for name in part["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        part = found
    return dict(part)


def parameters(document: Mapping[str, Any], operation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parameters of an operation in their order."""
    return [resolved(document, one) for one in operation.get("parameters", ())]
