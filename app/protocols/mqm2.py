"""MQM 2.0: errors of the MQM core typology, each multiplied by its severity; the score of a judgment is its penalty.

Sources: themqm.org (typology, severity multipliers 0, 1, 5, 25); Lommel et al. 2024 (AMTA). The score of a judgment is
its absolute penalty total. Values per word or per thousand words, or calibrated to a passing threshold, belong to a
system as a whole and are in the report of this name. A campaign's own table of weights replaces the error type weight
times the multiplier.
"""

from __future__ import annotations

from typing import Literal

from app.protocols.base import (
    Protocol,
    SideBySideMarkingOptions,
    Span,
    SpansWidget,
    WorkedExample,
)
from app.protocols.kit.marked_errors import (
    MarkedErrorsPayload,
    check_marked_errors_payload,
    limit_widget_to_weighted_severities,
    score_marked_errors_payload,
)

SEVERITIES = ("neutral", "minor", "major", "critical")
CATEGORIES = (
    ("Terminology", ("Inconsistent with terminology resource", "Inconsistent use of terminology", "Wrong term")),
    (
        "Accuracy",
        (
            "Mistranslation",
            "Overtranslation",
            "Undertranslation",
            "Addition",
            "Omission",
            "Do not translate",
            "Untranslated",
        ),
    ),
    (
        "Linguistic conventions",
        ("Grammar", "Punctuation", "Spelling", "Unintelligible", "Character encoding", "Textual conventions"),
    ),
    (
        "Style",
        (
            "Organization style",
            "Third-party style",
            "Inconsistent with external reference",
            "Language register",
            "Awkward style",
            "Unidiomatic style",
            "Inconsistent style",
        ),
    ),
    (
        "Locale conventions",
        (
            "Number format",
            "Currency format",
            "Measurement format",
            "Time format",
            "Date format",
            "Address format",
            "Telephone format",
            "Shortcut key",
        ),
    ),
    ("Audience appropriateness", ("Culture-specific reference", "Offensive")),
    (
        "Design and markup",
        ("Layout", "Markup tag", "Truncation or expansion", "Missing text", "Link or cross-reference"),
    ),
)
RUBRIC = (
    ("neutral (0)", "Noted for information or as a matter of taste: nothing has to be changed."),
    ("minor (1)", "A flaw that readers notice, but that does not mislead or hinder them."),
    ("major (5)", "Readers are misled or hindered in something that matters, or the flaw stands out."),
    ("critical (25)", "The text cannot be used, or could do harm; one of them can fail a text."),
)


class MQM2Payload(MarkedErrorsPayload):
    """All errors that a rater marked in one output; none marked is a judgment too."""

    protocol: Literal["mqm2"] = "mqm2"


_SOURCE = "Switch off the power before you open the case."
_WRONG = "Schalten Sie den Strom ein, bevor Sie das Gehäuse öffnen."
_CRITICAL = Span(start=23, end=26, severity="critical", category="Accuracy/Mistranslation", note="on, not off")
_COMMA = Span(start=26, end=27, severity="minor", category="Linguistic conventions/Punctuation")

PROTOCOL = Protocol(
    name="mqm2",
    version=1,
    title="MQM 2.0",
    payload=MQM2Payload,
    higher_is_better=False,
    scale=None,
    form=(SpansWidget("errors", severities=SEVERITIES, categories=CATEGORIES, source_side=True, omission=True),),
    rubric=RUBRIC,
    instructions="Mark every error with its severity and category; if a text has no errors, mark none.",
    contrastive=True,
    check=check_marked_errors_payload,
    score=score_marked_errors_payload,
    uses_profile=True,
    options=SideBySideMarkingOptions,
    adapt=limit_widget_to_weighted_severities,
    weights="mqm2",
    examples=(
        WorkedExample(_SOURCE, _WRONG.replace(" ein,", " aus,"), MQM2Payload(), 0.0, "no error is a judgment", "mqm2"),
        WorkedExample(_SOURCE, _WRONG, MQM2Payload(errors=(_CRITICAL,)), 25.0, "the reader could come to harm", "mqm2"),
        WorkedExample(
            _SOURCE,
            _WRONG,
            MQM2Payload(errors=(_CRITICAL, _COMMA)),
            26.0,
            "punctuation weighs what its severity says",
            "mqm2",
        ),
        WorkedExample(
            _SOURCE,
            "Strom aus vor dem Öffnen.",
            MQM2Payload(errors=(Span(severity="major", category="Style/Language register"), Span(severity="neutral"))),
            5.0,
            "neutral is multiplied by 0",
            "mqm2",
        ),
    ),
)
