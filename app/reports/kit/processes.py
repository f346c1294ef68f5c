"""Computes the chunks of a report in several processes of this machine, each with one thread of linear algebra."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from app.reports.kit.report import Chunk, ReportComputation
from app.reports.kit.store import Execute, compute_chunks_serially

_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
_AHEAD = 3  # chunks per process submitted in advance, so that no result waits for long
_chunk: list[Chunk] = []  # in a worker process: what its initializer received


def make_chunk_executor(workers: int) -> Execute:
    """Return a function that computes chunks in this number of processes; with one, it computes them in this process.

    The results do not depend on the number. The chunk must be a function of a module or a method of a value, so that it
    can be sent to other processes.
    """
    if workers < 2:
        return compute_chunks_serially

    def execute(work: ReportComputation[Any]) -> Iterator[bytes]:
        with _limit_threads():
            pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_prepare, initargs=(work.chunk,))
            try:
                yield from _handed_out(pool, work.n_chunks, workers * _AHEAD)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    return execute


def _handed_out(pool: ProcessPoolExecutor, n_chunks: int, ahead: int) -> Iterator[bytes]:
    waiting: deque[Future[bytes]] = deque()
    for number in range(n_chunks):
        waiting.append(pool.submit(_compute, number))
        if len(waiting) >= ahead:
            yield waiting.popleft().result()
    for future in waiting:
        yield future.result()


def _prepare(chunk: Chunk) -> None:
    _chunk.append(chunk)


def _compute(number: int) -> bytes:
    return _chunk[0](number)


@contextmanager
def _limit_threads() -> Iterator[None]:
    """Let processes that start in this context use one thread; linear algebra reads the setting when it is loaded."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
