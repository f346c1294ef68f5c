"""Words of the services that pages say in their own language: they reach them as values."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import get_args

from app import formats, protocols
from app.domain.questionnaires import make_language_biography_questions
from app.domain.recipe_choices import Role
from app.protocols.kit.custom_parts import PostEditPart, YesNoPart
from app.protocols.kit.forms import LEVEL_SAYS, RESTS_ON
from app.reports import disagreements, ingest, registry
from app.reports.kit import text_formatting
from app.reports.ranking import captions as ranking_captions
from app.reports.ranking import tables as ranking_tables
from app.reports.ranking_comparison import tables as side_by_side_renderings
from app.reports.stability import tables as stability_tables
from app.services.data import cloning
from app.services.templates.templates import TEMPLATES
from app.ui.manager.forms import make_form_fields
from app.ui.manager.stability import StabilityForm
from app.ui.messages import WITH_WIDGETS

KINDS = (*registry.ALL.values(), *registry.WITH_OWN_ROUTES.values())
REPORTS = {"manager/reports", "manager/report", "manager/print", "manager/comparisons", "manager/comparison"}
# Pages that show tables which these modules lay out.
TABLES = {
    "manager/ranking": (ranking_tables, ranking_captions, text_formatting),
    "manager/print": (ranking_tables, ranking_captions, text_formatting),
    "manager/recipes": (side_by_side_renderings,),
    "manager/series": (side_by_side_renderings,),
    "manager/stability": (stability_tables,),
    "manager/report": (disagreements,),
}

FINDINGS = ("broken markup in", "other markup", "output ", "source in")
"""How those begin that tell what is odd about texts."""

INTERVALS = {"95% interval", *(f"95% interval, {of}" for of, _ in ranking_tables._WIDER)}


def of_services(page: str) -> set[str]:
    """What a page says that stands in none of its files, and that its catalogue must have."""
    if page.startswith("rater/") or page in WITH_WIDGETS:
        return of_forms() | of_biography() | {"Reference", "Text", "Text 1", "Text 2"}
    if page in REPORTS:
        return {kind.title for kind in KINDS}
    if page == "manager/texts":
        readable = [form for form in formats.ALL.values() if form.read is not None]
        options = {about for form in readable for about in form.options.values()}
        findings = {text for text in _texts(ingest) if text.startswith(FINDINGS)}
        return findings | {form.title for form in readable} | options
    return set()


def of_biography() -> set[str]:
    """The questions of a language biography, and the answers that are words."""
    asked = make_language_biography_questions()
    answers = {one.label["en"] for question in asked for one in question.options if one.label["en"] != one.value}
    return {question.label["en"] for question in asked} | answers


@cache
def may_say(page: str) -> frozenset[str]:
    """What its catalogue may have besides; a page says it in English, and marked so, where it is not there."""
    found: set[str] = set()
    if page in REPORTS | {"manager/stability"}:
        found |= {kind.summary for kind in KINDS}
        found |= {
            text for kind in KINDS for one in make_form_fields(kind.options, {}) for text in (one.label, one.help)
        }
        found |= {text for one in make_form_fields(StabilityForm, {}) for text in (one.label, one.help)}
    if page in {"manager/new", "manager/settings"}:
        found |= {protocol.title for protocol in protocols.ALL.values()} | of_options()
        found |= {protocol.instructions for protocol in protocols.ALL.values()}
        found |= {text for one in TEMPLATES.values() for text in (one.title, one.purpose)}
    if page == "manager/clone":
        found |= _texts(cloning) | {f"{role} item" for role in get_args(Role)}
    if page == "archive/index":
        found |= {protocol.title for protocol in protocols.ALL.values()}
    if page == "manager/exports":
        found |= {form.title for form in formats.ALL.values()}
    for module in TABLES.get(page, ()):
        found |= _texts(module) | INTERVALS
    return frozenset(found)


def _texts(module: ModuleType) -> set[str]:
    tree = ast.parse(Path(str(module.__file__)).read_text())
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def of_options() -> set[str]:
    """What the options of protocols are called, and what is said of them."""
    found: set[str] = set()
    for protocol in protocols.ALL.values():
        schema = protocol.options.model_json_schema()
        for one in (schema, *schema.get("$defs", {}).values()):
            for field in one.get("properties", {}).values():
                found |= {field[name] for name in ("title", "description") if name in field}
    return found


def of_forms() -> set[str]:
    """What forms say: labels, ticks, points, sentences, categories and rubrics."""
    found = {sentence for sentence in (*RESTS_ON.values(), *LEVEL_SAYS.values()) if sentence}
    yes_no = YesNoPart(kind="yes_no", name="x", title="x").criterion_scale
    found |= {label for _, label in yes_no.points} | {PostEditPart(kind="post_edit").title}
    for protocol in protocols.ALL.values():
        found.add(protocol.instructions)
        found |= {text for line in protocol.rubric for text in line if any(map(str.isalpha, text))}
        for widget in (*protocol.form, *protocol.document_form):
            pairs = (*getattr(widget, "ticks", ()), *getattr(widget, "points", ()))
            found |= {label for _, label in pairs if label and not label.isdigit()}
            for upper, lowers in getattr(widget, "categories", ()):
                found |= {upper, *lowers}
            found |= {widget.label} if hasattr(widget, "label") else set()
    return found
