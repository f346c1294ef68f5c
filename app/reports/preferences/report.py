"""Which of the outputs shown side by side raters prefer, pair by pair."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from app.reports.inputs.exclusions_and_lock import load_exclusions_and_lock
from app.reports.inputs.snapshot import CampaignSnapshot
from app.reports.kit import text_formatting
from app.reports.kit.report import Report, ReportComputation, make_undivided_computation
from app.reports.preferences.view import (
    PairPreferenceLine,
    PreferencesView,
    SystemPreferenceLine,
    make_caption,
    make_csv_rows,
    make_tables,
    plot_preferences,
)
from app.stats import preferences as stats
from app.storage import side_by_side_preferences as stored
from app.storage.db import Session

CONTROL, SURPLUS, SAME = "control screen", "surplus", "comparison of one text with itself"
UNTOLD = "comparison among those that are not the best"
NOT_ASKED = "the campaign collects no preferences: its option `preference` is not set; set it before the first judgment"
NOTHING = "no comparisons have been made yet; collect or import some"


Out = Mapping[tuple[str, str], str]


class PreferencesOptions(BaseModel):
    """How pairs are tested."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    adjust: Literal["none", "holm", "bh"] = Field("holm", description="Correction of the p-values of all pairs.")
    alpha: float = Field(0.05, gt=0, lt=1, description="Level of tests and intervals.", examples=[0.05])


@dataclass(frozen=True, slots=True)
class _PairwiseAnswer:
    """One rater's answer about two systems on one screen."""

    first: str
    second: str
    outcome: int
    document: str


def _prepare(
    session: Session, snapshots: tuple[CampaignSnapshot, ...], options: PreferencesOptions
) -> ReportComputation[PreferencesView]:
    snapshot = snapshots[0]
    rows = stored.load_side_by_side_preferences(session, snapshot.campaign_id, snapshot.version)
    stands = load_exclusions_and_lock(session, snapshot.campaign_id, snapshot.version).exclusions
    out: dict[tuple[str, str], str] = {}
    for standing in stands:
        out[standing.exclusion.what, standing.exclusion.key] = standing.reason
    return make_undivided_computation(lambda: _view(snapshot, options, rows, out))


def _view(
    snapshot: CampaignSnapshot, options: PreferencesOptions, rows: Sequence[stored.Row], out: Out
) -> PreferencesView:
    mode = snapshot.campaign.options.get("preference")
    dropped: Counter[str] = Counter()
    counted: list[stored.Row] = []
    comparisons: list[_PairwiseAnswer] = []
    for row in rows:
        why = _left_out(row, out)
        if why is not None:
            dropped[why] += 1
            continue
        counted.append(row)
        comparisons += _iterate_pairs(row, out, dropped, unordered=_unordered_group(mode, len(row.preference)))
    systems = sorted({key for one in comparisons for key in (one.first, one.second)})
    columns = _columns(comparisons, systems)
    pairs = stats.compute_pair_preferences(columns, n_systems=len(systems), alpha=options.alpha, method=options.adjust)
    return PreferencesView(
        campaigns={snapshot.campaign.key: snapshot.version},
        data_hash=_hash(rows),
        basis=snapshot.campaign.basis,
        dropped=[{"reason": reason, "n": n} for reason, n in sorted(dropped.items())],
        warnings=list(_warnings(mode, rows, pairs, options)),
        asked=mode if isinstance(mode, str) and mode != "none" else None,
        alpha=options.alpha,
        adjust=options.adjust,
        n_screens=len(counted),
        n_raters=len({row.rater for row in counted}),
        n_documents=len({row.document for row in counted}),
        systems=[_system(one, systems) for one in stats.compute_preference_standings(columns, n_systems=len(systems))],
        pairs=[_pair(one, systems, options.alpha) for one in _best_first(pairs)],
    )


def _left_out(row: stored.Row, out: Out) -> str | None:
    if row.surplus:
        return SURPLUS
    if row.control:
        return CONTROL
    named = (("rater", row.rater), ("document", row.document), ("task", row.task))
    return next((out[one] for one in named if one in out), None)


def _unordered_group(mode: object, n_groups: int) -> int | None:
    """Return the group, from 0, whose columns were not compared with each other: neither best nor worst."""
    if mode == "best":
        return 1
    return 1 if mode == "best_worst" and n_groups > 2 else None


