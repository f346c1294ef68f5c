"""A campaign file of Pearmut, checked as Pearmut does, and for anything that a campaign here does not support.

Source: `_add_single_campaign` and `_validate_item_structure` of cli.py in zouharvi/pearmut 1.1.6.
"""

from __future__ import annotations

import random
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.errors import Invalid, Place
from app.domain.spans import parse_severity
from app.services.pearmut import rules

Item = dict[str, Any]
Document = list[Item]
Loc = tuple[str | int, ...]

ASSIGNMENTS = ("task-based", "single-stream")
FORMS = (None, "number", "string", "choices", "script")
SPANS = frozenset({"ESA", "cESA", "MQM"})
MISSING = "[missing]"
ASIDE = ("data_welcome", "data_goodbye", "data_random")
DYNAMIC = ("dynamic_models", "dynamic_coldstart", "dynamic_coldstart_pool", "dynamic_warmup")
INFO = frozenset(
    {
        *("assignment", "protocol", "users", "docs_per_user", "shuffle", "seed", "show_model_names", "show_alignment"),
        *("word_level", "show_progress", "sliders", "slider_colors", "textfield", "mqm_categories", "mqm_severities"),
        *("special_tokens", "instructions", "instructions_goodbye", "validation_threshold", "data_random_prob"),
        *(*DYNAMIC, "template"),
    }
)
MOST_PLACES = 100
LONGEST_CODE = 200


@dataclass(frozen=True, slots=True)
class CampaignFileUser:
    """A user named in the file. user_id: None if Pearmut would make one up."""

    user_id: str | None
    token_pass: str | None = None
    token_fail: str | None = None


@dataclass(frozen=True, slots=True)
class CampaignFile:
    """A campaign that can be loaded. tasks: the documents of each user; for single-stream one list for all.

    aside: documents of welcome, goodbye and random checks, by member. unused: what is stored but has no effect here.
    """

    campaign_id: str
    info: Mapping[str, Any]
    tasks: tuple[list[Document], ...]
    aside: Mapping[str, list[Document]]
    users: tuple[CampaignFileUser, ...]
    token: str | None
    unused: Counter[str]

    @property
    def is_single_stream(self) -> bool:
        """Whether all users share the documents."""
        return bool(self.info["assignment"] == "single-stream")


def parse_campaign_file(given: object) -> CampaignFile:
    """Parse the campaign in a JSON value. Raises Invalid, which names every place."""
    if not isinstance(given, dict):
        raise Invalid("not a campaign of Pearmut", places=(Place(("body",), "must be an object"),))
    info = {**given["info"]} if isinstance(given.get("info"), dict) else {}
    faults = list(_head_faults(given, info))
    info.setdefault("assignment", "single-stream")
    info.setdefault("protocol", "cESA")
    info.setdefault("special_tokens", [MISSING] if str(info["protocol"]) in SPANS else [])
    if not faults:
        faults = [*_info_faults(info, given), *_data_faults(info, given)]
    if faults:
        raise Invalid("not a campaign of Pearmut that can be loaded here", places=tuple(faults[:MOST_PLACES]))
    users, tasks = _users(info, given), _tasks(info, given)
    if info["assignment"] == "task-based" and len(users) != len(tasks):
        why = f"there are {len(tasks)} tasks and {len(users)} users"
        raise Invalid("users and tasks do not agree", places=(Place(("info", "users"), why),))
    token = given.get("token")
    return CampaignFile(
        campaign_id=given["campaign_id"],
        info=info,
        tasks=tasks,
        aside={name: given.get(name) or [] for name in ASIDE},
        users=users,
        token=token if isinstance(token, str) else None,
        unused=_count_unused_members(info, given),
    )


def is_form_document(document: Sequence[Mapping[str, object]]) -> bool:
    """Return whether a document is a form."""
    return bool(document) and "text" in document[0] and "form" in document[0]


