"""A database that is frozen is not waited for: whoever asks is told so within seconds, and it heals by itself."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from app.storage.embedded.cluster import Cluster, find_server_processes
from tests.faults.serving import judging, service
from tests.working import until

PATIENCE = 20.0  # seconds that a client waits: ten times what it takes, and a frozen server would take them all
ASKING = 8


def signalled(cluster: Cluster, number: signal.Signals) -> None:
    for pid in find_server_processes(cluster):
        with suppress(ProcessLookupError):  # one that has ended meanwhile
            os.kill(pid, number)


@contextmanager
def frozen(cluster: Cluster) -> Iterator[None]:
    """Every process of the server stands still for the length of a block, and keeps all its connections."""
    signalled(cluster, signal.SIGSTOP)
    try:
        yield
    finally:
        signalled(cluster, signal.SIGCONT)


def test_a_frozen_database_is_told_to_everybody_and_nothing_confirmed_is_lost(data_dir: Path, tmp_path: Path) -> None:
    with service(data_dir, tmp_path / "home") as run:
        raters = judging(run, 4)
        secret = next(iter(raters.live.secrets.values()))
        headers = {"Authorization": f"Bearer {secret}"}

        def asked(path: str) -> tuple[int, float]:
            begun = time.monotonic()
            with suppress(httpx.TimeoutException):
                answer = httpx.get(f"{run.origin}{path}", headers=headers, timeout=PATIENCE, trust_env=False)
                return answer.status_code, time.monotonic() - begun
            return 0, PATIENCE

        raters.begin()
        try:
            until(lambda: raters.statuses[200] > 50, "it never began")
            with frozen(run.server.cluster), ThreadPoolExecutor(2 * ASKING) as pool:
                # The raters' posts are under way; these come after it, before and after it is noticed.
                paths = ["/readyz", "/v1/me", f"/v1/campaigns/{raters.live.key}", "/v1/me"] * (ASKING // 4)
                first = list(pool.map(asked, paths))
                later = list(pool.map(asked, paths))
                under_way = "those whose answers were under way are told, too"
                until(lambda: raters.statuses[503], under_way, within=PATIENCE)
                alive = asked("/livez")
            before = raters.statuses[200]
            until(lambda: raters.statuses[200] > before + 50, f"it did not go on: {raters.statuses}")
        finally:
            raters.end()
        assert {status for status, _ in first + later} == {503}
        assert alive[0] == 200
        assert raters.lost() == []
        assert set(raters.statuses) <= {200, 503}
