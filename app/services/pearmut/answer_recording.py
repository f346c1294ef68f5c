"""What a page sends for a document: its judgments and the hand-in of its task, in one transaction, once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from app.domain.comments import LONGEST_COMMENT
from app.domain.errors import Conflict, Invalid, Place
from app.domain.spans import clip_span_to_stripped_text
from app.formats.base import JudgmentRow, LineLocation, ReadLog
from app.formats.pearmut.answers import KINDS, extract_answer_data_outside_payload, parse_answer_payload
from app.services.campaigns.campaigns import get_campaign
from app.services.data.external_judgments import join_keys_unambiguously
from app.services.data.record_import import RunningImport, import_records
from app.services.pearmut import rules
from app.services.pearmut.campaign_file import Document, is_form_document
from app.services.pearmut.loaded_campaign import PearmutCampaign, PlannedPearmutDocument, make_shown_model_names
from app.services.pearmut.questionnaires import store_completed_form_answers
from app.services.pearmut.users import PearmutUser
from app.storage import campaigns, clock, comments, pearmut, tasks
from app.storage.db import Session
from app.storage.imports import external_judgments, staging
from app.storage.imports.staging import format_canonical_json

SKIP = "submit_skip"
LONGEST_GAP = 61.0  # seconds that Pearmut counts for a longer pause
LATEST_TIME = 253_402_300_800.0
MOST_EVENTS = 20_000
_OTHER = re.compile(r"[^a-z0-9_]+")
Answers = Sequence[object]


class PearmutCampaignClosed(Conflict):
    """The campaign is closed."""


@dataclass(frozen=True, slots=True)
class SentAnnotation:
    """What a page sent. place: Pearmut's item_i. annotation: by the names that the page knows."""

    place: int | str
    annotation: Sequence[object]
    actions: Sequence[Mapping[str, Any]] = ()
    comment: str | None = None

    @property
    def is_skipped(self) -> bool:
        """Whether the annotator skipped the document."""
        return any(action.get("action") == SKIP for action in self.actions)

    @property
    def action_times(self) -> list[float]:
        """The times of actions in Unix seconds, in the order of the log."""
        return [float(action["time"]) for action in self.actions]

    @property
    def digest(self) -> bytes:
        """A digest that identifies the answer."""
        return hashlib.sha256(format_canonical_json([self.annotation, self.actions, self.comment]).encode()).digest()


@dataclass(frozen=True, slots=True)
class StoredAnnotation:
    """A stored answer, and its effect on the plan. task: the user's; None if somebody else has it."""

    user: PearmutUser
    sent: SentAnnotation
    rows: tuple[JudgmentRow, ...]
    task: pearmut.Row | None


def record_sent_annotation(session: Session, user: PearmutUser, sent: SentAnnotation) -> None:
    """Record what a page sent. A repeated request changes nothing.

    Raises Invalid naming the place in the payload, PearmutItemUnknown, PearmutCampaignClosed.
    """
    row = campaigns.load_campaign(session, user.loaded.key, lock=True)
    if row.state == "closed":
        raise PearmutCampaignClosed
    prepared = check_and_store_annotation(session, user, sent)
    if prepared is not None:
        store_judgments_and_hand_in(session, user.loaded, [prepared], actor=user.rater.actor)


def check_and_store_annotation(
    session: Session, user: PearmutUser, sent: SentAnnotation, *, real_names: bool = False
) -> StoredAnnotation | None:
    """Check an answer and store it; None if it was already stored. real_names: models have the names of the file.

    Raises Invalid, PearmutItemUnknown.
    """
    loaded = user.loaded
    document = loaded.get_document_at_place(user.name, sent.place)
    annotation = _by_model(document, sent.annotation, {} if real_names else loaded.info, real_names=real_names)
    planned = loaded.find_planned_document(user.name, sent.place)
    task: pearmut.Row | None = None
    rows: tuple[JudgmentRow, ...] = ()
    if planned is not None:
        task = _own_task(session, user, planned)
        rows = tuple(_rows(session, user, planned, document, annotation, sent, task))
    if not real_names and not sent.is_skipped:
        _check_complete(document, planned, rows)
    times = sent.action_times
    values = {
        "place": str(sent.place),
        "hash": sent.digest,
        "body": {
            "annotation": annotation,
            "actions": list(sent.actions),
            **({"comment": sent.comment} if sent.comment else {}),
        },
        "checks": None
        if sent.is_skipped or is_form_document(document)
        else rules.evaluate_item_rules(document, annotation),
        "skipped": sent.is_skipped,
        "begun": min(times, default=None),
        "ended": max(times, default=None),
        "seconds": sum(min(max(b - a, 0.0), LONGEST_GAP) for a, b in pairwise(times)),
    }
    if pearmut.insert_answer(session, loaded.campaign_id, user.rater.rater_id, values) is None:
        return None
    store_completed_form_answers(session, user, sent.place)
    return StoredAnnotation(user, sent, rows, task)


