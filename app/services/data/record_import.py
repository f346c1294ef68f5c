"""Storing records: stage everything, then merge it under one new data version, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from app import protocols
from app.domain.errors import Conflict, Invalid
from app.domain.questionnaires import NAME as QUESTIONNAIRES
from app.domain.questionnaires import find_questionnaire_faults
from app.formats.base import CampaignRow, ReadLog, Record
from app.protocols.base import Protocol, ScoringOptions
from app.reports.inputs.campaign import CampaignInfo, parse_campaign_scoring_options
from app.services.campaigns.campaigns import get_campaign
from app.services.campaigns.display_settings import SLIDER_COLORS
from app.services.data.merging import BackgroundMerger, ImportMerge
from app.services.data.parallel.dispatch import READERS, RemoteRecords
from app.services.data.staging_writer import ImportProtocolDiffers, StagingWriter, reduce_garbage_collection
from app.storage import campaigns
from app.storage.db import Session
from app.storage.imports import staging

__all__ = ["CampaignSettingContradicted", "ImportProtocolDiffers", "Progress", "RunningImport", "import_records"]

Progress = Callable[[int], None]
UNFIT = "documents whose known answers do not fit the protocol: kept, and held against nobody"
BATCH = 20_000  # records between two progress reports
NOT_HERE = "scores of automatic metrics of systems or segments that are not here"
CHUNK = 50_000  # judgments merged at once if records are sorted by document


class CampaignSettingContradicted(Conflict):
    """The files contradict a property of the campaign that its judgments depend on."""

    published = "SettledAlready"


@dataclass
class RunningImport:
    """One import in progress. staging: writes its records into staging tables. action: its name in the audit log.

    checks_known_answers: whether known answers in tutorials and attention checks must be possible.
    """

    session: Session
    campaign: CampaignInfo
    actor: str
    audit_details: str
    progress: Progress | None = None
    action: str = "import committed"
    checks_known_answers: bool = False
    is_campaign_changed: bool = False
    staging: StagingWriter = field(init=False)
    _judged_by: tuple[Protocol[Any], ScoringOptions] | None = None

    def __post_init__(self) -> None:
        self.staging = StagingWriter(self.get_protocol_and_options)

    def get_protocol_and_options(self) -> tuple[Protocol[Any], ScoringOptions]:
        """Return the campaign's protocol and its parsed options."""
        if self._judged_by is None:
            self._judged_by = (
                protocols.get_protocol(self.campaign.protocol),
                parse_campaign_scoring_options(self.campaign),
            )
        return self._judged_by

    @property
    def scoring_needs_texts(self) -> bool:
        """Whether the score for rankings cannot be computed from a payload alone."""
        return self.staging.scoring_needs_texts

    def reload_campaign(self) -> None:
        """Read the campaign again after it was changed."""
        self.campaign = get_campaign(self.session, self.campaign.key)
        self._judged_by = None
        self.staging.forget_derived_columns()
        self.is_campaign_changed = True

    def report_progress(self, *, every: int = 1) -> None:
        """Report the number of records so far if it is a multiple of `every`."""
        if self.progress and self.staging.n_records % every == 0:
            self.progress(self.staging.n_records)


def import_records(
    intake: RunningImport,
    records: Iterable[Record | RemoteRecords],
    log: ReadLog,
    *,
    by_document: bool = False,
    by_segment: bool = False,
) -> dict[str, int]:
    """Stage and merge records, and return how many rows were created, by noun.

    by_document: all records of a document come together. Large imports are then merged chunk by chunk, each with whole
    documents, while the next records are staged. by_segment: records come together even for each segment. Raises
    Invalid with every bad line, and Conflict if the campaign's state does not allow an import.
    """
    row = campaigns.load_campaign(intake.session, intake.campaign.key, lock=True)
    merging = ImportMerge(
        intake.session,
        row.id,
        actor=intake.actor,
        what=intake.audit_details,
        action=intake.action,
        checks_known_answers=intake.checks_known_answers,
    )
    stage, copied = intake.staging, 0
    with reduce_garbage_collection(), BackgroundMerger(merging.merge_lines) as beside:
        for record in records:
            if isinstance(record, CampaignRow):
                stage.n_records += 1
                _adopt_campaign_facts(intake, record, row.id)
                continue
            if isinstance(record, RemoteRecords):
                _take_elsewhere(intake, record, beside)
                continue
            if (
                by_document
                and stage.n_held >= CHUNK
                and stage.starts_next_document_or_segment(record, by_segment=by_segment)
            ):
                beside.submit(stage.take_staged_lines(), intake.campaign)
            stage.add_record(record, log)
            if not by_document and stage.n_records - copied >= CHUNK:  # merged at the end, but held by the server
                staging.copy_into_staging(intake.session, stage.lines)
                copied = stage.n_records
            intake.report_progress(every=BATCH)
        log.raise_bad_lines()
        intake.report_progress()
        beside.wait_until_done()
    merging.merge_lines(stage.take_staged_lines(), intake.campaign)
    metrics, left = merging.find_metrics_with_changed_scores() if stage.n_scores else ((), 0)
    if left:
        log.dropped[NOT_HERE] += left
    if merging.n_unfit:
        log.notes[UNFIT] += merging.n_unfit
    return merging.finish(
        intake.campaign, campaign_changed=intake.is_campaign_changed, has_voids=stage.n_voids > 0, metrics=metrics
    )


