"""Reads a design from JSON; all faults are reported together, each with its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import get_args

from app.design.design_choices import (
    MOST_COLUMNS,
    Arm,
    BalanceRule,
    BucketRules,
    CalibrationRules,
    ControlRules,
    Degradation,
    Design,
    DocumentSelection,
    ExplicitBucket,
    Grouping,
    OverlapRules,
    Placement,
    Presentation,
    Shuffle,
    Structure,
    TaskRules,
)
from app.design.design_inputs import Unit
from app.design.json_reader import JsonObjectReader, read_decoded_json_object

LARGEST_SEED = 2**63 - 1
MOST = 1_000_000
GROUPING_OF: Mapping[Structure, Grouping] = {
    "free": "psxs",
    "sr_dc": "system_balanced",
    "sr_plus_dc": "none",
    "alternate_2018": "psxs",
    "latin_square": "psxs",
}
MIXES = {"70:10:10:10": (0.1, 0.1, 0.1), "80:5:5:10": (0.05, 0.05, 0.1)}
"""Translations : repeats : references : degraded, and the rates of the last three (Knowles 2021, §2)."""


def parse_design(body: object, *, loc: tuple[str | int, ...] = ()) -> Design:
    """Parse the design in a JSON object, with defaults and the options that its structure determines.

    loc: the place of the object itself, put before every place in an error.

    Raises
    ------
    Invalid
        All faults, each with its place.

    >>> parse_design({"ratings_per_item": 3}).overlap is None
    True
    """
    return read_decoded_json_object(body, _design, loc=loc, title="The design is not valid")


def _design(at: JsonObjectReader) -> Design:
    structure: Structure = at.read_choice("structure", get_args(Structure), "free")
    ratings = at.read_whole_number("ratings_per_item", 1, least=1, most=1000)
    design = Design(
        grouping=_grouping(at, structure),
        structure=structure,
        balance=at.read_value_of_any_shape("balance", _balance, BalanceRule()),
        unit=at.read_choice("unit", get_args(Unit), "items"),
        even_out=at.read_boolean("even_out", default=False),
        ratings_per_item=ratings,
        overlap=_overlap(at, structure, ratings),
        buckets=at.read_nested_object("buckets", _buckets, BucketRules()),
        systems=at.read_optional_distinct_texts("systems"),
        documents=at.read_value_of_any_shape("documents", _documents, DocumentSelection()),
        task=at.read_nested_object("task", lambda inner: _task(inner, structure), _task_of(structure)),
        arms=at.read_list("arms", _arm),
        cross=at.read_choice("cross", ("groups", "raters"), "groups"),
        controls=at.read_nested_object("controls", lambda inner: _controls(inner, structure), _controls_of(structure)),
        calibration=at.read_nested_object("calibration", _calibration, None),
        share_duplicates=at.read_boolean("share_duplicates", default=structure != "latin_square"),
        seed=at.read_optional_whole_number("seed", least=0, most=LARGEST_SEED),
    )
    _check_together(at, design)
    return design


def _grouping(at: JsonObjectReader, structure: Structure) -> Grouping:
    if structure != "free" and at.has_field("grouping"):
        at.note_fault("grouping", f"structure {structure} fixes the grouping; leave it out")
    grouping: Grouping = at.read_choice("grouping", get_args(Grouping), GROUPING_OF[structure])
    return grouping


def _balance(value: object, wrong: Callable[[str], None]) -> BalanceRule:
    match value:
        case "full":
            return BalanceRule()
        case {"capacity": True, **rest} if not rest:
            return BalanceRule("capacity")
        case {"entropy": bool()}:
            pass
        case {"entropy": int() | float() as target, **rest} if not rest and 0 <= target <= 1:
            return BalanceRule("entropy", float(target))
    wrong('must be "full", {"entropy": number from 0 to 1} or {"capacity": true}')
    return BalanceRule()


def _overlap(at: JsonObjectReader, structure: Structure, ratings: int) -> OverlapRules | None:
    """Return the overlap: if items are judged once, a share is judged twice, unless it is null."""
    default = OverlapRules() if ratings == 1 and structure != "latin_square" and not at.has_field("overlap") else None
    return at.read_nested_object(
        "overlap",
        lambda inner: OverlapRules(
            inner.read_share("share", 0.15),
            inner.read_whole_number("ratings_per_item", ratings + 1, least=2, most=1000),
        ),
        default,
    )


def _buckets(at: JsonObjectReader) -> BucketRules:
    kinds = [name for name in ("auto", "raters_per_bucket", "explicit") if at.has_field(name)]
    if len(kinds) > 1:
        at.note_fault(kinds[1], f"give this or {kinds[0]}, not both")
    if at.has_field("explicit"):
        buckets = at.read_list("explicit", _bucket)
        names = [bucket.name for bucket in buckets]
        if len(set(names)) < len(names) or not names:
            at.note_fault("explicit", "at least one bucket, each name once")
        return BucketRules("explicit", explicit=buckets)
    if at.has_field("raters_per_bucket"):
        size = at.read_whole_number("raters_per_bucket", 1, least=1, most=MOST)
        return BucketRules("sized", size, at.read_optional_whole_number("count", least=1, most=MOST))
    if not at.read_boolean("auto", default=True):
        at.note_fault("auto", "must be true, or give raters_per_bucket or explicit")
    return BucketRules()


def _bucket(at: JsonObjectReader) -> ExplicitBucket:
    return ExplicitBucket(
        at.read_text("name"), at.read_optional_distinct_texts("raters"), at.read_optional_distinct_texts("documents")
    )


def _documents(value: object, wrong: Callable[[str], None]) -> DocumentSelection:
    match value:
        case bool():
            pass
        case int() as sample if sample >= 1:
            return DocumentSelection(sample=sample)
        case {"sample": int() as sample, **rest} if sample >= 1 and rest in ({}, {"by": "domain"}):
            return DocumentSelection(sample=sample, by_domain=bool(rest))
        case list() if value and all(isinstance(key, str) for key in value) and len(set(value)) == len(value):
            return DocumentSelection(keys=tuple(value))
    wrong('must be null, keys (each once), a number of documents, or {"sample": number, "by": "domain"}')
    return DocumentSelection()


def _task_of(structure: Structure) -> TaskRules:
    """Return the task rules of a structure: WMT's tasks have 100 items; segment-wise structures shuffle items."""
    if structure in {"sr_dc", "alternate_2018"}:
        return TaskRules(max_segments=None, max_items=100, shuffle="items")
    return TaskRules(shuffle="items") if structure == "sr_plus_dc" else TaskRules()


