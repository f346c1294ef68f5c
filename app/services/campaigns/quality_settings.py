"""The settings of a campaign for quality control while it runs: checks, their consequences, completion codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from app.domain.errors import Invalid, Place
from app.stats.quality.quality_criteria import (
    CHECKS,
    MIN_PAIRS,
    Check,
    ControlAdjust,
    ControlTestName,
    RaterQualityCriteria,
)

NAME = "quality"
CODE = "{code}"
MOST_PAIRS = 1000
Action = Literal["warn", "end_task", "block"]
"""warn: put on record. end_task: no new task while the check fails. block: pause the enrolment, once."""
Template = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,200}$")]


class RaterQualitySettings(BaseModel):
    """`settings.quality` of a campaign.

    code_pass, code_fail: completion codes by verdict; `{code}` in them is replaced with a code for the task.
    code_checks: a rater who fails one of these gets code_fail. code_tutorial, code_attention: so does a rater with a
    smaller share of right first answers in the tutorial, or of attention checks passed at the first attempt.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    test: ControlTestName = "signed_rank"
    min_pairs: Annotated[int, Field(ge=2, le=MOST_PAIRS)] = MIN_PAIRS
    adjust: ControlAdjust = "bh"
    actions: dict[Check, Action] = Field(default_factory=dict)
    code_pass: Template | None = None
    code_fail: Template | None = None
    code_checks: list[Check] = Field(["controls"], max_length=len(CHECKS))
    code_tutorial: Annotated[float, Field(ge=0, le=1)] | None = None
    code_attention: Annotated[float, Field(ge=0, le=1)] | None = None

    @property
    def has_completion_codes_by_verdict(self) -> bool:
        """Whether completion codes depend on the verdict."""
        return self.code_pass is not None and self.code_fail is not None

    @property
    def has_verdict_consequences(self) -> bool:
        """Whether a verdict has any consequences."""
        return self.has_completion_codes_by_verdict or bool(self.actions)

    @property
    def checks_with_consequences(self) -> frozenset[Check]:
        """The checks that have consequences."""
        return frozenset(self.actions) | (
            frozenset(self.code_checks) if self.has_completion_codes_by_verdict else frozenset()
        )

    def to_criteria(self) -> RaterQualityCriteria:
        """Return the criteria for the statistics."""
        return RaterQualityCriteria(test=self.test, min_pairs=self.min_pairs, adjust=self.adjust)

    def checks_leading_to(self, action: Action) -> frozenset[Check]:
        """Return the checks that lead to an action."""
        return frozenset(check for check, given in self.actions.items() if given == action)


def parse_rater_quality_settings(settings: Mapping[str, object]) -> RaterQualitySettings:
    """Parse a campaign's settings. Raises Invalid, which names each wrong field."""
    given = settings.get(NAME)
    if given is None:
        return RaterQualitySettings()
    try:
        read = RaterQualitySettings.model_validate(given)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        places = tuple(Place(("settings", NAME, *fault["loc"]), fault["msg"]) for fault in faults)
        raise Invalid("the settings of quality control are not valid", places=places) from None
    if (read.code_pass is None) != (read.code_fail is None):
        missing = "code_pass" if read.code_pass is None else "code_fail"
        raise Invalid(places=(Place(("settings", NAME, missing), "give both codes, or none"),))
    return read