def store_judgments_and_hand_in(
    session: Session, loaded: PearmutCampaign, prepared: Sequence[StoredAnnotation], *, actor: str
) -> None:
    """Store the judgments of answers, at most one for each output and user, and hand in their tasks."""
    rows = [row for one in prepared for row in one.rows]
    if rows:
        intake = RunningImport(
            session,
            get_campaign(session, loaded.key),
            actor=actor,
            audit_details="judgments on Pearmut's pages",
            action="judgments recorded",
        )
        import_records(intake, rows, ReadLog())
        staging.drop_staging_tables(session)
    for answer in prepared:
        if answer.task is not None:
            _hand_in(session, answer, answer.task)


def _hand_in(session: Session, answer: StoredAnnotation, task: pearmut.Row) -> None:
    campaign_id, rater_id = answer.user.rater.campaign_id, answer.user.rater.rater_id
    if task.state == "free":
        external_judgments.record_task_holder(session, campaign_id, task.id, rater_id)
    if task.state != "handed_in":
        tasks.mark_task_handed_in(session, campaign_id, task.id, rater_id=rater_id, code=None)
    comments.store_or_remove_comment(
        session,
        campaign_id,
        rater_id=rater_id,
        task_id=task.id,
        screen=comments.load_first_screen_number_of_task(session, campaign_id, task.id),
        comment=_shorten_comment(answer.sent.comment),
    )
    events = [
        (_OTHER.sub("_", str(action["action"]).lower())[:32].lstrip("_0123456789") or "other", at)
        for action, at in zip(answer.sent.actions, answer.sent.action_times, strict=True)
    ]
    page = f"pearmut-{answer.sent.digest.hex()[:32]}"
    moments = [(kind, int(at * 1000)) for kind, at in events[:MOST_EVENTS]]
    pearmut.insert_user_activity_events(session, campaign_id, task.id, rater_id, page=page, events=moments)


def _shorten_comment(comment: str | None) -> str:
    """Return a comment as managers read it. The full text of a longer one stays in the stored answer."""
    return (comment or "").replace("\0", "").strip()[:LONGEST_COMMENT]


def _own_task(session: Session, user: PearmutUser, planned: PlannedPearmutDocument) -> pearmut.Row | None:
    """Lock and return the task of a document if it is the user's, or claim it for the user if it is nobody's."""
    task = pearmut.lock_planned_task(session, user.loaded.campaign_id, planned.number)
    if task is None or task.rater_id not in (None, user.rater.rater_id):
        return None
    if task.rater_id is None:
        pearmut.claim_pooled_task(session, user.loaded.campaign_id, task.id, user.rater.rater_id)
    return task


