"""Which judgments under several conditions are about the same texts."""

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
class ConditionRowsWithTexts:
    """The rows of one condition, with digests of the texts of its campaign where these are known.

    sources: by (document, position). outputs: by (document, position, system).
    """

    rows: Ratings
    sources: Places
    outputs: Outputs


@dataclass(frozen=True, slots=True)
class MatchedRows:
    """Rows of each condition that match rows of all others.

    keep: which rows, by condition. differing: number of documents (or outputs) left out because their texts differ.
    """

    keep: tuple[Bools, ...]
    differing: int


def match_rows_across_conditions(conditions: Sequence[ConditionRowsWithTexts], match_by: Match) -> MatchedRows:
    """Return the rows about documents or outputs that were judged, with the same texts, under every condition.

    Documents are matched by key, outputs by document, position and system; documents with one score as a whole are
    outputs at position 0. An unknown text is no reason to leave anything out.
    """
    if match_by == "none" or len(conditions) < 2:
        return MatchedRows(tuple(np.ones(len(one.rows), dtype=np.bool_) for one in conditions), 0)
    return _documents(conditions) if match_by == "documents" else _outputs(conditions)


def _documents(conditions: Sequence[ConditionRowsWithTexts]) -> MatchedRows:
    judged = [{one.rows.labels.documents[code] for code in np.unique(one.rows.document).tolist()} for one in conditions]
    common = set.intersection(*judged)
    other = {
        key[0] for key in _find_places_with_different_texts([one.sources for one in conditions]) if key[0] in common
    }
    matching = common - other
    return MatchedRows(tuple(_rows_of(one.rows, matching) for one in conditions), len(other))


def _find_places_with_different_texts(texts: Sequence[Mapping[tuple[str, int], str]]) -> set[tuple[str, int]]:
    """Return the places that have more than one known text."""
    first: dict[tuple[str, int], str] = {}
    return {key for each in texts for key, digest in each.items() if first.setdefault(key, digest) != digest}


def _rows_of(rows: Ratings, documents: set[str]) -> Bools:
    known = np.array([key in documents for key in rows.labels.documents], dtype=np.bool_)
    return np.asarray(known[rows.document] if len(rows) else np.zeros(0), dtype=np.bool_)


def _outputs(conditions: Sequence[ConditionRowsWithTexts]) -> MatchedRows:
    addresses = [list_output_addresses(one.rows) for one in conditions]
    common = set.intersection(*(set(each) for each in addresses))
    sources = _find_places_with_different_texts([one.sources for one in conditions])
    first: dict[Output, str] = {}
    other = {
        key for one in conditions for key, digest in one.outputs.items() if first.setdefault(key, digest) != digest
    }
    differing = {key for key in common if key in other or key[:2] in sources}
    matching = common - differing
    return MatchedRows(
        tuple(np.array([key in matching for key in each], dtype=np.bool_) for each in addresses), len(differing)
    )


def list_output_addresses(rows: Ratings) -> list[Output]:
    """Return document, position (0 for the whole document) and system of each row."""
    labels = rows.labels
    position = np.append(labels.segment_position, 0)[rows.segment]
    documents, systems = labels.documents, labels.systems
    return [
        (documents[d], p, systems[s])
        for d, p, s in zip(rows.document.tolist(), position.tolist(), rows.system.tolist(), strict=True)
    ]