def is_form_or_check_document(document: Sequence[Mapping[str, object]]) -> bool:
    """Return whether a document is a form or a check, whose answers are not judgments of systems."""
    return any("validation" in item or "form" in item for item in document)


def shuffle_models(campaign: CampaignFile) -> None:
    """Draw the order of models in each document, as Pearmut does once when it loads a campaign."""
    seed = campaign.info.get("seed")
    rng = random.Random(secrets.randbits(53) if seed is None else seed)  # noqa: S311 (an order of columns)
    for document in [*(one for task in campaign.tasks for one in task)]:
        if is_form_document(document):
            continue
        models = list(document[0]["tgt"])
        rng.shuffle(models)
        for item in document:
            item["tgt"] = {model: item["tgt"][model] for model in models}


def _head_faults(given: Mapping[str, Any], info: Mapping[str, Any]) -> Iterator[Place]:
    if not isinstance(given.get("campaign_id"), str) or not 1 <= len(given["campaign_id"]) <= 1000:
        yield Place(("campaign_id",), "is required, a text")
    if "data" not in given:
        yield Place(("data",), "is required")
    if not isinstance(given.get("info", {}), dict):
        yield Place(("info",), "must be an object")
    assignment = info.get("assignment", "single-stream")
    if assignment == "dynamic":
        yield Place(
            ("info", "assignment"), "dynamic chooses systems by their scores so far, which is not supported here"
        )
    elif assignment not in ASSIGNMENTS:
        yield Place(("info", "assignment"), f"must be one of {', '.join(ASSIGNMENTS)}")
    for name in ASIDE:
        if not isinstance(given.get(name) or [], list):
            yield Place((name,), "must be a list of documents")
    if not isinstance(info.get("protocol", ""), str):
        yield Place(("info", "protocol"), "must be a text")


