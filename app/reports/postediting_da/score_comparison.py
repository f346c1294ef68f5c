"""Direct scores beside post-edits: loading them, joining both by output, and explaining each disagreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from app.reports.inputs.post_edits import PostEdits
from app.reports.inputs.recipe_input import RecipeAndSeedOptions, RecipeInput, load_recipe_input
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.postediting_da.view import ScoreEditRateCorrelations, ScorePostEditConflict
from app.stats.aggregate import average_ratings_per_segment
from app.stats.plain_values import number_or_none
from app.stats.postediting import rates, score_relation
from app.stats.postediting.edit_matrix import EXTERNAL, OutputReferenceEditMatrix
from app.stats.postediting.operations import Tokenization, count_edit_operations
from app.stats.postediting.score_relation import Rule
from app.stats.ratings import Ratings
from app.stats.robustness.reranking import ScoreChangeExperimentsFromRatings, select_and_normalize_rows
from app.storage import output_authors
from app.storage.db import Session

Output = tuple[str, str, int]
MEASURES = ("mter", "hter", "ter_external")
SHORT, LONG = 4, 50
SUSPICIOUS = 15.0
"""TER by another tokenization is suspicious if it differs by more than this and by a third of the larger value."""


@dataclass(frozen=True, slots=True)
class CampaignScoresByOutput:
    """The direct scores of one campaign by output: (score in the recipe's unit, as given, number of ratings).

    Higher is always better. negated: the scores were penalties, which were negated. different: number of outputs whose
    text here is different.
    """

    snapshot: CampaignSnapshot
    scores: Mapping[Output, tuple[float, float, int]]
    negated: bool
    unit: str
    different: int
    data_hash: str
    dropped: tuple[dict[str, Any], ...]
    n_ratings: int


def load_direct_scores(
    session: Session, snapshot: CampaignSnapshot, options: RecipeAndSeedOptions, post_edited_texts: Mapping[Output, str]
) -> CampaignScoresByOutput:
    """Load the scores of outputs whose text equals the post-edited text of the same output."""
    inputs = load_recipe_input(session, snapshot, options)
    recipe = inputs.recipe
    if recipe.normalize == "auto":
        recipe = ScoreChangeExperimentsFromRatings.from_ratings(
            inputs.rows, recipe, frozenset(), inputs.documents
        ).recipe
    rows, selection = select_and_normalize_rows(inputs.rows, recipe)
    ranked = selection.ratings.where(selection.ranked)
    raw = _mean_by_output(ranked, inputs)
    texts = {
        at: row.text for at, row in output_authors.load_output_ids_and_texts(session, snapshot.campaign_id).items()
    }
    scores = {}
    different = 0
    for address, (score, n) in _mean_by_output(rows, inputs).items():
        if (
            address in texts
            and address in post_edited_texts
            and texts[address].strip() != post_edited_texts[address].strip()
        ):
            different += 1
            continue
        scores[address] = (score, raw[address][0], n)
    left = len(inputs.rows) - len(rows)
    return CampaignScoresByOutput(
        snapshot=snapshot,
        scores=scores,
        negated=not inputs.rows.higher_is_better,
        unit="raw" if recipe.normalize == "none" else recipe.normalize,
        different=different,
        data_hash=inputs.data_hash,
        dropped=({"reason": "not counted by the recipe", "n": left},) if left else (),
        n_ratings=len(rows),
    )


def _mean_by_output(rows: Ratings, inputs: RecipeInput) -> dict[Output, tuple[float, int]]:
    """Return the mean of the ratings of each output (higher is better) and their number."""
    segments = rows.segment_ratings()
    means = average_ratings_per_segment(segments, repeats=inputs.recipe.repeats)
    names, sign = rows.labels, 1.0 if rows.higher_is_better else -1.0
    addresses = (
        (names.systems[s], names.documents[names.segment_document[g]], int(names.segment_position[g]))
        for s, g in zip(means.system.tolist(), means.segment.tolist(), strict=True)
    )
    values = zip((sign * means.score + 0.0).tolist(), means.n.tolist(), strict=True)
    return dict(zip(addresses, values, strict=True))


@dataclass(frozen=True, slots=True)
class EditRatesAndScores:
    """The outputs of one system that have both a score and a rate of edits.

    at: positions in the list of segments. rates: by measure, NaN if missing. score, raw: higher is better.
    """

    system: str
    at: Sequence[int]
    rates: Mapping[str, np.ndarray[Any, np.dtype[np.float64]]]
    score: np.ndarray[Any, np.dtype[np.float64]]
    raw: np.ndarray[Any, np.dtype[np.float64]]
    n: Sequence[int]


def join_edit_rates_and_scores(
    post_edits: PostEdits, segments: Sequence[OutputReferenceEditMatrix], scores: CampaignScoresByOutput
) -> list[EditRatesAndScores]:
    """Return the edit rates and scores of each system."""
    lines = (_rates_and_scores(post_edits, segments, scores, key) for key in post_edits.systems)
    return [line for line in lines if line.at]


def _rates_and_scores(
    post_edits: PostEdits, segments: Sequence[OutputReferenceEditMatrix], scores: CampaignScoresByOutput, key: str
) -> EditRatesAndScores:
    code = post_edits.systems.index(key)
    rows: list[tuple[int, float, float, float, tuple[float, float, int]]] = []
    for place, (address, at) in enumerate(zip(post_edits.addresses, segments, strict=True)):
        scored = scores.scores.get((key, *address))
        if scored is None or code not in at.systems:
            continue
        mter = _rate(at.edits_to_closest_reference(code, at.post_edit_reference_mask))
        external = _rate(at.edits_to_closest_reference(code, at.origin == EXTERNAL))
        rows.append((place, mter, _hter(at, code), external, scored))
    columns = np.array([row[1:4] for row in rows], dtype=np.float64).reshape(-1, 3).T
    return EditRatesAndScores(
        key,
        [row[0] for row in rows],
        dict(zip(MEASURES, columns, strict=True)),
        np.array([row[4][0] for row in rows], dtype=np.float64),
        np.array([row[4][1] for row in rows], dtype=np.float64),
        [row[4][2] for row in rows],
    )


def _rate(pair: tuple[int, float] | None) -> float:
    return float("nan") if pair is None or not pair[1] else 100.0 * pair[0] / pair[1]


def _hter(at: OutputReferenceEditMatrix, code: int) -> float:
    own = [one.operations for _, one in rates.iterate_own_post_edit_distances([at], code)]
    length = sum(one.length for one in own)
    return 100.0 * sum(one.total_edits for one in own) / length if length else float("nan")


def make_score_edit_rate_correlations(
    campaign: str, scored_systems: Sequence[EditRatesAndScores]
) -> list[ScoreEditRateCorrelations]:
    """Make one line per system."""
    return [
        ScoreEditRateCorrelations(
            campaign=campaign,
            system=one.system,
            n=len(one.at),
            **{
                name: number_or_none(score_relation.correlate_rates_and_scores(one.rates[name], one.score))
                for name in MEASURES
            },
        )
        for one in scored_systems
    ]


@dataclass(frozen=True, slots=True)
class ScorePostEditDisagreement:
    """One disagreement: the system's line, the output in it, and the kind."""

    line: EditRatesAndScores
    n: int
    few_edits: bool
    residual: float


def find_score_post_edit_disagreements(
    scored_systems: Sequence[EditRatesAndScores], rule: Rule
) -> list[ScorePostEditDisagreement]:
    """Find the disagreements of every system, sorted by distance from the system's line."""
    disagreements = list[ScorePostEditDisagreement]()
    for line in scored_systems:
        known = np.flatnonzero(np.isfinite(line.rates["mter"]))
        conflicts = score_relation.find_score_edit_conflicts(line.rates["mter"][known], line.score[known], rule)
        for place in np.flatnonzero(conflicts.low | conflicts.high).tolist():
            residual = float(conflicts.residual[place])
            disagreements.append(
                ScorePostEditDisagreement(line, int(known[place]), bool(conflicts.low[place]), residual)
            )
    return sorted(disagreements, key=lambda one: (-round(abs(one.residual), 10), one.line.system, one.n))


def describe_score_post_edit_conflict(
    post_edits: PostEdits,
    segments: Sequence[OutputReferenceEditMatrix],
    sources: Mapping[Any, str],
    finding: ScorePostEditDisagreement,
) -> ScorePostEditConflict:
    """Describe the output to inspect, and possible reasons for the disagreement."""
    place = finding.line.at[finding.n]
    address, at = post_edits.addresses[place], segments[place]
    output = post_edits.outputs[(finding.line.system, *address)]
    code = post_edits.systems.index(finding.line.system)
    row = int(np.flatnonzero(at.systems == code)[0])
    edits = np.where(at.post_edit_reference_mask, at.edits[row], np.iinfo(np.int32).max)
    origin, closest = post_edits.texts[place].post_edits[int(edits.argmin())]
    return ScorePostEditConflict(
        system=finding.line.system,
        document=address[0],
        segment=address[1],
        what="few edits, low score" if finding.few_edits else "many edits, high score",
        mter=float(finding.line.rates["mter"][finding.n]),
        score=float(finding.line.score[finding.n]),
        raw=float(finding.line.raw[finding.n]),
        residual=finding.residual,
        source=sources.get(address),
        output=output,
        closest=closest,
        closest_of=post_edits.systems[origin],
        tags=list(_tags(post_edits, place, finding, closest)),
    )


def _tags(post_edits: PostEdits, place: int, finding: ScorePostEditDisagreement, closest: str) -> Iterator[str]:
    address = post_edits.addresses[place]
    output = post_edits.outputs[(finding.line.system, *address)]
    words = len(post_edits.tokens.tokenize(output))
    if words <= SHORT:
        yield "very short"
    if words >= LONG:
        yield "very long"
    critical = [e.critical for e in post_edits.edits if e.system == finding.line.system and e.address == address]
    if any(critical):
        yield "critical errors counted"
    if finding.line.n[finding.n] == 1:
        yield "one rating"
    if does_ter_depend_on_tokenization(post_edits.tokens, output, closest):
        yield "tokenization suspicious"


def does_ter_depend_on_tokenization(tokenization: Tokenization, output: str, closest_post_edit: str) -> bool:
    """Whether TER against the closest post-edit differs strongly with punctuation split off, or by character.

    Only this post-edit is used, because by character one pair of texts takes as long as all outputs of a segment by
    word.
    """
    known = _ter(tokenization, output, closest_post_edit)
    others = (
        replace(tokenization, normalized=not tokenization.normalized),
        Tokenization(by_character=not tokenization.by_character, cased=tokenization.cased),
    )
    rates = (_ter(tokens, output, closest_post_edit) for tokens in others)
    return any(abs(other - known) > max(SUSPICIOUS, max(other, known) / 3) for other in rates)


def _ter(tokens: Tokenization, output: str, reference: str) -> float:
    """Return the TER; NaN for an empty reference, so that it never differs from another rate."""
    counts = count_edit_operations(tokens.tokenize(output), tokens.tokenize(reference))
    return 100.0 * counts.total_edits / counts.length if counts.length else float("nan")
