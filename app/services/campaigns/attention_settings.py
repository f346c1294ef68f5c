"""The settings of a campaign for attention checks: their rate, whether raters are warned, and repeats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.domain.attention_checks import KIND
from app.domain.errors import Invalid, Place

MOST_REPEATS = 5


class AttentionCheckSettings(BaseModel):
    """`settings.attention` of a campaign.

    rate: the share of hand-ins after which a check comes before the next task; 0: never. loud: raters who fail a check
    are warned at once; otherwise nothing is shown. repeats: how often a failed check is repeated until it is passed.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    rate: Annotated[float, Field(ge=0, le=1)] = 0.0
    loud: bool = False
    repeats: Annotated[int, Field(ge=0, le=MOST_REPEATS)] = 0
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0


def parse_attention_check_settings(settings: Mapping[str, object]) -> AttentionCheckSettings:
    """Parse a campaign's settings. Raises Invalid, which names each wrong field."""
    given = settings.get(KIND)
    if given is None:
        return AttentionCheckSettings()
    try:
        read = AttentionCheckSettings.model_validate(given)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        places = tuple(Place(("settings", KIND, *fault["loc"]), fault["msg"]) for fault in faults)
        raise Invalid("the settings of attention checks are not valid", places=places) from None
    if read.repeats and not read.loud:
        why = "only where raters are warned: set loud, or repeat nothing"
        raise Invalid(places=(Place(("settings", KIND, "repeats"), why),))
    return read


def get_attention_check_settings(settings: Mapping[str, object]) -> AttentionCheckSettings:
    """Return settings that were checked when they were set; none if they are older than attention checks."""
    try:
        return parse_attention_check_settings(settings)
    except Invalid:
        return AttentionCheckSettings()