def _take_elsewhere(intake: RunningImport, elsewhere: RemoteRecords, beside: BackgroundMerger) -> None:
    """Merge what other processes have staged, while they stage more.

    Their last lines wait, like those of this process.
    """
    stage, held = intake.staging, False
    with elsewhere:
        for chunk in elsewhere.chunks(intake.campaign.protocol, intake.campaign.options, max(1, CHUNK // READERS)):
            if held:
                beside.submit(stage.take_staged_lines(), intake.campaign)
            held, stage.lines = True, chunk.lines
            stage.n_records += chunk.n_records
            stage.n_judgments += chunk.n_judgments
            stage.n_voids += chunk.n_voids
            intake.report_progress()


def _adopt_campaign_facts(intake: RunningImport, record: CampaignRow, campaign_id: int) -> None:
    """Adopt what a file says about the campaign if the campaign does not say it; refuse contradictions."""
    campaign = intake.campaign
    if record.protocol is not None and record.protocol != campaign.protocol:
        raise ImportProtocolDiffers(f"their protocol is {record.protocol}, that of the campaign {campaign.protocol}")
    values = _languages(campaign, record) | _changeable_settings(campaign, record) | _asked_and_shown(campaign, record)
    if values:
        campaigns.update_campaign(intake.session, campaign_id, values)
        intake.reload_campaign()


def _languages(campaign: CampaignInfo, record: CampaignRow) -> dict[str, object]:
    values: dict[str, object] = {}
    for name in ("source_language", "target_language"):
        said, known = getattr(record, name), getattr(campaign, name)
        if said is not None and known is not None and said != known:
            raise CampaignSettingContradicted(f"{name} is {known}, the files say {said}")
        if said is not None and known is None:
            values[name] = said
    return values


def _asked_and_shown(campaign: CampaignInfo, record: CampaignRow) -> dict[str, object]:
    """Adopt questions to raters and the look of sliders if the campaign has no setting for them.

    Raises Invalid, which names the question. Sliders affect no judgment, so for them the campaign's setting wins.
    """
    settings = {**campaign.settings, **_questionnaires(campaign, record)}
    if record.slider_colors is not None and settings.get(SLIDER_COLORS) is None:
        settings[SLIDER_COLORS] = record.slider_colors
    return {"settings": settings} if settings != campaign.settings else {}


def _questionnaires(campaign: CampaignInfo, record: CampaignRow) -> dict[str, object]:
    said, known = record.questionnaires, campaign.settings.get(QUESTIONNAIRES)
    if not said or said == known:
        return {}
    if known:
        raise CampaignSettingContradicted("the campaign asks raters other questions than the files say")
    asked: dict[str, object] = {QUESTIONNAIRES: dict(said)}
    places = tuple(find_questionnaire_faults({**campaign.settings, **asked}))
    if places:
        raise Invalid("the questionnaires are not valid", places=places)
    return asked


def _changeable_settings(campaign: CampaignInfo, record: CampaignRow) -> dict[str, object]:
    """Return what may change only before the first judgment: options, basis, and whether documents are known."""
    values: dict[str, object] = {}
    said = dict(record.options or {})
    if any(campaign.options.get(name) != value for name, value in said.items()):
        values["options"] = {**campaign.options, **said}
        parse_campaign_scoring_options(replace(campaign, options={**campaign.options, **said}))
    if record.documents_known is False and campaign.documents_known:
        values["documents_known"] = False
    if record.basis is not None and record.basis != campaign.basis:
        values["basis"] = record.basis
    if values and campaign.data_version > 0:
        raise CampaignSettingContradicted(
            f"the campaign has data already, and the files say otherwise of its {', '.join(values)}"
        )
    return values