def _iterate_pairs(
    row: stored.Row, out: Out, dropped: Counter[str], *, unordered: int | None
) -> Iterator[_PairwiseAnswer]:
    """Yield all pairs of columns as pairs of their systems, without pairs within the unordered group."""
    place = {column: n for n, group in enumerate(row.preference) for column in group}
    for a, b in combinations(sorted(place), 2):
        shown = [(x, y) for x in row.columns[a - 1] for y in row.columns[b - 1]]
        if unordered is not None and place[a] == place[b] == unordered:
            dropped[UNTOLD] += len(shown)
            continue
        for x, y in shown:
            if x == y:
                dropped[SAME] += 1
            elif reason := out.get(("system", x)) or out.get(("system", y)):
                dropped[reason] += 1
            else:
                yield _PairwiseAnswer(x, y, (place[a] < place[b]) - (place[a] > place[b]), row.document)


def _columns(comparisons: Sequence[_PairwiseAnswer], systems: Sequence[str]) -> stats.PairwiseComparisons:
    code = {key: n for n, key in enumerate(systems)}
    document = {key: n for n, key in enumerate(sorted({one.document for one in comparisons}))}
    columns = [(code[one.first], code[one.second], one.outcome, document[one.document]) for one in comparisons]
    return stats.PairwiseComparisons(*np.array(columns, dtype=np.int32).reshape(-1, 4).T)


def _best_first(pairs: Sequence[stats.PairPreference]) -> list[stats.PairPreference]:
    return sorted(pairs, key=lambda one: (-round(one.preference, 10), one.first, one.second))


def _system(standing: stats.PreferenceStanding, systems: Sequence[str]) -> SystemPreferenceLine:
    key = systems[standing.system]
    return SystemPreferenceLine(
        system=key, wins=standing.wins, losses=standing.losses, ties=standing.ties, share=standing.share
    )


def _pair(pair: stats.PairPreference, systems: Sequence[str], alpha: float) -> PairPreferenceLine:
    return PairPreferenceLine(
        better=systems[pair.first],
        worse=systems[pair.second],
        wins=pair.wins,
        losses=pair.losses,
        ties=pair.ties,
        n_documents=pair.n_documents,
        preference=pair.preference,
        interval=pair.interval,
        p_value=pair.p_value,
        p_adjusted=pair.p_adjusted,
        significant=pair.p_adjusted <= alpha,
    )


def _warnings(
    mode: object, rows: Sequence[stored.Row], pairs: Sequence[stats.PairPreference], options: PreferencesOptions
) -> Iterator[str]:
    if not rows:
        yield NOTHING if mode in ("best", "best_worst", "ranking") else NOT_ASKED
    elif not pairs:
        yield "no comparisons remain to count; `dropped` says why"
    else:
        lowest = min(stats.compute_smallest_possible_p(one.n_documents) for one in pairs)
        lowest *= len(pairs) if options.adjust == "holm" else 1
        if lowest > options.alpha:
            documents = max(one.n_documents for one in pairs)
            yield (
                f"no preference can be significant: with {text_formatting.pluralize(documents, 'document')} the "
                f"smallest p is {min(1.0, lowest):g}; collect comparisons on more documents"
            )
        if not any(one.wins or one.losses for one in pairs):
            yield "every comparison is a tie, so no system is preferred; collect comparisons on more texts"
        if any(one.interval is None for one in pairs):
            yield (
                "pairs compared on one document, or with the same result on all documents, have no interval; compare "
                "them on more documents"
            )


def _hash(rows: Sequence[stored.Row]) -> str:
    content = [[*(row.task, row.screen, row.rater, row.document), row.columns, row.preference] for row in rows]
    return "sha256:" + hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


EXAMPLE: dict[str, Any] = {
    "campaigns": {"columns": 9},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "dropped": [{"reason": CONTROL, "n": 4}],
    "asked": "ranking",
    "alpha": 0.05,
    "adjust": "holm",
    "n_screens": 10,
    "n_raters": 2,
    "n_documents": 5,
    "systems": [
        {"system": "A", "wins": 7, "losses": 1, "ties": 2, "share": 0.8},
        {"system": "B", "wins": 1, "losses": 7, "ties": 2, "share": 0.2},
    ],
    "pairs": [
        {
            "better": "A",
            "worse": "B",
            "wins": 7,
            "losses": 1,
            "ties": 2,
            "n_documents": 5,
            "preference": 0.6,
            "interval": [0.2, 1.0],
            "p_value": 0.0703125,
            "p_adjusted": 0.0703125,
            "significant": False,
        }
    ],
}
REPORT: Report[PreferencesOptions, PreferencesView] = Report(
    name="preferences",
    title="Side-by-side preferences",
    summary="Wins, losses and ties of each pair of systems whose outputs were shown side by side.",
    options=PreferencesOptions,
    result=PreferencesView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=make_tables,
    csv=make_csv_rows,
    charts={"default": plot_preferences},
    caption=make_caption,
)
