"""Back-translation: a task of its own that ranks nothing.

Raters see only an output and write what it says in the language of the source. These texts become the outputs of a
second campaign, which judges them against a reference.

Source: Licht et al. 2022 §5.1 (back-translator, text, link). The score of a text is its number of words, so that the
work can be counted. It says nothing about quality, and no ranking may use it (`ranks=False`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.domain.errors import Invalid, Place
from app.protocols.base import (
    JudgedTexts,
    JudgmentMeasure,
    JudgmentScore,
    LinkWidget,
    Payload,
    Protocol,
    ScoringOptions,
    TextEditWidget,
    WorkedExample,
)
from app.protocols.widgets import LONGEST_TEXT

WEB = r"^https?://[^\s<>\"\x00-\x1f]+$"
LONGEST_LINK = 1998
RUBRIC = (
    ("text", "What the shown text says, mistakes of meaning included: do not make it better than it is."),
    ("bad language", "Do not copy it: write so that the meaning comes across equally well."),
    ("no meaning", "Write what you can understand; leave out the rest."),
    ("link", "Where your work is stored, if it is stored elsewhere too."),
)


class BackTranslationPayload(Payload):
    """The text in the language of the source, and where else it is kept, if anywhere."""

    protocol: Literal["back_translation"] = "back_translation"
    text: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
    link: Annotated[str, Field(pattern=WEB, max_length=LONGEST_LINK)] | None = None


def list_measures(options: ScoringOptions) -> tuple[JudgmentMeasure, ...]:  # noqa: ARG001 (one signature for all)
    """Return the length in words, a measure of work and not of quality."""
    return (JudgmentMeasure("words", higher_is_better=True),)


def check_payload(payload: BackTranslationPayload, shown: JudgedTexts, options: ScoringOptions) -> None:  # noqa: ARG001 (one signature for all)
    """Raise Invalid if there is no text, or one that cannot be an output."""
    why = "is empty" if not payload.text.strip() else "holds a null character" if "\x00" in payload.text else None
    if why:
        raise Invalid(f"the text {why}", places=(Place(("text",), why),))


def score_judgment(payload: BackTranslationPayload, shown: JudgedTexts, options: ScoringOptions) -> JudgmentScore:  # noqa: ARG001 (one signature for all)
    """Return the number of words written."""
    return JudgmentScore(float(len(payload.text.split())))


def _example(
    output: str, text: str, words: float, why: str, link: str | None = None
) -> WorkedExample[BackTranslationPayload]:
    return WorkedExample("", output, BackTranslationPayload(text=text, link=link), words, why)


PROTOCOL = Protocol(
    name="back_translation",
    version=1,
    title="Back-translation",
    payload=BackTranslationPayload,
    higher_is_better=True,
    scale=None,
    form=(TextEditWidget("text", start="empty"), LinkWidget("link")),
    rubric=RUBRIC,
    instructions="Write in the language of the source what the text says, neither better nor worse.",
    bases=("none",),
    check=check_payload,
    score=score_judgment,
    measures=list_measures,
    ranks=False,
    written=lambda payload: payload.text,
    examples=(
        _example("Die Dosis darf überschritten werden.", "The dose may be exceeded.", 5.0, "wrong stays wrong"),
        _example("Hund bellen Nacht.", "The dog barks at night.", 5.0, "bad language need not be copied"),
        _example("Der Hund bellte.", "The dog barked.", 3.0, "kept elsewhere, too", "https://example.org/bt/17"),
    ),
)
