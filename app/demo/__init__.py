"""A synthetic MQM campaign made by this project: texts, systems of known quality, and simulated raters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from app.demo.campaign import (
    BASIS,
    DESIGN,
    PLANTED_ORDER,
    PROTOCOL,
    STABILITY,
    TITLE,
    make_demo_rater_model,
    make_demo_records,
)
from app.demo.demo_raters import GUEST, TEMPERS
from app.domain.errors import NotFound
from app.formats.base import ReadLog, Record
from app.services.campaigns.campaigns import NewCampaign, create_campaign, get_campaign
from app.services.data.record_import import RunningImport, import_records
from app.storage.db import Database

__all__ = [
    "DEMO_SEED",
    "DESIGN",
    "GUEST",
    "PLANTED_ORDER",
    "PROTOCOL",
    "RATERS",
    "STABILITY",
    "ensure_demo_campaign",
    "make_demo_rater_model",
]

DEMO_SEED = 20261120
RATERS = (*TEMPERS, GUEST)
_ACTOR = "demo"
_TELL_EVERY = 50
Progress = Callable[[int, int], None]


def ensure_demo_campaign(database: Database, *, seed: int = DEMO_SEED, progress: Progress | None = None) -> str:
    """Load the texts of the demo campaign unless they are loaded, and return its key. Each seed has its own campaign.

    The true order of the systems is `PLANTED_ORDER`, best first. progress: called with the number of records loaded so
    far, and the total.
    """
    key = "demo" if seed == DEMO_SEED else f"demo-{seed}"
    with database.transaction() as session:
        try:
            campaign = get_campaign(session, key)
        except NotFound:
            campaign = create_campaign(
                session, NewCampaign(key=key, name=TITLE, protocol=PROTOCOL, basis=BASIS), actor=_ACTOR
            )
        if campaign.data_version == 0:
            intake = RunningImport(session, campaign, actor=_ACTOR, audit_details="demo campaign")
            import_records(intake, _with_progress(list(make_demo_records(seed)), progress), ReadLog())
    return key


def _with_progress(lines: Sequence[Record], progress: Progress | None) -> Iterator[Record]:
    for n, record in enumerate(lines, start=1):
        yield record
        if progress and (n % _TELL_EVERY == 0 or n == len(lines)):
            progress(n, len(lines))
