"""Campaigns judged without a server: the plan, the raters and the ranking that ship, and nothing between them."""

from __future__ import annotations

from collections.abc import Mapping

from app.design.plan import Plan
from app.protocols.base import JudgedTexts, ScoringOptions, parse_scoring_options
from app.simulation import CampaignRaterForms, RaterModel, SimulatedRater, hash_text_with_source
from app.simulation.answers import AnswerContext, fill_in_form
from app.simulation.task_view import DisplayedSegment, DisplayedText
from app.stats.ratings import Ratings

Texts = Mapping[tuple[str, str, int], tuple[str, str]]  # (system, document, position): source and text


def rate(plan: Plan, model: RaterModel, texts: Texts) -> Ratings:
    """What the raters of a model say of everything that a plan gives them, controls left out."""
    forms = CampaignRaterForms.from_rater_model(model)
    options = parse_scoring_options(forms.protocol, model.options)
    columns: dict[str, list[object]] = {name: [] for name in ("system", "document", "position", "rater", "score")}
    for rater in plan.raters:
        mind = SimulatedRater.from_rater_model(model, rater)
        for task in sorted(plan.tasks_of_rater(rater), key=lambda task: task.queue):
            for item in task.items:
                if item.role != "rating" or item.system is None:
                    continue
                for position in range(item.first, item.last + 1):
                    source, text = texts[item.system, item.document, position]
                    score = _score(mind, forms, options, source, text)
                    for system in item.systems:
                        row = (system, item.document, position, rater, score)
                        for name, value in zip(columns, row, strict=True):
                            columns[name].append(value)
    measure = forms.protocol.list_judgment_measures(options)[0]
    return Ratings.from_columns(**columns, higher_is_better=measure.higher_is_better, scale=measure.scale)


def _score(mind: SimulatedRater, forms: CampaignRaterForms, options: ScoringOptions, source: str, text: str) -> float:
    pair = hash_text_with_source(text, source)
    opinion = mind.form_opinion(pair if pair in mind.model.texts else hash_text_with_source(text))
    mind.judged += 1
    shown = DisplayedSegment(
        1, (DisplayedText("Source", source, "source"), DisplayedText("Text", text, "target")), None, None
    )
    sheet = AnswerContext(shown, opinion, mind.draws, mind.traits.taste, forms.lower)
    payload = forms.protocol.payload.model_validate(fill_in_form(forms.protocol.name, forms.at["segment"], sheet))
    return forms.protocol.score(payload, JudgedTexts(source, text, ()), options).score
