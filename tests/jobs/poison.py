"""A kind of report one chunk of which ends its process, and the child that knows it."""

from __future__ import annotations

import os
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType
from typing import Any

from app.jobs import computing
from app.reports import registry
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit.report import ReportComputation
from app.storage.db import Session
from tests.reports.toy_reports import TOY, ToyOptions, ToyView

TRACES = "PLUMBLINE_TEST_TRACES"
compute_as_ever = computing.run_computing_child


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: ToyOptions
) -> ReportComputation[ToyView]:
    work = TOY.prepare(session, snapshots, options)

    def chunk(number: int) -> bytes:
        with Path(os.environ[TRACES]).open("a") as traces:
            traces.write(f"{number}\n")
        if number == 1:
            os._exit(7)
        return work.chunk(number)

    return ReportComputation(work.n_chunks, chunk, work.finish)


POISON = replace(TOY, name="poison", prepare=_prepare, long=True)
KINDS: MappingProxyType[str, Any] = MappingProxyType({"campaign/poison": POISON})


def compute(line: Connection, url: str, role: str | None, name: str, low_priority: bool, *rest: object) -> None:
    """In the child."""
    registry.ALL = KINDS
    compute_as_ever(line, url, role, name, low_priority, *rest)
