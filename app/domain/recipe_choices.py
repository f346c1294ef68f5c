"""The choices of a recipe: the values each field can take, and how they are read from text and JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from app.domain.keys import is_key

Normalize = Literal["auto", "none", "mean", "center", "error", "error_rate", "z"]
Moments = Literal["ratings", "all", "calibration"]
ConstantRaters = Literal["drop", "zero", "drop_z"]
Repeats = Literal["average", "pool", "latest", "first", "separate"]
Unit = Literal["document", "segment"]
Aggregate = Literal["mean", "median", "macro_domain"]
Test = Literal[
    "permutation",
    "signed_rank",
    "paired_t",
    "rank_sum",
    "rank_sum_legacy",
    "welch",
    "marot",
    "stouffer",
    "stouffer_signed",
    "wmt26_or",
    "bootstrap",
    "none",
]
ZeroMethod = Literal["wilcox", "pratt", "zsplit"]
Method = Literal["auto", "asymptotic", "exact"]
IntervalKind = Literal["t", "percentile", "bca"]
Calibration = Literal["raw"]
Alternative = Literal["two-sided", "greater"]
Adjust = Literal["none", "holm", "bh", "maxT"]
ClusterRule = Literal["wmt21", "wmt22", "wmt24", "wmt25", "wmt26", "paper", "strict", "none"]
Subject = Literal["system", "rater", "document", "task"]
Source = Literal["score", "spans", "criterion"]


@dataclass(frozen=True, slots=True, order=True)
class Exclusion:
    """One system, rater, document or task that an analysis leaves out."""

    what: Subject
    key: str


@dataclass(frozen=True, slots=True)
class Scoring:
    """Which number of a judgment is analysed.

    source: `score` as given or derived when it was recorded, `spans` from the marked errors, `criterion` by name.
    profile: weight profile for errors; None is the campaign's own.
    cap: largest penalty of one segment, None for no cap.
    """

    source: Source = "score"
    profile: str | None = None
    cap: float | None = None
    criterion: str | None = None


LARGEST_SEED = 2**63 - 1
FEWEST_PERMUTATIONS, MOST_PERMUTATIONS = 100, 1_000_000
MOST_EXCLUSIONS = 1_000

FILTERS = "there is no such choice: roles, accepted_only, exclude and standing say which rows are ranked"
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_ROLES = ("rating", "repeat", "reference", "degraded", "calibration")


class WrongValue(ValueError):
    """A value that a field cannot take; the message says what it can."""


def parse_option(name: str, values: Sequence[str]) -> object:
    """The value of one query option."""
    if name in _LISTS:
        return parse_field(name, [part for text in values for part in text.split(",") if part])
    if len(values) != 1:
        raise WrongValue("give it once")
    text = values[0]
    if name == "scoring":
        return _scoring_option(text)
    if name in {"alpha", "permutations", "seed"}:
        return parse_field(name, None if (name, text) == ("permutations", "auto") else _number(text))
    if name in _FLAGS:
        if text not in {"true", "false"}:
            raise WrongValue("must be true or false")
        return text == "true"
    return parse_field(name, text)


def parse_field(name: str, value: object) -> object:
    """The checked value of one field."""
    parse = _FIELDS.get(name)
    if parse is None:
        raise WrongValue(FILTERS if name == "filters" else f"unknown; available: {', '.join(_FIELDS)}")
    return parse(value)


def _number(text: str) -> int | float:
    if len(text) > 40 or not _NUMBER.fullmatch(text):
        raise WrongValue("must be a number")
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _one_of(allowed: Sequence[str]) -> Callable[[object], object]:
    def parse(value: object) -> object:
        if not isinstance(value, str) or value not in allowed:
            raise WrongValue(f"must be one of {', '.join(allowed)}")
        return value

    return parse


def _whole(least: int, most: int, *, optional: bool = False) -> Callable[[object], object]:
    def parse(value: object) -> object:
        if optional and value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise WrongValue(f"must be a whole number from {least} to {most}")
        return value

    return parse


def _level(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-6 <= value <= 0.5:
        raise WrongValue("must be a number from 0.000001 to 0.5")
    return float(value)


def _flag(value: object) -> object:
    if not isinstance(value, bool):
        raise WrongValue("must be true or false")
    return value


def _roles(value: object) -> object:
    parts = _strings(value)
    if not parts or any(part not in _ROLES for part in parts):
        raise WrongValue(f"must be one or more of {', '.join(_ROLES)}")
    return tuple(sorted(set(parts), key=_ROLES.index))


def _exclusions(value: object) -> object:
    parts = _strings(value)
    if len(parts) > MOST_EXCLUSIONS:
        raise WrongValue(f"must be at most {MOST_EXCLUSIONS} exclusions")
    return tuple(sorted({_exclusion(part) for part in parts}))


def _exclusion(text: str) -> Exclusion:
    what, _, key = text.partition(":")
    if what not in get_args(Subject) or not is_key(key):
        raise WrongValue(f"must be WHAT:KEY with WHAT one of {', '.join(get_args(Subject))}")
    return Exclusion(what, key)  # type: ignore[arg-type]  # one of the literals, as just checked


def _strings(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise WrongValue("must be a list of texts")
    return value


def _scoring_option(text: str) -> Scoring:
    """`score`, `spans`, `spans:PROFILE`, `spans:PROFILE:CAP` (PROFILE may be empty) or `criterion:NAME`."""
    source, _, rest = text.partition(":")
    if source == "criterion":
        return _scoring({"from": source, "criterion": rest})
    profile, _, cap = rest.partition(":")
    return _scoring({"from": source, "profile": profile or None, "cap": _number(cap) if cap else None})


def _scoring(value: object) -> Scoring:
    allowed = get_args(Source)
    known = {"from", "profile", "cap", "criterion"}
    if not isinstance(value, dict) or not set(value) <= known or value.get("from") not in allowed:
        raise WrongValue(f"must have from (one of {', '.join(allowed)}), and may have profile, cap or criterion")
    criterion = value.get("criterion")
    if (value["from"] == "criterion") != (isinstance(criterion, str) and is_key(criterion)):
        raise WrongValue("criterion must be the key of a criterion, and goes with from criterion")
    profile, cap = value.get("profile"), value.get("cap")
    if profile is not None and not (isinstance(profile, str) and is_key(profile)):
        raise WrongValue("profile must be the key of a weight profile")
    if cap is not None and (isinstance(cap, bool) or not isinstance(cap, int | float) or not 0 < cap <= 1e6):
        raise WrongValue("cap must be a positive number up to 1000000")
    if value["from"] != "spans" and (profile is not None or cap is not None):
        raise WrongValue("profile and cap are for spans")
    return Scoring(value["from"], profile, None if cap is None else float(cap), criterion)


def _calibration(value: object) -> object:
    if value in {"cs", "ht", "cs_ht"}:
        raise WrongValue("must be raw in a ranking: cs, ht and cs_ht are methods of the comparison of campaigns `xsts`")
    return _one_of(get_args(Calibration))(value)


_FLAGS = frozenset(
    {
        "accepted_only",
        "standing",
        "plus_one",
        "correction",
        "matched_only",
        "require_mean",
        "inclusive",
        "rank_sets",
        "influence",
        "fallback",
    }
)
_LISTS = frozenset({"roles", "exclude"})
_CHOICES = {
    "normalize": Normalize,
    "moments": Moments,
    "sd0": ConstantRaters,
    "repeats": Repeats,
    "unit": Unit,
    "aggregate": Aggregate,
    "test": Test,
    "alternative": Alternative,
    "zero_method": ZeroMethod,
    "method": Method,
    "adjust": Adjust,
    "clusters": ClusterRule,
    "interval": IntervalKind,
}
_FIELDS: dict[str, Callable[[object], object]] = {
    "scoring": _scoring,
    "roles": _roles,
    "exclude": _exclusions,
    "alpha": _level,
    "permutations": _whole(FEWEST_PERMUTATIONS, MOST_PERMUTATIONS, optional=True),
    "seed": _whole(0, LARGEST_SEED),
    **{name: _one_of(get_args(literal)) for name, literal in _CHOICES.items()},
    "calibration": _calibration,
    **dict.fromkeys(_FLAGS, _flag),
}
