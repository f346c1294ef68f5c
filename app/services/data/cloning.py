"""Clone a campaign's setup, and carry over judgments of unchanged outputs from another campaign."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from app.domain.errors import Conflict, Invalid, Place
from app.formats.base import JudgmentRow, RaterRow, ReadLog, Record, VoidedJudgmentRow
from app.reports.inputs.campaign import CampaignInfo
from app.services.campaigns import audit
from app.services.campaigns.campaigns import NewCampaign, create_campaign, get_campaign
from app.services.data import exports
from app.services.data.external_judgments import join_keys_unambiguously
from app.services.data.record_import import RunningImport, import_records
from app.storage import campaigns, cloning, query_planner_statistics
from app.storage.db import Session
from app.storage.media import media_queries as media_rows

RANKED = frozenset({"rating", "repeat"})


class ProtocolsDiffer(Conflict):
    """The campaigns judge in different ways, so nothing can be copied."""

    published = "JudgesOtherwise"


@dataclass(frozen=True, slots=True)
class JudgmentCarryOverResult:
    """How much was carried over. left: judgments that were not, by reason."""

    judgments: int
    raters: int
    left: Mapping[str, int]
    data_version: int


def clone_campaign(
    session: Session, campaign: str, *, key: str, name: str | None, series: str | None, systems: bool, actor: str
) -> CampaignInfo:
    """Create a draft with the settings, rules and test set of another campaign, without raters, plans and judgments.

    systems: also copy its systems, their outputs and their scores by automatic metrics. Media files that the texts name
    are copied, too.

    Raises NotFound, Invalid, Conflict if the key is taken.
    """
    of = get_campaign(session, campaign)
    settings = {name: value for name, value in of.settings.items() if name != "created_by"}
    new = NewCampaign(
        key=key,
        protocol=of.protocol,
        name=name or of.name,
        options=of.options,
        source_language=of.source_language,
        target_language=of.target_language,
        basis=of.basis,
        series=series or of.series,
        settings=settings,
    )
    create_campaign(session, new, actor=actor)
    source, target = campaigns.load_campaign(session, campaign).id, campaigns.load_campaign(session, key, lock=True).id
    campaigns.update_campaign(session, target, {"documents_known": of.documents_known})
    campaigns.take_next_data_version(session, target, actor=actor, what="clone")
    statements = cloning.TEXTS + (cloning.SYSTEM_TEXTS if systems else ()) + cloning.RULES
    n_rows = cloning.copy_campaign_rows(session, statements, source=source, target=target, actor=actor)
    if n_rows >= query_planner_statistics.MANY:
        query_planner_statistics.refresh_query_planner_statistics(session)
    names = sorted({name for _, name in media_rows.load_media_uses(session, target)})
    media_rows.copy_media(session, names, source=source, target=target, actor=actor)
    audit.record_action(
        session, target, actor=actor, action="campaign cloned", what={"from": campaign, "systems": systems}
    )
    return get_campaign(session, key)


def carry_over_judgments(session: Session, campaign: str, source: str, *, actor: str) -> JudgmentCarryOverResult:
    """Store another campaign's judgments of the same outputs on the same sources in a campaign.

    They belong to tasks of their own. A repeated call adds only new ones. Judgments that were voided there, or are
    surplus, are left out, because they would count here.

    Raises NotFound, Invalid if both campaigns are the same, ProtocolsDiffer if the protocol, the basis or the target
    language differs.
    """
    if campaign == source:
        raise Invalid(places=(Place(("body", "from"), "is the campaign itself"),))
    target_id = campaigns.load_campaign(session, campaign, lock=True).id
    source_id = campaigns.load_campaign(session, source).id
    view, other = get_campaign(session, campaign), get_campaign(session, source)
    for field in ("protocol", "basis", "target_language"):
        if getattr(view, field) != getattr(other, field):
            raise ProtocolsDiffer(f"{field}: {getattr(view, field)} here, {getattr(other, field)} there")
    sieve = _JudgmentFilter(
        source,
        cloning.load_unchanged_output_keys(session, source=source_id, target=target_id),
        cloning.count_document_segments(session, source_id),
        cloning.count_document_segments(session, target_id),
    )
    carried = list(sieve(exports.load_campaign_records(session, source)))
    intake = RunningImport(session, view, actor=actor, audit_details=f"carried over from {source}")
    counts = import_records(intake, carried, ReadLog())
    return JudgmentCarryOverResult(counts["judgments"], counts["raters"], dict(sieve.left), counts["data_version"])


class _JudgmentFilter:
    """Keep the judgments of unchanged outputs that count, and count the others."""

    def __init__(
        self, source: str, same: set[tuple[str, str, int]], before: Mapping[str, int], now: Mapping[str, int]
    ) -> None:
        self._source = source
        self._same = same
        self._whole = {
            (system, document)
            for (system, document), n in Counter((system, document) for system, document, _ in same).items()
            if n == before.get(document) == now.get(document)
        }
        self.left: Counter[str] = Counter()

    def __call__(self, records: Iterator[Record]) -> Iterator[Record]:
        """Yield raters unchanged, and judgments in tasks of their own."""
        judgments, aside = [], set()
        for record in records:
            if isinstance(record, RaterRow):
                yield record
            elif isinstance(record, JudgmentRow):
                judgments.append(record)
            elif isinstance(record, VoidedJudgmentRow):
                aside.add(_address(record))
        for judgment in judgments:
            yield from self._copy_judgment(judgment, void=_address(judgment) in aside)

    def _copy_judgment(self, record: JudgmentRow, *, void: bool) -> Iterator[Record]:
        if void:
            self.left["set aside"] += 1
            return
        if record.role not in RANKED:
            self.left[f"{record.role} item"] += 1
            return
        systems = tuple(system for system in record.systems if self._is_same(system, record))
        if not systems:
            self.left["output changed or not there"] += 1
            return
        yield replace(
            record,
            task=join_keys_unambiguously("carried", self._source, record.task),
            systems=systems,
            external_id=None,
            item_position=None,
        )

    def _is_same(self, system: str, record: JudgmentRow) -> bool:
        if record.position is None:
            return (system, record.document) in self._whole
        return (system, record.document, record.position) in self._same


def _address(record: JudgmentRow | VoidedJudgmentRow) -> tuple[str, str, int | None, str]:
    """Return what a void names: task, item, segment and rater."""
    return record.task, record.item, record.position, record.rater
