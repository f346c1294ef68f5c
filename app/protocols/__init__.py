"""Protocols, discovered automatically: every module here except those in `SERVING` contains one `PROTOCOL`."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from app.domain.errors import NotFound
from app.protocols.base import Protocol
from app.protocols.kit.column_preferences import PreferencePayload, check_preference
from app.protocols.kit.custom_conversion import convert_to_custom_options
from app.protocols.kit.forms import (
    QuestionNotAsked,
    RaterForm,
    check_answer,
    find_payload_type,
    list_judged_levels,
    list_known_severities,
    list_screen_preference_widgets,
    list_widgets_at_level,
    make_rater_form,
    make_rubric,
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
from app.protocols.kit.visible_texts import (
    ShownText,
    VisibleTextKinds,
    list_shown_texts,
    list_visible_text_labels,
    resolve_visible_text_kinds,
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
    "find_payload_type",
    "get_protocol",
    "list_judged_levels",
    "list_known_severities",
    "list_screen_preference_widgets",
    "list_shown_texts",
    "list_visible_text_labels",
    "list_widgets_at_level",
    "make_rater_form",
    "make_rubric",
    "resolve_visible_text_kinds",
    "span_faults",
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
