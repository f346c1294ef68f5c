"""The chart of agreement between campaigns: coefficients with their intervals."""

from __future__ import annotations

from app.reports.agreement.between_campaigns_view import CampaignsAgreementView, make_caption
from app.reports.agreement.charts import plot_coefficients
from app.reports.kit import text_formatting


def plot_campaign_agreement(view: CampaignsAgreementView) -> bytes:
    """Draw one line per coefficient over all campaigns, as SVG."""
    group = (f"{text_formatting.pluralize(view.n_units, 'unit')} shared by the campaigns", view.statistics)
    notes = [make_caption(view), *map(text_formatting.make_sentence, view.warnings)]
    return plot_coefficients(f"Agreement between {', '.join(view.campaigns)}", [group], notes)
