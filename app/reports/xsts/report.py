"""Systems of several language pairs on one scale, by a calibration set, by human references, or by both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.reports.kit import captions
from app.reports.kit.charts.moved import MovedRow, moved_plot
from app.reports.kit.report import Report, Work, whole
from app.reports.source.calibration import Parted, campaign_heads, parted, rater_names, unagreed
from app.reports.source.raw_ratings import NOTHING
from app.reports.source.snapshot import Snapshot
from app.reports.source.standing_exclusions import without_excluded
from app.reports.xsts.external_scores import automatic_of, external
from app.reports.xsts.language_pairs import Laid, XstsAsked, check_points, check_together, laid_of, told_namesakes
from app.reports.xsts.view import (
    ATTRIBUTES,
    IN_WORDS,
    ComparedSystemView,
    DirectionView,
    LineView,
    RaterPoints,
    ScoreView,
    XstsView,
    caption,
    csv,
    figure,
    named,
    tables,
)
from app.stats.aggregate import round_scores
from app.stats.agreement.units import Units
from app.stats.calibration import across
from app.stats.calibration.across import CalibratedSystem, LanguagePairRatings
from app.stats.calibration.lines import METHODS, NARROW, Method, Points, lacking, line
from app.storage.db import Session

ENOUGH = 0.9


@dataclass(frozen=True, slots=True)
class Direction:
    """A campaign ready to be put on the scale. own, left: fixed points by rater, and raters who stay as they are."""

    parted: Parted
    language: str
    judged: LanguagePairRatings
    own: Mapping[str, Points]
    left: tuple[str, ...]


def _prepare(session: Session, about: tuple[Snapshot, ...], asked: XstsAsked) -> Work[XstsView]:
    parts = [without_excluded(session, parted(session, one, asked)) for one in about]
    check_together(parts, asked)
    automatic = automatic_of(parts, asked.automatic)
    laid = laid_of(parts, asked)
    check_points(laid, asked)
    return whole(lambda: _view(parts, laid, automatic, asked))


def _view(parts: Sequence[Parted], laid: Laid, automatic: Mapping[str, float], asked: XstsAsked) -> XstsView:
    ready, target = laid.ready, laid.target
    directions = [
        Direction(part, language, *_moved(part, one, asked, target))
        for part, language, one in zip(parts, laid.languages, ready, strict=True)
    ]
    sizes = [_set_size(group) for group in laid.groups]
    direction_views = [
        _direction(one, before, target, size, automatic, asked)
        for one, before, size in zip(directions, ready, sizes, strict=True)
    ]
    systems = _ranked(_systems(directions, ready, target, laid.n_pairs, asked), asked, parts[0].sign)
    head = campaign_heads(parts)
    head["dropped"] += [line for one in parts for line in unagreed(one, asked.repeats)]
    view = XstsView(
        **head,
        warnings=[*_warnings(directions, direction_views, systems, asked), *told_namesakes(laid)],
        method=asked.method,
        by=asked.by,
        target=target,
        target_from="asked for" if asked.target is not None else "mean of the human references of these directions",
        pivot=laid.pivot,
        higher_is_better=parts[0].sign > 0,
        draws=asked.bootstrap if asked.by == "language" else 0,
        level=asked.level,
        seed=asked.seed,
        directions=direction_views,
        systems=systems,
        raters=[line for one in directions for line in _raters(one)],
        external=[],
    )
    return view.model_copy(update={"external": external(view, asked.seed)})


def _moved(
    part: Parted, judged: LanguagePairRatings, asked: XstsAsked, target: float | None
) -> tuple[LanguagePairRatings, Mapping[str, Points], tuple[str, ...]]:
    """Scores moved by rater where that is asked for, and the raters by the keys that they have in this campaign."""
    if asked.by == "language" or asked.method == "raw":
        return judged, {}, ()
    moved, points, left = across.by_rater(judged, asked.method, target)
    accounts = part.accounts
    judging = [judged.systems.raters[code] for code in np.unique(judged.systems.rater).tolist()]
    return moved, {accounts[who]: points[who] for who in judging}, tuple(sorted(accounts[who] for who in left))


def _set_size(group: Sequence[Parted]) -> int:
    return len({key for one in group for key, item in one.items.items() if item.consensus is not None})


def _systems(
    directions: Sequence[Direction],
    ready: Sequence[LanguagePairRatings],
    target: float | None,
    n_pairs: int,
    asked: XstsAsked,
) -> list[ComparedSystemView]:
    shown = []
    for number, (direction, before) in enumerate(zip(directions, ready, strict=True)):
        draws = asked.bootstrap if asked.by == "language" else 0
        drawn = across.draw(before, n_pairs, draws=draws, seed=asked.seed, number=number)
        here = across.points(before, target)
        whys = {method: lacking(method, here) for method in METHODS}
        moved = across.systems_of(before, target, whys, drawn, level=asked.level)
        labels = direction.parted.ratings.rows.labels.systems
        by_rater = {
            system: across.mean_of_medians(_only(direction.judged, system)) for system in (m.system for m in moved)
        }
        shown += [_system(direction, m, labels[m.system], by_rater[m.system], asked) for m in moved]
    return shown


def _only(judged: LanguagePairRatings, system: int) -> Units:
    units = judged.systems
    return units.where(units.system[units.unit] == system)


def _system(
    direction: Direction, system: CalibratedSystem, key: str, by_rater: float, asked: XstsAsked
) -> ComparedSystemView:
    scores = []
    for method, moved in system.moved.items():
        value, ends = moved.value, moved.interval
        if asked.by == "rater" and method == asked.method and value is not None and method != "raw":
            value, ends = by_rater, None
        scores.append(ScoreView(method=method, value=value, interval=ends, rank=None, why=moved.why))
    return ComparedSystemView(
        campaign=direction.parted.key, system=key, n_units=system.n_units, n_ratings=system.n_ratings, scores=scores
    )


def _ranked(systems: list[ComparedSystemView], asked: XstsAsked, sign: int) -> list[ComparedSystemView]:
    """With the rank of each under every method, the best under the chosen one first, those without a score last."""
    ranks: dict[Method, dict[int, int]] = {}
    for method in METHODS:
        values = {i: one.under(method).value for i, one in enumerate(systems)}
        known = {i: float(round_scores(np.asarray(v))) * sign for i, v in values.items() if v is not None}
        ranks[method] = {i: 1 + sum(other > v for other in known.values()) for i, v in known.items()}
    shown = [
        one.model_copy(update={"scores": [s.model_copy(update={"rank": ranks[s.method].get(i)}) for s in one.scores]})
        for i, one in enumerate(systems)
    ]
    last = len(systems) + 1
    return sorted(shown, key=lambda one: (one.under(asked.method).rank or last, one.campaign, one.system))


def _direction(
    direction: Direction,
    before: LanguagePairRatings,
    target: float | None,
    size: int,
    automatic: Mapping[str, float],
    asked: XstsAsked,
) -> DirectionView:
    campaign, here = direction.parted.ratings.about.campaign, across.points(before, target)
    n_pairs, given = before.anchors.units.n_units, campaign.settings.get("language")
    attributes = given if isinstance(given, Mapping) else {}
    return DirectionView(
        campaign=campaign.key,
        source_language=campaign.source_language,
        target_language=campaign.target_language,
        language=direction.language,
        consensus=here.consensus,
        c=here.anchors,
        n_pairs=n_pairs,
        share_of_set=n_pairs / size if size else None,
        h=here.human,
        n_human=before.humans.n_units,
        n_raters=len(np.unique(np.concatenate((before.systems.rater, before.humans.rater)))),
        lines=[_line(method, here, asked) for method in METHODS],
        attributes={k: attributes[k] for k in ATTRIBUTES if isinstance(attributes.get(k), str | int | float)},
        automatic=automatic.get(campaign.key),
    )


def _line(method: Method, here: Points, asked: XstsAsked) -> LineView:
    why = lacking(method, here)
    if why is not None:
        return LineView(method=method, slope=None, intercept=None, why=why)
    if asked.by == "rater" and method == asked.method and method != "raw":
        return LineView(method=method, slope=None, intercept=None, why="one line a rater")
    fit = line(method, here)
    return LineView(method=method, slope=fit.slope, intercept=fit.intercept)


def _raters(direction: Direction) -> list[RaterPoints]:
    return [
        RaterPoints(
            rater=name,
            campaign=direction.parted.key,
            consensus=points.consensus,
            anchors=points.anchors,
            human=points.human,
            moved=name not in direction.left,
        )
        for name, points in sorted(direction.own.items())
    ]


def _warnings(
    directions: Sequence[Direction],
    direction_views: Sequence[DirectionView],
    systems: Sequence[ComparedSystemView],
    asked: XstsAsked,
) -> list[str]:
    if not systems:
        return [NOTHING]
    said = []
    for direction, shown in zip(directions, direction_views, strict=True):
        why = next(line.why for line in shown.lines if line.method == asked.method)
        if why is not None and why != "one line a rater":
            said.append(f"{shown.campaign}: no score by {IN_WORDS[asked.method]}, because {why}")
        if shown.share_of_set is not None and 0 < shown.share_of_set < ENOUGH:
            said.append(f"{shown.campaign}: only {shown.share_of_set:.0%} of the calibration set was judged")
        width = None if shown.h is None or shown.c is None else (shown.h - shown.c) * direction.parted.sign
        if width is not None and 0 < width < NARROW:
            said.append(f"{shown.campaign}: its fixed points are {width:.2f} apart, so their line hangs on their error")
        if direction.left:
            said.append(f"{shown.campaign}: no usable fixed points, so not adjusted: {rater_names(direction.left)}")
    if asked.by == "rater" and asked.method != "raw":
        said.append("lines by rater have no interval here")
    if len({one.consensus for one in direction_views if one.consensus is not None}) > 1:
        said.append("languages judged different calibration pairs, so C is computed over different pairs for each")
    return said


def _picture(view: XstsView) -> bytes:
    rows = []
    for system in view.systems:
        raw, main = system.under("raw"), system.under(view.method)
        text = "no score" if main.value is None else f"{main.rank}. (raw {raw.rank}.)  {figure(main.value)}"
        rows.append(MovedRow(named(view, system), raw.value, main.value, main.interval, text))
    below = f"Hollow: raw. Filled: by {IN_WORDS[view.method]}, {view.level:.0%} interval. Best first."
    title = f"{captions.plural(len(view.campaigns), 'campaign')} on one scale"
    return moved_plot(title, below, rows, [*view.warnings, caption(view)])


EXAMPLE: dict[str, Any] = {
    "campaigns": {"en-hi": 4},
    "data_hash": "sha256:" + "5e" * 32,
    "basis": "source",
    "method": "cs_ht",
    "by": "language",
    "target": 4.687,
    "target_from": "asked for",
    "pivot": "en",
    "higher_is_better": True,
    "draws": 1000,
    "level": 0.95,
    "seed": 0,
    "directions": [
        {
            "campaign": "en-hi",
            "source_language": "en",
            "target_language": "hi",
            "language": "hi",
            "consensus": 2.97,
            "c": 3.26,
            "n_pairs": 500,
            "share_of_set": 1.0,
            "h": 4.967,
            "n_human": 1012,
            "n_raters": 3,
            "lines": [{"method": "cs_ht", "slope": 1.0059, "intercept": -0.3091}],
            "attributes": {"family": "Indo-Aryan", "script": "Devanagari"},
            "automatic": 34.2,
        }
    ],
    "systems": [
        {
            "campaign": "en-hi",
            "system": "mt",
            "n_units": 1012,
            "n_ratings": 3036,
            "scores": [{"method": "cs_ht", "value": 4.67, "interval": [4.61, 4.72], "rank": 1}],
        }
    ],
    "raters": [],
    "external": [],
}
REPORT: Report[XstsAsked, XstsView] = Report(
    name="xsts",
    title="Language pairs on a common scale",
    summary="Systems of several language pairs, raw and calibrated by a calibration set and human references.",
    options=XstsAsked,
    result=XstsView,
    example=EXAMPLE,
    prepare=_prepare,
    tables=tables,
    csv=csv,
    charts={"default": _picture},
    caption=caption,
    over="campaigns",
    settings=frozenset({"automatic_score", "language"}),
)
