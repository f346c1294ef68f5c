"""What the templates of managers' pages get besides the campaign, for pages whose JavaScript module does the rest.

The modules of these pages read and write over the interface that every front-end uses. The server provides only the
page and the choices in its forms.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import quote

from app import formats, protocols
from app.domain.languages import KNOWN
from app.domain.recipe import NAMED
from app.reports import registry
from app.reports.inputs.campaign import CampaignInfo
from app.services.access.tokens import Caller
from app.services.campaigns import recipes
from app.services.campaigns.campaigns import BASES
from app.services.campaigns.setup import get_setup_facts
from app.services.data.public_archive import has_archive_link
from app.services.data.test_set_views import list_known_answer_documents
from app.services.people import guidelines as guideline_texts
from app.services.people import invitations
from app.services.people.qualification import has_qualification_test
from app.services.plans.plan_scope import load_plan_scope
from app.services.tasks.preview import list_preview_document_keys
from app.services.templates.templates import get_template_design
from app.services.webhooks import webhooks
from app.services.webhooks.events import EVENT_KINDS, EventKind
from app.storage.db import Session
from app.storage.guidelines import GuidelinesNotFound, Kind
from app.ui import markdown
from app.ui.assets import asset_address
from app.ui.manager.actors import list_actor_names_json
from app.ui.manager.control_counts import count_raters_by_control_verdict
from app.ui.manager.exports import list_offered_formats
from app.ui.manager.invitations import CODE_CHECKS
from app.ui.manager.known_answer_forms import allows_prefilled_errors, rater_forms_and_measures_json
from app.ui.manager.report_groups import list_report_groups
from app.ui.manager.wording import list_translatable_task_phrases
from app.ui.messages import NAMES, RATER, catalogue_file_name, mark_translatable

Values = Mapping[str, object]

NONE: Values = MappingProxyType({})
MOST_OWN = 200
# The steps that each state of a campaign allows: the step's name in the interface, and its label. A planned campaign
# is opened by one of its setup steps instead.
STEPS: dict[str, tuple[tuple[str, str], ...]] = {
    "open": (("pause", mark_translatable("Pause")), ("close", mark_translatable("Close"))),
    "paused": (("open", mark_translatable("Open again")), ("close", mark_translatable("Close"))),
    "closed": (("open", mark_translatable("Open again")),),
}
TEXT_KINDS: tuple[tuple[Kind, str], ...] = (
    ("guidelines", mark_translatable("Guidelines")),
    ("consent", mark_translatable("Consent text")),
)
EVENT_MEANINGS: Mapping[EventKind, str] = MappingProxyType(
    {
        "task.handed_in": mark_translatable("a rater hands in a task"),
        "campaign.milestone": mark_translatable("25, 50 or 75 % of the tasks are handed in"),
        "campaign.done": mark_translatable("all tasks are handed in"),
        "campaign.state_changed": mark_translatable("the campaign is opened, paused or closed"),
        "rater.failed": mark_translatable("a rater fails a quality check that the settings act on"),
        "job.done": mark_translatable("a job finishes and its report can be fetched"),
        "job.failed": mark_translatable("a job ends without a report"),
    }
)
PLATFORMS = (("prolific", "Prolific"), ("mturk", "Mechanical Turk"), ("toloka", "Toloka"))


@dataclass(frozen=True, slots=True)
class ManagerPageContext:
    """The caller who opens a page of a campaign, in one transaction."""

    session: Session
    campaign: CampaignInfo
    caller: Caller


def empty_page_values(_: ManagerPageContext) -> Values:
    """Return nothing besides the campaign."""
    return NONE


def overview_page_values(context: ManagerPageContext) -> Values:
    """Return the steps that the caller can take, and the verdicts on control items.

    Coordinators learn nothing about systems and scores, viewers nothing about raters.
    """
    if not context.caller.has_rights_of("manager"):
        return {"steps": (), "verdicts": None}
    verdicts = count_raters_by_control_verdict(context.session, context.campaign.key)
    return {"steps": STEPS.get(context.campaign.state, ()), "verdicts": verdicts}


def settings_page_values(context: ManagerPageContext) -> Values:
    """Return the protocols, the bases that raters can compare with, and the languages that can be chosen."""
    offered = list_protocol_titles()
    own = protocols.get_protocol(context.campaign.protocol)
    if (own.name, own.title) not in offered:
        offered.append((own.name, own.title))
    return {"known_languages": KNOWN, "bases": BASES, "protocols": offered}


def list_protocol_titles() -> list[tuple[str, str]]:
    """Return name and title of every protocol except the one that managers write, which starts from one of these."""
    return [(one.name, one.title) for one in protocols.ALL.values() if one.questions is None]


def wording_page_values(context: ManagerPageContext) -> Values:
    """Return the languages of the raters' pages, with the addresses of their messages; English names all messages.

    first: the phrases at the top of the list.
    """
    files = {language: catalogue_file_name(language, RATER) for language in NAMES}
    addresses = {language: asset_address(name) for language, name in files.items() if name is not None}
    first = json.dumps(list_translatable_task_phrases(context.campaign))
    return {"page_languages": list(NAMES.items()), "catalogues": json.dumps(addresses), "first": first}


def audit_page_values(context: ManagerPageContext) -> Values:
    """Return the name of each actor."""
    return {"actors": list_actor_names_json(context.session, context.caller, context.campaign.key)}


def recipe_lock_page_values(context: ManagerPageContext) -> Values:
    """Return the recipes that can be locked. Viewers see what is locked; managers lock and amend."""
    manages = context.caller.has_rights_of("manager")
    recipe_names = list_ranking_recipe_names(context.session, context.campaign.key) if manages else []
    return {"recipes": recipe_names, **audit_page_values(context)}


def export_page_values(context: ManagerPageContext) -> Values:
    """Return the formats that fit the campaign's protocol, and whether there is a public archive."""
    absent = () if has_archive_link(context.session, context.campaign.key) else ("/archive",)
    return {"offered": list_offered_formats(context.campaign.protocol), "absent": absent}


