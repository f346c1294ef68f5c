"""Campaigns whose raters are known: the mixed model of the rehearsal, drawn at once, with honest and bad raters.

    y = quality of the system + document + segment + document × system + segment × system
      + rater + rater × system + rater × document + rater × segment + rater × document × system + noise · residual

Variances are those of `app.simulation.rater_model.RaterModelVariances`; honest raters differ in level, spread, noise
and pace as its `Temper` draws them. Each document is rated by some raters, who work document by document in an order of
their own, in tasks of a few documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from app.simulation.rater_model import RaterModelVariances
from app.stats.rating_metadata import RatingEventTable
from app.stats.ratings import Bools, Floats, RatingRole, Ratings, ScoreScale

VARIANCE = RaterModelVariances()
MEAN = 75.0
BAD = 20.0  # quality of a degraded output


@dataclass(frozen=True, slots=True)
class Protocol:
    """How an opinion from 0 to 100 becomes a score."""

    scale: ScoreScale | None
    score: Callable[[Floats], Floats]
    higher_is_better: bool = True


def _mqm(value: Floats) -> Floats:
    """Whole points of penalty, as the rehearsal marks errors: ten points of the opinion weigh one."""
    return np.round((100 - value) / 10)


PROTOCOLS = {
    "esa": Protocol(ScoreScale(0, 100, 1), np.round),
    "da": Protocol(ScoreScale(0, 100, 1), lambda value: np.round(value / 5) * 5),
    "mqm": Protocol(None, _mqm, higher_is_better=False),
    "xsts": Protocol(ScoreScale(1, 5, 1), lambda value: 1 + np.minimum(value // 20, 4)),
}


@dataclass(frozen=True, slots=True)
class Design:
    """How large a campaign is. overlap: raters of a document. task: documents. segments: of a document, on average.

    group: raters who share their documents with each other alone; all of them where it is 0. controls, repeats: share
    of judgments that are followed by a degraded or repeated copy in the same task.
    """

    raters: int = 30
    documents: int = 120
    segments: float = 4.0
    systems: int = 3
    overlap: int = 2
    task: int = 4
    controls: float = 0.12
    repeats: float = 0.1
    group: int = 0


@dataclass(frozen=True, slots=True)
class World:
    """What the raters of a campaign gave, with the times of it."""

    ratings: Ratings
    events: RatingEventTable
    words: Floats


def world(
    seed: int,
    protocol: str = "esa",
    design: Design | None = None,
    *,
    kinds: Mapping[int, str] | None = None,
    drift: float = 0.0,
) -> World:
    """A campaign. kinds: what a rater does who is not honest, by number.

    `random`: any score, without reading; `constant`: one score; `part`: reads the first 40 % of each task and answers
    without reading after that; `drift`: moves by `drift` points from the first judgment to the last; `copy:N`: gives
    what rater N gave to the same output, give or take two points of 100.
    """
    d, rng, how = design or Design(), np.random.default_rng(seed), PROTOCOLS[protocol]
    table = _assigned(d, rng)
    _cells(table, d, rng)
    table = _again(table, d, rng)
    _opinions(table, d, rng, kinds or {}, drift)
    score = how.score(np.clip(table["value"], 0, 100))
    return _as_ratings(table, score, how)


def _assigned(d: Design, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """One row a judgment, in each rater's order of work."""
    lengths = np.clip(np.round(rng.lognormal(np.log(d.segments), 0.5, d.documents)), 1, 30).astype(int)
    seats = [[] for _ in range(d.raters)]
    for document in rng.permutation(d.documents):
        least = min(range(d.raters), key=lambda r: (len(seats[r]), rng.random()))
        near = [r for r in range(d.raters) if not d.group or r // d.group == least // d.group]
        free = sorted(near, key=lambda r: (len(seats[r]), rng.random()))[: d.overlap]
        for rater in free:
            seats[rater].append(document)
    rows = []
    for rater, documents in enumerate(seats):
        for nth, document in enumerate(rng.permutation(documents)):
            shown = rng.permutation(d.systems)
            for segment in range(lengths[document]):
                rows += [(rater, document, segment, system, nth // d.task) for system in shown]
    names = ("rater", "document", "segment", "system", "task")
    columns = np.array(rows).T
    return dict(zip(names, columns, strict=True))


def _cells(table: dict[str, np.ndarray], d: Design, rng: np.random.Generator) -> None:
    """What is planted in each output, and each rater's moods in judging it."""

    def effect(variance: float, *names: str) -> Floats:
        keys = np.unique(np.stack([table[name] for name in names]), axis=1, return_inverse=True)[1].ravel()
        return np.sqrt(variance) * rng.standard_normal(int(keys.max()) + 1)[keys]

    v = VARIANCE
    table["planted"] = (
        MEAN
        + effect(v.system, "system")
        + effect(v.document, "document")
        + effect(v.segment, "document", "segment")
        + effect(v.document_system, "document", "system")
        + effect(v.segment_system, "document", "segment", "system")
    )
    table["moods"] = (
        effect(v.rater, "rater")
        + effect(v.rater_system, "rater", "system")
        + effect(v.rater_document, "rater", "document")
        + effect(v.rater_segment, "rater", "document", "segment")
        + effect(v.rater_document_system, "rater", "document", "system")
    )


def _again(table: dict[str, np.ndarray], d: Design, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The judgments with degraded and repeated copies at a place in the same task that has nothing to do with them."""
    n = table["rater"].size
    drawn = rng.random(n)
    role = np.where(
        drawn < d.controls, RatingRole.DEGRADED, np.where(drawn < d.controls + d.repeats, RatingRole.REPEAT, 0)
    )
    extra = np.flatnonzero(role)
    tasks = np.unique(np.stack((table["rater"], table["task"])), axis=1, return_inverse=True)[1].ravel()
    place = np.arange(n, dtype=float)
    first, last = (np.array([f(place[tasks == t]) for t in range(tasks.max() + 1)]) for f in (np.min, np.max))
    there = first[tasks[extra]] + rng.random(extra.size) * (last - first)[tasks[extra]] + 0.5
    order = np.argsort(np.concatenate((place, there)), kind="stable")
    rows = np.concatenate((np.arange(n), extra))[order]
    found = {name: column[rows] for name, column in table.items()}
    found["role"] = np.concatenate((np.zeros(n, dtype=int), role[extra]))[order]
    return found


def _opinions(
    table: dict[str, np.ndarray], d: Design, rng: np.random.Generator, kinds: Mapping[int, str], drift: float
) -> None:
    """Values from 0 to 100 before they are put on the scale, and seconds."""
    rater, n = table["rater"], table["rater"].size
    spread, noise = (np.clip(rng.normal(1, 0.15, d.raters), 0.5, 1.5)[rater] for _ in range(2))
    planted = np.where(table["role"] == RatingRole.DEGRADED, BAD + rng.normal(0, 8, n), table["planted"])
    moods = np.where(table["role"] == RatingRole.DEGRADED, 0.0, table["moods"])
    value = MEAN + spread * (planted - MEAN) + moods + noise * np.sqrt(VARIANCE.residual) * rng.standard_normal(n)
    seconds = np.clip(rng.normal(20, 5, d.raters), 8, 40)[rater] * rng.lognormal(0, 0.4, n)
    whim = 100 * rng.random(n)
    for who, kind in kinds.items():
        mine = rater == who
        blind = _blind(table, mine, kind)
        value[blind], seconds[blind] = whim[blind], seconds[blind] / 10
        if kind == "constant":
            value[mine] = 70.0
        if kind == "drift":
            value[mine] += np.linspace(0, drift, int(mine.sum()))
    for who, kind in kinds.items():
        if kind.startswith("copy:"):
            _copied(table, value, who, int(kind.partition(":")[2]), rng)
    table["value"], table["seconds"] = value, seconds


def _blind(table: dict[str, np.ndarray], mine: Bools, kind: str) -> Bools:
    """The judgments that are given without reading."""
    if kind == "random":
        return mine
    blind = np.zeros(mine.size, dtype=np.bool_)
    if kind == "part":
        for task in np.unique(table["task"][mine]):
            at = np.flatnonzero(mine & (table["task"] == task))
            blind[at[round(0.4 * at.size) :]] = True
    return blind


def _copied(table: dict[str, np.ndarray], value: Floats, who: int, of: int, rng: np.random.Generator) -> None:
    names = ("document", "segment", "system", "role")
    given = {tuple(table[name][i] for name in names): value[i] for i in np.flatnonzero(table["rater"] == of)}
    for i in np.flatnonzero(table["rater"] == who):
        key = tuple(table[name][i] for name in names)
        if key in given:
            value[i] = given[key] + rng.uniform(-2, 2)


def _as_ratings(table: dict[str, np.ndarray], score: Floats, how: Protocol) -> World:
    n = score.size
    ratings = Ratings.from_columns(
        system=[f"s{x}" for x in table["system"]],
        document=[f"d{x:04}" for x in table["document"]],
        position=(table["segment"] + 1).tolist(),
        rater=[f"r{x:03}" for x in table["rater"]],
        score=score,
        task=[f"t{r:03}-{t:03}" for r, t in zip(table["rater"], table["task"], strict=True)],
        role=[RatingRole(x) for x in table["role"]],
        higher_is_better=how.higher_is_better,
        scale=how.scale,
    )
    submitted, started = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for rater in np.unique(table["rater"]):
        mine = table["rater"] == rater
        submitted[mine] = np.cumsum(np.round(table["seconds"][mine] * 1e6))
        started[mine] = submitted[mine] - np.round(table["seconds"][mine] * 1e6)
    rows = _places(ratings, table, score)
    events = RatingEventTable(
        started=started[rows],
        submitted=submitted[rows],
        position=np.ones(n, dtype=np.int32),
        revisions=np.ones(n, dtype=np.int32),
        first_score=score[rows],
    )
    return World(ratings, events, np.full(n, 20.0))


def _places(ratings: Ratings, table: dict[str, np.ndarray], score: Floats) -> np.ndarray:
    """Where each row of the ratings, which stand in canonical order, was in the table."""
    keys = ("task", "rater", "role", "segment", "document", "system")
    theirs = np.lexsort((score, *(table[name] for name in keys)))
    ours = np.lexsort((ratings.score, *(_number(ratings, name) for name in keys)))
    found = np.empty(score.size, dtype=np.intp)
    found[ours] = theirs
    return found


def _number(ratings: Ratings, name: str) -> np.ndarray:
    if name == "segment":
        return ratings.labels.segment_position[ratings.segment]
    return np.asarray(getattr(ratings, name))
