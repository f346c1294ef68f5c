"""Calibration sets, and their use: a campaign adds a version of a set as documents that every rater judges.

Sources: Licht et al. 2022 §4 (pairs with a consensus, across levels of quality); Knowles 2021 §6 (items that all
annotators do).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app import protocols
from app.domain.errors import Conflict, Invalid, Place
from app.domain.keys import is_key
from app.services.campaigns import audit
from app.services.campaigns.campaigns import get_campaign as campaign_view
from app.storage import calibration_sets as stored
from app.storage import campaigns, test_sets
from app.storage.db import Session
from app.storage.tables import documents, systems

LONGEST_KEY = 100  # so that a document's key, the set's key plus the number of the pair, is valid, too


class CalibrationProtocolDiffers(Conflict):
    """The set is for a protocol other than the campaign's."""

    published = "JudgesOtherwise"


class CalibrationVersionConflict(Conflict):
    """The campaign has another version of this set already."""

    published = "TakenIn"


class CalibrationTooLate(Conflict):
    """Calibration items can be added only before the campaign is opened."""

    published = "TooLate"


@dataclass(frozen=True, slots=True)
class CalibrationTextPair:
    """Two texts and their similarity by consensus, on the protocol's scale. stratum: level of quality."""

    text1: str
    text2: str
    consensus: float
    stratum: str | None = None


@dataclass(frozen=True, slots=True)
class CalibrationSet:
    """A version of a set. frozen_at: when it was first used, after which it does not change."""

    key: str
    version: int
    protocol: str
    pairs: tuple[CalibrationTextPair, ...]
    frozen_at: datetime | None

    @property
    def mean_consensus(self) -> float:
        """Mean consensus: the fixed point to which raters' scores are shifted."""
        return sum(pair.consensus for pair in self.pairs) / len(self.pairs)


def put_calibration_set(
    session: Session, key: str, protocol: str, pairs: Sequence[CalibrationTextPair], *, actor: str
) -> CalibrationSet:
    """Store a set. The same pairs change nothing; other pairs replace an unused version, or else create a new one.

    Raises Invalid with places: an unknown protocol, a key that is too long, a consensus off the protocol's scale.
    """
    _check(key, protocol, pairs)
    had = stored.find_calibration_set(session, key, lock=True)
    if had is not None:
        before = _read(session, had)
        if (before.protocol, before.pairs) == (protocol, tuple(pairs)):
            return before
    if had is None or had.frozen_at is not None:
        set_id = stored.insert_calibration_set(
            session, key=key, version=1 if had is None else had.version + 1, protocol=protocol, actor=actor
        )
    else:
        set_id = had.id
        stored.update_calibration_set(session, set_id, {"protocol": protocol, "actor": actor})
    rows = [
        {"text1": one.text1, "text2": one.text2, "consensus": one.consensus, "stratum": one.stratum} for one in pairs
    ]
    stored.replace_calibration_pairs(session, set_id, rows)
    return get_calibration_set(session, key)


def get_calibration_set(session: Session, key: str, version: int | None = None) -> CalibrationSet:
    """Return a version of a set, by default the latest. Raises NotFound."""
    return _read(session, stored.load_calibration_set(session, key, version))


@dataclass(frozen=True, slots=True)
class CalibrationSetSummary:
    """The latest version of a set, with the number of its pairs."""

    key: str
    version: int
    protocol: str
    pairs: int
    frozen_at: datetime | None


def list_calibration_sets(session: Session, *, after: str | None, limit: int) -> list[CalibrationSetSummary]:
    """List sets by key, starting after `after`."""
    rows = stored.load_calibration_sets_page(session, after=after, limit=limit)
    return [CalibrationSetSummary(row.key, row.version, row.protocol, row.pairs, row.frozen_at) for row in rows]


