"""Protocols, discovered automatically: every module here except those in `SERVING` contains one `PROTOCOL`."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from app.domain.errors import NotFound
from app.protocols.base import Protocol
from app.protocols.kit.as_custom import convert_to_custom_options
from app.protocols.kit.forms import (
    QuestionNotAsked,
    RaterForm,
    check_answer,
    list_judged_levels,
    list_known_severities,
    make_rater_form,
    make_rubric,
    payload_type,
    screen_preference_widgets,
    widgets_at_level,
)
from app.protocols.kit.marked_errors import list_span_faults as span_faults
from app.protocols.kit.prefilled_errors import (
    PrefilledErrorOrigin,
    PrefillOutcomeCounts,
    anonymize_prior_errors,
    assign_error_ids,
    count_prefill_outcomes,
    count_prefill_outcomes_without_ids,
)
from app.protocols.kit.screen_preferences import PreferencePayload, check_preference
from app.protocols.kit.visible_texts import (
    ShownText,
    VisibleTextKinds,
    find_text_kinds_of_basis,
    list_shown_texts,
    list_visible_text_labels,
)

__all__ = [
    "ALL",
    "PreferencePayload",
    "PrefillOutcomeCounts",
    "PrefilledErrorOrigin",
    "QuestionNotAsked",
    "RaterForm",
    "ShownText",
    "VisibleTextKinds",
    "anonymize_prior_errors",
    "assign_error_ids",
    "check_answer",
    "check_preference",
    "convert_to_custom_options",
    "count_prefill_outcomes",
    "count_prefill_outcomes_without_ids",
    "find_text_kinds_of_basis",
    "get_protocol",
    "list_judged_levels",
    "list_known_severities",
    "list_shown_texts",
    "list_visible_text_labels",
    "make_rater_form",
    "make_rubric",
    "payload_type",
    "screen_preference_widgets",
    "span_faults",
    "widgets_at_level",
]


SERVING = frozenset({"base", "kit", "widgets"})
"""Modules that protocols are made of; they contain no protocol themselves."""


def _discover() -> Mapping[str, Protocol[Any]]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name not in SERVING)
    protocols: list[Protocol[Any]] = [import_module(f"{__name__}.{name}").PROTOCOL for name in names]
    return MappingProxyType({each.name: each for each in sorted(protocols, key=lambda each: each.name)})


ALL: Mapping[str, Protocol[Any]] = _discover()


def get_protocol(name: str) -> Protocol[Any]:
    """Return the protocol of that name. Raises NotFound, listing the existing ones."""
    if name not in ALL:
        raise NotFound(f"no protocol {name[:80]!r}; there are {', '.join(ALL)}")
    return ALL[name]
