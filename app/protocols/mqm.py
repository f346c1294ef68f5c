"""MQM: errors marked in the texts, each with severity and category; the score is a penalty.

Sources: Freitag et al. 2021 (hierarchy, weights); Riley et al. 2024 §4.1 (sum per rater and segment).
"""

from __future__ import annotations

from typing import Literal

from app.domain.spans import SEVERITIES
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

CATEGORIES = (
    ("Accuracy", ("Mistranslation", "Omission", "Addition", "Untranslated text", "Creative Reinterpretation")),
    ("Fluency", ("Grammar", "Spelling", "Punctuation", "Register", "Inconsistency", "Character encoding", "Display")),
    ("Terminology", ("Inappropriate for context", "Inconsistent use of terminology")),
    ("Style", ("Awkward", "Archaic or obscure word choice", "Bad sentence structure", "Unnatural or awkward")),
    ("Locale convention", ("Address", "Currency", "Date", "Name", "Number", "Telephone", "Time", "Measurement")),
    ("Non-translation!", ()),
    ("Source issue", ()),
    ("Other", ()),
)
RUBRIC = (
    ("major", "May confuse or mislead the reader: the meaning changes, or an important part cannot be understood."),
    ("minor", "Does not change the meaning and would not mislead, but a careful reader notices it."),
    ("neutral", "A remark that does not affect quality: no weight."),
    ("critical", "Could harm the reader or make the text unusable."),
    ("undecided", "The rater saw something but gave no severity: kept, no weight."),
)


class MQMPayload(MarkedErrorsPayload):
    """All errors that a rater marked in one output; none marked is a judgment too."""

    protocol: Literal["mqm"] = "mqm"


_SOURCE = "The dog barked, and nobody woke up."
_OUTPUT = "Der Hund bellte und, niemand wachte auf."
_COMMA = Span(start=19, end=20, severity="minor", category="Fluency/Punctuation")
_OMITTED = Span(side="source", start=16, end=34, severity="major", category="Accuracy/Omission", omission=True)

PROTOCOL = Protocol(
    name="mqm",
    version=1,
    title="Multidimensional quality metrics",
    payload=MQMPayload,
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
    examples=(
        WorkedExample(source=_SOURCE, output=_OUTPUT, payload=MQMPayload(), score=0.0, why="no error is a judgment"),
        WorkedExample(
            source=_SOURCE,
            output=_OUTPUT,
            payload=MQMPayload(errors=(_COMMA,)),
            score=0.1,
            why="minor punctuation weighs a tenth",
        ),
        WorkedExample(
            source=_SOURCE,
            output="Die Katze bellte.",
            payload=MQMPayload(
                errors=(
                    Span(start=0, end=9, severity="major", category="Accuracy/Mistranslation", note="dog, not cat"),
                    _OMITTED,
                    Span(severity="neutral", category="Style/Awkward"),
                )
            ),
            score=10.0,
            why="two major errors, one of them an omission marked in the source; neutral weighs nothing",
        ),
        WorkedExample(
            source=_SOURCE,
            output="Lorem ipsum dolor sit amet.",
            payload=MQMPayload(errors=(Span(start=0, end=27, severity="major", category="Non-translation!"),)),
            score=25.0,
            why="no translation at all",
        ),
        WorkedExample(
            source=_SOURCE,
            output=_OUTPUT,
            payload=MQMPayload(errors=(_COMMA, Span(start=4, end=8, severity="critical", category="Other"))),
            score=25.1,
            why="the profile of the error span annotation campaigns knows critical errors",
            profile="esa-mqm",
            options={"weights": "esa-mqm"},
        ),
    ),
)
