"""Documents of a file that does not name them: a new one begins where the number of the segment does not grow.

Files of several systems have the same documents, so a document is known again by a segment of the same number and
source. Another file may name them (columns `Doc` and `Source`, as bio-MQM publishes them beside its JSON).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

from app.domain.errors import Invalid

T = TypeVar("T")
MOST_SEGMENTS = 1_000_000


@dataclass(slots=True)
class DocumentNumbers(Generic[T]):
    """names: source → name of its document, where a file tells. known: (number, source) → document so far."""

    names: dict[str, str] = field(default_factory=dict)
    known: dict[tuple[int, str], str] = field(default_factory=dict)
    taken: Iterator[int] = field(default_factory=lambda: count(1))

    def assign(self, segments: Iterable[tuple[int, str, T]]) -> Iterator[tuple[str, T]]:
        """Each segment of one file with its document; segments are (number, source, what it is)."""
        run: list[tuple[int, str, T]] = []
        for segment in segments:
            if run and segment[0] <= run[-1][0] and segment[:2] != run[-1][:2]:
                yield from self._named(run)
                run = []
            run.append(segment)
        yield from self._named(run)

    def _named(self, run: list[tuple[int, str, T]]) -> Iterator[tuple[str, T]]:
        told = (self.names.get(source.strip()) or self.known.get((n, source)) for n, source, _ in run)
        name = next((one for one in told if one), None) or (f"document-{next(self.taken)}" if run else "")
        if len(self.known) + len(run) > MOST_SEGMENTS:
            raise Invalid(f"more than {MOST_SEGMENTS:,} segments in documents without a name")
        for n, source, what in run:
            self.known.setdefault((n, source), name)
            yield name, what