def add_calibration_set_to_campaign(
    session: Session, campaign: str, key: str, version: int | None, *, actor: str
) -> CalibrationSet:
    """Add a set to a campaign, as one document of kind calibration for each pair, and freeze the version.

    A withdrawn system named after the set stands for it. It distinguishes the set's ratings from those of systems.

    Raises NotFound, CalibrationProtocolDiffers, CalibrationTooLate once the campaign is open,
    CalibrationVersionConflict if the campaign has another version.
    """
    row = campaigns.load_campaign(session, campaign, lock=True)
    view, chosen = campaign_view(session, campaign), get_calibration_set(session, key, version)
    if row.state not in {"draft", "planned"}:
        raise CalibrationTooLate(f"it is {row.state}")
    if chosen.protocol != view.protocol:
        raise CalibrationProtocolDiffers(f"{chosen.protocol}, and the campaign judges by {view.protocol}")
    origin, first = (
        f"{key}@{chosen.version}",
        test_sets.find_document(session, row.id, make_calibration_document_key(key, 1)),
    )
    if first is not None:
        if first.origin != origin:
            raise CalibrationVersionConflict(f"it has {first.origin}")
        return chosen
    stored.freeze_calibration_set(session, stored.load_calibration_set(session, key, chosen.version).id)
    values: dict[str, object] = {
        "name": f"calibration set {key}",
        "kind": "human",
        "lab": None,
        "tags": [],
        "state": "withdrawn",
    }
    system_id = test_sets.upsert_system_or_document(session, systems, row.id, key, values)
    for n, pair in enumerate(chosen.pairs, 1):
        _add_document(session, row.id, system_id, make_calibration_document_key(key, n), origin, pair)
    campaigns.take_next_data_version(session, row.id, actor=actor, what="calibration set")
    what = {"set": key, "version": chosen.version, "pairs": len(chosen.pairs)}
    audit.record_action(session, row.id, actor=actor, action="calibration set taken in", what=what)
    return get_calibration_set(session, key, chosen.version)


def make_calibration_document_key(key: str, n: int) -> str:
    """Make the key of the document that holds a pair of a set."""
    return f"{key}:{n:05d}"


def _add_document(
    session: Session, campaign_id: int, system_id: int, key: str, origin: str, pair: CalibrationTextPair
) -> None:
    meta = {"consensus": pair.consensus, "stratum": pair.stratum}
    values = {"name": key, "kind": "calibration", "domain": None, "origin": origin, "position": None, "meta": meta}
    document_id = test_sets.upsert_system_or_document(session, documents, campaign_id, key, values)
    test_sets.replace_segments(session, campaign_id, document_id, [(pair.text1.strip(), {}, {})])
    (segment,) = test_sets.load_segments(session, campaign_id, document_id)
    test_sets.insert_outputs(session, campaign_id, system_id, [(segment.id, pair.text2.strip(), None)])


def _check(key: str, protocol: str, pairs: Sequence[CalibrationTextPair]) -> None:
    places = []
    if not is_key(key) or len(key) > LONGEST_KEY:
        places.append(Place(("path", "set"), f"must be a valid key of at most {LONGEST_KEY} characters"))
    if protocol not in protocols.ALL:
        places.append(Place(("body", "protocol"), f"must be one of {', '.join(protocols.ALL)}"))
        raise Invalid(places=tuple(places))
    scale = protocols.get_protocol(protocol).scale
    for n, pair in enumerate(pairs):
        if scale is not None and not scale.minimum <= pair.consensus <= scale.maximum:
            message = f"must be from {scale.minimum:g} to {scale.maximum:g}"
            places.append(Place(("body", "pairs", n, "consensus"), message))
    if places:
        raise Invalid("the calibration set is not valid", places=tuple(places[:100]))


def _read(session: Session, row: stored.Row) -> CalibrationSet:
    pairs = tuple(
        CalibrationTextPair(one.text1, one.text2, one.consensus, one.stratum)
        for one in stored.load_text_pairs_of_set(session, row.id)
    )
    return CalibrationSet(row.key, row.version, row.protocol, pairs, row.frozen_at)


def count_pairs_by_stratum(chosen: CalibrationSet) -> Mapping[str, int]:
    """Count the pairs in each stratum."""
    counts: dict[str, int] = {}
    for pair in chosen.pairs:
        counts[pair.stratum or "none"] = counts.get(pair.stratum or "none", 0) + 1
    return counts
