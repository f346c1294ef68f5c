"""Pearmut's dashboard on this store: users' progress, results by Pearmut's rule, downloads, resets, notes, new users.

Source: app.py and results_export.py in zouharvi/pearmut 1.1.6.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import quote_plus

from app.domain.errors import Invalid
from app.services.access.tokens import Caller
from app.services.campaigns import audit
from app.services.pearmut import pages
from app.services.pearmut.campaign_file import CampaignFileUser
from app.services.pearmut.loaded_campaign import PearmutCampaign
from app.services.pearmut.loading import PearmutUserLink, add_user
from app.services.pearmut.users import PearmutUser
from app.services.tasks import campaign_judgments, manager_tasks
from app.services.tasks.campaign_judgments import JudgmentFilter
from app.stats.testing.paired import compute_paired_t_p_value
from app.storage import pearmut
from app.storage.db import Session

RESET = "__RESET__"
ALPHA = 0.05
MOST_USERS = 1000
Line = dict[str, Any]


class AddUserNeedsSingleStream(Invalid):
    """Add new user is only supported for single-stream assignments"""

    published = "UsersHaveTasks"


def make_dashboard_data(session: Session, loaded: PearmutCampaign) -> dict[str, Any]:
    """Return the progress of each user, with both codes."""
    data = {user.name: _entry(row, user, progress) for row, user, progress in _users(session, loaded)}
    info = loaded.info
    return {
        "data": data,
        "validation_threshold": info.get("validation_threshold"),
        "assignment": info["assignment"],
        "docs_per_user": info.get("docs_per_user"),
        "dynamic_models": info.get("dynamic_models"),
    }


def make_progress_file_content(session: Session, loaded: PearmutCampaign) -> dict[str, Any]:
    """Return what Pearmut stores about its users in `data/progress`."""
    return {
        user.name: {
            **{name: value for name, value in _entry(row, user, progress).items() if name != "threshold_passed"},
            "validations": pages.find_last_check_results_by_place(progress.answers),
        }
        for row, user, progress in _users(session, loaded)
    }


def _users(session: Session, loaded: PearmutCampaign) -> Iterator[tuple[pearmut.Row, PearmutUser, pages.UserProgress]]:
    answers = pearmut.load_answer_metadata(session, loaded.campaign_id)
    tasks = {row.number: row for row in pearmut.load_pearmut_planned_tasks(session, loaded.campaign_id)}
    for row in pearmut.load_pearmut_users(session, loaded.campaign_id):
        user = PearmutUser.from_row(loaded, row, audit.OPERATOR, 0)
        yield row, user, pages.make_user_progress(user, answers, tasks)


def _entry(row: pearmut.Row, user: PearmutUser, progress: pages.UserProgress) -> dict[str, Any]:
    begun = [one.begun for one in progress.answers if one.begun is not None]
    ended = [one.ended for one in progress.answers if one.ended is not None]
    # The name opens the page only if it is a credential. Users with a new link got it from whoever loaded the campaign.
    address = f"annotate?campaign_id={quote_plus(user.loaded.name)}&user_id={quote_plus(user.name)}"
    return {
        "progress": list(progress.documents),
        "progress_welcome": list(progress.welcome),
        "progress_goodbye": list(progress.goodbye),
        "time_start": min(begun, default=None),
        "time_end": max(ended, default=None),
        "time": progress.seconds,
        "url": address,
        "token_correct": row.code_pass,
        "token_incorrect": row.code_fail,
        "note": row.note,
        "validations": [all(checks) for checks in pages.find_last_check_results_by_place(progress.answers).values()],
        "threshold_passed": pages.does_user_pass_checks(user, progress.answers) if all(progress.documents) else None,
    }


def list_annotation_log_lines(session: Session, loaded: PearmutCampaign) -> list[Line]:
    """List the log in Pearmut's form: what Pearmut's pages sent, and what was handed in on this program's pages."""
    users = {row.rater_id: row.user_id for row in pearmut.load_pearmut_users(session, loaded.campaign_id)}
    rows = pearmut.load_answers(session, loaded.campaign_id, resets=True)
    lines: list[Line] = []
    last_reset = {row.rater_id: row.id for row in rows if row.reset}
    for row in rows:
        user = users[row.rater_id]
        place: int | str = int(row.place) if row.place.isdigit() else row.place
        line: Line = {**row.body, "item": loaded.get_document_at_place(user, place)}
        line |= {"validations": row.checks} if row.checks is not None else {}
        lines.append(line | {"user_id": user, "item_i": place})
        if last_reset.get(row.rater_id) == row.id:
            lines.append({"user_id": user, "annotation": RESET})
    return lines + list(_lines_of_other_pages(session, loaded))


