"""What the application of Pearmut's pages has beside a request."""

from __future__ import annotations

from asyncio import Lock
from dataclasses import dataclass, field

from starlette.requests import Request

from app.pearmut.files import PearmutFiles
from app.services.pearmut.documents import LoadedCampaignCache
from app.services.tasks.judging import JudgingService
from app.web.rate_limits import FailedSignIns

WINDOW = 60.0  # seconds
LOCKS = 64


@dataclass(frozen=True, slots=True)
class PearmutState:
    """failures: unknown users of each address. campaigns: those in the memory of this process."""

    judging: JudgingService
    files: PearmutFiles
    failures: FailedSignIns
    campaigns: LoadedCampaignCache = field(default_factory=LoadedCampaignCache)
    _saving: tuple[Lock, ...] = field(default_factory=lambda: tuple(Lock() for _ in range(LOCKS)))

    def answer_lock(self, campaign_id: str) -> Lock:
        """Held while an answer is stored: a campaign stores one at a time, and the others wait without a connection."""
        return self._saving[hash(campaign_id) % LOCKS]

    @classmethod
    def of_request(cls, request: Request) -> PearmutState:
        """The state of the application that a request is for."""
        state: PearmutState = request.app.state.pearmut
        return state
