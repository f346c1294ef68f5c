"""Protocols that are judged by the same kinds of forms: one of them stands for all where each takes its time."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pytest

from app.protocols import ALL
from app.protocols.base import Protocol


def family(protocol: Protocol[Any]) -> Hashable:
    """What raters see and fill in, whatever it is called and however many steps its scale has."""
    forms = [tuple(type(widget) for widget in form) for form in (protocol.form, protocol.document_form)]
    shown = protocol.hides_source, protocol.bases[0], protocol.contrastive
    errors = protocol.accepts_prefill, protocol.requires_prefill
    return protocol.level, *shown, *errors, protocol.questions is None, protocol.written is None, *forms


def first_of_each_family() -> list[str]:
    firsts: dict[Hashable, str] = {}
    for name in sorted(ALL):
        firsts.setdefault(family(ALL[name]), name)
    return list(firsts.values())


FIRSTS = first_of_each_family()
one_of_each_family = pytest.mark.parametrize(
    "protocol", [name if name in FIRSTS else pytest.param(name, marks=pytest.mark.soak) for name in sorted(ALL)]
)
