"""Nobody may judge the same output twice with several accounts: this check covers judgments made elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from app.domain.errors import Conflict, Place
from app.services.data.planned_item_matching import MOST_PLACES, JudgmentWithKeys, PlannedItemMatches
from app.storage import campaigns, replans
from app.storage.db import Session
from app.storage.imports import linked_accounts


class PersonJudgedAlready(Conflict):
    """Another account of the same person has judged this or has its task; nothing was stored."""

    published = "JudgedByThePerson"


def lock_out_new_leases_if_accounts_linked(session: Session, campaign: str, sent: Sequence[JudgmentWithKeys]) -> bool:
    """Return whether any rater has other accounts. If so, block new leases until the transaction ends. Raises NotFound.

    Call this before the campaign's row is locked, because leasing takes the two locks in this order.
    """
    row = campaigns.load_campaign(session, campaign)
    people = linked_accounts.load_persons_behind_raters(session, row.id, sorted({one.rater for one in sent}))
    several = any(one.several for one in people.values())
    if several:
        replans.block_new_leases(session, row.id)
    return several


def refuse_second_judgments(
    session: Session,
    campaign_id: int,
    sent: Sequence[JudgmentWithKeys],
    planned_matches: PlannedItemMatches,
    new_indices: Collection[int],
) -> None:
    """Refuse a person's second judgment of an output, by the rule for late answers.

    new_indices: indices of the judgments that are not known yet. Raises PersonJudgedAlready; places are `("body", i,
    "rater")`.
    """
    people = linked_accounts.load_persons_behind_raters(
        session, campaign_id, sorted({sent[i].rater for i in new_indices})
    )
    raters = sorted(rater for rater, one in people.items() if one.several)
    documents = sorted({sent[i].document for i in new_indices if sent[i].rater in people})
    theirs = (
        linked_accounts.load_linked_accounts_segment_ranges(session, campaign_id, raters, documents) if raters else {}
    )
    first: dict[tuple[int, str, int | None, str], str] = {}
    places = []
    for i in sorted(new_indices):
        judgment = sent[i]
        item = planned_matches.at.get(i)
        if judgment.rater not in people or (item is not None and item.role == "calibration"):
            continue
        before = first.setdefault(
            (people[judgment.rater].person, judgment.document, judgment.segment, judgment.system), judgment.rater
        )
        had = theirs.get((judgment.rater, judgment.document, judgment.system), ())
        if before != judgment.rater or any(stretch.covers_segment(judgment.segment) for stretch in had):
            places.append(Place(("body", i, "rater"), PersonJudgedAlready.title()))
    if places:
        raise PersonJudgedAlready(places=tuple(places[:MOST_PLACES]))
