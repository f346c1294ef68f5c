"""A design: all choices about who judges what, as one value. `parse.py` reads it from JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from app.design.design_inputs import Unit

MOST_COLUMNS = 12
"""Maximum number of outputs side by side on a screen."""

Grouping = Literal["psxs", "system_balanced", "none"]
Structure = Literal["free", "sr_dc", "sr_plus_dc", "alternate_2018", "latin_square"]
Shuffle = Literal["systems", "items", "none"]
Degradation = Literal["span_replacement", "word_mixing", "rotation"]
Placement = Literal["first", "spread", "first_and_last"]
Presentation = Literal["document", "segment", "side_by_side"]


@dataclass(frozen=True, slots=True)
class BalanceRule:
    """How work is distributed among raters: as evenly as possible, at a normalized entropy, or by capacity."""

    kind: Literal["full", "entropy", "capacity"] = "full"
    entropy: float | None = None


@dataclass(frozen=True, slots=True)
class OverlapRules:
    """A share of the documents that several people judge although the rest is judged by fewer."""

    share: float = 0.15
    ratings_per_item: int = 2


@dataclass(frozen=True, slots=True)
class ExplicitBucket:
    """A bucket that the manager named.

    raters None: those whose enrolment names the bucket. documents None: dealt equally over such buckets.
    """

    name: str
    raters: tuple[str, ...] | None = None
    documents: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class BucketRules:
    """Which raters share documents: chosen automatically, by size (and number), or as listed."""

    kind: Literal["auto", "sized", "explicit"] = "auto"
    raters_per_bucket: int | None = None
    count: int | None = None
    explicit: tuple[ExplicitBucket, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskRules:
    """What one task is. Limits count controls and calibration items too; None is no limit."""

    max_segments: int | None = 100
    max_items: int | None = None
    max_words: int | None = None
    split_documents: Literal["never", "over_max_segments"] = "never"
    shuffle: Shuffle = "systems"
    columns: int = 1


@dataclass(frozen=True, slots=True)
class Arm:
    """One condition of a comparison. prefill: name of the set of prefilled errors."""

    name: str
    presentation: Presentation = "document"
    prefill: str | None = None


@dataclass(frozen=True, slots=True)
class ControlRules:
    """Items with a known answer.

    Rates are shares of the items of a task, and every task reaches them (the tasks of a chain together). min_distance:
    segments judged between an original and its repeat.
    """

    bad_reference: float = 0.0
    method: Degradation = "span_replacement"
    repeat: float = 0.0
    min_distance: int = 20
    reference: float = 0.0

    @property
    def has_any_control(self) -> bool:
        """Whether the design has any control items."""
        return self.total_rate > 0

    @property
    def total_rate(self) -> float:
        """The sum of all rates."""
        return self.bad_reference + self.repeat + self.reference


@dataclass(frozen=True, slots=True)
class CalibrationRules:
    """Items that every rater judges: `sample` of a calibration set (None: all), or common items of the test set."""

    set: str | None = None
    sample: int | None = None
    common_items: int | None = None
    placement: Placement = "first"


@dataclass(frozen=True, slots=True)
class DocumentSelection:
    """A subset of documents: by key, or a random sample (proportional by domain, if requested)."""

    keys: tuple[str, ...] | None = None
    sample: int | None = None
    by_domain: bool = False


@dataclass(frozen=True, slots=True)
class Design:
    """A resolved design, including the options that a structure determines.

    has_single_segment_items: items are single segments. max_regular_item_share: the part of a task's limit for regular
    items, before control documents fill the rest (SR+DC); 1 in other structures. seed None: the caller must supply one.
    """

    grouping: Grouping = "psxs"
    structure: Structure = "free"
    balance: BalanceRule = BalanceRule()
    unit: Unit = "items"
    even_out: bool = False
    ratings_per_item: int = 1
    overlap: OverlapRules | None = None
    buckets: BucketRules = BucketRules()
    systems: tuple[str, ...] | None = None
    documents: DocumentSelection = DocumentSelection()
    task: TaskRules = TaskRules()
    arms: tuple[Arm, ...] = ()
    cross: Literal["groups", "raters"] = "groups"
    controls: ControlRules = ControlRules()
    calibration: CalibrationRules | None = None
    share_duplicates: bool = True
    seed: int | None = None

    @property
    def has_single_segment_items(self) -> bool:
        """Whether an item is a single segment, out of its document."""
        return self.structure in {"sr_dc", "alternate_2018", "latin_square"}

    @property
    def max_regular_item_share(self) -> float:
        """The share of a task's segments that regular items may fill (Knowles 2021, §2: 70 of 100 in SR+DC)."""
        return 0.7 if self.structure == "sr_plus_dc" else 1.0
