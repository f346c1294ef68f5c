"""Judgments made elsewhere, sent by name, in a campaign with a plan: they count for the rater's planned items."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from app.domain.errors import Place
from app.protocols import base as _base
from app.services.tasks.task_content import load_task_content
from app.services.tasks.tasks import OwnAnswersByAddress, TaskHandedIn, find_missing_judgments
from app.storage import tasks
from app.storage.db import Session
from app.storage.imports import external_judgments

MOST_PLACES = 100


class JudgmentWithKeys(Protocol):
    """The output that a judgment is about, and who judged it."""

    @property
    def rater(self) -> str:
        """The rater's key."""

    @property
    def document(self) -> str:
        """The document's key."""

    @property
    def segment(self) -> int | None:
        """The segment's position, None for the whole document."""

    @property
    def system(self) -> str:
        """The system's key."""

    @property
    def payload(self) -> Mapping[str, object]:
        """The answer."""


@dataclass(frozen=True, slots=True)
class PlannedItemMatches:
    """The planned items of judgments. at: by index of the judgment. known: judgments equal to the stored answer."""

    at: Mapping[int, external_judgments.PlannedItem]
    known: frozenset[int]

    def hand_in_complete_tasks(self, session: Session, campaign_id: int, added: Collection[int]) -> int:
        """Hand in the tasks without missing judgments, and return how many. added: indices of judgments."""
        touched = {at.public_id: at for n, at in self.at.items() if n in added and at.state != "handed_in"}
        return sum(_complete(session, campaign_id, touched[name]) for name in sorted(touched))


def find_planned_items(
    session: Session, campaign_id: int, protocol: _base.Protocol[Any], sent: Sequence[JudgmentWithKeys]
) -> PlannedItemMatches:
    """Find the planned items of judgments made elsewhere.

    Raises TaskHandedIn if a handed-in task has a different answer; places are `("body", i)`.
    """
    named = [(one.rater, one.document, one.segment, one.system) for one in sent]
    items = external_judgments.load_planned_items_for_judgments(session, campaign_id, named)
    known = {n for n, at in items.items() if at.payload is not None and _is_same_answer(protocol, at.payload, sent[n])}
    other = [n for n, at in sorted(items.items()) if at.state == "handed_in" and n not in known]
    if other:
        raise TaskHandedIn(places=tuple(Place(("body", n), TaskHandedIn.title()) for n in other[:MOST_PLACES]))
    return PlannedItemMatches({n: at for n, at in items.items() if n not in known}, frozenset(known))


def _is_same_answer(protocol: _base.Protocol[Any], stored: Mapping[str, object], judgment: JudgmentWithKeys) -> bool:
    """Return whether an answer equals the stored one; a field that is left out has its default."""
    if judgment.segment is None:
        return stored == dict(judgment.payload)
    return bool(protocol.payload.model_validate(stored) == protocol.payload.model_validate(dict(judgment.payload)))


def _complete(session: Session, campaign_id: int, at: external_judgments.PlannedItem) -> bool:
    sheet = load_task_content(session, at.public_id)
    if find_missing_judgments(sheet, OwnAnswersByAddress.load(session, campaign_id, sheet.task_id, at.rater_id)):
        return False
    external_judgments.record_task_holder(session, campaign_id, sheet.task_id, at.rater_id)
    tasks.mark_task_handed_in(session, campaign_id, sheet.task_id, rater_id=at.rater_id, code=None)
    return True
