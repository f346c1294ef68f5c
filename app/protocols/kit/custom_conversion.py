"""Converts a built-in protocol to a manager's own protocol, as a starting point for changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.domain.errors import Invalid
from app.protocols.base import Protocol, ScoringOptions
from app.protocols.kit.custom_parts import SPANS, CustomOptions
from app.protocols.kit.forms import list_widgets_at_level
from app.protocols.kit.scales import find_value_fault
from app.protocols.widgets import (
    ChoiceWidget,
    CountWidget,
    CriteriaWidget,
    CriterionScale,
    LinkWidget,
    SliderWidget,
    SpansWidget,
    TextEditWidget,
    TextsWidget,
    Widget,
)
from app.stats.ratings import ScoreScale
from app.stats.scoring import WeightProfile, weigh_error

MOST_COUNTED = 100.0
MOST_WEIGHTS = 200
SCORE = "Score"


def convert_to_custom_options(protocol: Protocol[Any], options: ScoringOptions) -> dict[str, object]:
    """Return the options of a `custom` campaign that asks what this protocol asks, and ranks by the same number.

    They cannot express rules beyond widgets and weights, such as which prefilled errors were deleted, or the links of
    texts. A post-edit scores characters. Raises Invalid for a protocol that scores nothing.
    """
    if not protocol.ranks:
        raise Invalid(f"{protocol.name} scores nothing, so nothing can be ranked by a protocol that begins with it")
    if isinstance(options.own, CustomOptions):
        return options.own.model_dump(mode="json", exclude_defaults=True)
    parts = [
        part
        for widget in list_widgets_at_level(protocol, options, protocol.level)
        for part in _parts(widget, protocol, options)
    ]
    names = {SPANS if part["kind"] == "spans" else part.get("name") for part in parts if part["kind"] != "text"}
    first = protocol.get_requested_measure(options).name
    written: dict[str, object] = {
        "title": protocol.title,
        "instructions": protocol.instructions,
        "rubric": [{"value": value, "meaning": meaning} for value, meaning in protocol.rubric],
        "parts": parts,
    }
    if first in names:
        written["ranks_by"] = first
    return written


def _parts(widget: Widget, protocol: Protocol[Any], options: ScoringOptions) -> Iterator[dict[str, Any]]:
    match widget:
        case SpansWidget():
            yield _spans(widget, options.profile)
        case CriteriaWidget():
            directions = {one.name: one.higher_is_better for one in protocol.list_judgment_measures(options)}
            yield from (_slider(one, higher=directions.get(one.name, True)) for one in widget.criteria)
        case SliderWidget() | ChoiceWidget() | CountWidget():
            yield _make_number_part(widget, higher=protocol.get_requested_measure(options).higher_is_better)
        case TextEditWidget() | LinkWidget() | TextsWidget():
            yield from _texts(widget)


def _make_number_part(widget: SliderWidget | ChoiceWidget | CountWidget, *, higher: bool) -> dict[str, Any]:
    if isinstance(widget, ChoiceWidget):
        answers = [{"value": value, "label": anchor or f"{value:g}"} for value, anchor in widget.points]
        return {
            "kind": "choice",
            "name": widget.field,
            "title": SCORE,
            "options": answers,
            "higher_is_better": higher,
        }
    if isinstance(widget, CountWidget):
        most = min(float(widget.most), MOST_COUNTED)
        return _slider(CriterionScale(widget.field, widget.label, 0.0, most, 1.0), higher=False)
    scale = CriterionScale(widget.field, SCORE, widget.minimum, widget.maximum, widget.step, widget.ticks)
    return _slider(scale, higher=higher)


def _slider(scale: CriterionScale, *, higher: bool) -> dict[str, Any]:
    """Make a slider part, without the labels between two values of the scale, because no answer could have them."""
    values = ScoreScale(scale.minimum, scale.maximum, scale.step)
    labels = {f"{at:g}": label for at, label in scale.ticks if label and not find_value_fault(float(f"{at:g}"), values)}
    return {
        "kind": "slider",
        "name": scale.name,
        "title": scale.title,
        "minimum": scale.minimum,
        "maximum": scale.maximum,
        "step": scale.step,
        "labels": labels,
        "higher_is_better": higher,
    }


def _texts(widget: TextEditWidget | LinkWidget | TextsWidget) -> Iterator[dict[str, Any]]:
    if isinstance(widget, TextsWidget):
        yield from ({"kind": "text", "name": one.name, "title": one.title} for one in widget.texts)
    elif isinstance(widget, LinkWidget):
        yield {"kind": "text", "name": widget.field, "title": "Link (optional)", "most": widget.most}
    elif widget.start == "output":
        yield {"kind": "post_edit"}
    else:
        yield {"kind": "text", "name": widget.field, "title": "Your text", "required": True, "most": widget.most}


def _spans(widget: SpansWidget, profile: WeightProfile) -> dict[str, Any]:
    severities = [{"name": name, "weight": weigh_error(profile, name, None)[0]} for name in widget.severities]
    paths = [path for upper, lowers in widget.categories for path in (upper, *(f"{upper}/{lower}" for lower in lowers))]
    special = {
        f"{one['name']}/{path}": weight
        for one in severities
        for path in paths
        if (weight := weigh_error(profile, str(one["name"]), path)[0]) != one["weight"]
    }
    return {
        "kind": "spans",
        "severities": severities,
        "categories": [{"name": upper, "subcategories": list(lowers)} for upper, lowers in widget.categories],
        "missing": widget.omission,
        "source_side": widget.source_side,
        "most": widget.most,
        "weights": dict(list(special.items())[:MOST_WEIGHTS]),
    }
