"""Sampling in a thread of its own while something else runs."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Self


class Sampler(ABC):
    """Takes a sample at the start of a block, then again and again, and at its end. pause: seconds between two."""

    def __init__(self, pause: float) -> None:
        self._pause = pause
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        self.take_sample()
        while not self._done.wait(self._pause):
            self.take_sample()
        self.take_sample()

    @abstractmethod
    def take_sample(self) -> None:
        """Take one sample."""