def report_list_page_values(context: ManagerPageContext) -> Values:
    """Return every report that the caller may see, grouped by topic."""
    facts = get_setup_facts(context.session, context.campaign.key)
    base = f"/campaigns/{quote(context.campaign.key, safe='')}"
    return {"groups": list_report_groups(context.campaign, facts, context.caller, base)}


def comparison_report_list_page_values(context: ManagerPageContext) -> Values:
    """Return every comparison that the caller may see."""
    return {
        "kinds": [
            one for one in registry.ALL.values() if one.over == "campaigns" and context.caller.has_rights_of(one.role)
        ]
    }


def texts_page_values(context: ManagerPageContext) -> Values:
    """Return the formats that can be read, with their options, and the present number of systems."""
    readable = [one for one in formats.ALL.values() if one.read is not None]
    options = json.dumps({one.name: dict(one.options) for one in readable})
    n_systems = get_setup_facts(context.session, context.campaign.key).systems
    return {"formats": readable, "options": options, "n_systems": n_systems}


def guidelines_page_values(context: ManagerPageContext) -> Values:
    """Return guidelines and consent as raters see them: kind, name, latest version, and HTML for each language."""
    return {"texts": [(kind, name, *_latest(context.session, context.campaign.key, kind)) for kind, name in TEXT_KINDS]}


def design_page_values(context: ManagerPageContext) -> Values:
    """Return the design that the form starts with, which comes from the campaign's template."""
    return {"design": json.dumps(dict(get_template_design(context.campaign.settings)), indent=2)}


def replan_page_values(context: ManagerPageContext) -> Values:
    """Return documents and systems in their present state."""
    scope = load_plan_scope(context.session, context.campaign.key)
    return {"documents": json.dumps(scope.documents), "systems": json.dumps(scope.systems)}


def preview_page_values(context: ManagerPageContext) -> Values:
    """Return the documents that can be shown."""
    return {"documents": list_preview_document_keys(context.session, context.campaign.key)}


def protocol_page_values(context: ManagerPageContext) -> Values:
    """Return the protocols that a manager can start from, and the documents that can be shown."""
    offered = [(one.name, one.title) for one in protocols.ALL.values() if one.ranks and one.questions is None]
    return {"offered": offered, "documents": list_preview_document_keys(context.session, context.campaign.key)}


def invitations_page_values(context: ManagerPageContext) -> Values:
    """Return the platforms that raters can come from, and the checks that can decide about a completion code."""
    there = invitations.list_invitations(context.session, context.campaign.key, after=None, limit=1)
    return {"platforms": PLATFORMS, "checks": list(CODE_CHECKS.items()), "invites": bool(there)}


def webhooks_page_values(context: ManagerPageContext) -> Values:
    """Return the events that webhooks receive, each with its meaning."""
    there = webhooks.list_webhooks(context.session, context.campaign.key, after=None, limit=1)
    return {"events": [(kind, EVENT_MEANINGS[kind]) for kind in EVENT_KINDS], "has_webhooks": bool(there)}


def tutorial_page_values(context: ManagerPageContext) -> Values:
    """Return the raters' forms, in which managers give the known answers, and the documents that have such answers.

    prefill: whether checks can have errors that are marked in advance.
    """
    rows = list_known_answer_documents(context.session, context.campaign.key)
    documents = [{"key": row.key, "name": row.name, "kind": row.kind, "position": row.position} for row in rows]
    prefill = allows_prefilled_errors(context.campaign)
    return {**rater_forms_and_measures_json(context.campaign), "documents": json.dumps(documents), "prefill": prefill}


def qualification_page_values(context: ManagerPageContext) -> Values:
    """Return the raters' forms, in which managers give the known answers, and whether there is a test."""
    absent = () if has_qualification_test(context.session, context.campaign.key) else ("/qualification",)
    return {**rater_forms_and_measures_json(context.campaign), "absent": absent}


def quality_page_values(_: ManagerPageContext) -> Values:
    """Return the recipes whose scores verdicts can be based on."""
    return {"recipes": list(NAMED)}


def exclusions_page_values(context: ManagerPageContext) -> Values:
    """Return the recipes under which an exclusion can be previewed."""
    return {"recipes": list_ranking_recipe_names(context.session, context.campaign.key), **audit_page_values(context)}


def list_ranking_recipe_names(session: Session, campaign: str) -> list[str]:
    """Return the recipes that can rank a campaign: its own, then those of the service. Raises NotFound."""
    own = [one.name for one in recipes.list_named_recipes(session, campaign, after=None, limit=MOST_OWN)]
    return list(dict.fromkeys((*own, *NAMED)))


def _latest(session: Session, campaign: str, kind: Kind) -> tuple[int, list[tuple[str, str]]]:
    """Return the latest version, or 0 if there is none, and the text of each language as HTML."""
    try:
        current = guideline_texts.get_guidelines(session, campaign, kind)
    except GuidelinesNotFound:
        return 0, []
    return current.version, [
        (language, markdown.markdown_to_html(current.texts[language])) for language in sorted(current.texts)
    ]