def _lines_of_other_pages(session: Session, loaded: PearmutCampaign) -> Iterator[Line]:
    for _, user, progress in _users(session, loaded):
        for index, state in enumerate(progress.documents):
            if state != pages.DONE or str(index) in progress.answered_places:
                continue
            document = loaded.get_document_at_place(user.name, index)
            annotation = pages.load_annotation_from_judgments(session, user, progress, index, document)
            if annotation is not None:
                yield {"annotation": annotation, "actions": [], "item": document, "user_id": user.name, "item_i": index}


def compute_model_results(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each model's mean last score over items, and whether a paired t test separates it from the next model.

    Two-sided, at 5 %. This is Pearmut's rule, which the reports here do not follow.
    """
    resets = {line["user_id"]: n for n, line in enumerate(lines) if line["annotation"] == RESET}
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    for n, line in enumerate(lines):
        if n <= resets.get(line["user_id"], -1) or isinstance(line["item_i"], str):
            continue
        for item, answers in zip(line["item"], line["annotation"], strict=False):
            for model, answer in answers.items() if isinstance(answers, dict) else ():
                score = _score(answer)
                if score is not None:
                    scores[model][str(item.get("item_id", json.dumps({**item, "tgt": None})))] = score
    ranked = sorted(scores.items(), key=lambda one: statistics.mean(one[1].values()), reverse=True)
    better = [_differ(one, other) for (_, one), (_, other) in pairwise(ranked)]
    return [
        {"model": model, "score": statistics.mean(by_item.values()), "count": len(by_item), "sig_better_than_next": sig}
        for (model, by_item), sig in zip(ranked, [*better, False], strict=False)
    ]


def _score(answer: object) -> float | None:
    if not isinstance(answer, dict):
        return None
    if answer.get("score") is not None:
        return float(answer["score"])
    sliders = [value for value in (answer.get("sliders") or {}).values() if value is not None]
    return float(statistics.mean(sliders)) if sliders else None


def _differ(better: Mapping[str, float], other: Mapping[str, float]) -> bool:
    common = sorted(better.keys() & other.keys())
    return compute_paired_t_p_value([better[key] for key in common], [other[key] for key in common]) < ALPHA


def reset_user_work(session: Session, loaded: PearmutCampaign, user: str, *, by: Caller) -> None:
    """Void all work of a user, so that they can start again. The caller's look-up raises PearmutUserUnknown."""
    row = pearmut.find_user_by_pearmut_id(session, loaded.campaign_id, user)
    if row is None:
        raise Invalid("Unknown user ID. Maybe the campaign was restarted?")
    reason = "reset on Pearmut's dashboard"
    campaign_judgments.void_judgments(
        session, loaded.key, JudgmentFilter(rater=row.rater), reason=reason, actor=by.actor
    )
    for task in pearmut.load_pearmut_planned_tasks(session, loaded.campaign_id):
        if task.rater_id == row.rater_id and task.state == "handed_in":
            manager_tasks.reopen_task(session, loaded.key, task.public_id, reason=reason, actor=by.actor)
    pearmut.mark_answers_reset(session, loaded.campaign_id, row.rater_id)


def set_user_note(session: Session, loaded: PearmutCampaign, user: str, note: str | None) -> None:
    """Store a note on a user. Raises Invalid if the user does not exist."""
    row = pearmut.find_user_by_pearmut_id(session, loaded.campaign_id, user)
    if row is None:
        raise Invalid("Unknown user ID.")
    pearmut.update_user_note(session, row.rater_id, note or None)


def add_users(session: Session, loaded: PearmutCampaign, n: int, *, by: Caller) -> list[PearmutUserLink]:
    """Enrol more users, each with a link. Raises AddUserNeedsSingleStream, Invalid."""
    if not loaded.is_single_stream:
        raise AddUserNeedsSingleStream
    if not 1 <= n <= MOST_USERS:
        raise Invalid(f"users: must be 1 to {MOST_USERS}")
    there = pearmut.load_pearmut_users(session, loaded.campaign_id)
    taken = {row.user_id for row in there} | {row.rater for row in there}
    free = (name for name in (f"user-{i}" for i in range(1, len(taken) + n + 1)) if name not in taken)
    return [
        add_user(session, loaded, len(there) + i, name, name, CampaignFileUser(None), by=by)
        for i, name in zip(range(n), free, strict=False)
    ]


def make_campaign_file_content(session: Session, loaded: PearmutCampaign) -> dict[str, Any]:
    """Return the campaign as Pearmut stores it in `data/campaigns`, without tokens, with the names of its users."""
    users = [row.user_id for row in pearmut.load_pearmut_users(session, loaded.campaign_id)]
    data = loaded.data[None] if loaded.is_single_stream else dict(loaded.data)
    aside = {name: documents for name, documents in loaded.aside.items() if documents}
    return {"campaign_id": loaded.name, "info": {**loaded.info, "users": users}, "data": data, **aside}
