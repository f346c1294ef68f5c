"""Requests that come again where the service asks them to, as on a machine that stood still; never more than told."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import httpx

MOST_TRIES = 50  # of one request
SHARE = 0.01


@dataclass
class Again:
    """Whoever asks again as often as told. asked: answers that it got. refused: those of them that said 503."""

    asked: int = 0
    refused: int = 0

    def pause(self, answer: httpx.Response) -> float | None:
        """Seconds after which to come again, which every 503 says; None where it is answered for good."""
        self.asked += 1
        if answer.status_code != 503:
            return None
        self.refused += 1
        told = answer.headers["retry-after"]
        assert told.isdigit(), told
        return float(told)

    def request(self, web: httpx.Client, method: str, url: str, **how: Any) -> httpx.Response:
        """What a request is answered in the end."""
        for _ in range(MOST_TRIES):
            answer = web.request(method, url, **how)
            if (seconds := self.pause(answer)) is None:
                break
            time.sleep(seconds)
        return answer

    async def later(self, web: httpx.AsyncClient, method: str, url: str, **how: Any) -> httpx.Response:
        """The same, of a client that does others meanwhile."""
        for _ in range(MOST_TRIES):
            answer = await web.request(method, url, **how)
            if (seconds := self.pause(answer)) is None:
                break
            await asyncio.sleep(seconds)
        return answer

    def check(self) -> None:
        """Hardly any were refused: one in a hundred, and of few requests one."""
        assert self.refused <= max(1, SHARE * self.asked), f"{self.refused} of {self.asked} were told to come again"
