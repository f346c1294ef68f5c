"""Templates of campaigns: the settings of common studies, so that a manager starts with a sound campaign and adapts it.

A template contains protocol, options, settings, the initial design for the design page, and guidelines. Nothing else
reads templates: their contents are stored in the campaign as if a manager had chosen them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from app.domain.errors import Invalid, NotFound, Place
from app.reports.inputs.campaign import CampaignInfo
from app.services.campaigns.campaigns import NewCampaign, create_campaign
from app.services.people.guidelines import put_guidelines
from app.services.templates import guidelines as texts
from app.storage.db import Session

SETTING = "template"
"""The setting that names the template with which a campaign began."""
LANGUAGE = "en"
"""The language of the templates' guidelines."""
DESIGN: Mapping[str, object] = MappingProxyType(
    {
        "grouping": "psxs",
        "balance": "full",
        "ratings_per_item": 1,
        "overlap": {"share": 0.15, "ratings_per_item": 2},
        "task": {"max_segments": 100},
        "seed": 1,
    }
)
"""The initial design if no template says otherwise: pseudo side by side (Riley et al. 2024)."""


class CampaignTemplateNotFound(NotFound):
    """There is no such template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignTemplate:
    """A template.

    purpose: when to use it, in a sentence or two. basis: what raters compare an output with. options: of the protocol.
    settings: of the campaign. design: the initial design for the design page. guidelines: in English, as markdown; None
    if the protocol's own instructions are sufficient.
    """

    name: str
    title: str
    purpose: str
    protocol: str
    basis: str = "source"
    options: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    design: Mapping[str, object] = field(default_factory=lambda: DESIGN)
    guidelines: str | None = None


TEMPLATES: Mapping[str, CampaignTemplate] = MappingProxyType(
    {
        one.name: one
        for one in (
            CampaignTemplate(
                name="mqm-professionals",
                title="MQM by professionals, side by side",
                purpose="Translators mark every error. One rater judges all systems' outputs of a document (pSxS), so "
                "differences between raters cancel. The most precise choice, and the slowest.",
                protocol="mqm",
                options={"weights": "freitag2021"},
                settings={"presentation": "document", "lease_seconds": 4 * 3600},
                guidelines=texts.MQM,
            ),
            CampaignTemplate(
                name="esa-crowd",
                title="ESA with a crowd",
                purpose="Raters mark errors, then score each segment from 0 to 100. Short tasks with degraded control "
                "items show who does not read. Good value if you have many raters.",
                protocol="esa",
                settings={"presentation": "document", "lease_seconds": 2 * 3600},
                design={
                    **DESIGN,
                    "task": {"max_segments": 50},
                    "controls": {"bad_reference": {"rate": 0.12}},
                },
                guidelines=texts.ESA,
            ),
            CampaignTemplate(
                name="xsts-languages",
                title="XSTS across languages",
                purpose="Bilingual raters score how much meaning two sentences share, from 1 to 5; three raters judge "
                "each item and the median counts. Add a calibration set to compare languages.",
                protocol="xsts",
                options={"points": 5},
                settings={"presentation": "segment", "lease_seconds": 2 * 3600},
                design={
                    "grouping": "none",
                    "balance": "full",
                    "ratings_per_item": 3,
                    "overlap": None,
                    "task": {"max_segments": 100},
                    "seed": 1,
                },
                guidelines=texts.XSTS,
            ),
            CampaignTemplate(
                name="post-editing",
                title="Post-editing",
                purpose="Translators correct each output; systems are ranked by how much had to be changed (TER). "
                "Use it if you also need the corrected translations.",
                protocol="postedit",
                options={"rank_by": "ter"},
                settings={"presentation": "document", "lease_seconds": 8 * 3600},
                design={
                    "structure": "latin_square",
                    "balance": "full",
                    "task": {"max_segments": 100},
                    "seed": 1,
                },
                guidelines=texts.POST_EDITING,
            ),
            CampaignTemplate(
                name="wmt26-cesa",
                title="Contrastive ESA, as at WMT26",
                purpose="Two to five outputs are shown in shuffled columns; raters mark errors, violated instructions "
                "and omissions, then score each output on a slider with five bands.",
                protocol="cesa",
                settings={"presentation": "side_by_side", "lease_seconds": 2 * 3600},
                design={**DESIGN, "task": {"max_segments": 100, "columns": 3}},
                guidelines=texts.CONTRASTIVE_ESA,
            ),
        )
    }
)
"""All templates by name, in the order in which pages offer them."""


def get_template_by_name(name: str) -> CampaignTemplate:
    """Return the template with this name. Raises CampaignTemplateNotFound."""
    if name not in TEMPLATES:
        raise CampaignTemplateNotFound
    return TEMPLATES[name]


def get_requested_template(name: str) -> CampaignTemplate:
    """Return the template with this name. Raises Invalid, which lists the existing names."""
    if name not in TEMPLATES:
        there = f"must be one of {', '.join(TEMPLATES)}"
        raise Invalid(places=(Place(("template",), there),))
    return TEMPLATES[name]


def create_campaign_from_template(
    session: Session, name: str, given: Mapping[str, object], *, actor: str
) -> CampaignInfo:
    """Create a campaign from a template; `given` overrides it, field by field.

    given: fields of NewCampaign. Given options replace the template's options as a whole; settings are merged one by
    one.

    Raises Invalid, which names the field, and Conflict if the key is taken.
    """
    template = get_requested_template(name)
    if given.get("protocol") not in (None, template.protocol):
        why = f"the template is for {template.protocol}; leave out one of the two"
        raise Invalid(places=(Place(("protocol",), why),))
    merged = {
        **given,
        "protocol": template.protocol,
        "basis": given.get("basis", template.basis),
        "options": given.get("options", template.options),
        "settings": {**template.settings, **_mapping(given, "settings"), SETTING: template.name},
    }
    campaign = create_campaign(session, NewCampaign(**merged), actor=actor)  # type: ignore[arg-type]  # checked there
    if template.guidelines is not None:
        put_guidelines(session, campaign.key, "guidelines", {LANGUAGE: template.guidelines}, actor=actor)
    return campaign


def get_template_design(settings: Mapping[str, object]) -> Mapping[str, object]:
    """Return the initial design for a campaign's design page, from the template in its settings."""
    template = TEMPLATES.get(str(settings.get(SETTING)))
    return DESIGN if template is None else template.design


def _mapping(given: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = given.get(name)
    return value if isinstance(value, Mapping) else {}
