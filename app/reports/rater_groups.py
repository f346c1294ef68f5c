"""Raters grouped by their answer to a question: severity of groups, agreement between them, similarity of rankings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Annotated, Any

import numpy as np
from pydantic import Field, StringConstraints

from app.domain.errors import Invalid, Place
from app.domain.questionnaires import MOMENTS, NAME, Question, read_questionnaires
from app.reports.inputs.recipe_input import NOTHING, RecipeAndSeedOptions, RecipeInput, load_recipe_input
from app.reports.inputs.segment_scores import make_rater_segment_scores
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit import text_formatting
from app.reports.kit.charts.heat_map import HeatMap, plot_heat_map, shade_scores
from app.reports.kit.columns import Column, make_csv_rows_function, make_system_mean_columns, make_table_section
from app.reports.kit.report import Report, ReportComputation, ReportHeader, TableSection, make_undivided_computation
from app.reports.kit.result_part import FrozenFiniteResultModel
from app.stats.rater_groups import (
    SMALLEST_GROUP,
    RaterGroupPairStatistics,
    RaterGroupStatistics,
    compute_rater_group_pair_statistics,
    compute_rater_group_statistics,
    merge_small_rater_groups,
)
from app.stats.ratings import Ratings
from app.storage import questionnaires
from app.storage.db import Session

NO_ANSWER = "(no answer)"
NO_QUESTION = (
    "no question to raters is marked for grouping, so there are no groups: mark one with `group` while the campaign is "
    "a draft"
)
FEW_RATERS = (
    f"fewer than {SMALLEST_GROUP} raters judged: figures of a group so small would be those of a person, "
    "so none are shown; let more raters judge"
)
SINGLE_GROUP = (
    "all raters are in a single group, so there is nothing to compare, because other answers have too few raters or "
    "none; let raters with other answers judge"
)
NOT_SHARED = (
    "no output was scored by raters of two groups, so severity and agreement cannot be distinguished from "
    "differences between outputs; have some outputs rated by both groups"
)


class RaterGroupOptions(RecipeAndSeedOptions):
    """Which question groups the raters. A recipe selects the rows; scores are as given."""

    question: Annotated[str, StringConstraints(pattern=r"^([A-Za-z][A-Za-z0-9_-]{0,63})?$")] = Field(
        "",
        description="Name of a question that groups raters; empty for the first one.",
        examples=["translation"],
    )


class RaterGroup(FrozenFiniteResultModel):
    """Raters with the same answer, or with several answers that too few raters gave."""

    group: str = Field(description="The answer; several, separated by ` / `, if groups were too small.")
    answers: list[str | None] = Field(description="Values of the options; null for raters who did not answer.")
    raters: int
    ratings: int
    outputs: int
    mean: float
    sd: float | None
    shared: int = Field(description="Outputs that raters of other groups scored, too.")
    severity: float | None = Field(
        description="Mean difference from the other raters on these outputs; below 0: lower scores."
    )
    severity_sd: float | None = Field(description="The same in SDs of all ratings.")
    means: list[float | None] = Field(description="Means by system, in the order of `systems`.")


class RaterGroupPair(FrozenFiniteResultModel):
    """Two groups on the outputs that both scored, and their rankings of systems."""

    first: str
    second: str
    outputs: int
    difference: float | None = Field(description="Mean of the first group's scores minus the second's.")
    pearson: float | None
    systems: int
    kendall: float | None = Field(description="Kendall's τ-b of the mean scores of systems.")
    spa: float | None = Field(description="Soft pairwise accuracy.")
    spa_pairs: int


class RaterGroupsView(ReportHeader):
    """Raters by their answer to a question."""

    recipe: str
    question: str | None = Field(description="Name of the question; null if no question groups raters.")
    label: str | None = Field(description="The question in English, or in the language in which it was written.")
    smallest: int = Field(description="Least number of raters in a group; smaller groups are merged.")
    higher_is_better: bool
    systems: list[str] = Field(description="Best first, by the mean of all ratings.")
    groups: list[RaterGroup]
    pairs: list[RaterGroupPair]


@dataclass(frozen=True, slots=True)
class _Answers:
    """A question, and the answer of each rater, by key."""

    question: Question
    given: Mapping[str, object]


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: RaterGroupOptions
) -> ReportComputation[RaterGroupsView]:
    answers = _load_answers(session, snapshots[0], options.question)
    inputs = load_recipe_input(session, snapshots[0], options)
    return make_undivided_computation(lambda: _result(inputs, answers))


def _grouping_questions(snapshot: CampaignSnapshot) -> list[Question]:
    asked = read_questionnaires(snapshot.campaign.settings)
    return [question for moment in MOMENTS for question in asked.questions_at(moment) if question.group]


def _load_answers(session: Session, snapshot: CampaignSnapshot, name: str) -> _Answers | None:
    """Load the question and its answers. Raises Invalid if no question of this name groups raters."""
    asked = _grouping_questions(snapshot)
    wanted = [question for question in asked if name in ("", question.name)]
    if name and not wanted:
        there = f"there are: {', '.join(question.name for question in asked)}" if asked else "none does"
        raise Invalid(
            "the query is not valid",
            places=(Place(("query", "question"), f"no question of this name groups raters; {there}"),),
        )
    if not wanted:
        return None
    every = questionnaires.load_answers_of_all_raters(session, snapshot.campaign_id)
    return _Answers(wanted[0], {rater: given.get(wanted[0].name) for rater, given in every.items()})


def _answers_key(session: Session, snapshot: CampaignSnapshot) -> list[object]:
    """Return a hash of the answers that group raters; answers can change without a new data version."""
    names = {question.name for question in _grouping_questions(snapshot)}
    if not names:
        return []
    every = questionnaires.load_answers_of_all_raters(session, snapshot.campaign_id)
    kept = {rater: {name: given[name] for name in sorted(names & given.keys())} for rater, given in every.items()}
    return [hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()]


def _result(inputs: RecipeInput, answers: _Answers | None) -> RaterGroupsView:
    scores = make_rater_segment_scores(inputs, "none")
    rows = scores.rows
    named = [] if answers is None else _group_raters(rows, answers)
    if answers is not None and sum(len(raters) for _, raters in named) < SMALLEST_GROUP:
        named = []
    group = np.full(len(rows.labels.raters), -1, dtype=np.intp)
    for n, (_, codes) in enumerate(named):
        group[codes] = n
    order = _best_first(rows)
    names = [_name(values) for values, _ in named]
    figures = compute_rater_group_statistics(rows, group, len(named))
    pairs = compute_rater_group_pair_statistics(rows, group, len(named), seed=inputs.recipe.seed)
    spread = float(rows.score.std(ddof=1)) if len(rows) > 1 else 0.0
    return RaterGroupsView(
        **inputs.report_header_fields(
            scores.dropped, [*scores.warnings, *_warnings(rows, answers, figures)], scores.data_hash
        ),
        recipe=inputs.recipe.name,
        question=None if answers is None else answers.question.name,
        label=None if answers is None else _label(answers.question),
        smallest=SMALLEST_GROUP,
        higher_is_better=rows.higher_is_better,
        systems=[rows.labels.systems[code] for code in order],
        groups=[
            _group_row(name, values, one, spread, order)
            for name, (values, _), one in zip(names, named, figures, strict=True)
        ],
        pairs=[_pair_row(names, pair) for pair in pairs],
    )


def _group_raters(rows: Ratings, answers: _Answers) -> list[tuple[list[str | None], list[int]]]:
    """Return answers with the codes of the raters who gave them and judged; small groups are merged."""
    options: list[str | None] = [*(option.value for option in answers.question.options), None]
    by_answer: dict[str | None, list[int]] = {value: [] for value in options}
    for code in np.unique(rows.rater).tolist():
        value = answers.given.get(rows.labels.raters[code])
        by_answer[value if isinstance(value, str) and value in by_answer else None].append(code)
    folded = merge_small_rater_groups([len(by_answer[value]) for value in options])
    return [
        ([options[place] for place in places], [code for place in places for code in by_answer[options[place]]])
        for places in folded
    ]


def _name(values: Sequence[str | None]) -> str:
    """Return the answers of a group in one line, by the values of their options."""
    return " / ".join(NO_ANSWER if value is None else text_formatting.make_printable(value) for value in values)


def _label(question: Question) -> str:
    return text_formatting.make_printable(question.label.get("en") or next(iter(question.label.values())))


def _best_first(rows: Ratings) -> list[int]:
    """Return the codes of the rated systems by the mean of all their ratings, best first."""
    n = np.bincount(rows.system, minlength=rows.n_systems)
    means = np.bincount(rows.system, rows.score, minlength=rows.n_systems) / np.maximum(n, 1)
    order = np.argsort(-rows.better_sign * np.round(means, 10), kind="stable")
    return [code for code in order.tolist() if n[code]]


def _group_row(
    name: str, values: list[str | None], figures: RaterGroupStatistics, spread: float, order: Sequence[int]
) -> RaterGroup:
    plain = asdict(figures)
    severity = figures.severity
    return RaterGroup(
        **{**plain, "means": [figures.means[code] for code in order]},
        group=name,
        answers=values,
        severity_sd=None if severity is None or not spread else severity / spread,
    )


def _pair_row(names: Sequence[str], pair: RaterGroupPairStatistics) -> RaterGroupPair:
    return RaterGroupPair(**{**asdict(pair), "first": names[pair.first], "second": names[pair.second]})


def _warnings(rows: Ratings, answers: _Answers | None, figures: Sequence[RaterGroupStatistics]) -> Iterator[str]:
    if not len(rows):
        yield NOTHING
        return
    if answers is None:
        yield NO_QUESTION
    elif not figures:
        yield FEW_RATERS
    elif len(figures) == 1:
        yield SINGLE_GROUP
    elif not any(one.shared for one in figures):
        yield NOT_SHARED
    if answers is not None and not rows.documents_known:
        yield "documents are unknown: SPA exchanges the signs of imported units; import the documents if there are any"


def _tables(result: RaterGroupsView) -> Sequence[TableSection]:
    """Make tables of groups, of pairs of groups, and of the mean of each system in each group."""
    if not result.groups:
        return []
    digits = text_formatting.choose_decimals([mean for row in result.groups for mean in row.means])
    groups: list[Column[RaterGroup]] = [
        Column(heading="Answer", key="group", names=True),
        Column(heading="Raters", key="raters", digits=0),
        Column(heading="Ratings", key="ratings", digits=0),
        Column(heading="Mean", key="mean", digits=digits),
        Column(heading="SD", key="sd", digits=digits),
        Column(heading="Shared outputs", key="shared", digits=0),
        Column(heading="Severity", key="severity", digits=digits),
        Column(heading="in SD", key="severity_sd", digits=2),
    ]
    pairs: list[Column[RaterGroupPair]] = [
        Column(heading="Group", key="first", names=True),
        Column(heading="and", key="second", names=True),
        Column(heading="Shared outputs", key="outputs", digits=0),
        Column(heading="Difference", key="difference", digits=digits),
        Column(heading="Pearson", key="pearson", digits=3),
        Column(heading="Systems", key="systems", digits=0),
        Column(heading="Kendall τ", key="kendall", digits=3),
        Column(heading="SPA", key="spa", digits=3),
    ]
    means: list[Column[RaterGroup]] = [
        Column(heading="Answer", key="group", names=True),
        *make_system_mean_columns(result.systems, digits),
    ]
    return [
        make_table_section("Groups", groups, result.groups),
        *([make_table_section("Pairs of groups", pairs, result.pairs)] if result.pairs else []),
        make_table_section("Mean scores of systems", means, result.groups),
    ]


@dataclass(frozen=True, slots=True)
class _GroupCell:
    """One system in one group."""

    group: RaterGroup
    system: str
    mean: float | None


CELLS: Sequence[Column[_GroupCell]] = (
    Column(key="group", value=attrgetter("group.group")),
    Column(key="raters", value=attrgetter("group.raters")),
    Column(key="ratings", value=attrgetter("group.ratings")),
    Column(key="group_mean", value=attrgetter("group.mean")),
    Column(key="shared", value=attrgetter("group.shared")),
    Column(key="severity", value=attrgetter("group.severity")),
    Column(key="severity_sd", value=attrgetter("group.severity_sd")),
    Column(key="system"),
    Column(key="mean"),
)


def _cells(result: RaterGroupsView) -> Iterator[_GroupCell]:
    for group in result.groups:
        for system, mean in zip(result.systems, group.means, strict=True):
            yield _GroupCell(group, system, mean)


def _caption(result: RaterGroupsView) -> str:
    """Say what the groups are and which data they come from."""
    version = next(iter(result.campaigns.values()))
    of = "" if result.label is None else f" by their answer to “{result.label}”"
    return (
        f"Raters{of}, scores as given, rows of recipe {result.recipe}. Severity: mean difference to the raters of "
        f"other groups on the outputs that these also scored. A group has at least {result.smallest} raters; smaller "
        f"ones are merged. Data version {version}, method {result.method_version}."
    )


def plot_group_means(result: RaterGroupsView) -> bytes:
    """Draw groups by systems: the better the score, the darker the cell."""
    cells, ends = shade_scores([row.means for row in result.groups], higher_is_better=result.higher_is_better)
    drawn = HeatMap(
        title=f"Raters by group in {next(iter(result.campaigns))}",
        below="Mean score of each system in each group; systems from the best on the left",
        rows=[row.group for row in result.groups],
        columns=result.systems,
        cells=cells,
        ends=ends,
        notes=[*map(text_formatting.make_sentence, result.warnings), _caption(result)],
        of_columns="system",
        nothing="there are no groups to compare",
    )
    return plot_heat_map(drawn)


_GROUP = {"ratings": 40, "outputs": 30, "sd": 18.0, "shared": 20}
EXAMPLE: dict[str, Any] = {
    "campaigns": {"newstest2021": 3},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "recipe": "recommended",
    "question": "translation",
    "label": "What experience do you have in translation?",
    "smallest": SMALLEST_GROUP,
    "higher_is_better": True,
    "systems": ["A", "B"],
    "groups": [
        {
            **_GROUP,
            "group": "none / studies",
            "answers": ["none", "studies"],
            "raters": 4,
            "mean": 71.0,
            "severity": 6.0,
            "severity_sd": 0.33,
            "means": [80.0, 62.0],
        },
        {
            **_GROUP,
            "group": "profession",
            "answers": ["profession"],
            "raters": 3,
            "mean": 64.5,
            "severity": -6.0,
            "severity_sd": -0.33,
            "means": [77.0, 52.0],
        },
    ],
    "pairs": [
        {
            "first": "none / studies",
            "second": "profession",
            "outputs": 20,
            "difference": 6.0,
            "pearson": 0.7,
            "systems": 2,
            "kendall": 1.0,
            "spa": 0.96,
            "spa_pairs": 1,
        }
    ],
}
REPORT: Report[RaterGroupOptions, RaterGroupsView] = Report(
    name="rater_groups",
    role="manager",
    title="Raters by group",
    summary="Raters grouped by their answer to a question: severity, agreement and ranking of each group. "
    "Small groups are merged.",
    options=RaterGroupOptions,
    result=RaterGroupsView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=_tables,
    csv=make_csv_rows_function(CELLS, _cells),
    charts={"default": plot_group_means},
    caption=_caption,
    settings=frozenset({NAME}),
    extra_key=_answers_key,
)
