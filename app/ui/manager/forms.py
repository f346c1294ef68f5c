"""The options of a report as form fields, made from the model that the interface validates them with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from app.domain.errors import AppError, Invalid
from app.ui.messages import ENGLISH, LANGUAGES

TURNS_ON = frozenset({"claim", "margin"})
"""Options that change what a report asks. The form shows them beside the required fields."""
OF_SYSTEMS = frozenset({"candidate", "baseline", "system", "other"})


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of a form. choices: all possible values; empty if any text is allowed. value: its present content.

    first: it stands above the other fields, which fold. of_system: it takes the key of a system.
    fault: why its value was refused. focused: it is the first refused field.
    """

    name: str
    label: str
    value: str
    help: str
    choices: tuple[str, ...] = ()
    numeric: bool = False
    required: bool = False
    first: bool = False
    of_system: bool = False
    fault: str = ""
    focused: bool = False


def make_form_fields(model: type[BaseModel], given: Mapping[str, str]) -> list[FormField]:
    """Return the fields of a model, filled with the given values or else the defaults."""
    schema = model.model_json_schema()
    required = schema.get("required", ())
    return [_field(name, one, given, name in required) for name, one in schema.get("properties", {}).items()]


def mark_refused_fields(fields: Iterable[FormField], error: AppError) -> tuple[list[FormField], str]:
    """Return the fields with an error's message for each, and its other messages; empty if there are no others."""
    fields = list(fields)
    names = {one.name for one in fields}
    faults = {str(name): one.msg for one in error.places for name in one.loc if name in names}
    first = next((one.name for one in fields if one.name in faults), None)
    marked = [replace(one, fault=faults.get(one.name, ""), focused=one.name == first) for one in fields]
    if faults and all(names & set(one.loc) for one in error.places) and type(error) is Invalid:
        return marked, ""
    return marked, describe_error(error)


def describe_error(error: AppError) -> str:
    """Return the message of an error, with every place that it names."""
    places = [(" › ".join(str(part) for part in one.loc if part != "query"), one.msg) for one in error.places]
    told = "; ".join(": ".join(filter(None, place)) for place in places)
    return f"{error.detail or error.title()}{': ' if told else ''}{told}"


def select_filled_form_values(
    model: type[BaseModel], given: Mapping[str, str], language: str = ENGLISH
) -> dict[str, str]:
    """Return the values that were given for a model's fields; an empty field counts as not answered.

    language: numbers may use its decimal separator. A point is right in every language.
    """
    mark = LANGUAGES[language].decimal
    numeric = {one.name for one in make_form_fields(model, {}) if one.numeric}
    texts = {name: text.strip() for name, text in given.items() if name in model.model_fields and text.strip()}
    return {name: text.replace(mark, ".") if name in numeric else text for name, text in texts.items()}


def _field(name: str, schema: Mapping[str, Any], given: Mapping[str, str], required: bool) -> FormField:
    kinds = [one for one in (schema, *schema.get("anyOf", ())) if one.get("type") != "null"]
    types = {one.get("type") for one in kinds}
    choices = next((one["enum"] for one in kinds if "enum" in one), ())
    if "boolean" in types:
        choices = ("false", "true")
    optional = any(one.get("type") == "null" for one in schema.get("anyOf", ()))
    if choices and optional:
        choices = ("", *choices)
    return FormField(
        name=name,
        label=name.replace("_", " ").capitalize(),
        value=given.get(name, _text(schema.get("default"))),
        help=str(schema.get("description", "")),
        choices=tuple(map(str, choices)),
        numeric=bool(types & {"integer", "number"}),
        required=required,
        first=required or name in TURNS_ON,
        of_system=name in OF_SYSTEMS,
    )


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
