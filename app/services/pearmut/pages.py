"""The responses for Pearmut's page: an annotator's next document or form, one of their own, or the end.

Source: `get_next_item`, `get_i_item` of assignment.py in zouharvi/pearmut 1.1.6. There, an annotator may see answers of
others; here, never.
"""

from __future__ import annotations

import hashlib
import html
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.errors import Invalid
from app.formats.pearmut.answers import format_answer
from app.services.pearmut import rules
from app.services.pearmut.campaign_file import Document, is_form_document
from app.services.pearmut.loaded_campaign import make_shown_model_names
from app.services.pearmut.users import PearmutUser
from app.storage import pearmut
from app.storage.db import Session

PUBLIC = (
    *("protocol", "sliders", "textfield", "show_model_names", "show_alignment", "show_progress", "word_level"),
    *("mqm_categories", "mqm_severities", "slider_colors", "special_tokens", "assignment", "dynamic_models"),
    "docs_per_user",
)
SHOWN = ("src", "ref", "instructions", "skippable")
FORM = ("text", "form", "choices", "script")
GOODBYE = (
    "<h2>All done, thank you for your annotations!</h2>"
    "<p>If someone asks you for a token of completion, show them: ${TOKEN}</p>"
)
DONE, BY_OTHERS = "completed", "completed_foreign"
Response = dict[str, Any]


class PearmutItemNotYours(Invalid):
    """This document is not yours; you get one when its turn comes."""


class PearmutWelcomeItemsIncomplete(Invalid):
    """Complete all welcome items before accessing regular items"""

    published = "PearmutWelcomeFirst"


@dataclass(frozen=True, slots=True)
class UserProgress:
    """A user's progress. documents: by index. tasks: by number. answers: of the user, in order."""

    welcome: tuple[str | None, ...]
    goodbye: tuple[str | None, ...]
    documents: tuple[str | None, ...]
    tasks: Mapping[int, pearmut.Row]
    answers: Sequence[pearmut.Row]
    seconds: float

    @property
    def answered_places(self) -> frozenset[str]:
        """The places with an answer."""
        return frozenset(row.place for row in self.answers)


def load_user_progress(session: Session, user: PearmutUser) -> UserProgress:
    """Load a user's progress."""
    answers = pearmut.load_answer_metadata(session, user.loaded.campaign_id)
    tasks = {row.number: row for row in pearmut.load_pearmut_planned_tasks(session, user.loaded.campaign_id)}
    return make_user_progress(user, answers, tasks)


def make_user_progress(
    user: PearmutUser, answers: Sequence[pearmut.Row], tasks: Mapping[int, pearmut.Row]
) -> UserProgress:
    """Make a user's progress from the answers of all users."""
    loaded, me = user.loaded, user.rater.rater_id
    mine = [row for row in answers if row.rater_id == me]
    own = {row.place for row in mine}
    others = {row.place for row in answers if row.rater_id != me} if loaded.is_single_stream else set()

    def state(index: int) -> str | None:
        planned = loaded.find_planned_document(user.name, index)
        if planned is None:
            return DONE if str(index) in own else BY_OTHERS if str(index) in others else None
        task = tasks.get(planned.number)
        if str(index) in own or (task is not None and task.state == "handed_in" and task.rater_id == me):
            return DONE
        return None if task is not None and task.state != "handed_in" else BY_OTHERS

    def aside(kind: str) -> tuple[str | None, ...]:
        documents = loaded.aside[f"data_{kind}"]
        return tuple(DONE if f"{kind}_{n}" in own else None for n in range(len(documents)))

    return UserProgress(
        welcome=aside("welcome"),
        goodbye=aside("goodbye"),
        documents=tuple(map(state, range(len(loaded.documents_of_user(user.name))))),
        tasks=tasks,
        answers=mine,
        seconds=sum(row.seconds for row in mine),
    )


