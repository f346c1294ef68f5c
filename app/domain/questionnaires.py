"""Questions to raters before their first task and after their last one, and the possible answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from app.domain.errors import Place
from app.domain.validation_errors import list_first_validation_errors

NAME = "questionnaires"
"""The campaign setting that contains them."""
Moment = Literal["before", "after"]
MOMENTS: tuple[Moment, ...] = get_args(Moment)
Kind = Literal["note", "text", "number", "choice", "choices"]
LONGEST = 5000
MOST_QUESTIONS, MOST_OPTIONS, MOST_LANGUAGES = 100, 100, 40
Answer = str | float | tuple[str, ...]
QuestionName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
Words = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST, pattern=r"\S")]
Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})?$")]
Texts = Annotated[dict[Language, Words], Field(min_length=1, max_length=MOST_LANGUAGES)]


class AnswerOption(BaseModel):
    """One of the answers that can be chosen. value: as it is stored. label: by language."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    label: Texts


class Question(BaseModel):
    """What is asked.

    name: of the answer in files. label: by language. minimum, maximum: of a number. group: reports may compare raters
    by the answer. A note asks nothing.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: QuestionName
    kind: Kind
    label: Texts
    required: bool = False
    options: Annotated[tuple[AnswerOption, ...], Field(max_length=MOST_OPTIONS)] = ()
    minimum: float | None = None
    maximum: float | None = None
    group: bool = False


class Questionnaires(BaseModel):
    """`settings.questionnaires` of a campaign."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    before: Annotated[tuple[Question, ...], Field(max_length=MOST_QUESTIONS)] = ()
    after: Annotated[tuple[Question, ...], Field(max_length=MOST_QUESTIONS)] = ()

    def questions_at(self, moment: Moment) -> tuple[Question, ...]:
        """Return the questions asked at a moment."""
        return self.before if moment == "before" else self.after

    def has_questions_at(self, moment: Moment) -> bool:
        """Whether a moment has any questions."""
        return any(question.kind != "note" for question in self.questions_at(moment))


def read_questionnaires(settings: Mapping[str, object]) -> Questionnaires:
    """Read the questionnaires from the settings of a campaign, which were checked before."""
    return Questionnaires.model_validate(settings.get(NAME) or {})


def find_questionnaire_faults(settings: Mapping[str, object]) -> Iterator[Place]:
    """Yield the place of everything that a page could not ask. No questions at all, and null, are valid."""
    given = settings.get(NAME)
    if given is None:
        return
    here = ("settings", NAME)
    try:
        read = Questionnaires.model_validate(given)
    except ValidationError as error:
        for fault in list_first_validation_errors(error, 20):
            yield Place((*here, *fault["loc"]), fault["msg"])
        return
    names = Counter(question.name for moment in MOMENTS for question in read.questions_at(moment))
    for moment in MOMENTS:
        for n, question in enumerate(read.questions_at(moment)):
            for place, why in _faults(question, names):
                yield Place((*here, moment, n, place), why)


def _faults(question: Question, names: Counter[str]) -> Iterator[tuple[str, str]]:
    chosen = question.kind in ("choice", "choices")
    if names[question.name] > 1:
        yield "name", "another question has this name"
    if chosen and not question.options:
        yield "options", "must name the answers that can be chosen"
    if not chosen and question.options:
        yield "options", f"a question of kind {question.kind} has none"
    if len({option.value for option in question.options}) < len(question.options):
        yield "options", "has a value twice"
    if question.kind != "number" and (question.minimum, question.maximum) != (None, None):
        yield "minimum", "only a number has bounds"
    if None not in (question.minimum, question.maximum) and question.minimum > question.maximum:  # type: ignore[operator]
        yield "minimum", "must not be above the maximum"
    if question.kind == "note" and question.required:
        yield "required", "a note asks nothing"
    if question.group and question.kind != "choice":
        yield "group", "reports group raters by a question with one of several answers only"


