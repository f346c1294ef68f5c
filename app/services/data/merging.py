"""Merging of staged records: all at once, or chunk by chunk during reading, but always in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import chain, islice
from typing import Any, Self

from app import protocols
from app.domain.errors import Invalid, Place
from app.domain.recipe import ScoringChoice
from app.protocols.base import JudgedTexts, Protocol, ScoringOptions, SpansWidget
from app.reports.inputs.campaign import CampaignInfo, find_campaign_protocol, parse_campaign_scoring_options
from app.reports.inputs.scores import find_or_create_score_profile_id, resolve_score_definition
from app.services.campaigns import audit
from app.services.data.known_answer_documents import check_known_answers_and_count_unfit
from app.storage import campaigns, comments, query_planner_statistics, seals, staged_judgments, weight_profiles
from app.storage.db import Session
from app.storage.imports import comparisons, merge, origins, staging, word_alignments
from app.storage.imports import metrics as metrics_staged

GROWTH = 4  # the statistics of the planner are refreshed each time that an import has grown by this factor
Merge = Callable[[staging.CopyBuffer, CampaignInfo], None]


class ImportTooLong(Invalid):
    """The import has more judgments than one data version can hold."""


class ImportMerge:
    """What one import adds to a campaign under one data version.

    A chunk contains all records about its documents, so chunks share only systems, raters and tasks.
    """

    def __init__(
        self,
        session: Session,
        campaign_id: int,
        *,
        actor: str,
        what: str,
        action: str,
        checks_known_answers: bool = False,
    ) -> None:
        self._session, self._id = session, campaign_id
        self._actor, self._what, self._action = actor, what, action
        self._checks_known_answers = checks_known_answers
        self.n_unfit = 0  # documents whose known answers do not fit the protocol
        self._history = staged_judgments.has_judgments(session, campaign_id)
        self._counts: Counter[str] = Counter()
        self._under: tuple[int, int] | None = None
        self._next_refresh = query_planner_statistics.MANY
        staging.create_staging_tables(session)

    def merge_lines(self, lines: staging.CopyBuffer, campaign: CampaignInfo) -> None:
        """Stage lines and add new rows. Raises ImportContradiction and Invalid, with file and line.

        Raises ImportTooLong if there are too many judgments for one data version.
        """
        session = self._session
        if (n_rows := self._most_new_rows()) >= self._next_refresh:
            # With the earlier statistics, a chunk would read all previous chunks again and again.
            query_planner_statistics.refresh_query_planner_statistics(session)
            self._next_refresh = GROWTH * n_rows
        staging.copy_into_staging(session, lines)
        staging.analyze_staging_tables(session)
        staged_judgments.stage_texts_of_textless_segments(session, self._id)
        created = merge.create_entities_from_staging(session, self._id)
        created |= {"alignments": n} if (n := word_alignments.insert_staged_word_alignments(session, self._id)) else {}
        origins.store_staged_output_origins(session, self._id)
        resolved = staged_judgments.resolve_staged_judgment_revisions(session, self._id, history=self._history)
        compared = comparisons.count_new_comparisons(session, self._id)
        self._counts.update(created | ({"comparisons": compared} if compared else {}))
        self._counts.update(judgments=resolved.added, revisions=resolved.revisions, unchanged=resolved.unchanged)
        self._require_sealable_number()
        if any(created.values()) or resolved.added or compared:
            version, profile = self._version(campaign)
            on_texts = (
                find_campaign_protocol(campaign)
                .get_requested_measure(parse_campaign_scoring_options(campaign))
                .needs_text
            )
            stored = None if on_texts else profile
            staged_judgments.append_staged_judgments(session, campaign_id=self._id, profile_id=stored, version=version)
            if on_texts:
                weight_profiles.store_scores(
                    session, self._id, profile, list(_scored_on_texts(session, self._id, campaign))
                )
            if compared:
                comparisons.store_staged_comparisons(session, self._id, version=version)
            comments.insert_staged_comments(session, self._id)
            _check_spans(session, self._id, campaign)
            if self._checks_known_answers:
                self.n_unfit += check_known_answers_and_count_unfit(session, self._id, campaign)
        staging.truncate_staging_tables(session)

    def finish(
        self, campaign: CampaignInfo, *, campaign_changed: bool, has_voids: bool, metrics: Sequence[str]
    ) -> dict[str, int]:
        """Apply the files' voids and store scores. Return the data version and the number of rows created, by noun.

        campaign_changed: the files said something new about the campaign itself. has_voids: they set judgments aside.
        metrics: those whose staged scores differ from the stored ones. Raises ImportContradiction and ImportTooLong.
        """
        session, counts = self._session, dict(self._counts)
        voiding = has_voids and staged_judgments.has_new_staged_voids(session, self._id)
        if self._under is None and not campaign_changed and not voiding and not metrics:
            staged_judgments.require_judgments_of_staged_voids(session, self._id)
            version = int(campaigns.load_campaign(session, campaign.key).data_version)
            return {**counts, "voids": 0, "data_version": version}
        version, _ = self._version(campaign)
        if self._most_new_rows() >= query_planner_statistics.MANY:
            query_planner_statistics.refresh_query_planner_statistics(session)
        staged_judgments.require_judgments_of_staged_voids(session, self._id)
        voids = staged_judgments.apply_staged_voids(session, campaign_id=self._id, version=version)
        self._require_sealable_number(voids=voids)
        if metrics:
            counts["metric_scores"] = metrics_staged.store_staged_metric_scores(
                session, self._id, metrics, version=version
            )
        seals.seal_collected_version(session, self._id, version)
        report = {**counts, "voids": voids, "data_version": version}
        what = {"what": self._what, **report}
        audit.record_action(session, self._id, actor=self._actor, action=self._action, what=what)
        return report

    def _require_sealable_number(self, *, voids: int = 0) -> None:
        """Raise ImportTooLong if the version's seal cannot cover all judgments, comparisons and voids."""
        if self._counts["judgments"] + self._counts["comparisons"] + voids > seals.MOST_ROWS:
            raise ImportTooLong(
                f"an import stores at most {seals.MOST_ROWS:,} judgments, comparisons of columns and voids; nothing "
                "was stored; divide the files among several imports"
            )

    def _most_new_rows(self) -> int:
        """Return the number of rows that were added to the table with most of them."""
        return max((n for noun, n in self._counts.items() if noun != "unchanged"), default=0)

    def find_metrics_with_changed_scores(self) -> tuple[Sequence[str], int]:
        """Return the metrics whose staged scores differ from the stored ones, and how many scores do not belong here.

        Call this after everything is merged. Raises ImportContradiction, with file and line.
        """
        return metrics_staged.find_metrics_with_changed_scores(self._session, self._id)

    def _version(self, campaign: CampaignInfo) -> tuple[int, int]:
        """Return the import's data version and the profile that it scores by; both are taken when first needed."""
        if self._under is None:
            version = campaigns.take_next_data_version(
                self._session, self._id, actor=self._actor, what=self._what, judged=True
            )
            self._under = (
                version,
                find_or_create_score_profile_id(
                    self._session, self._id, resolve_score_definition(campaign, ScoringChoice())
                ),
            )
        return self._under


