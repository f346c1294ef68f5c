"""Post-editing: the rater corrects the output with as few changes as necessary, and counts its critical errors.

Sources: Bentivogli et al. 2018 §3–4 (post-edits, HTER); Licht et al. 2022 §5.1 (critical errors, edit distance, chrF
between an output and its post-edit); Snover et al. 2006 (TER). Basis: the source (bilingual) or a reference
(monolingual). All three distances need the output, so if it is unknown, only critical errors can rank.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.domain.errors import Invalid, Place
from app.protocols.base import (
    CountWidget,
    JudgedTexts,
    JudgmentMeasure,
    JudgmentScore,
    Payload,
    Protocol,
    ProtocolOptions,
    ScoringOptions,
    TextEditWidget,
    WorkedExample,
)
from app.protocols.kit.edits import compute_chrf, count_character_edits, count_ter_edits
from app.protocols.widgets import LONGEST_TEXT
from app.stats.ratings import ScoreScale

MOST_CRITICAL = 1000
RUBRIC = (
    (
        "post-edit",
        "Change only what must be changed: make the text right in meaning and language, but not your own wording.",
    ),
    ("nothing to change", "Leave the text as it is; that is an answer."),
    ("critical error", "Turns the meaning around or could do harm: negation, numbers, names, safety, insult."),
)
Name = Literal["ter", "critical", "levenshtein", "chrf"]
MEASURES = {
    "ter": JudgmentMeasure("ter", higher_is_better=False, needs_text=True),
    "critical": JudgmentMeasure("critical", higher_is_better=False),
    "levenshtein": JudgmentMeasure("levenshtein", higher_is_better=False, needs_text=True),
    "chrf": JudgmentMeasure("chrf", higher_is_better=True, scale=ScoreScale(0.0, 100.0), needs_text=True),
}


class PosteditOptions(ProtocolOptions):
    """rank_by: the number that ranks. tokens: what TER counts, characters for languages without spaces."""

    rank_by: Name = Field("ter", title="Rank by", description="The number by which systems are ranked.")
    tokens: Literal["words", "characters"] = Field(
        "words", title="TER counts", description="Choose characters for languages without spaces."
    )


class PosteditPayload(Payload):
    """The corrected text, and how many critical errors the output had. An empty text is valid: nothing could stay."""

    protocol: Literal["postedit"] = "postedit"
    text: Annotated[str, Field(max_length=LONGEST_TEXT)]
    critical_errors: Annotated[int, Field(ge=0, le=MOST_CRITICAL)]


def list_measures(options: ScoringOptions) -> tuple[JudgmentMeasure, ...]:
    """Return TER (×100), critical errors, edits per hundred characters, and chrF2; the campaign's choice is first."""
    first = _postedit_options(options).rank_by
    return (MEASURES[first], *(measure for name, measure in MEASURES.items() if name != first))


def check_payload(payload: PosteditPayload, shown: JudgedTexts, options: ScoringOptions) -> None:  # noqa: ARG001 (one signature for all)
    """Raise Invalid for a text that cannot be stored or shown."""
    if "\x00" in payload.text:
        raise Invalid("the text holds a null character", places=(Place(("text",), "holds a null character"),))


def score_judgment(payload: PosteditPayload, shown: JudgedTexts, options: ScoringOptions) -> JudgmentScore:
    """Return the requested number. Raises Invalid if it needs the output and this is unknown."""
    name = options.measure if options.measure is not None else _postedit_options(options).rank_by
    if not MEASURES[name].needs_text:
        return JudgmentScore(float(payload.critical_errors))
    if shown.text is None:
        why = f"{name} needs the text of the output, which is not known; rank_by=critical does without"
        raise Invalid(why, places=(Place(("text",), why),))
    before, after = shown.text.strip(), payload.text.strip()
    if name == "chrf":
        return JudgmentScore(compute_chrf(before, after))
    if name == "levenshtein":
        return JudgmentScore(count_character_edits(before, after).rate)
    return JudgmentScore(
        count_ter_edits(before, after, by_character=_postedit_options(options).tokens == "characters").rate
    )


def _postedit_options(options: ScoringOptions) -> PosteditOptions:
    return options.own if isinstance(options.own, PosteditOptions) else PosteditOptions()


_SOURCE = "The dose must not exceed two pills a day."
_RIGHT = "Die Dosis darf zwei Tabletten am Tag nicht überschreiten."


def _example(output: str, critical: int, value: float, why: str, **options: object) -> WorkedExample[PosteditPayload]:
    return WorkedExample(
        _SOURCE, output, PosteditPayload(text=_RIGHT, critical_errors=critical), value, why, options=options
    )


PROTOCOL = Protocol(
    name="postedit",
    version=1,
    title="Post-editing",
    payload=PosteditPayload,
    higher_is_better=False,
    scale=None,
    form=(
        TextEditWidget("text", start="output"),
        CountWidget("critical_errors", "Critical errors in the output", MOST_CRITICAL),
    ),
    rubric=RUBRIC,
    instructions="Correct the text with as few changes as possible, then count the critical errors that it had.",
    bases=("source", "reference", "both"),
    check=check_payload,
    score=score_judgment,
    options=PosteditOptions,
    measures=list_measures,
    written=lambda payload: payload.text,
    examples=(
        _example(_RIGHT, 0, 0.0, "nothing had to be changed"),
        _example(
            "Die Dosis muss zwei Tabletten am Tag überschreiten.", 1, 200 / 9, "one word replaced, one put in: 2 of 9"
        ),
        _example("Die Dosis darf nicht zwei Tabletten am Tag überschreiten.", 0, 100 / 9, "one word moved: 1 of 9"),
        _example("", 1, 100.0, "everything had to be written"),
        _example(
            "Die Dosis muss zwei Tabletten am Tag überschreiten.", 1, 1.0, "critical errors rank", rank_by="critical"
        ),
    ),
)
