"""A digest of all that a report used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import astuple

import numpy as np

from app.stats.ratings import COLUMNS, Codes, Ratings
from app.stats.side_tables import DocumentTable
from app.storage import texts


def hash_report_data(rows: Ratings, documents: DocumentTable, known: Mapping[str, texts.SystemDescription]) -> str:
    """Digest of all that a report used: the same data give the same digest in any database.

    Beside the ratings these are what they mean (scale, which way is better), the domains of the documents
    that were rated, and the names and kinds of the systems.
    """
    digest = hashlib.sha256()
    systems, _ = _compress_codes(rows.system, len(rows.labels.systems))
    rated, _ = _compress_codes(rows.document, len(rows.labels.documents))
    beside = [
        (rows.higher_is_better, rows.documents_known, rows.standardised),
        rows.scale and astuple(rows.scale),
        [documents.domain[code] for code in rated],
        [astuple(known[rows.labels.systems[code]]) for code in systems],
    ]
    digest.update(json.dumps(beside).encode() + b"\0")
    names, columns = rows.labels, {name: getattr(rows, name) for name in COLUMNS}
    labels = {"system": names.systems, "document": names.documents, "rater": names.raters, "task": names.tasks}
    renumbered = {}
    for name, words in labels.items():
        used, renumbered[name] = _compress_codes(columns[name], len(words))
        digest.update("\n".join(words[i] for i in used).encode() + b"\0")
        columns[name] = renumbered[name][columns[name]]
    shown, number = _compress_codes(columns["segment"][columns["segment"] >= 0], names.segment_position.size)
    document = renumbered["document"][names.segment_document[shown]]
    columns["segment"] = np.where(columns["segment"] < 0, -1, np.append(number, -1)[columns["segment"]])
    for column in (document, names.segment_position[shown], *columns.values()):
        digest.update(np.ascontiguousarray(column).tobytes())
    return "sha256:" + digest.hexdigest()


def _compress_codes(codes: Codes, n: int) -> tuple[Codes, Codes]:
    """The codes that occur, and by old code the new one: what a later version declares must not change this one."""
    occurs = np.bincount(codes, minlength=n) > 0
    return np.flatnonzero(occurs).astype(np.int32), (np.cumsum(occurs) - 1).astype(np.int32)