class BackgroundMerger:
    """Merge one chunk at a time in a separate thread, so that the database works while the next lines are prepared.

    Only one thread may use the session at a time. After `submit`, the caller may use it again after `wait_until_done`.
    """

    def __init__(self, merge: Merge) -> None:
        self._merge = merge
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="merge")
        self._under_way: Future[None] | None = None
        self._fault: Invalid | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown()

    def submit(self, lines: staging.CopyBuffer, campaign: CampaignInfo) -> None:
        """Merge a chunk after the previous one. `wait_until_done` raises the errors of earlier chunks."""
        self._wait()
        if self._fault is None:
            self._under_way = self._threads.submit(copy_context().run, self._merge, lines, campaign)

    def wait_until_done(self) -> None:
        """Wait for the last chunk. Raises the error that was found in any chunk."""
        self._wait()
        if self._fault is not None:
            raise self._fault

    def _wait(self) -> None:
        """Wait for the chunk and keep its error: bad lines are reported before contradictions, so reading continues.

        Raises ImportTooLong at once, because no line has to be corrected.
        """
        under_way, self._under_way = self._under_way, None
        try:
            if under_way is not None:
                under_way.result()
        except ImportTooLong:
            raise
        except Invalid as fault:
            self._fault = fault


def _scored_on_texts(session: Session, campaign_id: int, campaign: CampaignInfo) -> Iterator[tuple[int, float, int]]:
    """Yield the scores of what is being merged.

    Raises Invalid, with file and line, if an output that a score needs is unknown.
    """
    protocol, options = protocols.get_protocol(campaign.protocol), parse_campaign_scoring_options(campaign)
    places: list[Place] = []
    for answer in staged_judgments.stream_answers_with_texts(
        session, campaign_id, among=staged_judgments.load_judgment_ids_being_merged(session)
    ):
        payload = protocol.payload.model_validate(answer.payload)
        try:
            scored = protocol.score(payload, JudgedTexts(answer.source, answer.text), options)
        except Invalid as error:
            at = staged_judgments.find_import_file_and_line(session, answer.judgment_id)
            places += [Place((*at, *place.loc), place.msg) for place in error.places]
            continue
        yield answer.judgment_id, scored.score, scored.n_errors
    if places:
        what = "the judgments need texts that are unknown; nothing was stored"
        raise Invalid(what, places=tuple(places[: merge.MOST_PLACES]))