def _rows(
    session: Session,
    user: PearmutUser,
    planned: PlannedPearmutDocument,
    document: Document,
    annotation: Answers,
    sent: SentAnnotation,
    task: pearmut.Row | None,
) -> Iterator[JudgmentRow]:
    """Yield the judgments of an answer: for the items of the user's task, else as the user's work outside the plan."""
    here = pearmut.load_task_items(session, user.loaded.campaign_id, task.id) if task is not None else []
    items = {item.system: item.key for item in here}
    now = clock.get_database_time(session)
    times = [min(datetime.fromtimestamp(at, UTC), now) for at in sent.action_times]
    started, submitted = min(times, default=None), max(times, default=now)
    for position, (item, answers) in enumerate(zip(document, annotation, strict=True), 1):
        for model, answer in answers.items() if isinstance(answers, Mapping) else ():
            payload = _payload(user.loaded, answer, item["tgt"][model], (position - 1, model))
            system = planned.systems[model]
            if payload is None:
                continue
            yield JudgmentRow(
                at=LineLocation("annotation", position),
                task=task.key if task is not None else join_keys_unambiguously("elsewhere", user.rater.rater),
                item=items[system] if task is not None else join_keys_unambiguously(system, planned.key),
                systems=(system,),
                document=planned.key,
                position=position,
                rater=user.rater.rater,
                payload=payload,
                started_at=started,
                submitted_at=submitted,
                meta=extract_answer_data_outside_payload(user.loaded.protocol, answer) or None,
            )


def _payload(
    loaded: PearmutCampaign, answer: Mapping[str, Any], text: str, at: tuple[int, str]
) -> dict[str, object] | None:
    """Return the payload of an answer for the stored text, which has no white space at its ends. Raises Invalid."""
    try:
        payload = parse_answer_payload(loaded.protocol, loaded.spans, answer, text)
    except ValueError as fault:
        raise Invalid(places=(Place(("payload", "annotation", *at), str(fault)),)) from None
    stripped, errors = text.strip(), (payload or {}).get("errors")
    if payload is None or len(stripped) == len(text) or not isinstance(errors, list):
        return payload
    led = len(text) - len(text.lstrip())
    return {**payload, "errors": [_clip_error(error, led, len(stripped)) for error in errors]}


def _clip_error(error: Mapping[str, Any], led: int, length: int) -> dict[str, Any]:
    if "start" not in error:
        return {**error}
    start, end = clip_span_to_stripped_text((error["start"], error["end"]), led, length)
    return {**error, "start": start, "end": end}


def _by_model(document: Document, annotation: Answers, info: Mapping[str, Any], *, real_names: bool) -> list[object]:
    """Return the annotation by the models' names in the file. Raises Invalid for anything that was not shown."""
    here = ("payload", "annotation")
    if len(annotation) != len(document):
        raise Invalid(places=(Place(here, f"must have {len(document)} entries"),))
    if is_form_document(document):
        return list(annotation)
    names = {name: model for model, name in make_shown_model_names(document, info).items()}
    result: list[object] = []
    for n, (item, answers) in enumerate(zip(document, annotation, strict=True)):
        if answers is None:
            result.append(None)
            continue
        if not isinstance(answers, Mapping):
            raise Invalid(places=(Place((*here, n), "must be an object"),))
        known = {name: name for name in item["tgt"]} if real_names else names
        wrong = [name for name, one in answers.items() if known.get(name) not in item["tgt"] or not _is_answer(one)]
        if wrong:
            raise Invalid(places=(Place((*here, n), f"{wrong[0][:40]} was not shown, or its answer is none"),))
        result.append({known[name]: answer for name, answer in answers.items()})
    return result


def _is_answer(answer: object) -> bool:
    """Return whether an answer has a score, sliders and errors in the page's format, or none."""
    if not isinstance(answer, Mapping):
        return False
    if any(answer.get(name) is not None and type(answer[name]) not in kinds for name, kinds in KINDS.items()):
        return False
    sliders, marks = answer.get("sliders") or {}, answer.get("error_spans") or []
    return all(type(one) in (int, float, type(None)) for one in sliders.values()) and all(
        isinstance(one, dict) for one in marks
    )


def _check_complete(document: Document, planned: PlannedPearmutDocument | None, rows: Iterable[JudgmentRow]) -> None:
    """Raise Invalid if a required judgment is missing."""
    if planned is None:
        return
    given = {(row.position, row.systems[0]) for row in rows}
    places = [
        Place(("payload", "annotation", n - 1), "is not judged")
        for n, item in enumerate(document, 1)
        if not item.get("skippable") and not all((n, planned.systems[model]) in given for model in item["tgt"])
    ]
    if places:
        raise Invalid("the document is not judged as a whole", places=tuple(places[:100]))
