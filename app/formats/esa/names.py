"""Names of a campaign's languages, systems, documents and raters in rows of `esa`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.formats.base import (
    BY_METRICS,
    COMPARED,
    CampaignRow,
    DocumentRecord,
    MetricScoreRow,
    OutputRow,
    RaterRow,
    ScreenComparisonRow,
    SegmentRow,
    SystemRecord,
    VoidedJudgmentRow,
)
from app.formats.kit.judgments_to_write import Address

Said = (
    CampaignRow
    | SystemRecord
    | DocumentRecord
    | SegmentRow
    | OutputRow
    | RaterRow
    | VoidedJudgmentRow
    | MetricScoreRow
    | ScreenComparisonRow
)
"""Any record that is not a judgment."""


@dataclass(slots=True)
class EsaNamesByKey:
    """Names of campaign, systems, documents and raters in rows; counts other data, which are lost."""

    lost: Counter[str]
    campaign: CampaignRow | None = None
    systems: dict[str, str] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    raters: dict[str, str] = field(default_factory=dict)
    voided: set[Address] = field(default_factory=set)
    aliases: dict[str, tuple[dict[str, str], set[str]]] = field(default_factory=dict)

    def add_record(self, record: Said) -> None:
        """Add a record that is not a judgment."""
        if isinstance(record, CampaignRow):
            self.campaign = record
            self.lost["options of the campaign: say its weights again"] += bool(record.options)
        elif isinstance(record, SystemRecord):
            self.systems[record.key] = record.name
        elif isinstance(record, DocumentRecord):
            self.documents[record.key] = record.name
            self.lost["domains of documents"] += record.domain is not None
        elif isinstance(record, RaterRow):
            self.raters[record.key] = record.name
            self.lost["persons behind raters"] += record.person is not None
        elif isinstance(record, VoidedJudgmentRow):
            self.voided.add((record.task, record.item, record.position, record.rater))
        elif isinstance(record, ScreenComparisonRow):
            self.lost[COMPARED] += 1
        elif isinstance(record, MetricScoreRow):
            self.lost[BY_METRICS] += 1
        elif isinstance(record, SegmentRow):
            self.lost["source texts"] += record.source is not None
        else:
            self.lost["texts of outputs"] += 1

    def languages(self) -> tuple[str, str]:
        """Return source and target language, empty unless both are known."""
        said = self.campaign
        if said is None or said.source_language is None or said.target_language is None:
            return "", ""
        return said.source_language, said.target_language

    def system_name(self, key: str) -> str:
        """Return a system's name in a target, in which `+` joins several."""
        return self._alias(self.systems, key, "+")

    def document_name(self, key: str) -> str:
        """Return a document's name in an item, in which `#` separates it from what follows."""
        name = self._alias(self.documents, key, "#")
        self.lost["judgments of documents named like tutorials, which readers leave out"] += (
            "tutorial" in name.casefold()
        )
        return name

    def rater_name(self, key: str) -> str:
        """Return the account of a rater."""
        return self._alias(self.raters, key, "")

    def _alias(self, names: Mapping[str, str], key: str, reserved: str) -> str:
        """Return a unique alias for a key: its name if a cell can hold it, otherwise the key."""
        known, taken = self.aliases.setdefault(reserved, ({}, set()))
        if key not in known:
            name = names.get(key, key)
            if not _can_hold_name(name, reserved) or name in taken:
                self.lost["names that a cell cannot hold: keys instead"] += 1
                name = key.replace(reserved, "_") if reserved else key
                while name in taken or not _can_hold_name(name, reserved):
                    name = f"_{name}"
            known[key] = name
            taken.add(name)
        return known[key]


def _can_hold_name(name: str, reserved: str) -> bool:
    """Return whether a cell can hold a name without a spreadsheet taking it for a formula."""
    plain = name == name.strip() and name.isprintable() and name[:1] not in ("=", "+", "-", "@", "")
    return plain and not (reserved and reserved in name)
