"""The demo campaign with judgments as an import brings them: by the demo's own raters, without a server in between."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from app.demo import DEMO_SEED, ensure_demo_campaign, make_demo_rater_model
from app.demo.campaign import make_demo_translations
from app.demo.demo_raters import TEMPERS
from app.formats.base import JudgmentRow, LineLocation, ReadLog
from app.services.campaigns.campaigns import get_campaign
from app.services.data.record_import import RunningImport, import_records
from app.simulation import CampaignRaterForms, SimulatedRater, hash_text_with_source
from app.simulation.answers import AnswerContext, fill_in_form
from app.simulation.task_view import DisplayedSegment, DisplayedText
from app.storage.db import Database

HERE = LineLocation("judged", 0)
START = datetime(2026, 1, 12, 9, 0, tzinfo=UTC)
TWICE_EVERY = 6  # every sixth document is judged by a second rater


def load_judged(database: Database, *, seed: int = DEMO_SEED) -> str:
    """Load texts and judgments, once; the key of the campaign."""
    key = ensure_demo_campaign(database, seed=seed)
    with database.transaction() as session:
        campaign = get_campaign(session, key)
        if campaign.data_version < 2:
            import_records(
                RunningImport(session, campaign, actor="test", audit_details="judgments"), judgments(seed), ReadLog()
            )
    return key


def judgments(seed: int) -> Iterator[JudgmentRow]:
    """All systems of a document by the same rater, in the order of their keys."""
    found, model = make_demo_translations(seed), make_demo_rater_model("demo", seed)
    forms = CampaignRaterForms.from_rater_model(model)
    minds = {rater: SimulatedRater.from_rater_model(model, rater) for rater in TEMPERS}
    at = START
    for i, document in enumerate(found.documents):
        raters = [list(TEMPERS)[i % len(TEMPERS)]]
        if i % TWICE_EVERY == 0:
            raters.append(list(TEMPERS)[(i + 1 + i // TWICE_EVERY) % len(TEMPERS)])
        for rater in raters:
            for system in sorted({system for system, _ in found.translations}):
                texts = zip(document.segments, found.translations[system, document.key], strict=True)
                for position, (segment, translation) in enumerate(texts, 1):
                    started, at = at, at + timedelta(seconds=30)
                    yield JudgmentRow(
                        HERE,
                        task=f"{document.key}.{rater}",
                        item=f"{system}:{document.key}",
                        systems=(system,),
                        document=document.key,
                        position=position,
                        rater=rater,
                        payload=_payload(minds[rater], forms, segment.source, translation.text),
                        started_at=started,
                        submitted_at=at,
                    )


def _payload(mind: SimulatedRater, forms: CampaignRaterForms, source: str, text: str) -> dict[str, object]:
    pair = hash_text_with_source(text, source)
    opinion = mind.form_opinion(pair if pair in mind.model.texts else hash_text_with_source(text))
    shown = DisplayedSegment(
        1, (DisplayedText("Source", source, "source"), DisplayedText("Text", text, "target")), None, None
    )
    sheet = AnswerContext(shown, opinion, mind.draws, mind.traits.taste, forms.lower)
    return fill_in_form(forms.protocol.name, forms.at["segment"], sheet)