def find_next_place_without_lease(user: PearmutUser, progress: UserProgress) -> int | str | None:
    """Return where a user continues if that needs no lease: welcome, a random check, or a form or check in the data."""
    for n, state in enumerate(progress.welcome):
        if state is None:
            return f"welcome_{n}"
    check = _draw_check(user, progress)
    if check is not None:
        return check
    first = next((n for n in _open_documents(user, progress)), None)
    return first if first is not None and user.loaded.find_planned_document(user.name, first) is None else None


def has_document_to_judge(user: PearmutUser, progress: UserProgress) -> bool:
    """Return whether there is a document to judge."""
    return any(user.loaded.find_planned_document(user.name, n) is not None for n in _open_documents(user, progress))


def find_next_form_or_goodbye(user: PearmutUser, progress: UserProgress) -> int | str | None:
    """Return where a user without documents to judge continues, or None at the end."""
    for n in _open_documents(user, progress):
        if user.loaded.find_planned_document(user.name, n) is None:
            return n
    return next((f"goodbye_{n}" for n, state in enumerate(progress.goodbye) if state is None), None)


def get_document_index_of_task(user: PearmutUser, progress: UserProgress, task: str) -> int:
    """Return the index of a task's document."""
    number = next(number for number, row in progress.tasks.items() if row.public_id == task)
    return next(one.index for one in user.loaded.planned.values() if one.number == number)


def _open_documents(user: PearmutUser, progress: UserProgress) -> list[int]:
    """Return the documents that the user may still get, in order."""
    cap = user.loaded.info.get("docs_per_user")
    if cap is not None and user.loaded.is_single_stream and progress.documents.count(DONE) >= cap:
        return []
    return [n for n, state in enumerate(progress.documents) if state is None]


def _draw_check(user: PearmutUser, progress: UserProgress) -> str | None:
    """Draw a check that the user has not had, with the campaign's probability. A repeated request draws the same."""
    documents = user.loaded.aside["data_random"]
    left = [n for n in range(len(documents)) if f"random_{n}" not in progress.answered_places]
    seed = f"{user.loaded.campaign_id} {user.rater.rater_id} {len(progress.answers)}"
    drawn = hashlib.sha256(seed.encode()).digest()
    if not left or int.from_bytes(drawn[:4]) / 2**32 >= user.loaded.info["data_random_prob"]:
        return None
    return f"random_{left[int.from_bytes(drawn[4:8]) % len(left)]}"


def load_item_response(
    session: Session, user: PearmutUser, place: int | str, instructions: Mapping[str, str]
) -> Response:
    """Load one item of a user, with the user's answer. instructions: by protocol, for campaigns without their own.

    Raises PearmutItemUnknown, PearmutWelcomeItemsIncomplete, PearmutItemNotYours.
    """
    progress = load_user_progress(session, user)
    user.loaded.get_document_at_place(user.name, place)
    if isinstance(place, str):
        if not place.startswith(("welcome_", "goodbye_")):
            raise PearmutItemNotYours
        return make_item_response(session, user, progress, place, instructions)
    if not all(progress.welcome):
        raise PearmutWelcomeItemsIncomplete
    planned = user.loaded.find_planned_document(user.name, place)
    task = progress.tasks.get(planned.number) if planned is not None else None
    if user.loaded.is_single_stream and (
        task.rater_id != user.rater.rater_id if task is not None else progress.documents[place] != DONE
    ):
        raise PearmutItemNotYours
    return make_item_response(session, user, progress, place, instructions)


def make_item_response(
    session: Session, user: PearmutUser, progress: UserProgress, place: int | str, instructions: Mapping[str, str]
) -> Response:
    """Make the response with a document or form, blind."""
    document = user.loaded.get_document_at_place(user.name, place)
    info = user.loaded.info
    names = make_shown_model_names(document, info)
    response = {
        "status": "form" if is_form_document(document) else "ok",
        **_progress(progress),
        "info": {
            "item_i": place,
            "instructions": info.get("instructions", instructions.get(info["protocol"], "")),
            **{name: info[name] for name in PUBLIC if name in info},
        },
        "payload": [_shown_item(item, names) for item in document],
    }
    if not (isinstance(place, str) and place.startswith("random_")):
        existing = _existing(session, user, progress, place, document, names)
        response |= {"payload_existing": existing} if existing else {}
    return response


