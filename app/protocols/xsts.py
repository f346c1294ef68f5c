"""XSTS: how far two texts in different languages mean the same, five points (or four).

Source: Licht et al. 2022 §3 (scale, both texts shown without saying which is the source) and §5.1 (four points: 4 and 5
of the five are one). Mistakes of language that leave the meaning clear are not held against a text.
"""

from __future__ import annotations

from typing import Literal

from app.protocols._base import Example, Measure, Options, Payload, Protocol, Scored, ScoreOptions, Shown, Slider
from app.protocols._scales import Number, check_score
from app.stats.ratings import Scale

LEAST = 1.0
TICKS = (
    (1.0, "Not equivalent, few details shared"),
    (2.0, "Not equivalent, some details shared"),
    (3.0, "Mostly equivalent"),
    (4.0, "Near-equivalent: paraphrases"),
    (5.0, "Exactly equivalent"),
)
RUBRIC = (
    ("1", "Another topic, or the same with less than half of what matters in common."),
    ("2", "Some things agree, but who, what or to whom differs or is missing: something important is not the same."),
    ("3", "What matters is the same; only unimportant details differ or are missing, none contradicts."),
    ("4", "The same meaning in other words: style, emphasis or degree of politeness differs."),
    ("5", "The same meaning, said in the same way: nobody could tell which was made from which."),
    ("4 of 4 points", "Holds 4 and 5 together."),
)


class XSTSOptions(ScoreOptions):
    """points: how many the scale has."""

    points: Literal[4, 5] = 5


class XSTSPayload(Payload):
    """The point that the rater chose."""

    protocol: Literal["xsts"] = "xsts"
    score: Number


def scale_of(options: Options) -> Scale:
    """The scale of a campaign: 1 to 5, or 1 to 4."""
    points = options.own.points if isinstance(options.own, XSTSOptions) else 5
    return Scale(LEAST, float(points), 1.0)


def measures(options: Options) -> tuple[Measure, ...]:
    """One number; its scale is the campaign's."""
    return (Measure("score", higher_is_better=True, scale=None if options.standardised else scale_of(options)),)


def check(payload: XSTSPayload, shown: Shown, options: Options) -> None:  # noqa: ARG001 (one signature for all)
    """Raise Invalid where the score is no point of the campaign's scale."""
    check_score(payload.score, scale_of(options), options)


def score(payload: XSTSPayload, shown: Shown, options: Options) -> Scored:  # noqa: ARG001
    """The point as it stands (higher is better)."""
    return Scored(payload.score + 0.0)


_SOURCE = "My sister bought a red car yesterday."

PROTOCOL = Protocol(
    name="xsts",
    version=1,
    title="Cross-lingual semantic similarity (XSTS)",
    payload=XSTSPayload,
    higher_is_better=True,
    scale=Scale(LEAST, 5.0, 1.0),
    form=(Slider("score", LEAST, 5.0, step=1.0, ticks=TICKS),),
    rubric=RUBRIC,
    check=check,
    score=score,
    options=XSTSOptions,
    measures=measures,
    examples=(
        Example(_SOURCE, "Meine Schwester hat gestern ein rotes Auto gekauft.", XSTSPayload(score=5), 5.0, "the same"),
        Example(
            _SOURCE,
            "Schwester gestern rotes Auto kaufen getan.",
            XSTSPayload(score=4),
            4.0,
            "bad language, same meaning",
        ),
        Example(
            _SOURCE, "Meine Schwester hat gestern ein Auto gekauft.", XSTSPayload(score=3), 3.0, "the colour is lost"
        ),
        Example(_SOURCE, "Mein Bruder hat ein rotes Auto verkauft.", XSTSPayload(score=2), 2.0, "who and what differ"),
        Example(_SOURCE, "Morgen regnet es.", XSTSPayload(score=1), 1.0, "another topic"),
        Example(
            _SOURCE,
            "Gestern kaufte meine Schwester ein rotes Auto.",
            XSTSPayload(score=4),
            4.0,
            "the best of four points",
            options={"points": 4},
        ),
    ),
)
