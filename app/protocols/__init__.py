"""Ways of judging, discovered: every module here but `SERVING` holds one `PROTOCOL`."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from app.domain.errors import NotFound
from app.protocols.base import Protocol
from app.protocols.kit.forms import (
    NotAsked,
    RaterForm,
    check_answer,
    levels_asked,
    payload_type,
    rater_form,
    rubric_of,
    screen_form,
    widgets_of,
)
from app.protocols.kit.marked_errors import faults as span_faults
from app.protocols.kit.prefilled_errors import (
    PrefillAudit,
    PrefillOrigin,
    as_prefill,
    audit_prefill,
    audit_stored,
    with_ids,
)
from app.protocols.kit.screens import PreferencePayload, check_preference
from app.protocols.kit.visible import LabelledText, Visible, labelled_texts, labels, visible

__all__ = [
    "ALL",
    "LabelledText",
    "NotAsked",
    "PreferencePayload",
    "PrefillAudit",
    "PrefillOrigin",
    "RaterForm",
    "Visible",
    "as_prefill",
    "audit_prefill",
    "audit_stored",
    "check_answer",
    "check_preference",
    "get",
    "labelled_texts",
    "labels",
    "levels_asked",
    "payload_type",
    "rater_form",
    "rubric_of",
    "screen_form",
    "span_faults",
    "visible",
    "widgets_of",
    "with_ids",
]


SERVING = frozenset({"base", "kit", "widgets"})
"""What all protocols are made of: no protocols themselves."""


def _discover() -> Mapping[str, Protocol[Any]]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name not in SERVING)
    protocols: list[Protocol[Any]] = [import_module(f"{__name__}.{name}").PROTOCOL for name in names]
    return MappingProxyType({each.name: each for each in sorted(protocols, key=lambda each: each.name)})


ALL: Mapping[str, Protocol[Any]] = _discover()


def get(name: str) -> Protocol[Any]:
    """The protocol of that name. Raises NotFound, listing what there is."""
    if name not in ALL:
        raise NotFound(f"no protocol {name[:80]!r}; there are {', '.join(ALL)}")
    return ALL[name]
