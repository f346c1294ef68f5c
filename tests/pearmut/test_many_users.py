"""Many annotators at once on Pearmut's pages: each document goes to one of them, and what each sent is kept once."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import uvicorn

from app.cli.serving.web import KEEP_ALIVE
from app.pearmut.app import create_pearmut_app
from app.pearmut.files import PearmutPackageFiles
from app.services.pearmut.loading import AddedCampaign
from app.storage.db import Database
from app.web.deps import ServiceOptions
from tests.pearmut.campaigns import Annotator, campaign, judged_once
from tests.working import LIMIT, until

Add = Callable[..., AddedCampaign]
MARK = {"start_i": 0, "end_i": 2, "severity": "minor", "category": None}


@contextmanager
def listening(database_url: str) -> Iterator[str]:
    """The pages on loopback, in a thread.

    Connections stay open as long as those of `serve`. By default they end after 5 s: whoever pauses that long and asks
    while one ends gets no answer.
    """
    app = create_pearmut_app(
        Database(database_url, size=10, role="plumbline_app"), ServiceOptions(), PearmutPackageFiles()
    )
    config = uvicorn.Config(app, port=0, log_config=None, access_log=False, lifespan="on")
    config.timeout_keep_alive = KEEP_ALIVE
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    until(lambda: server.started, "it answers")
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(LIMIT)


@dataclass
class HastyUser(threading.Thread):
    """Judges document after document; sends some twice, from two windows at once, and asks twice for the next.

    pause: seconds that a document takes at most.
    """

    address: str
    name_of_campaign: str
    credential: str
    seed: int
    ends: float
    pause: float
    sent: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__init__()
        self._draw = random.Random(self.seed)

    __hash__ = threading.Thread.__hash__

    def run(self) -> None:
        with httpx.Client(base_url=self.address, timeout=LIMIT, trust_env=False) as client:
            page = Annotator(client, self.name_of_campaign, self.credential)
            while time.monotonic() < self.ends:
                shown = self._patiently(page.ask).json()
                if shown["status"] == "goodbye":
                    return
                if self._draw.random() < 0.1:
                    again = self._patiently(page.ask).json()
                    assert again["info"]["item_i"] == shown["info"]["item_i"]
                annotation = [
                    {model: self._answer(n) for n, model in enumerate(item["tgt"])} for item in shown["payload"]
                ]
                self.sent[shown["info"]["item_i"]] = annotation
                windows = [threading.Thread(target=self._send, args=(shown, annotation)) for _ in range(2)]
                doubled = windows if self._draw.random() < 0.1 else windows[:1]
                for window in doubled:
                    window.start()
                for window in doubled:
                    window.join()
                time.sleep(self._draw.uniform(0, self.pause))

    def _answer(self, column: int) -> dict[str, Any]:
        return {"score": 5 * self._draw.randrange(21), "error_spans": [MARK] * column, "textfield": None}

    def _send(self, shown: dict[str, Any], annotation: list[dict[str, Any]]) -> None:
        with httpx.Client(base_url=self.address, timeout=LIMIT, trust_env=False) as client:
            page = Annotator(client, self.name_of_campaign, self.credential)
            assert self._patiently(lambda: page.send(shown, annotation)).json() == "ok"

    def _patiently(self, request: Callable[[], httpx.Response]) -> httpx.Response:
        """Repeat a request as the page does, until it is answered; it waits longer each time."""
        wait = 1.0
        while (answer := request()).status_code == httpx.codes.SERVICE_UNAVAILABLE:
            self.statuses[answer.status_code] += 1
            time.sleep(wait)
            wait *= 2
        self.statuses[answer.status_code] += 1
        return answer


@pytest.mark.parametrize(
    ("users", "seconds", "pause"), [(4, 2, 0.2), pytest.param(30, 120, 8.0, marks=pytest.mark.soak)]
)
def test_each_document_goes_to_one_user_and_what_was_sent_is_kept_once(
    add: Add, database: Database, database_url: str, users: int, seconds: int, pause: float
) -> None:
    texts = {"Best": "Gut.", "Worst": "Schlecht."}
    data = [[{"item_id": f"d{n}_#_0", "src": f"Source {n}.", "tgt": texts}] for n in range(20 * seconds)]
    added = add(campaign(data=data, info={"users": [f"u{n}" for n in range(users)], "show_model_names": True}))
    with listening(database_url) as address:
        ends = time.monotonic() + seconds
        working = [
            HastyUser(address, added.name, link.credential, seed, ends, pause) for seed, link in enumerate(added.links)
        ]
        for one in working:
            one.start()
        for one in working:
            one.join(seconds + LIMIT)
        token = {"campaign_id": added.name, "token": added.token}
        lines = httpx.get(f"{address}/download-annotations", params=token, timeout=LIMIT, trust_env=False).json()

    sent = {
        (link.user, place): annotation
        for link, one in zip(added.links, working, strict=True)
        for place, annotation in one.sent.items()
    }
    assert {(line["user_id"], line["item_i"]): line["annotation"] for line in lines[added.name]} == sent
    assert len(lines[added.name]) == len(sent) == len({place for _, place in sent}) > users
    assert judged_once(database, added.key) == 2 * len(sent)
    statuses = sum((one.statuses for one in working), Counter[int]())
    assert statuses.keys() <= {200, 503}
    assert statuses[503] < statuses[200] / 10, statuses