def _info_faults(info: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[Place]:
    if info.get("template", "annotate") != "annotate":
        yield Place(("info", "template"), "only the page annotate is served")
    yield from _slider_faults(info)
    yield from _severity_faults(info)
    cap, threshold = info.get("docs_per_user"), info.get("validation_threshold")
    if cap is not None and (type(cap) is not int or cap < 0):
        yield Place(("info", "docs_per_user"), "must be a whole number")
    if threshold is not None and type(threshold) not in (int, float):
        yield Place(("info", "validation_threshold"), "must be a number")
    probability = info.get("data_random_prob")
    if given.get("data_random") and not (isinstance(probability, int | float) and 0 <= probability <= 1):
        yield Place(("info", "data_random_prob"), "must be a number from 0 to 1 where there is data_random")
    for name in ("instructions", "instructions_goodbye"):
        if not isinstance(info.get(name, ""), str):
            yield Place(("info", name), "must be a text")
    yield from _draw_and_token_faults(info)
    yield from _user_faults(info)


def _draw_and_token_faults(info: Mapping[str, Any]) -> Iterator[Place]:
    if not isinstance(info.get("seed"), int | float | str | None):
        yield Place(("info", "seed"), "must be a number or a text")
    tokens = info.get("special_tokens")
    if tokens is not None and not (isinstance(tokens, list) and all(isinstance(one, str) for one in tokens)):
        yield Place(("info", "special_tokens"), "must be a list of texts")


def _user_faults(info: Mapping[str, Any]) -> Iterator[Place]:
    if not _is_users(info.get("users", 1)):
        yield Place(("info", "users"), "must be a number, a list of texts, or a list of objects with user_id")
        return
    users = info.get("users")
    for n, user in enumerate(users if isinstance(users, list) else ()):
        for name in ("token_pass", "token_fail") if isinstance(user, dict) else ():
            code = user.get(name)
            if code is not None and not (isinstance(code, str) and len(code) <= LONGEST_CODE):
                yield Place(("info", "users", n, name), f"must be a text of at most {LONGEST_CODE} characters")


def _slider_faults(info: Mapping[str, Any]) -> Iterator[Place]:
    if info.get("sliders") is None:
        return
    sliders = info["sliders"]
    if not isinstance(sliders, list) or not sliders:
        yield Place(("info", "sliders"), "without a slider there is nothing to judge by")
        return
    for n, slider in enumerate(sliders):
        numbers = [slider.get(name) for name in ("min", "max", "step")] if isinstance(slider, dict) else []
        if (
            not numbers
            or not isinstance(slider.get("name"), str)
            or not all(type(one) in (int, float) for one in numbers)
        ):
            yield Place(("info", "sliders", n), "must have name, min, max and step")
        elif slider["min"] > slider["max"] or slider["step"] <= 0:
            yield Place(("info", "sliders", n), "min must not be above max, and step must be above 0")


def _severity_faults(info: Mapping[str, Any]) -> Iterator[Place]:
    severities = info.get("mqm_severities")
    if severities is None:
        return
    if not isinstance(severities, list) or not severities:
        yield Place(("info", "mqm_severities"), "errors have a severity here, so that there must be one")
        return
    for n, name in enumerate(severities):
        if not isinstance(name, str) or parse_severity(name) is None:
            yield Place(
                ("info", "mqm_severities", n), "no severity is called so here; there are minor, major, critical"
            )


def _is_users(users: object) -> bool:
    if isinstance(users, list):
        names = [one.get("user_id") if isinstance(one, dict) else one for one in users]
        return all(isinstance(name, str) and 1 <= len(name) <= 1000 for name in names) and len({*names}) == len(names)
    return type(users) is int and 1 <= users <= 100_000


def _data_faults(info: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[Place]:
    """Yield faults in documents. If models are shuffled, all items of a document must have the same models."""
    shuffled = bool(info.get("shuffle", True))
    data = given["data"]
    if info["assignment"] == "task-based" and isinstance(data, dict):
        tasks: Iterable[tuple[Loc, object]] = ((("data", str(user)), task) for user, task in data.items())
    elif not isinstance(data, list) or not data:
        yield Place(("data",), "must be a list that is not empty")
        return
    elif info["assignment"] == "task-based":
        tasks = ((("data", n), task) for n, task in enumerate(data))
    else:
        tasks = [(("data",), data)]
    for loc, task in tasks:
        if not isinstance(task, list) or not task:
            yield Place(loc, "must be a list of documents")
            continue
        for n, document in enumerate(task):
            yield from _document_faults((*loc, n), document, shuffled=shuffled)
        yield from _twice(loc, task)
    for name in ASIDE:
        for n, document in enumerate(given.get(name) or []):
            yield from _document_faults((name, n), document, shuffled=False)


def _document_faults(loc: Loc, document: object, *, shuffled: bool) -> Iterator[Place]:
    if not isinstance(document, list) or not document or not all(isinstance(item, dict) for item in document):
        yield Place(loc, "must be a list of items")
        return
    form = is_form_document(document)
    for n, item in enumerate(document):
        if ("text" in item and "form" in item) != form:
            yield Place((*loc, n), "a document has items or parts of a form, not both")
        elif form:
            yield from _form_faults((*loc, n), item)
        else:
            yield from _item_faults((*loc, n), item)
    models = [set(item["tgt"]) for item in document if isinstance(item.get("tgt"), dict)]
    if shuffled and not form and any(one != models[0] for one in models):
        yield Place(loc, "its items have different models, so these cannot be shuffled: set info.shuffle to false")


def _form_faults(loc: Loc, item: Item) -> Iterator[Place]:
    if not isinstance(item["text"], str):
        yield Place((*loc, "text"), "must be a text")
    if item["form"] not in FORMS:
        yield Place((*loc, "form"), "must be null, number, string, choices or script")


def _item_faults(loc: Loc, item: Item) -> Iterator[Place]:
    for name in ("src", "ref"):
        if not isinstance(item.get(name, ""), str):
            yield Place((*loc, name), "must be a text")
    outputs = item.get("tgt")
    if not isinstance(outputs, dict) or not outputs or not all(isinstance(text, str) for text in outputs.values()):
        yield Place((*loc, "tgt"), "must be an object of texts, by model")
    elif any(model.isdigit() for model in outputs):
        yield Place((*loc, "tgt"), "a model must not be called by a number, which a browser would put first")
    for name, kind in (("error_spans", list), ("validation", dict)):
        members = item.get(name, {})
        if not isinstance(members, dict) or not all(isinstance(one, kind) for one in members.values()):
            yield Place((*loc, name), f"must be an object of {'lists' if kind is list else 'objects'}, by model")
        elif name == "validation":
            for model, rule in members.items():
                yield from _rule_faults((*loc, name, model), rule)


def _rule_faults(loc: Loc, rule: Mapping[str, Any]) -> Iterator[Place]:
    marks = rule.get("error_spans") or []
    if not isinstance(marks, list) or not all(isinstance(mark, dict) for mark in marks):
        yield Place((*loc, "error_spans"), "must be a list of objects")
        return
    numbers: list[tuple[Loc, object]] = [(("score",), rule.get("score"))]
    for n, mark in enumerate(marks):
        numbers += [(("error_spans", n, name), mark.get(name)) for name in ("start_i", "end_i")]
    for at, number in numbers:
        if not (number is None or rules.is_number(number) or rules.is_number_pair(number)):
            yield Place((*loc, *at), "must be a number, or a list of the least and the largest")


def _twice(loc: Loc, task: Sequence[object]) -> Iterator[Place]:
    """Yield outputs that occur twice in one list of documents, because a rater judges each output once."""
    seen: set[tuple[object, str]] = set()
    for n, document in enumerate(task):
        items = document if isinstance(document, list) and all(isinstance(one, dict) for one in document) else []
        if not items or is_form_or_check_document(items) or not isinstance(items[0].get("tgt"), dict):
            continue
        first = items[0]
        name = first.get("item_id") or (first.get("src"), str(first.get("ref")), str(first["tgt"]))
        outputs = {(str(name), model) for model in first["tgt"]}
        if outputs & seen:
            yield Place((*loc, n), "has an output that an earlier document has")
        seen |= outputs


def _users(info: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[CampaignFileUser, ...]:
    users, data = info.get("users"), given["data"]
    if isinstance(users, list):
        said = [one if isinstance(one, dict) else {"user_id": one} for one in users]
        return tuple(CampaignFileUser(one["user_id"], one.get("token_pass"), one.get("token_fail")) for one in said)
    if info["assignment"] == "task-based":
        return tuple(CampaignFileUser(name if isinstance(data, dict) else None) for name in data)
    return tuple(CampaignFileUser(None) for _ in range(users or 1))


def _tasks(info: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[list[Document], ...]:
    data = given["data"]
    if info["assignment"] != "task-based":
        return (data,)
    return tuple(data.values() if isinstance(data, dict) else data)


def _count_unused_members(info: Mapping[str, Any], given: Mapping[str, Any]) -> Counter[str]:
    """Count what is stored but has no effect here, for the report."""
    unused = Counter[str]()
    for name in info:
        if name not in INFO:
            unused["settings (info) that Pearmut does not have"] += 1
        elif name in DYNAMIC:
            unused[f"settings (info) of the dynamic assignment: {name}"] += 1
    unused["members of the file that Pearmut does not have"] += len(
        set(given) - {"campaign_id", "info", "data", "token", *ASIDE}
    )
    if info.get("sliders") and info["protocol"] in SPANS:
        unused["errors marked with sliders: kept with the judgments, in no report"] += 1
    if info["protocol"] == "MQM" and not info.get("sliders"):
        unused["scores given with MQM: kept with the judgments, in no report"] += 1
    return +unused
