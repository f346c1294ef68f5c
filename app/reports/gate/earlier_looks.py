"""How often a gate was asked while its campaign grew: a claim that is asked for again holds by chance at last.

A bound holds at one look. Asked after every fifth of 40 documents, a gate at .05 lets a candidate through that is no
better in .11 to .19 of the campaigns. So a gate tells when the two systems were compared before, on fewer data; and a
look can be fixed beforehand: `documents` says at how many documents the claim is decided, and nothing is told before.

Bounds that hold at every look (confidence sequences) would be a third promise beside the two of `Promise`.

Source: Armitage, McPherson & Rowe 1969 (Journal of the Royal Statistical Society A 132).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.reports.inputs.snapshot import CampaignSnapshot
from app.storage import reports
from app.storage.db import Session

KIND = "campaign/gate"
Promise = Literal["one look", "none"]


@dataclass(frozen=True, slots=True)
class EarlierLooks:
    """Data versions at which the same two systems were compared before, in order, each once."""

    earlier: tuple[int, ...] = ()

    @property
    def describe_alpha_guarantee(self) -> Promise:
        """Whether alpha holds: at the first look it does."""
        return "none" if self.earlier else "one look"

    def warnings(self) -> list[str]:
        """What must be said; nothing at the first look."""
        n = len(self.earlier)
        if not n:
            return []
        versions = ", ".join(str(version) for version in self.earlier[-5:])
        times = "once" if n == 1 else f"{n} times"
        return [
            (
                f"these two systems were compared before, {times}, on less data (data version {versions}): "
                f"{WHY}; {WHAT_TO_DO}"
            ),
        ]


NEVER = EarlierLooks()
WHY = "repeated looks accept too many candidates, up to .19 instead of .05 in simulations, so alpha does not hold"
WHAT_TO_DO = "fix the number of documents in advance with `documents`, or decide on new documents"


def load_earlier_looks(session: Session, snapshot: CampaignSnapshot, candidate: str, baseline: str) -> EarlierLooks:
    """Earlier comparisons of the two, whichever was the candidate, that told a difference."""
    both = {candidate, baseline}
    return EarlierLooks(
        tuple(
            dict.fromkeys(
                v for v, first, second in _list_earlier_comparisons(session, snapshot) if {first, second} == both
            )
        )
    )


def make_earlier_looks_key(session: Session, snapshot: CampaignSnapshot) -> Sequence[object]:
    """Every earlier comparison, for the key of the report: the answer tells of them."""
    return sorted(set(_list_earlier_comparisons(session, snapshot)))


def _list_earlier_comparisons(session: Session, snapshot: CampaignSnapshot) -> list[tuple[int, str, str]]:
    comparisons = []
    for version, body in reports.load_earlier_reports(session, snapshot.campaign_id, KIND, snapshot.version):
        stored = json.loads(body)
        if stored.get("difference") is not None:
            comparisons.append((version, str(stored.get("candidate")), str(stored.get("baseline"))))
    return comparisons
