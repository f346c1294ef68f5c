"""Shorten the OpenAPI document: parts shared by several operations appear once, among the components.

Shared parameters keep their own name, and shared responses their status. If several parts with one name differ, all but
the most used one also carry the id of an operation that uses them, the shortest such id. Text that only repeats
adjacent text is left out, and values that may be null say so in their list of types.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Json = dict[str, Any]


def move_shared_parameters_to_components(document: Json) -> None:
    """Move each parameter used by several operations to the components, and refer to it there."""
    names = _names(
        (json.dumps(parameter, sort_keys=True), parameter["name"], operation)
        for operation, parameter in _parameters(document)
    )
    document.setdefault("components", {})["parameters"] = _components(names)
    for operation in _operations(document):
        operation["parameters"] = [
            _reference(parameter, names, "parameters") for parameter in operation.get("parameters", ())
        ]
        if not operation["parameters"]:
            del operation["parameters"]


def move_shared_responses_to_components(document: Json) -> None:
    """Move each response used by several operations to the components, and refer to it there."""
    names = _names(
        (json.dumps(response, sort_keys=True), status, operation["operationId"])
        for operation in _operations(document)
        for status, response in operation["responses"].items()
        if "$ref" not in response
    )
    document["components"]["responses"] |= _components(names)
    for operation in _operations(document):
        operation["responses"] = {
            status: _reference(response, names, "responses") for status, response in operation["responses"].items()
        }


def merge_problem_responses(document: Json) -> None:
    """Replace the problems of an operation by one `default` response, and list their statuses in `x-problems`."""
    for operation in _operations(document):
        statuses = [int(status) for status in operation["responses"] if status.startswith(("4", "5"))]
        for status in statuses:
            del operation["responses"][str(status)]
        operation["responses"]["default"] = {"$ref": "#/components/responses/problem"}
        operation["x-problems"] = statuses


def drop_derived_titles(document: Json) -> None:
    """Remove the titles that the library derives from the names of fields and parameters."""
    for _, parameter in _parameters(document):
        _untitle(parameter["name"], parameter["schema"])
    _drop_titles(document["components"]["schemas"])
    for name, schema in document["components"]["schemas"].items():
        if schema.get("title") == name:
            del schema["title"]


def drop_repeated_descriptions(document: Json) -> None:
    """Remove from a parameter's schema the parameter's own description, and `required: false`, the default."""
    for _, parameter in _parameters(document):
        if parameter["schema"].get("description") == parameter.get("description"):
            parameter["schema"].pop("description", None)
        if parameter.get("required") is False:
            del parameter["required"]


def write_nullable_types_as_lists(part: object) -> None:
    """Write `type: [T, null]` where the library writes `anyOf` with two schemas, T and null."""
    if isinstance(part, dict):
        match part.get("anyOf"):
            case [{"type": str(), **rest} as other, {"type": "null"}] if not {*rest} & {*part, "enum", "const"}:
                del part["anyOf"]
                part.update({**other, "type": [other["type"], "null"]})
        for inner in part.values():
            write_nullable_types_as_lists(inner)
    elif isinstance(part, list):
        for inner in part:
            write_nullable_types_as_lists(inner)


def write_inherited_fields_once(document: Json, base: str) -> None:
    """Let schemas with all fields of a base model refer to its schema instead of repeating them.

    Args:
        base: name of the base model's schema, which must be among the components.
    """
    schemas = document["components"]["schemas"]
    fields, required = schemas[base]["properties"], set(schemas[base].get("required", ()))
    for name, schema in schemas.items():
        own = schema.get("properties", {})
        same_fields = all(own.get(field) == declared for field, declared in fields.items())
        if name == base or not same_fields or required != fields.keys() & set(schema.get("required", ())):
            continue
        schema["allOf"] = [{"$ref": f"#/components/schemas/{base}"}]
        schema["properties"] = {field: declared for field, declared in own.items() if field not in fields}
        schema["required"] = [field for field in schema.get("required", ()) if field not in fields]


def _operations(document: Json) -> Iterator[Json]:
    for methods in document["paths"].values():
        yield from methods.values()


def _parameters(document: Json) -> Iterator[tuple[str, Json]]:
    """Yield each parameter with the id of its operation."""
    for operation in _operations(document):
        for parameter in operation.get("parameters", ()):
            yield operation["operationId"], parameter


def _names(uses: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Return a distinct name for each part that is used more than once, by its text.

    Args:
        uses: the text, the plain name and the operation of each use.
    """
    all_uses = list(uses)
    counts = Counter(text for text, _, _ in all_uses)
    shortest: dict[str, tuple[str, str]] = {}
    for text, name, operation in sorted(all_uses, key=lambda use: (len(use[2]), use[2])):
        if counts[text] > 1:
            shortest.setdefault(text, (operation, name))
    names: dict[str, str] = {}
    for text, (operation, name) in sorted(shortest.items(), key=lambda item: (-counts[item[0]], item[1])):
        names[text] = f"{name}-{operation}" if name in names.values() else name
    return names


def _components(names: Mapping[str, str]) -> Json:
    return dict(sorted((name, json.loads(text)) for text, name in names.items()))


def _reference(part: Json, names: Mapping[str, str], section: str) -> Json:
    name = names.get(json.dumps(part, sort_keys=True))
    return part if name is None else {"$ref": f"#/components/{section}/{name}"}


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