def make_goodbye_response(user: PearmutUser, progress: UserProgress) -> Response:
    """Make the last response, with the code for the verdict."""
    info = user.loaded.info
    code = user.code_pass if does_user_pass_checks(user, progress.answers) else user.code_fail
    text = info.get("instructions_goodbye", GOODBYE)
    text = text.replace("${TOKEN}", html.escape(code)).replace("${USER_ID}", html.escape(user.name))
    shown = {name: info[name] for name in PUBLIC if name in info} | {"instructions": text}
    return {"status": "goodbye", **_progress(progress), "token": code, "info": shown}


def does_user_pass_checks(user: PearmutUser, answers: Sequence[pearmut.Row]) -> bool:
    """Return whether a user passes, by the last answer to each check."""
    return rules.passes_attention_checks(
        find_last_check_results_by_place(answers).values(), user.loaded.info.get("validation_threshold", 0)
    )


def find_last_check_results_by_place(answers: Sequence[pearmut.Row]) -> dict[str, list[bool]]:
    """Return the check results of each place, from the last answer that has them."""
    return {row.place: row.checks for row in answers if row.checks is not None}


def _progress(progress: UserProgress) -> Response:
    return {
        "time": progress.seconds,
        "progress": list(progress.documents),
        "progress_welcome": list(progress.welcome),
        "progress_goodbye": list(progress.goodbye),
    }


def _shown_item(item: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return what the page needs of an item, and nothing that reveals the system or the right answer."""
    if "form" in item and "text" in item:
        return {name: item[name] for name in FORM if name in item}
    shown = {name: item[name] for name in SHOWN if name in item}
    shown["tgt"] = {names[model]: text for model, text in item["tgt"].items()}
    if "error_spans" in item:
        shown["error_spans"] = {names[model]: marks for model, marks in item["error_spans"].items() if model in names}
    loud = rules.select_instant_warning_rules(item.get("validation", {}), names)
    return shown | ({"validation": loud} if loud else {})


def _existing(
    session: Session,
    user: PearmutUser,
    progress: UserProgress,
    place: int | str,
    document: Document,
    names: Mapping[str, str],
) -> Response | None:
    """Return the user's answer: as Pearmut's page sent it, else as judged on this program's pages."""
    if str(place) in progress.answered_places:
        sent = pearmut.load_answers(session, user.loaded.campaign_id, rater_id=user.rater.rater_id, place=str(place))[
            -1
        ].body
        annotation = [_rename_models(answers, names) for answers in sent["annotation"]]
        return {"annotation": annotation} | ({"comment": sent["comment"]} if "comment" in sent else {})
    judged = load_annotation_from_judgments(session, user, progress, place, document)
    return None if judged is None else {"annotation": [_rename_models(answers, names) for answers in judged]}


def load_annotation_from_judgments(
    session: Session, user: PearmutUser, progress: UserProgress, place: int | str, document: Document
) -> list[dict[str, Any]] | None:
    """Return a user's judgments of a document on other pages, in the form of Pearmut's log; None if there are none."""
    planned = user.loaded.find_planned_document(user.name, place)
    task = progress.tasks.get(planned.number) if planned is not None else None
    if planned is None or task is None:
        return None
    rows = pearmut.load_rater_judgments_of_task(session, user.loaded.campaign_id, task.id, user.rater.rater_id)
    if not rows:
        return None
    models = {key: model for model, key in planned.systems.items()}
    annotation: list[dict[str, Any]] = [{} for _ in document]
    for row in rows:
        model = models[row.system]
        text = document[row.position - 1]["tgt"][model].strip()
        annotation[row.position - 1][model] = format_answer(row.payload, text, Counter(), row.meta)
    return annotation


def _rename_models(answers: object, names: Mapping[str, str]) -> object:
    return {names.get(model, model): one for model, one in answers.items()} if isinstance(answers, dict) else answers
