"""Documents of a file that does not name them: a new one begins when the segment number does not increase.

Files of several systems have the same documents, so a document is recognized by its segments: by the largest number
that agree in number and source, if none contradicts. Documents can begin alike ("Background:"), so one segment alone is
weak evidence. Another file may name them (columns `SEG_ID`, `Doc` and `Source`, as bio-MQM publishes them with its
JSON).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

from app.domain.errors import Invalid

T = TypeVar("T")
MOST_SEGMENTS = 1_000_000


@dataclass(slots=True)
class UnnamedDocumentMatcher(Generic[T]):
    """Matches unnamed documents by their segments.

    sources: of each document, number → source, without outer blanks. where: documents that contain a segment.
    """

    sources: dict[str, dict[int, str]] = field(default_factory=dict)
    where: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    taken: Iterator[int] = field(default_factory=lambda: count(1))
    n_segments: int = 0

    def add_segment(self, document: str, n: int, source: str) -> None:
        """Add a segment of a document. Raises Invalid beyond the limit."""
        source = source.strip()
        if self.sources.setdefault(document, {}).setdefault(n, source) != source:
            return
        documents = self.where.setdefault((n, source), [])
        if document not in documents:
            documents.append(document)
            self.n_segments += 1
        if self.n_segments > MOST_SEGMENTS:
            raise Invalid(f"more than {MOST_SEGMENTS:,} segments in documents without a name")

    def assign_documents(self, segments: Iterable[tuple[int, str, T]]) -> Iterator[tuple[str, T]]:
        """Yield each segment of one file with its document; segments are (number, source, object)."""
        run: list[tuple[int, str, T]] = []
        for segment in segments:
            if run and segment[0] <= run[-1][0] and segment[:2] != run[-1][:2]:
                yield from self._name_documents(run)
                run = []
            run.append(segment)
        yield from self._name_documents(run)

    def _name_documents(self, run: Sequence[tuple[int, str, T]]) -> Iterator[tuple[str, T]]:
        pairs = [(n, source.strip()) for n, source, _ in run]
        shared = Counter(document for pair in pairs for document in self.where.get(pair, ()))
        fitting = (document for document, _ in shared.most_common() if self._matches_texts(document, pairs))
        name = next(fitting, None) or (f"document-{next(self.taken)}" if run else "")
        for n, source, what in run:
            self.add_segment(name, n, source)
            yield name, what

    def _matches_texts(self, document: str, pairs: Iterable[tuple[int, str]]) -> bool:
        sources = self.sources[document]
        return all(sources.get(n, source) == source for n, source in pairs)