def _task(at: JsonObjectReader, structure: Structure) -> TaskRules:
    usual = _task_of(structure)
    return TaskRules(
        max_segments=at.read_optional_whole_number("max_segments", least=1, most=MOST, default=usual.max_segments),
        max_items=at.read_optional_whole_number("max_items", least=1, most=MOST, default=usual.max_items),
        max_words=at.read_optional_whole_number("max_words", least=1, most=100 * MOST),
        split_documents=at.read_choice("split_documents", ("never", "over_max_segments"), "never"),
        shuffle=at.read_choice("shuffle", get_args(Shuffle), usual.shuffle),
        columns=at.read_whole_number("columns", 1, least=1, most=MOST_COLUMNS),
    )


def _arm(at: JsonObjectReader) -> Arm:
    return Arm(
        at.read_text("name"),
        at.read_choice("presentation", get_args(Presentation), "document"),
        at.read_optional_text("prefill"),
    )


def _controls_of(structure: Structure) -> ControlRules:
    if structure in {"sr_dc", "sr_plus_dc"}:
        return ControlRules(bad_reference=0.1, repeat=0.1, reference=0.1)
    return ControlRules(bad_reference=0.1) if structure == "alternate_2018" else ControlRules()


def _controls(at: JsonObjectReader, structure: Structure) -> ControlRules:
    if at.has_field("mix"):
        repeat, reference, bad = MIXES[at.read_choice("mix", tuple(MIXES), "70:10:10:10")]
        for name in ("bad_reference", "repeat", "reference"):
            if at.has_field(name):
                at.note_fault(name, "mix gives this rate")
        return ControlRules(bad, repeat=repeat, reference=reference)
    reference = at.read_nested_object("reference", _reference_rate, 0.0)
    bad, method = at.read_nested_object("bad_reference", _bad_reference, (0.0, ControlRules().method))
    repeat, distance = at.read_nested_object("repeat", _repeat, (0.0, ControlRules().min_distance))
    if bad + repeat + reference > 0.5:
        at.note_fault(None, "the rates together must not be above 0.5")
    if structure == "alternate_2018" and repeat + reference > 0:
        at.note_fault(None, "structure alternate_2018 has degraded outputs as its only controls")
    return ControlRules(bad, method, repeat, distance, reference)


