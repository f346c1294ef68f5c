"""The report on post-edits, as it is stored and shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from app.reports.kit import text_formatting
from app.reports.kit.report import ReportHeader, TableSection
from app.reports.kit.result_part import FrozenResultModel
from app.reports.kit.table import Alignment, Cell, Table
from app.reports.kit.table_making import make_table_from_columns

PLACES = 2
Interval = tuple[float, float]
What = Literal["other", "targeted", "external"]


class EditRateView(FrozenResultModel):
    """Edits per 100 tokens of the references."""

    value: float | None = Field(description="Null if the references hold no token.")
    interval: Interval | None = Field(
        description="Interval over documents; null with one document, or if all have one rate."
    )
    n: int = Field(description="Texts that were compared.")


class PostEditedSystem(FrozenResultModel):
    """One system's outputs."""

    system: str
    lab: str | None
    n_post_edits: int
    hter: EditRateView = Field(description="TER against their own post-edits.")
    mter: EditRateView = Field(description="TER against the closest of all post-edits, over the mean length of these.")
    ter_external: EditRateView = Field(description="TER against the external reference.")
    words: float | None = Field(description="Edit distance in tokens, without shifts, per 100 of the post-edit.")
    characters: float | None = Field(description="Edit distance in characters per 100 of the post-edit.")
    chrf: float | None = Field(description="chrF2 of outputs and their post-edits, 0 to 100.")
    unchanged: float | None = Field(description="Share of outputs that were not changed.")
    critical_mean: float | None = Field(description="Mean number of critical errors per output.")
    critical_share: float | None = Field(description="Share of outputs with a critical error.")


class EditOperationsLine(FrozenResultModel):
    """Edits of one system's outputs to their own post-edits, by kind."""

    system: str
    insertions: int
    deletions: int
    substitutions: int
    shifts: int
    tokens: int = Field(description="Tokens of the post-edits.")


class ClosestReferenceLine(FrozenResultModel):
    """How often references of one origin are closest to a system's output."""

    system: str
    origin: str | None = Field(description="The system whose output was edited; null: the external reference.")
    own: bool
    n: int = Field(description="Segments with references of this origin and of others.")
    unique: int = Field(description="Share in which it alone is closest.")
    tied: int = Field(description="Share in which it is closest together with another.")


class ClosestPostEditLine(FrozenResultModel):
    """How often post-edits of other systems are closest, out of the times that they could be."""

    system: str
    lab: str
    same_lab: float | None
    n_same_lab: int
    other_labs: float | None
    n_other_labs: int


class TERByReferencesPoint(FrozenResultModel):
    """Means over the post-edited systems at one position, from the farthest post-edits to the closest."""

    n: int = Field(description="Number of references so far.")
    what: What
    single: float = Field(description="TER against this reference alone.")
    growing: float = Field(description="mTER against all references so far.")


class SufficientReferenceCount(FrozenResultModel):
    """How many post-edits of other outputs say as much as the targeted one."""

    system: str
    hter: float
    enough: int | None = Field(description="Fewest with an mTER of at most HTER; null if all of them are not enough.")


class PosteditingView(ReportHeader):
    """What post-edits say of the outputs they were made from."""

    tokens: str = Field(description="Units that TER counts, in sacrebleu's terms.")
    chrf_signature: str
    reference: str | None = Field(description="Name of the external reference.")
    interval_level: float
    n_segments: int
    n_post_edits: int
    n_raters: int
    systems: list[PostEditedSystem] = Field(description="By mTER, fewest edits first.")
    operations: list[EditOperationsLine]
    closest: list[ClosestReferenceLine]
    labs: list[ClosestPostEditLine]
    curve: list[TERByReferencesPoint]
    curve_segments: int = Field(description="Segments whose post-edited outputs were all edited.")
    enough: int | None = Field(description="The same as for the systems, for the means of the curve.")
    enough_by_system: list[SufficientReferenceCount]


def make_tables(view: PosteditingView) -> Sequence[TableSection]:
    """Make tables of systems, of edits by kind, of closest post-edits, and of the curve."""
    shown = [
        TableSection("Systems", _systems(view)),
        TableSection("Edits by kind, for each 100 tokens", _operations(view)),
        TableSection("Closest post-edits", _closest_reference_table(view), frozenset({0, 1})),
    ]
    if view.labs:
        shown.append(TableSection("Same lab and other labs", _lab_table(view), frozenset({0, 1})))
    if view.curve:
        shown.append(TableSection("Number of references", _curve(view), frozenset()))
        shown.append(TableSection("References as good as the targeted one", _sufficient_references_table(view)))
    return shown


