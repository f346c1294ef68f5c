"""How often a gate was asked while its campaign grew: a claim that is tested repeatedly will eventually hold by chance.

A bound holds for one look. Asked after every fifth of 40 documents, a gate at alpha .05 accepts a candidate that is no
better in .11 to .12 of simulated campaigns, and with ten looks by the normal distribution in .19. Therefore the gate
reports when the two systems were compared before on less data. The look can also be fixed in advance: `documents` says
at how many documents the claim is decided, and no result is shown before.

Bounds that hold at every look (confidence sequences) would be a third guarantee besides the two of `Promise`.

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
    """Data versions at which the same two systems were compared before, in ascending order and each once."""

    earlier: tuple[int, ...] = ()

    @property
    def alpha_guarantee(self) -> Promise:
        """Whether alpha holds; it does at the first look."""
        return "none" if self.earlier else "one look"

    def list_warnings(self) -> list[str]:
        """Return the warnings; there are none at the first look."""
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
    """Load earlier comparisons of the two systems that gave a difference, whichever of them was the candidate."""
    both = {candidate, baseline}
    return EarlierLooks(
        tuple(
            dict.fromkeys(
                v for v, first, second in _list_earlier_comparisons(session, snapshot) if {first, second} == both
            )
        )
    )


def make_earlier_looks_cache_key(session: Session, snapshot: CampaignSnapshot) -> Sequence[object]:
    """Return all earlier comparisons for the key of the report, because the report mentions them."""
    return sorted(set(_list_earlier_comparisons(session, snapshot)))


def _list_earlier_comparisons(session: Session, snapshot: CampaignSnapshot) -> list[tuple[int, str, str]]:
    comparisons = []
    for version, body in reports.load_earlier_reports(session, snapshot.campaign_id, KIND, snapshot.version):
        stored = json.loads(body)
        if stored.get("difference") is not None:
            comparisons.append((version, str(stored.get("candidate")), str(stored.get("baseline"))))
    return comparisons
