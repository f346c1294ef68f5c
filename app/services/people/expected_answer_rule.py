"""A rule that answers to texts with known answers must follow."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

MOST_RULES, MOST_COLUMNS = 50, 12
Column = Annotated[int, Field(ge=1, le=MOST_COLUMNS)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=1000)]


class ExpectedAnswerRule(BaseModel):
    """What an answer to one column must fulfil: exactly one of `measure`, `marks` and `above`.

    measure: its value must be from `least` to `most`. marks: words of the text in which an error must be marked, of the
    given `severity` and `category`, if any. above: the column that this one must be judged better than, by the measure
    that ranks. warning: what the rater is told if the rule is broken, by language.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    column: Column = 1
    measure: str | None = Field(None, max_length=200)
    least: float | None = None
    most: float | None = None
    marks: Words | None = None
    severity: str | None = Field(None, max_length=100)
    category: str | None = Field(None, max_length=200)
    above: Column | None = None
    warning: dict[str, Annotated[str, StringConstraints(min_length=1, max_length=5000)]] = Field(
        default_factory=dict, max_length=40
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if sum(one is not None for one in (self.measure, self.marks, self.above)) != 1:
            raise ValueError("must have exactly one of measure, marks and above")
        if self.measure is not None and self.least is None and self.most is None:
            raise ValueError("must have least or most with the measure")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError("least must not be above most")
        return self