def _systems(view: PosteditingView) -> Table:
    level = f"{view.interval_level:.0%} interval"
    heads: tuple[tuple[str, Alignment], ...] = (
        ("System", "left"),
        ("Post-edits", "right"),
        ("HTER", "right"),
        (level, "left"),
        ("mTER", "right"),
        (level, "left"),
        ("TER external", "right"),
        ("Words", "right"),
        ("Characters", "right"),
        ("chrF", "right"),
        ("Unchanged", "right"),
        ("Critical errors", "right"),
        ("With any", "right"),
    )
    rows = [
        (
            *(one.system, f"{one.n_post_edits:,}"),
            *(
                text_formatting.format_number(one.hter.value, PLACES),
                text_formatting.format_interval(one.hter.interval, PLACES),
            ),
            *(
                text_formatting.format_number(one.mter.value, PLACES),
                text_formatting.format_interval(one.mter.interval, PLACES),
            ),
            text_formatting.format_number(one.ter_external.value, PLACES),
            *(text_formatting.format_number(value, PLACES) for value in (one.words, one.characters, one.chrf)),
            _share(one.unchanged),
            text_formatting.format_number(one.critical_mean, PLACES),
            _share(one.critical_share),
        )
        for one in view.systems
    ]
    return make_table_from_columns(heads, rows)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _operations(view: PosteditingView) -> Table:
    heads: list[tuple[str, Alignment]] = [("System", "left")]
    heads += [(name, "right") for name in ("Insertions", "Deletions", "Substitutions", "Shifts", "Tokens")]
    rows = [
        (
            one.system,
            *(
                text_formatting.format_number(100 * n / one.tokens if one.tokens else None, PLACES)
                for n in (one.insertions, one.deletions, one.substitutions, one.shifts)
            ),
            f"{one.tokens:,}",
        )
        for one in view.operations
    ]
    return make_table_from_columns(heads, rows)


def _closest_reference_table(view: PosteditingView) -> Table:
    heads: list[tuple[str, Alignment]] = [("Output of", "left"), ("Post-edits of", "left"), ("Segments", "right")]
    heads += [("Closest alone", "right"), ("Tied", "right")]
    rows = [
        (
            one.system,
            "external reference" if one.origin is None else "its own" if one.own else one.origin,
            f"{one.n:,}",
            _share(one.unique / one.n),
            _share(one.tied / one.n),
        )
        for one in view.closest
    ]
    return make_table_from_columns(heads, rows)


def _lab_table(view: PosteditingView) -> Table:
    heads: list[tuple[str, Alignment]] = [("Output of", "left"), ("Lab", "left")]
    heads += [
        ("Same lab closest", "right"),
        ("Segments", "right"),
        ("Other labs closest", "right"),
        ("Segments", "right"),
    ]
    rows = [
        (
            *(one.system, one.lab, _share(one.same_lab), f"{one.n_same_lab:,}"),
            *(_share(one.other_labs), f"{one.n_other_labs:,}"),
        )
        for one in view.labs
    ]
    return make_table_from_columns(heads, rows)


def _curve(view: PosteditingView) -> Table:
    heads: list[tuple[str, Alignment]] = [("References", "right"), ("The last one is", "left")]
    heads += [("TER against this one", "right"), ("mTER against all so far", "right")]
    words = {"other": "another output's post-edit", "targeted": "the targeted post-edit", "external": "external"}
    rows = [
        (
            str(one.n),
            words[one.what],
            text_formatting.format_number(one.single, PLACES),
            text_formatting.format_number(one.growing, PLACES),
        )
        for one in view.curve
    ]
    return make_table_from_columns(heads, rows)


def _sufficient_references_table(view: PosteditingView) -> Table:
    heads: list[tuple[str, Alignment]] = [("System", "left"), ("HTER", "right"), ("Post-edits of others", "right")]
    rows = [
        (one.system, text_formatting.format_number(one.hter, PLACES), "–" if one.enough is None else str(one.enough))
        for one in view.enough_by_system
    ]
    return make_table_from_columns(heads, rows)


RATES = ("hter", "mter", "ter_external")
PLAIN = ("words", "characters", "chrf", "unchanged", "critical_mean", "critical_share")
KINDS = ("insertions", "deletions", "substitutions", "shifts", "tokens")


def make_csv_rows(view: PosteditingView) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
    """Make one row per system."""
    campaign, version = next(iter(view.campaigns.items()))
    edits = {one.system: one for one in view.operations}
    heads = ["system", "lab", "n_post_edits"]
    heads += [f"{name}{part}" for name in RATES for part in ("", "_low", "_high", "_n")]
    heads += [*PLAIN, *KINDS, "tokenization", "campaign", "data_version"]
    rows: list[Sequence[Cell]] = []
    for system in view.systems:
        cells: list[Cell] = [system.system, system.lab, system.n_post_edits]
        for name in RATES:
            rate: EditRateView = getattr(system, name)
            cells += [rate.value, *(rate.interval or (None, None)), rate.n]
        cells += [getattr(system, name) for name in PLAIN]
        cells += [getattr(edits.get(system.system), name, None) for name in KINDS]
        rows.append([*cells, view.tokens, campaign, version])
    return heads, rows


def make_caption(view: PosteditingView) -> str:
    """Say what the figures are and which data they come from."""
    campaign, version = next(iter(view.campaigns.items()))
    post_edits = text_formatting.pluralize(view.n_post_edits, "post-edit")
    counted = f"{post_edits} of {text_formatting.pluralize(view.n_segments, 'segment')}"
    by = text_formatting.pluralize(view.n_raters, "rater")
    return (
        f"Post-edits of {campaign}, data version {version}: {counted} by {by}. TER by sacrebleu ({view.tokens}); mTER: "
        f"edits to the closest post-edit over the average length of all; method {view.method_version}."
    )
