"""Weights of marked errors and their sum: profiles in which the most specific match wins.

Sources: Riley et al. 2024 §4.1 and Freitag et al. 2021 (`freitag2021`); scripts of the WMT24 general task (`wmt24`);
scripts of the ErrorSpanAnnotation campaigns (`esa-mqm`); severity multipliers of MQM 2.0 (`mqm2`).
MQM is a penalty: lower is better.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from app.domain.errors import Invalid, Place

MOST_WEIGHTS = 1000
LONGEST_PATTERN = 320
LARGEST_WEIGHT = 1e6
MOST_REMEMBERED = 4096


def normalize_category_path(path: str) -> str:
    """Return the form in which severities and categories are compared: ignores case, `_` and blanks around `/`.

    >>> normalize_category_path("Fluency / Punctuation"), normalize_category_path("Source_issue")
    ('fluency/punctuation', 'source issue')
    """
    return "/".join(part.strip() for part in path.casefold().replace("_", " ").split("/"))


@dataclass(frozen=True, slots=True, eq=False)
class WeightProfile:
    """A table `severity/category/subcategory` (any prefix) → weight; two profiles are equal if their digests are.

    weights: patterns in normal form. containing: (text, weight) for every category that contains the text, whatever the
    severity; the first match counts. digest: identity of the table, whatever its name.
    """

    name: str
    weights: Mapping[str, float]
    containing: tuple[tuple[str, float], ...] = ()
    digest: str = field(init=False)
    _known: dict[tuple[str, str | None], tuple[float, bool]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        table = {normalize_category_path(pattern): float(weight) for pattern, weight in self.weights.items()}
        rules = tuple((normalize_category_path(text), float(weight)) for text, weight in self.containing)
        identity = json.dumps([sorted(table.items()), rules], ensure_ascii=True, separators=(",", ":"))
        object.__setattr__(self, "weights", table)
        object.__setattr__(self, "containing", rules)
        object.__setattr__(self, "digest", hashlib.sha256(identity.encode()).hexdigest())
        object.__setattr__(self, "_known", {})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WeightProfile) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def identity(self) -> str:
        """Name and digest, under which scores are stored, so that two tables of one name are never confused."""
        return f"{self.name}@{self.digest[:16]}"


FREITAG2021 = WeightProfile(
    "freitag2021",
    {
        "Major": 5.0,
        "Minor": 1.0,
        "Neutral": 0.0,
        "No-error": 0.0,
        "Undecided": 0.0,
        "Major/Non-translation!": 25.0,
        "Minor/Fluency/Punctuation": 0.1,
    },
)
WMT24 = WeightProfile(
    "wmt24",
    {**FREITAG2021.weights, "Critical": 5.0, "HOTW-test": 0.0},
    containing=(("Reinterpretation", 0.0), ("Source issue", 0.0)),
)
ESA_MQM = WeightProfile(
    "esa-mqm",
    {"Minor": 1.0, "Major": 5.0, "Critical": 25.0, "Undecided": 0.0, "Neutral": 0.0, "No-error": 0.0},
    containing=(("Punctuation", 0.1),),
)
MQM2 = WeightProfile("mqm2", {"Neutral": 0.0, "Minor": 1.0, "Major": 5.0, "Critical": 25.0, "Undecided": 0.0})
PROFILES: Mapping[str, WeightProfile] = {p.name: p for p in (FREITAG2021, WMT24, ESA_MQM, MQM2)}


def weigh_error(profile: WeightProfile, severity: str, category: str | None) -> tuple[float, bool]:
    """Return the weight of an error, and whether the profile knows it; an unknown one weighs 0 and must be reported.

    >>> weigh_error(FREITAG2021, "minor", "Fluency/Punctuation"), weigh_error(FREITAG2021, "minor", "Fluency/Grammar")
    ((0.1, True), (1.0, True))
    """
    match = profile._known.get((severity, category))
    if match is None:
        match = _look_up(profile, normalize_category_path(severity), normalize_category_path(category or ""))
        if len(profile._known) < MOST_REMEMBERED:
            profile._known[severity, category] = match
    return match


def _look_up(profile: WeightProfile, severity: str, category: str) -> tuple[float, bool]:
    for text, value in profile.containing:
        if text in category:
            return value, True
    path = f"{severity}/{category}" if category else severity
    while path:
        if path in profile.weights:
            return profile.weights[path], True
        path = path.rpartition("/")[0]
    return 0.0, False


def list_zero_weight_severities(profile: WeightProfile, severities: Iterable[str]) -> tuple[str, ...]:
    """Return the severities whose errors weigh 0 unless an entry also names their category.

    >>> list_zero_weight_severities(FREITAG2021, ("minor", "critical"))
    ('critical',)
    """
    return tuple(name for name in severities if not weigh_error(profile, name, None)[1])


def has_severity_weight(profile: WeightProfile, severity: str) -> bool:
    """Return whether an entry of the profile names this severity, alone or with categories.

    >>> has_severity_weight(FREITAG2021, "major"), has_severity_weight(FREITAG2021, "critical")
    (True, False)
    """
    return any(pattern.partition("/")[0] == normalize_category_path(severity) for pattern in profile.weights)


def sum_error_weights(weights: Iterable[float], cap: float | None = None) -> float:
    """Sum the weights of one rater's errors on one segment, correctly rounded, so that their order does not matter.

    cap: largest penalty of one segment, None for none.
    """
    total = math.fsum(weights)
    return total if cap is None else min(total, cap)


def parse_weight_profile(table: Mapping[str, object], *, name: str = "own") -> WeightProfile:
    """Parse a manager's own table as a profile. Raises Invalid naming every wrong entry."""
    if not table:
        raise Invalid("a weight table needs at least one entry", places=(Place(("weights",), "is empty"),))
    if len(table) > MOST_WEIGHTS:
        raise Invalid(f"a weight table has at most {MOST_WEIGHTS} entries", places=(Place(("weights",), "too long"),))
    places = tuple(Place(("weights", key), why) for key, value in table.items() if (why := _fault(key, value)))
    normals = [normalize_category_path(key) for key in table]
    places += tuple(
        Place(("weights", key), "appears twice (case, blanks and _ are ignored)")
        for i, key in enumerate(table)
        if normals[i] in normals[:i]
    )
    if places:
        raise Invalid("the weight table has faults", places=places)
    return WeightProfile(name, {k: float(v) for k, v in table.items() if isinstance(v, int | float)})


def _fault(pattern: str, value: object) -> str | None:
    if not pattern.strip() or len(pattern) > LONGEST_PATTERN or not normalize_category_path(pattern).split("/")[0]:
        return f"must be severity/category/subcategory, 1 to {LONGEST_PATTERN} characters"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "must be a number"
    if not 0 <= value <= LARGEST_WEIGHT:  # refuses NaN too
        return f"must be finite, from 0 to {LARGEST_WEIGHT:,.0f}"
    return None


def resolve_weight_profile(profile: str | Mapping[str, object] | None) -> WeightProfile:
    """Return the named profile, or the manager's own table as one; None is `freitag2021`. Raises Invalid."""
    if profile is None:
        return FREITAG2021
    if not isinstance(profile, str):
        return parse_weight_profile(profile)
    if profile not in PROFILES:
        there = ", ".join(sorted(PROFILES))
        raise Invalid(f"no weight profile {profile[:80]!r}; there are {there}, or give a table of your own")
    return PROFILES[profile]
