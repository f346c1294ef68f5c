"""What a campaign's settings say of attention checks: how often they come, whether raters are warned, and repeat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.domain.attention import KIND
from app.domain.errors import Invalid, Place

MOST_REPEATS = 5


class AttentionCheckSettings(BaseModel):
    """`settings.attention` of a campaign.

    rate: after which share of hand-ins a check comes before the next task; 0: never. loud: raters are warned at once
    where they fail one; else nothing is shown. repeats: how often such a check comes again until it is passed.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    rate: Annotated[float, Field(ge=0, le=1)] = 0.0
    loud: bool = False
    repeats: Annotated[int, Field(ge=0, le=MOST_REPEATS)] = 0
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0


def parse_attention_check_settings(settings: Mapping[str, object]) -> AttentionCheckSettings:
    """What the settings of a campaign say. Raises Invalid, naming each field that is wrong."""
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
    """Those of settings that were checked when they were set; none where they were set before there were checks."""
    try:
        return parse_attention_check_settings(settings)
    except Invalid:
        return AttentionCheckSettings()