def parse_answers(
    questions: Sequence[Question], given: Mapping[str, object]
) -> tuple[dict[str, Answer], tuple[Place, ...]]:
    """Return the answers by name of the question, without empty ones, and the faults, by their place in `given`."""
    asked = {question.name: question for question in questions if question.kind != "note"}
    places = [Place((name[:64],), "there is no such question") for name in given if name not in asked]
    answers: dict[str, Answer] = {}
    for name, question in asked.items():
        value = given.get(name)
        if value is None or value in ("", [], ()) or (isinstance(value, str) and not value.strip()):
            if question.required:
                places.append(Place((name,), "must be answered"))
            continue
        answer, why = _parse_answer(question, value)
        if why is None:
            answers[name] = answer
        else:
            places.append(Place((name,), why))
    return answers, tuple(places)


def _parse_answer(question: Question, value: object) -> tuple[Answer, str | None]:
    """Return the answer, or what is wrong with it."""
    values = {option.value for option in question.options}
    if question.kind == "text":
        right = isinstance(value, str) and len(value) <= LONGEST and "\0" not in value
        return str(value).strip(), None if right else f"must be a text of at most {LONGEST} characters"
    if question.kind == "number":
        if isinstance(value, bool) or not isinstance(value, int | float) or not -1e15 <= value <= 1e15:
            return 0.0, "must be a number"
        low, high = question.minimum, question.maximum
        within = (low is None or value >= low) and (high is None or value <= high)
        return value, None if within else f"must be from {_format_bound(low)} to {_format_bound(high)}"
    if question.kind == "choice":
        known = isinstance(value, str) and value in values
        return str(value), None if known else f"must be one of: {', '.join(sorted(values)[:20])}"
    listed = value if isinstance(value, list | tuple) else [None]
    if not all(isinstance(one, str) and one in values for one in listed) or len(set(listed)) < len(listed):
        return (), f"must be a list, without repeats, of: {', '.join(sorted(values)[:20])}"
    return tuple(option.value for option in question.options if option.value in listed), None


def _format_bound(bound: float | None) -> str:
    return "any number" if bound is None else f"{bound:g}"


def make_language_biography_questions() -> tuple[Question, ...]:
    """Return what HEDS asks about evaluators of texts (expertise, languages), as questions in English.

    Raters' pages have translations of these questions in all their languages. Source: Shimorina and Belz 2022, The
    Human Evaluation Datasheet, §3.2 (evaluators); levels of the Common European Framework of Reference.
    """
    levels = (("native", "First language"), *((level, level) for level in ("C2", "C1", "B2", "B1", "A2", "A1")))
    use = (("daily", "Every day"), ("weekly", "Every week"), ("rarely", "Less often"))
    return (
        _biography_question(
            "first_languages", "text", "Which languages did you learn first, as a child?", required=True
        ),
        _biography_question("source_level", "choice", "How well do you know the language of the source texts?", levels),
        _biography_question("target_level", "choice", "How well do you know the language of the translations?", levels),
        _biography_question(
            "source_years", "number", "For how many years have you used the language of the source texts?"
        ),
        _biography_question(
            "target_region", "text", "In which country or region did you learn the language of the translations?"
        ),
        _biography_question("target_use", "choice", "How often do you use the language of the translations?", use),
        _biography_question(
            "translation",
            "choice",
            "What experience do you have in translation?",
            (("none", "None"), ("studies", "Studies or training"), ("profession", "It is or was my profession")),
            group=True,
        ),
        _biography_question("translation_years", "number", "For how many years have you translated?"),
        _biography_question(
            "machine_translation", "choice", "How often do you use machine translation?", (*use, ("never", "Never"))
        ),
    )


def _biography_question(
    name: str,
    kind: Kind,
    label: str,
    options: Sequence[tuple[str, str]] = (),
    *,
    required: bool = False,
    group: bool = False,
) -> Question:
    numbers = {"minimum": 0.0, "maximum": 100.0} if kind == "number" else {}
    return Question(
        name=name,
        kind=kind,
        label={"en": label},
        required=required or group,
        options=tuple(AnswerOption(value=value, label={"en": text}) for value, text in options),
        group=group,
        **numbers,
    )
