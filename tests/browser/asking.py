"""The interface beside the browser: what somebody who may do everything sets up, and what came of what the page did."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import uuid4

import httpx

from tests.browser.test_manager_way import texts
from tests.load.server import Served


@dataclass
class Interface:
    """Requests that must succeed."""

    served: Served
    client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        headers = {"Authorization": f"Bearer {self.served.secret}"}
        self.client = httpx.Client(base_url=f"{self.served.url}/v1", timeout=60, headers=headers)

    def __call__(
        self, method: str, path: str, body: object = None, *, content: bytes | None = None, **headers: str
    ) -> httpx.Response:
        """Ask; the answer, which is a success."""
        once = {"Idempotency-Key": uuid4().hex, **{name.replace("_", "-"): value for name, value in headers.items()}}
        answer = self.client.request(method, path, json=body, content=content, headers=once)
        assert answer.is_success, answer.text
        return answer

    def draft(self, key: str, **more: object) -> str:
        """A draft with texts of three systems and no rater; its key."""
        self("POST", "/campaigns", {"key": key, "protocol": "da", "target_language": "de", **more})
        self("POST", f"/campaigns/{key}/imports?format=jsonl", content=texts().encode())
        return key

    def opened(self, key: str, raters: tuple[str, ...] = ("r1", "r2", "r3")) -> str:
        """An open campaign with texts, raters and a plan; its key."""
        self.draft(key)
        for rater in raters:
            self("PUT", f"/campaigns/{key}/raters/{rater}", {})
        self("POST", f"/campaigns/{key}/plan", {"grouping": "psxs", "seed": 1})
        self("POST", f"/campaigns/{key}/open")
        return key

    def secret(self, key: str, rater: str) -> str:
        """What the link of a rater carries."""
        link: str = self("POST", f"/campaigns/{key}/raters/{rater}/link").json()["link"]
        return link.split("#token=")[1]
