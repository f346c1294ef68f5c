"""Facts needed before any line of `mtme` can be written: the order of documents, and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from app import protocols
from app.formats.base import (
    CampaignRow,
    DocumentRecord,
    MetricScoreRow,
    OutputRow,
    RaterRow,
    Record,
    SegmentRow,
    SystemRecord,
    VoidedJudgmentRow,
)
from app.formats.kit.judgments_to_write import Address
from app.formats.kit.name_aliases import KeyAliasesInFile, is_name_valid_at_line_end, is_name_valid_in_path

NO_DOMAIN = "all"
UNDETERMINED = "und"  # ISO 639-2, if the language is unknown
LAST = 10**9


@dataclass(slots=True)
class MtmeNamesAndOrder:
    """Names, and documents in order. order: of each document by key; positions: of the segments of each."""

    protocol: str
    sign: int
    by_document: bool
    pair: str
    systems: KeyAliasesInFile
    references: KeyAliasesInFile
    raters: dict[str, str]
    voided: set[Address]
    human: frozenset[str] = frozenset()
    """Human systems used as references, by key, because mt-metrics-eval loads nothing without a reference."""
    order: dict[str, int] = field(default_factory=dict)
    names: Sequence[tuple[str, str]] = ()
    positions: Sequence[Sequence[int]] = ()

    @property
    def judgment_level(self) -> str:
        """The level of judgments."""
        return "doc" if self.by_document else "seg"

    def iterate_docs_file_lines(self) -> Iterator[bytes]:
        """Yield domain and document of every segment."""
        for (domain, name), positions in zip(self.names, self.positions, strict=True):
            yield f"{domain} {name}\n".encode() * len(positions)

    def iterate_document_positions_of_lines(self, level: str) -> Iterator[tuple[int, int]]:
        """Yield document and position of each line of a block at a level (seg or doc)."""
        for order, positions in enumerate(self.positions):
            yield from ((order, position) for position in (positions if level == "seg" else (1,)))


def collect_mtme_names_and_order(records: Iterable[Record], lost: Counter[str]) -> MtmeNamesAndOrder:
    """Collect the facts from one pass over all records."""
    campaign: CampaignRow | None = None
    systems: dict[str, str] = {}
    raters: dict[str, str] = {}
    references: set[str] = set()
    human: dict[str, str] = {}
    has_texts: set[str] = set()
    documents: dict[str, DocumentRecord | None] = {}
    positions: dict[str, set[int]] = {}
    voided: set[Address] = set()
    for record in records:
        if isinstance(record, CampaignRow):
            campaign = record
        elif isinstance(record, SystemRecord):
            systems[record.key] = record.name
            human |= {record.key: record.name} if record.kind == "human" else {}
            lost["labs and tags of systems"] += bool(record.lab or record.tags)
        elif isinstance(record, RaterRow):
            raters[record.key] = record.name
            lost["persons and attributes of raters"] += bool(record.person or record.attributes)
        elif isinstance(record, DocumentRecord):
            documents[record.key] = record
            lost["what else is known of documents"] += bool(record.meta)
        elif isinstance(record, VoidedJudgmentRow):
            voided.add((record.task, record.item, record.position, record.rater))
        elif not isinstance(record, MetricScoreRow):
            documents.setdefault(record.document, None)
            if record.position is not None:
                positions.setdefault(record.document, set()).add(record.position)
            references.update((record.references or ()) if isinstance(record, SegmentRow) else ())
            has_texts |= {record.system} if isinstance(record, OutputRow) else set()
    stand_in = frozenset(key for key in has_texts & human.keys() if not references and _in_reference(human[key]))
    lost["that systems are human, where no reference has their name"] += sum(
        name not in references for key, name in human.items() if key not in stand_in
    )
    lost["references, without which mt-metrics-eval cannot load the files"] += not references and not stand_in
    protocol, pair = _find_protocol_and_languages(campaign, lost)
    known_protocol = protocols.ALL.get(protocol)
    known = MtmeNamesAndOrder(
        protocol=protocol,
        sign=1 if known_protocol is None or known_protocol.higher_is_better else -1,
        by_document=known_protocol is not None and known_protocol.level == "document",
        pair=pair,
        systems=KeyAliasesInFile(is_name_valid_in_path, lost, systems),
        references=KeyAliasesInFile(_in_reference, lost, {}),
        raters=raters,
        voided=voided,
        human=stand_in,
    )
    _set_order(known, documents, positions, lost)
    return known


def _in_reference(name: str) -> bool:
    """Return whether mt-metrics-eval accepts a reference's name; `all` and `src` have other meanings there."""
    return is_name_valid_in_path(name) and not set(name) & set(".-") and name not in {"all", "src"}


def _find_protocol_and_languages(campaign: CampaignRow | None, lost: Counter[str]) -> tuple[str, str]:
    """Return protocol and language pair."""
    if campaign is None:
        return "rating", f"{UNDETERMINED}-{UNDETERMINED}"
    lost["that documents are unknown"] += campaign.documents_known is False
    lost["options of the campaign"] += bool(campaign.options)
    codes = [code or UNDETERMINED for code in (campaign.source_language, campaign.target_language)]
    source = "".join(c if c.isalnum() or c == "_" else "_" for c in codes[0])
    target = "".join(c if c.isalnum() or c in "_-" else "_" for c in codes[1])
    lost["how languages are written"] += [source, target] != codes
    return campaign.protocol or "rating", f"{source}-{target}"


def _set_order(
    known: MtmeNamesAndOrder,
    documents: dict[str, DocumentRecord | None],
    positions: dict[str, set[int]],
    lost: Counter[str],
) -> None:
    """Order test documents by position, then by key."""
    test = [key for key, row in documents.items() if row is None or row.kind == "test"]
    ranked = sorted(test, key=lambda key: (getattr(documents[key], "position", None) or LAST, key))
    ranked = [key for key in ranked if key in positions or known.by_document]
    lost["documents without segments, or not of the test"] += len(documents) - len(ranked)
    names = KeyAliasesInFile(
        is_name_valid_at_line_end, lost, {key: row.name for key, row in documents.items() if row is not None}
    )
    known.order = {key: n for n, key in enumerate(ranked)}
    known.names = [(_domain(documents[key], lost), names.assign_alias(key)) for key in ranked]
    known.positions = [sorted(positions.get(key, {1})) for key in ranked]
    lost["at which places the segments of documents stand, where some are not there"] += sum(
        len(found) for found in known.positions if found[-1] != len(found)
    )


def _domain(row: DocumentRecord | None, lost: Counter[str]) -> str:
    if row is None or not row.domain:
        return NO_DOMAIN
    plain = "_".join(row.domain.split()) if row.domain.isprintable() else NO_DOMAIN
    lost["how domains are written"] += plain != row.domain
    return plain or NO_DOMAIN
