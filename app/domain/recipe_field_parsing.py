"""Parses the choices of a recipe from text and from JSON values, as the recipe declares them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import get_args

from app.domain.keys import is_key
from app.domain.recipe_choices import (
    MOST_EXCLUSIONS,
    Calibration,
    ExclusionTarget,
    Role,
    ScoringChoice,
    Source,
    Subject,
)
from app.domain.recipe_definition import CHOICES, NumberRange, RecipeChoice, format_limit

FILTERS = "there is no such choice: roles, accepted_only, exclude and standing say which rows are ranked"
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_ROLES = get_args(Role)


class InvalidRecipeValue(ValueError):
    """A value that a field cannot have; the message says which values it can have."""


def parse_recipe_option(name: str, values: Sequence[str]) -> object:
    """Parse the value of one query option."""
    if name in _LISTS:
        return parse_recipe_field(name, [part for text in values for part in text.split(",") if part])
    if len(values) != 1:
        raise InvalidRecipeValue("give it once")
    text = values[0]
    if name == "scoring":
        return _scoring_option(text)
    choice = CHOICES.get(name)
    if choice is not None and choice.limits is not None:
        return parse_recipe_field(name, None if choice.nullable and text == "auto" else _number(text))
    if choice is not None and choice.type is bool:
        if text not in {"true", "false"}:
            raise InvalidRecipeValue("must be true or false")
        return text == "true"
    return parse_recipe_field(name, text)


def parse_recipe_field(name: str, value: object) -> object:
    """Check the value of one field and return it."""
    parse = _PARSERS.get(name)
    if parse is None:
        raise InvalidRecipeValue(FILTERS if name == "filters" else f"unknown; available: {', '.join(_PARSERS)}")
    return parse(value)


def _number(text: str) -> int | float:
    if len(text) > 40 or not _NUMBER.fullmatch(text):
        raise InvalidRecipeValue("must be a number")
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _parser_of_literals(allowed: Sequence[str]) -> Callable[[object], object]:
    def parse(value: object) -> object:
        if not isinstance(value, str) or value not in allowed:
            raise InvalidRecipeValue(f"must be one of {', '.join(allowed)}")
        return value

    return parse


def _parser_of_integers(limits: NumberRange, *, nullable: bool) -> Callable[[object], object]:
    def parse(value: object) -> object:
        if nullable and value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not limits.least <= value <= limits.most:
            raise InvalidRecipeValue(f"must be a whole number from {limits.least} to {limits.most}")
        return value

    return parse


def _real(limits: NumberRange) -> Callable[[object], object]:
    def parse(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int | float) or not limits.least <= value <= limits.most:
            raise InvalidRecipeValue(
                f"must be a number from {format_limit(limits.least)} to {format_limit(limits.most)}"
            )
        return float(value)

    return parse


def _flag(value: object) -> object:
    if not isinstance(value, bool):
        raise InvalidRecipeValue("must be true or false")
    return value


def _roles(value: object) -> object:
    parts = _strings(value)
    if not parts or any(part not in _ROLES for part in parts):
        raise InvalidRecipeValue(f"must be one or more of {', '.join(_ROLES)}")
    return tuple(sorted(set(parts), key=_ROLES.index))


def _exclusions(value: object) -> object:
    parts = _strings(value)
    if len(parts) > MOST_EXCLUSIONS:
        raise InvalidRecipeValue(f"must be at most {MOST_EXCLUSIONS} exclusions")
    return tuple(sorted({_exclusion(part) for part in parts}))


def _exclusion(text: str) -> ExclusionTarget:
    what, _, key = text.partition(":")
    if what not in get_args(Subject) or not is_key(key):
        raise InvalidRecipeValue(f"must be WHAT:KEY with WHAT one of {', '.join(get_args(Subject))}")
    return ExclusionTarget(what, key)  # type: ignore[arg-type]  # one of the literals, as just checked


def _strings(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise InvalidRecipeValue("must be a list of texts")
    return value


def _scoring_option(text: str) -> ScoringChoice:
    """Parse `score`, `spans`, `spans:PROFILE`, `spans:PROFILE:CAP` (PROFILE may be empty) or `criterion:NAME`."""
    source, _, rest = text.partition(":")
    if source == "criterion":
        return _scoring({"from": source, "criterion": rest})
    profile, _, cap = rest.partition(":")
    return _scoring({"from": source, "profile": profile or None, "cap": _number(cap) if cap else None})


def _scoring(value: object) -> ScoringChoice:
    allowed = get_args(Source)
    known = {"from", "profile", "cap", "criterion"}
    if not isinstance(value, dict) or not set(value) <= known or value.get("from") not in allowed:
        raise InvalidRecipeValue(
            f"must have from (one of {', '.join(allowed)}), and may have profile, cap or criterion"
        )
    criterion = value.get("criterion")
    if (value["from"] == "criterion") != (isinstance(criterion, str) and is_key(criterion)):
        raise InvalidRecipeValue("criterion must be the key of a criterion, and goes with from criterion")
    profile, cap = value.get("profile"), value.get("cap")
    if profile is not None and not (isinstance(profile, str) and is_key(profile)):
        raise InvalidRecipeValue("profile must be the key of a weight profile")
    if cap is not None and (isinstance(cap, bool) or not isinstance(cap, int | float) or not 0 < cap <= 1e6):
        raise InvalidRecipeValue("cap must be a positive number up to 1000000")
    if value["from"] != "spans" and (profile is not None or cap is not None):
        raise InvalidRecipeValue("profile and cap are for spans")
    return ScoringChoice(value["from"], profile, None if cap is None else float(cap), criterion)


def _calibration(value: object) -> object:
    if value in {"cs", "ht", "cs_ht"}:
        raise InvalidRecipeValue(
            "must be raw in a ranking: cs, ht and cs_ht are methods of the comparison of campaigns `xsts`"
        )
    return _parser_of_literals(get_args(Calibration))(value)


_LISTS = frozenset({"roles", "exclude"})
_OF_THEIR_OWN: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {"scoring": _scoring, "roles": _roles, "exclude": _exclusions, "calibration": _calibration}
)


def _parser_of(choice: RecipeChoice) -> Callable[[object], object]:
    if choice.name in _OF_THEIR_OWN:
        return _OF_THEIR_OWN[choice.name]
    if choice.type is bool:
        return _flag
    if choice.limits is None:
        return _parser_of_literals(get_args(choice.type))
    return _parser_of_integers(choice.limits, nullable=choice.nullable) if choice.type is int else _real(choice.limits)


_PARSERS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {name: _parser_of(choice) for name, choice in CHOICES.items()}
)
