"""Which judgments of several conditions are about the same texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.stats.ratings import Bools, Ratings

Match = Literal["none", "documents", "outputs"]
Places = Mapping[tuple[str, int], str]
Output = tuple[str, int, str]
Outputs = Mapping[Output, str]


@dataclass(frozen=True, slots=True)
class ConditionTexts:
    """One condition. sources: digest by (document, position); outputs: digest by (document, position, system); of its
    campaign, where the texts are known."""

    rows: Ratings
    sources: Places
    outputs: Outputs


@dataclass(frozen=True, slots=True)
class MatchedRows:
    """keep: by condition the rows about what all conditions judged. differing: documents (or outputs) left out because
    a text is not the same everywhere."""

    keep: tuple[Bools, ...]
    differing: int


def match_rows_across_conditions(sides: Sequence[ConditionTexts], match: Match) -> MatchedRows:
    """Rows about documents, or outputs, that are judged under every condition and have the same texts everywhere.

    A document goes by its key, an output by document, position and system; documents whose score is one as a whole are
    outputs at position 0. A text that is not known is no reason to leave anything out.
    """
    if match == "none" or len(sides) < 2:
        return MatchedRows(tuple(np.ones(len(one.rows), dtype=np.bool_) for one in sides), 0)
    return _documents(sides) if match == "documents" else _outputs(sides)


def _documents(sides: Sequence[ConditionTexts]) -> MatchedRows:
    judged = [{one.rows.labels.documents[code] for code in np.unique(one.rows.document).tolist()} for one in sides]
    common = set.intersection(*judged)
    other = {key[0] for key in _find_places_with_different_texts([one.sources for one in sides]) if key[0] in common}
    matching = common - other
    return MatchedRows(tuple(_rows_of(one.rows, matching) for one in sides), len(other))


def _find_places_with_different_texts(texts: Sequence[Mapping[tuple[str, int], str]]) -> set[tuple[str, int]]:
    """Places whose known texts are not one."""
    first: dict[tuple[str, int], str] = {}
    return {key for each in texts for key, digest in each.items() if first.setdefault(key, digest) != digest}


def _rows_of(rows: Ratings, documents: set[str]) -> Bools:
    known = np.array([key in documents for key in rows.labels.documents], dtype=np.bool_)
    return np.asarray(known[rows.document] if len(rows) else np.zeros(0), dtype=np.bool_)


def _outputs(sides: Sequence[ConditionTexts]) -> MatchedRows:
    addresses = [list_output_addresses(one.rows) for one in sides]
    common = set.intersection(*(set(each) for each in addresses))
    sources = _find_places_with_different_texts([one.sources for one in sides])
    first: dict[Output, str] = {}
    other = {key for one in sides for key, digest in one.outputs.items() if first.setdefault(key, digest) != digest}
    differing = {key for key in common if key in other or key[:2] in sources}
    matching = common - differing
    return MatchedRows(
        tuple(np.array([key in matching for key in each], dtype=np.bool_) for each in addresses), len(differing)
    )


def list_output_addresses(rows: Ratings) -> list[Output]:
    """Document, position (0 for the whole document) and system of each row."""
    labels = rows.labels
    position = np.append(labels.segment_position, 0)[rows.segment]
    documents, systems = labels.documents, labels.systems
    return [
        (documents[d], p, systems[s])
        for d, p, s in zip(rows.document.tolist(), position.tolist(), rows.system.tolist(), strict=True)
    ]
