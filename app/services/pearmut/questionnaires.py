"""Pearmut's welcome and goodbye forms as questionnaires, and what its page sends for them as answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

from app.domain.questionnaires import (
    LONGEST,
    MOST_OPTIONS,
    MOST_QUESTIONS,
    NAME,
    AnswerOption,
    Kind,
    Moment,
    Question,
    Questionnaires,
    parse_answers,
)
from app.services.pearmut.campaign_file import Document, is_form_document
from app.services.pearmut.users import PearmutUser
from app.storage import pearmut, questionnaires
from app.storage.db import Session

MOMENTS: Mapping[str, Moment] = {"welcome": "before", "goodbye": "after"}
KINDS: Mapping[str | None, Kind] = {None: "note", "string": "text", "number": "number", "choices": "choice"}
UNREAD = frozenset({"script", "style"})


def make_questionnaires_setting(forms_and_checks: Mapping[str, Sequence[Document]]) -> dict[str, object]:
    """Return the setting `questionnaires` for the forms among these documents; {} if there are none.

    Parts that run a script are left out, and so are parts without text apart from their markup.
    """
    asked = {
        moment: tuple(question for _, question in _questions(forms_and_checks, kind))[:MOST_QUESTIONS]
        for kind, moment in MOMENTS.items()
    }
    made = Questionnaires(before=asked["before"], after=asked["after"])
    if not any(map(made.has_questions_at, MOMENTS.values())):
        return {}
    return {NAME: made.model_dump(mode="json", exclude_defaults=True)}


def store_completed_form_answers(session: Session, user: PearmutUser, place: int | str) -> None:
    """Store a user's answers to a questionnaire when all forms of the same moment as `place` have been sent.

    Values that do not answer their question (Pearmut's page does not require answers) are left out. The log has
    everything that was sent.
    """
    kind = str(place).partition("_")[0]
    documents = user.loaded.aside.get(f"data_{kind}", [])
    places = [f"{kind}_{n}" for n, document in enumerate(documents) if is_form_document(document)]
    if str(place) not in places:
        return
    campaign_id, rater_id = user.loaded.campaign_id, user.rater.rater_id
    rows = pearmut.load_answers(session, campaign_id, rater_id=rater_id)
    sent = {row.place: row.body.get("annotation") or [] for row in rows if row.place in places}
    if len(sent) < len(places):
        return
    answers: dict[str, object] = {}
    for (n, i), question in _questions(user.loaded.aside, kind):
        values = sent[f"{kind}_{n}"]
        if question.kind != "note" and i < len(values):
            parsed, _ = parse_answers([question], {question.name: _convert_number(question, values[i])})
            answers |= parsed
    questionnaires.insert_answers_if_changed(session, campaign_id, rater_id, MOMENTS[kind], answers)


def _questions(
    forms_and_checks: Mapping[str, Sequence[Document]], kind: str
) -> Iterator[tuple[tuple[int, int], Question]]:
    """Yield questions by document and part."""
    for n, document in enumerate(forms_and_checks.get(f"data_{kind}") or []):
        for i, part in enumerate(document if is_form_document(document) else []):
            words = _plain(part["text"])
            options = tuple(AnswerOption(value=one, label={"en": one}) for one in _choices(part))
            asks = KINDS.get(part["form"])
            if words and asks is not None and (asks == "choice") == bool(options):
                yield (n, i), Question(name=f"{kind}_{n + 1}_{i + 1}", kind=asks, label={"en": words}, options=options)


def _choices(part: Mapping[str, Any]) -> list[str]:
    given = part.get("choices") if part["form"] == "choices" else []
    texts = [str(one)[:200] for one in given] if isinstance(given, list) else []
    return [one for one in dict.fromkeys(texts) if one.strip()][:MOST_OPTIONS]


def _convert_number(question: Question, value: object) -> object:
    if question.kind == "number" and isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return value


def _plain(text: str) -> str:
    """Return the words in HTML."""
    reader = _Words()
    reader.feed(text.replace("\0", " "))
    reader.close()
    return " ".join("".join(reader.said).split())[:LONGEST]


class _Words(HTMLParser):
    """Collects the words that a page would show."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002  (the library's)
        self._unread += tag in UNREAD
        self.said.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in UNREAD and self._unread > 0
        self.said.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self.said.append(data)
