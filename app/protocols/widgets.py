"""Widgets with which raters answer, one for each question of a form.

Pages draw a widget by its kind and checks read its bounds, whatever the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from app.design.design_choices import MOST_COLUMNS

LONGEST_TEXT = 20_000
PreferenceMode = Literal["best", "best_worst", "ranking"]


@dataclass(frozen=True, slots=True)
class _FieldWidget:
    """A widget with one field. field: the field of the payload that it fills in."""

    field: str

    @property
    def kind(self) -> str:
        """The name of the widget in API responses and on pages."""
        return type(self).__name__.removesuffix("Widget").lower()

    @property
    def fields(self) -> tuple[str, ...]:
        """Every field of the payload that it fills in."""
        return (self.field,)


@dataclass(frozen=True, slots=True)
class SliderWidget(_FieldWidget):
    """A continuous slider; `ticks` are (value, label)."""

    minimum: float
    maximum: float
    step: float
    ticks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ChoiceWidget(_FieldWidget):
    """A choice of one of few points; `points` are (value, anchor), where an anchor may be empty."""

    points: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class CountWidget(_FieldWidget):
    """A whole number from 0. label: what is counted."""

    label: str
    most: int


@dataclass(frozen=True, slots=True)
class SpansWidget(_FieldWidget):
    """Marking of errors in the texts.

    most: number of errors that can be marked, None if unlimited. deleted: the field that names the prefilled errors
    which the rater deleted; None if deletions are not recorded separately. free_category: raters write the category of
    an error in their own words.
    """

    severities: tuple[str, ...]
    categories: tuple[tuple[str, tuple[str, ...]], ...] = ()
    source_side: bool = False
    omission: bool = False
    most: int | None = None
    deleted: str | None = None
    free_category: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """Every field of the payload that it fills in."""
        return (self.field,) if self.deleted is None else (self.field, self.deleted)


@dataclass(frozen=True, slots=True)
class TextEditWidget(_FieldWidget):
    """A text to write. start: the initial content, the output or nothing. most: maximum number of characters."""

    start: Literal["output", "empty"]
    most: int = LONGEST_TEXT


@dataclass(frozen=True, slots=True)
class LinkWidget(_FieldWidget):
    """An optional web address."""

    most: int = 2000


@dataclass(frozen=True, slots=True)
class CriterionScale:
    """One question among several. name: its key in the field. title: what raters read.

    points: the possible answers, each with a value and its meaning; () if every value of the scale is an answer.
    """

    name: str
    title: str
    minimum: float
    maximum: float
    step: float | None
    ticks: tuple[tuple[float, str], ...] = ()
    points: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CriteriaWidget(_FieldWidget):
    """One scale for each criterion that the campaign's options declare."""

    criteria: tuple[CriterionScale, ...] = ()


@dataclass(frozen=True, slots=True)
class TextField:
    """One text among several. name: its key in the field. title: what raters read. start: as in `TextEditWidget`."""

    name: str
    title: str
    start: Literal["output", "empty"]
    required: bool = False
    most: int = LONGEST_TEXT


@dataclass(frozen=True, slots=True)
class TextsWidget(_FieldWidget):
    """Several texts to write, each with a name."""

    texts: tuple[TextField, ...] = ()


@dataclass(frozen=True, slots=True)
class PreferenceWidget(_FieldWidget):
    """The columns of a screen in groups, from best to worst; columns in one group are equal.

    mode: best asks only for the best ones, best_worst for the best and the worst, ranking for all groups.
    """

    mode: PreferenceMode
    most_columns: int = MOST_COLUMNS


Widget = (
    SliderWidget
    | ChoiceWidget
    | CountWidget
    | SpansWidget
    | TextEditWidget
    | LinkWidget
    | CriteriaWidget
    | TextsWidget
    | PreferenceWidget
)
