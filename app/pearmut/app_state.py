"""State of the application of Pearmut's pages, shared by its requests."""

from __future__ import annotations

from asyncio import Lock
from dataclasses import dataclass, field

from starlette.requests import Request

from app.pearmut.files import PearmutPackageFiles
from app.services.pearmut.loaded_campaign import PearmutCampaignCache
from app.services.tasks.judging import JudgingService
from app.web.rate_limits import FailedSignIns

WINDOW = 60.0  # seconds
LOCKS = 64


@dataclass(frozen=True, slots=True)
class PearmutAppState:
    """failures: unknown users by address. campaigns: those in the memory of this process."""

    judging: JudgingService
    files: PearmutPackageFiles
    failures: FailedSignIns
    campaigns: PearmutCampaignCache = field(default_factory=PearmutCampaignCache)
    _saving: tuple[Lock, ...] = field(default_factory=lambda: tuple(Lock() for _ in range(LOCKS)))

    def get_campaign_answer_lock(self, campaign_id: str) -> Lock:
        """Return a lock: a campaign stores one answer at a time, and other requests wait without a connection."""
        return self._saving[hash(campaign_id) % LOCKS]

    @classmethod
    def of_request(cls, request: Request) -> PearmutAppState:
        """Return the state of a request's application."""
        state: PearmutAppState = request.app.state.pearmut
        return state
