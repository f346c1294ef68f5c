"""What each loss that an export counts takes from a row, so which rows it explains that come back otherwise or not.

A loss that is not here explains nothing: a row that changed by it fails until somebody says here what it takes. One
that explained nothing in the whole gate fails there.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from app import protocols
from app.formats.esa.writer import PROTOCOLS
from app.formats.mtme.writer import CARRIED
from app.formats.wmt_da.rows import ROLES
from app.formats.xlsx.writer import JUDGED_BY

Key = tuple[str, str, int | None, str]
"""System, document, position and rater."""
Judged = tuple[Key, str]
"""What a judgment says of one system, as JSON: role, accepted and payload."""
Said = dict[str, Any]
ABOUT = {"role", "accepted"}


def _of_errors(*names: str) -> Callable[[Said], Said]:
    """Without these members of every error."""

    def taken(said: Said) -> Said:
        if "errors" not in said:
            return said
        return {**said, "errors": [{k: v for k, v in one.items() if k not in names} for one in said["errors"]]}

    return taken


def _unordered(said: Said) -> Said:
    errors = said.get("errors", ())
    return {**said, "errors": sorted(errors, key=lambda one: json.dumps(one, sort_keys=True))}


TAKES: Mapping[str, Callable[[Said], Said]] = {
    "which prefilled error an error came from": _of_errors("prefill"),
    "the order in which errors were marked": _unordered,
    "that a judgment is a repeat": lambda said: {**said, "role": "rating"} if said["role"] == "repeat" else said,
}
"""What is the same of a row before and after, by the loss."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row that did not come back. same: how many of the same rater on the same output there are."""

    key: Key
    said: Said
    same: int

    @property
    def of_document(self) -> bool:
        """Whether it is of a whole item."""
        return self.key[2] is None


LEAVES_OUT: Mapping[str, Callable[[Row, re.Match[str]], bool]] = {
    r"judgments of the kind (\w+)": lambda row, said: row.said["role"] == said[1],
    r"judgments of whole items": lambda row, _: row.of_document,
    r"judgments that are not MQM": lambda row, _: row.said["protocol"] != "mqm",
    r"judgments that are neither ESA nor MQM": lambda row, _: row.said["protocol"] not in PROTOCOLS,
    r"judgments that are no direct assessments": lambda row, _: (
        row.said["protocol"] != "da" or row.said["role"] not in ROLES.values()
    ),
    r"judgments by (\w+)": lambda row, said: row.said["protocol"] == said[1],
    r"judgments at another level than the protocol's": lambda row, _: (
        row.of_document != (protocols.get_protocol(row.said["protocol"]).level == "document")
    ),
    r"judgments with more than a score and errors: means only": lambda row, _: bool(
        row.said.keys() - CARRIED - ABOUT - {"scores"}
    ),
    r"who judged by criteria: means only": lambda row, _: "scores" in row.said,
    r"judgments that are not one number of a segment": lambda row, _: (
        row.of_document or "score" not in row.said or row.said["protocol"] not in JUDGED_BY
    ),
    r"answers of one rater to one output in another task": lambda row, _: row.same > 1,
    r"judgments": lambda *_: True,
}
"""Which rows do not come back, by the loss."""
MOVES = "raters of document scores"
"""The loss after which rows come back under another rater."""


@dataclass
class Told:
    """What became of rows, as far as it is told of. by: how many judgments a loss explains. faults: what none does."""

    missing: int = 0
    new: int = 0
    changed: int = 0
    by: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def compare(judgments: Sequence[Sequence[Judged]], came: Counter[Judged], lost: Mapping[str, int]) -> Told:
    """Each row that was against what came, by what was told. judgments: as rows, one for each system."""
    before = Counter(row for one in judgments for row in one)
    gone, new, told = before - came, came - before, Told()
    takes = [what for what in lost if what in TAKES]
    pairs = _paired(gone, new, takes)
    told.changed = len(pairs)
    for what in takes:
        needed = Counter(was for was, now in pairs if not _alike(was, now, [one for one in takes if one != what]))
        _count(told, what, len(_judgments_of(judgments, needed)), lost)
    if MOVES in lost:
        moved = Counter(was for was, _ in _paired(gone, new, takes, whoever=True))
        _count(told, MOVES, len(_judgments_of(judgments, moved)), lost)
    told.new = new.total()
    told.faults += [f"never judged, or otherwise for no reason told: {row}" for row in (+new).elements()]
    _leave_out(told, judgments, +gone, lost)
    return told


def _paired(
    gone: Counter[Judged], new: Counter[Judged], takes: Sequence[str], *, whoever: bool = False
) -> list[tuple[Judged, Judged]]:
    """Take out of both what is the same but for what the losses take. whoever: of any rater."""
    n = 3 if whoever else 4
    pairs = []
    for now in list(new.elements()):
        same = (row for row in gone if gone[row] and row[0][:n] == now[0][:n] and _alike(row, now, takes))
        was = next(same, None)
        if was is not None:
            gone[was] -= 1
            new[now] -= 1
            pairs.append((was, now))
    return pairs


def _alike(was: Judged, now: Judged, takes: Iterable[str]) -> bool:
    one, other = json.loads(was[1]), json.loads(now[1])
    for what in takes:
        one, other = TAKES[what](one), TAKES[what](other)
    return bool(one == other)


def _judgments_of(judgments: Sequence[Sequence[Judged]], rows: Counter[Judged]) -> list[Judged]:
    """One row of each judgment that has some: exports count judgments, whatever systems share an output."""
    left, found = rows.copy(), []
    for judgment in judgments:
        some = [row for row in judgment if left[row] > 0]
        left.subtract(some)
        found += some[:1]
    return found


def _count(told: Told, what: str, n: int, lost: Mapping[str, int]) -> None:
    told.by[what] += n
    if n > lost[what]:
        told.faults.append(f"{n} judgments are otherwise by “{what}”, which is counted {lost[what]} times")


def _leave_out(
    told: Told, judgments: Sequence[Sequence[Judged]], gone: Counter[Judged], lost: Mapping[str, int]
) -> None:
    """Each judgment that is missing by a loss that says so, and each loss as often as it was counted."""
    places = Counter(key for one in judgments for key, _ in one)
    missing = _judgments_of(judgments, gone)
    told.missing = len(missing)
    rows = [Row(key, json.loads(said), places[key]) for key, said in missing]
    counted = [what for what, n in lost.items() for _ in range(min(n, len(rows)))]
    fits = [[_leaves_out(what, row) for what in counted] for row in rows]
    if not rows or not counted:
        of = [-1] * len(rows)
    else:
        of = maximum_bipartite_matching(csr_array(np.array(fits, dtype=np.int8)), perm_type="column").tolist()
    told.by.update(counted[n] for n in of if n >= 0)
    told.faults += [f"missing for no reason told: {one}" for one, n in zip(missing, of, strict=True) if n < 0]


def _leaves_out(what: str, row: Row) -> bool:
    found = ((re.fullmatch(pattern, what), holds) for pattern, holds in LEAVES_OUT.items())
    return any(said is not None and holds(row, said) for said, holds in found)