def _check_spans(session: Session, campaign_id: int, campaign: CampaignInfo) -> None:
    """Compare each marked span with its texts, if this import brings the span or one of the texts."""
    protocol, options = protocols.get_protocol(campaign.protocol), parse_campaign_scoring_options(campaign)
    if any(isinstance(widget, SpansWidget) for widget in protocol.form):
        outside = _find_spans_beyond_text(session, campaign_id, protocol, options)
        faults = chain(outside, _outside_of_new_texts(session, campaign_id, protocol, options))
        places = tuple(islice(faults, merge.MOST_PLACES))
        if places:
            raise Invalid("spans do not fit the texts; nothing was stored", places=places)


def _find_spans_beyond_text(
    session: Session, campaign_id: int, protocol: Protocol[Any], options: ScoringOptions
) -> Iterator[Place]:
    spans = staged_judgments.find_judgments_marking_beyond_text(session, campaign_id, merge.MOST_PLACES)
    for answer in staged_judgments.stream_answers_with_texts(session, campaign_id, among=spans) if spans else ():
        payload = protocol.payload.model_validate(answer.payload)
        try:
            protocol.check(payload, JudgedTexts(answer.source, answer.text), options)
        except Invalid as error:
            file, line = staged_judgments.find_import_file_and_line(session, answer.judgment_id)
            yield from (Place((file, line, *place.loc), place.msg) for place in error.places)


def _marks(payload: Any, protocol: Protocol[Any], side: str) -> bool:
    """Return whether a judgment marks a span in the text on one side."""
    spans = (
        span for widget in protocol.form if isinstance(widget, SpansWidget) for span in getattr(payload, widget.field)
    )
    return any(span.side == side and span.start is not None for span in spans)


def _outside_of_new_texts(
    session: Session, campaign_id: int, protocol: Protocol[Any], options: ScoringOptions
) -> Iterator[Place]:
    for blind in staged_judgments.stream_judgments_awaiting_text(session, campaign_id):
        payload = protocol.payload.model_validate(blind.payload)
        shown = JudgedTexts(source=blind.text) if blind.of_source else JudgedTexts(text=blind.text)
        if blind.led and _marks(payload, protocol, "source" if blind.of_source else "target"):
            said = f"a span was marked before on {blind.address}, and counts the white space at the start of this text"
            yield Place((blind.file, blind.line), said)
            continue
        try:
            protocol.check(payload, shown, options)
        except Invalid as error:
            for place in error.places:
                said = f"a span that was marked before, on {blind.address}, {place.msg}"
                yield Place((blind.file, blind.line, *place.loc), said)
