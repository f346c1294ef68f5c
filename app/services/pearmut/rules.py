"""The rules of checks, evaluated on answers as Pearmut's page does.

Source: `validateResponse` and `performValidation` of web/src in zouharvi/pearmut 1.1.6; `check_validation_threshold`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

LOUD = "warning"


def evaluate_item_rules(document: Sequence[Mapping[str, Any]], annotation: Sequence[object]) -> list[bool] | None:
    """Return the results of each item's rules, by the models' names; None if no item has rules."""
    if not any("validation" in item for item in document):
        return None
    return [
        all(_rule_holds(rule, answers, model) for model, rule in item["validation"].items() if model in item["tgt"])
        for item, answers in zip(document, annotation, strict=True)
        if "validation" in item and isinstance(answers, Mapping)
    ]


def select_instant_warning_rules(
    rules: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Return the rules that the page may know because it warns at once, by its names of models.

    The others stay here.
    """
    shown: dict[str, dict[str, Any]] = {}
    for model, rule in rules.items():
        if rule.get(LOUD) and model in names:
            other = rule.get("score_greaterthan")
            shown[names[model]] = {**rule, **({"score_greaterthan": names.get(str(other), "")} if other else {})}
    return shown


def passes_attention_checks(checks: Iterable[Sequence[bool]], threshold: object) -> bool:
    """Return whether a user passes. threshold: the most checks that may fail, as a number or (below 1) as a share."""
    results = [result for one in checks for result in one]
    failed = results.count(False)
    if not results:
        return True
    if isinstance(threshold, float):
        return threshold < 1 and failed / len(results) <= threshold
    return failed <= (threshold if isinstance(threshold, int) else 0)


def _rule_holds(rule: Mapping[str, Any], answers: Mapping[str, Any], model: str) -> bool:
    answer = answers.get(model)
    if not isinstance(answer, Mapping):
        return False
    score = answer.get("score")
    if "score" in rule and not _matches_number(score, rule["score"]):
        return False
    sliders = answer.get("sliders")
    if isinstance(sliders, Mapping) and not all(
        _matches_number(value, rule[name]) for name, value in sliders.items() if name in rule
    ):
        return False
    marks, wanted = (_list_objects(marked.get("error_spans")) for marked in (answer, rule))
    if not all(any(_matches(mark, one) for mark in marks) for one in wanted):
        return False
    if "score_greaterthan" not in rule:
        return True
    other = answers.get(str(rule["score_greaterthan"]))
    rival = other.get("score") if isinstance(other, Mapping) else None
    return isinstance(score, int | float) and isinstance(rival, int | float) and score > rival


def _matches(mark: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    placed = all(_matches_number(mark.get(name), wanted[name]) for name in ("start_i", "end_i") if name in wanted)
    return placed and ("severity" not in wanted or mark.get("severity") == wanted["severity"])


def _list_objects(marks: object) -> list[Mapping[str, Any]]:
    """Return the objects of a list; an empty list for any other value."""
    return [mark for mark in marks if isinstance(mark, Mapping)] if isinstance(marks, list) else []


def _matches_number(value: object, rule: object) -> bool:
    """Return whether a value equals a number or lies between two. A rule that is neither always matches."""
    if is_number_pair(rule):
        return is_number(value) and rule[0] <= value <= rule[1]
    return not is_number(rule) or value == rule


def is_number_pair(value: object) -> TypeGuard[list[float]]:
    """Return whether a value is a list of two numbers."""
    return isinstance(value, list) and len(value) == 2 and all(map(is_number, value))


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a number, and not a Boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)
