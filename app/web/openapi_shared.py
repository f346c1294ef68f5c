"""What several operations of the OpenAPI document say alike, said once among its components.

Parameters are shared under their own name; of several that differ under one name, each but the most used bears the
operation that has it first. Titles that only repeat a field's name are left out: they were a tenth of the document.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]


def share_parameters(document: Json) -> None:
    """Put each parameter that stands in several operations among the components, and refer to it there."""
    uses = Counter(_text(parameter) for _, parameter in _parameters(document))
    names = _names(document, uses)
    components = {name: json.loads(text) for text, name in names.items()}
    document.setdefault("components", {})["parameters"] = dict(sorted(components.items()))
    for operation in _operations(document):
        operation["parameters"] = [
            {"$ref": f"#/components/parameters/{names[_text(parameter)]}"} if _text(parameter) in names else parameter
            for parameter in operation.get("parameters", ())
        ]
        if not operation["parameters"]:
            del operation["parameters"]


def drop_repeated_titles(document: Json) -> None:
    """Leave out the titles of fields and parameters that the library makes of their names."""
    for _, parameter in _parameters(document):
        _untitle(parameter["name"], parameter["schema"])
    _drop_titles(document["components"]["schemas"])


def _operations(document: Json) -> Iterator[Json]:
    for methods in document["paths"].values():
        yield from methods.values()


def _parameters(document: Json) -> Iterator[tuple[str, Json]]:
    """Each parameter with the operation that has it."""
    for operation in _operations(document):
        for parameter in operation.get("parameters", ()):
            yield operation["operationId"], parameter


def _text(parameter: Json) -> str:
    return json.dumps(parameter, sort_keys=True)


def _names(document: Json, uses: Counter[str]) -> dict[str, str]:
    """A name of its own for each parameter that is used more than once, by its text."""
    first: dict[str, tuple[str, str]] = {}
    for operation, parameter in _parameters(document):
        if uses[_text(parameter)] > 1:
            first.setdefault(_text(parameter), (operation, parameter["name"]))
    names: dict[str, str] = {}
    for text, (operation, name) in sorted(first.items(), key=lambda item: (-uses[item[0]], item[1])):
        names[text] = f"{name}-{operation}" if name in names.values() else name
    return names


def _untitle(name: str, schema: Json) -> None:
    if schema.get("title") == name.replace("_", " ").title():
        del schema["title"]


def _drop_titles(part: object) -> None:
    if isinstance(part, dict):
        for name, schema in (part["properties"] if isinstance(part.get("properties"), dict) else {}).items():
            _untitle(name, schema)
        for inner in part.values():
            _drop_titles(inner)
    elif isinstance(part, list):
        for inner in part:
            _drop_titles(inner)