def _reference_rate(at: JsonObjectReader) -> float:
    return at.read_share("rate", 0.1)


def _bad_reference(at: JsonObjectReader) -> tuple[float, Degradation]:
    return at.read_share("rate", 0.1), at.read_choice("method", get_args(Degradation), "span_replacement")


def _repeat(at: JsonObjectReader) -> tuple[float, int]:
    return at.read_share("rate", 0.1), at.read_whole_number("min_distance", 20, least=0, most=MOST)


def _calibration(at: JsonObjectReader) -> CalibrationRules:
    if at.has_field("set") == at.has_field("common_items"):
        at.note_fault(None, "give either set or common_items")
    return CalibrationRules(
        at.read_optional_text("set"),
        at.read_optional_whole_number("sample", least=1, most=MOST),
        at.read_optional_whole_number("common_items", least=1, most=MOST),
        at.read_choice("placement", get_args(Placement), "first"),
    )


def _check_together(at: JsonObjectReader, design: Design) -> None:
    overlap, k = design.overlap, design.ratings_per_item
    if overlap and overlap.ratings_per_item <= k:
        at.note_fault(("overlap", "ratings_per_item"), f"must be above ratings_per_item, which is {k}")
    if design.task.columns > 1 and design.grouping != "psxs":
        at.note_fault(
            ("task", "columns"), "several columns need grouping psxs: one rater has all outputs of a document"
        )
    if design.task.columns > 1 and design.controls.reference * design.task.columns > 0.5 + 1e-9:
        most = f"{0.5 / design.task.columns:.3g}"
        why = f"a screen holds one: with {design.task.columns} columns a rate of {most} is the most"
        at.note_fault(("controls", "reference", "rate"), why)
    if design.structure == "latin_square":
        _check_latin_square(at, design)
    if design.structure == "sr_plus_dc" and design.task.max_segments is None:
        at.note_fault(("task", "max_segments"), "structure sr_plus_dc fills tasks up to it: it cannot be null")
    if design.task.split_documents == "over_max_segments" and design.task.max_segments is None:
        at.note_fault(("task", "split_documents"), "needs max_segments")
    if design.even_out and design.balance.kind != "full":
        at.note_fault("even_out", "only with balance full")
    if _has_duplicates([arm.name for arm in design.arms]) or len(design.arms) == 1:
        at.note_fault("arms", "at least two, each name once")


def _check_latin_square(at: JsonObjectReader, design: Design) -> None:
    fixed = {
        "ratings_per_item": design.ratings_per_item == 1,
        "balance": design.balance.kind == "full",
        "overlap": design.overlap is None,
        "share_duplicates": not design.share_duplicates,
        "even_out": not design.even_out,
    }
    for name, fine in fixed.items():
        if not fine:
            at.note_fault(name, "structure latin_square fixes this; leave it out")


def _has_duplicates(names: Sequence[str]) -> bool:
    return len(set(names)) < len(names)
