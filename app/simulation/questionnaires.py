"""A simulated rater's answers to a campaign's questions: any valid answer, determined by the seed."""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.questionnaires import Question
from app.simulation.draws import SeededRandom

USUAL_RANGE = (0.0, 20.0)
"""The range of a number without bounds."""


def draw_questionnaire_answers(draws: SeededRandom, rater: str, questions: Iterable[Question]) -> dict[str, object]:
    """Return valid answers by question name, the same for the same rater and seed. Notes need no answer.

    >>> from app.domain.questionnaires import make_language_biography_questions
    >>> answers = draw_questionnaire_answers(SeededRandom(1), "r1", make_language_biography_questions())
    >>> answers == draw_questionnaire_answers(SeededRandom(1), "r1", make_language_biography_questions())
    True
    """
    return {one.name: _answer(draws, rater, one) for one in questions if one.kind != "note"}


def _answer(draws: SeededRandom, rater: str, question: Question) -> object:
    key = ("questionnaire", rater, question.name)
    values = [option.value for option in question.options]
    if question.kind == "choice":
        return values[draws.whole_number_below(len(values), *key)]
    if question.kind == "choices":
        chosen = [value for value in values if draws.happens(0.5, *key, value)]
        return chosen or [values[draws.whole_number_below(len(values), *key)]]
    if question.kind == "number":
        return _number(draws, question, key)
    return f"Simulated answer {1 + draws.whole_number_below(1000, *key)}"


def _number(draws: SeededRandom, question: Question, key: tuple[str, ...]) -> float:
    """Draw a number, which is whole if there is a whole number within the bounds."""
    low = question.minimum if question.minimum is not None else min(USUAL_RANGE[0], question.maximum or 0.0)
    high = question.maximum if question.maximum is not None else low + USUAL_RANGE[1]
    number = low + (high - low) * draws.uniform(*key)
    return float(round(number)) if low <= round(number) <= high else number
