"""The prefilled errors that a plan shows: those that its arms or the campaign's settings name, or the outputs' own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.design.design_choices import Arm, Design
from app.domain.errors import Conflict, Invalid, Place
from app.reports.inputs.campaign import CampaignInfo, find_campaign_protocol
from app.storage import prefills
from app.storage.db import Session
from app.storage.test_sets import DEFAULT_PREFILL

SETTING = "prefill"
SETTING_PLACE = ("campaign", "settings", SETTING)
TAKES_NONE = "the campaign's protocol does not support prefilled errors"
NOT_THERE = "the design asks for prefilled errors that do not exist"


class PrefilledErrorsMissing(Conflict):
    """The protocol asks about prefilled errors, and no output has any: put them with the outputs, or take over
    another campaign's (POST …/prefills)."""

    published = "NothingReadyMade"


def check_prefills_exist(session: Session, campaign_id: int, view: CampaignInfo, design: Design) -> None:
    """Check that the errors to show exist. Raises Invalid for a name that no output has, PrefilledErrorsMissing."""
    places = tuple(_faults(session, campaign_id, view, design))
    if places:
        raise Invalid(NOT_THERE, places=places)
    if not find_campaign_protocol(view).requires_prefill:
        return
    shown = choose_arm_prefill_names(view, design.arms) or (choose_campaign_prefill_name(session, campaign_id, view),)
    if DEFAULT_PREFILL in shown and not prefills.has_prefill_with_name(session, campaign_id, DEFAULT_PREFILL):
        raise PrefilledErrorsMissing


def check_prefill_in_settings_exists(session: Session, campaign_id: int, view: CampaignInfo, design: Design) -> None:
    """Check that the errors exist that a setting makes tasks show from now on.

    Raises Invalid for a name that no output has. Tasks that have begun continue as before: the arms of a plan in force,
    and a name that its tasks have, are not checked.
    """
    said = view.settings.get(SETTING)
    if design.arms or not isinstance(said, str) or not find_campaign_protocol(view).accepts_prefill:
        return
    if not prefills.is_prefill_in_plan(session, campaign_id, said) and not prefills.has_prefill_with_name(
        session, campaign_id, said
    ):
        raise Invalid(NOT_THERE, places=(Place(SETTING_PLACE, _no_such_output(said)),))


def choose_campaign_prefill_name(session: Session, campaign_id: int, view: CampaignInfo) -> str | None:
    """Return the name of the errors that are shown if no arm names any; None if none are shown.

    A setting decides. Without a setting, protocols that support it show the errors stored with outputs. A protocol that
    needs prefilled errors always shows them.
    """
    protocol = find_campaign_protocol(view)
    if not protocol.accepts_prefill:
        return None
    said = view.settings.get(SETTING)
    if isinstance(said, str):
        return said
    if protocol.requires_prefill:
        return DEFAULT_PREFILL
    silent = SETTING not in view.settings
    return DEFAULT_PREFILL if silent and prefills.has_prefill_with_name(session, campaign_id, DEFAULT_PREFILL) else None


def keep_or_choose_campaign_prefill_name(session: Session, campaign_id: int, view: CampaignInfo) -> str | None:
    """Do as `choose_campaign_prefill_name`, but without a setting, keep the name that planned tasks already have."""
    had = prefills.find_planned_prefill_name(session, campaign_id)
    return (
        choose_campaign_prefill_name(session, campaign_id, view) if had is None or SETTING in view.settings else had[0]
    )


def choose_arm_prefill_names(view: CampaignInfo, arms: Sequence[Arm]) -> tuple[str | None, ...]:
    """Return the name of the errors that each arm shows: its own, or none unless the protocol needs them."""
    needed = DEFAULT_PREFILL if find_campaign_protocol(view).requires_prefill else None
    return tuple(arm.prefill or needed for arm in arms)


def list_prefill_change_messages(
    session: Session, campaign_id: int, view: CampaignInfo, arms: Sequence[Arm]
) -> Iterator[str]:
    """Yield a message if a plan that nobody has begun shows other errors than a new plan would."""
    had = None if arms else prefills.find_planned_prefill_name(session, campaign_id)
    now = choose_campaign_prefill_name(session, campaign_id, view)
    if had is not None and had[0] != now:
        yield f"prefilled errors: {now or 'none'} instead of {had[0] or 'none'}"


def _faults(session: Session, campaign_id: int, view: CampaignInfo, design: Design) -> Iterator[Place]:
    named: list[tuple[tuple[str | int, ...], str | None]] = [
        (("body", "arms", i, "prefill"), arm.prefill) for i, arm in enumerate(design.arms)
    ]
    said = view.settings.get(SETTING)
    if not design.arms and isinstance(said, str):
        named.append((SETTING_PLACE, said))
    for place, name in named:
        if name is not None and not find_campaign_protocol(view).accepts_prefill:
            yield Place(place, TAKES_NONE)
        elif name is not None and not prefills.has_prefill_with_name(session, campaign_id, name):
            yield Place(place, _no_such_output(name))


def _no_such_output(name: str) -> str:
    return f"no output has errors named {name}; they are stored as {DEFAULT_PREFILL}"
