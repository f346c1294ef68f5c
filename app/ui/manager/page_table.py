"""The pages of managers, one row each: address, menu entry, title, template, roles and line in the documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from app.services.access.tokens import Role
from app.ui.manager import page_values
from app.ui.messages import mark_translatable

Roles = frozenset[Role]
Need = Literal["outputs", "plan", "tasks", "judgments"]
Contents = Callable[[page_values.ManagerPageContext], page_values.Values]

VIEWER: Roles = frozenset({"viewer"})
COORDINATOR: Roles = frozenset({"coordinator"})
MANAGER: Roles = frozenset({"manager"})


@dataclass(frozen=True, slots=True)
class ManagerPageDefinition:
    """A page.

    name: in the menu and the title and, in lower case, the end of the address and the name of the template.
    roles: the roles that may open it. purpose: the page's line in the documents.
    contents: returns what its template needs besides the campaign; None for a page with a handler of its own.
    end, file: the end of the address and the name of the template if they differ from the name.
    needs: what the campaign must have before the page shows anything; until then, the menu says so.
    """

    name: str
    roles: Roles
    purpose: str
    contents: Contents | None = None
    end: str | None = None
    file: str | None = None
    of_campaign: bool = True
    needs: Need | None = None

    @property
    def path(self) -> str:
        """The end of the address, after the campaign's part.

        >>> ManagerPageDefinition("New campaign", MANAGER, "").path
        '/new-campaign'
        """
        return f"/{self.name.lower().replace(' ', '-')}" if self.end is None else self.end

    @property
    def route_pattern(self) -> str:
        """The address as a route pattern.

        >>> ManagerPageDefinition("Items", MANAGER, "").route_pattern
        '/campaigns/{campaign}/items'
        """
        return f"/campaigns/{{campaign}}{self.path}" if self.of_campaign else self.path

    @property
    def template(self) -> str:
        """The file name of the template."""
        return f"manager/{self.file or self.name.lower()}.html"


# The pages of a campaign by topic: the six entries of its menu, each with its pages in order.
GROUPS: tuple[tuple[str, tuple[ManagerPageDefinition, ...]], ...] = (
    (
        mark_translatable("Overview"),
        (
            ManagerPageDefinition(
                mark_translatable("Overview"),
                VIEWER | COORDINATOR,
                "the next step; live progress; open, pause or close the campaign",
                page_values.overview_page_values,
            ),
        ),
    ),
    (
        mark_translatable("Texts"),
        (
            ManagerPageDefinition(
                mark_translatable("Texts"),
                MANAGER,
                "import files; see the contents of the campaign",
                page_values.texts_page_values,
            ),
            ManagerPageDefinition(
                mark_translatable("Items"),
                MANAGER,
                "texts with all judgments and marked errors",
                page_values.empty_page_values,
                needs="outputs",
            ),
            ManagerPageDefinition(
                mark_translatable("Guidelines"),
                MANAGER,
                "guidelines and consent, by language and version",
                page_values.guidelines_page_values,
            ),
        ),
    ),
    (
        mark_translatable("People"),
        (
            ManagerPageDefinition(
                mark_translatable("Raters"), COORDINATOR, "enrol raters and create links", page_values.empty_page_values
            ),
            ManagerPageDefinition(
                mark_translatable("Invitations"),
                MANAGER,
                "one link for many raters; completion codes",
                page_values.invitations_page_values,
            ),
            ManagerPageDefinition(
                mark_translatable("Questionnaires"),
                MANAGER,
                "questions for raters before and after their work, with the answers",
                page_values.empty_page_values,
            ),
            ManagerPageDefinition(
                mark_translatable("Tutorial"),
                MANAGER,
                "texts with known answers, before the first task or among the tasks",
                page_values.tutorial_page_values,
            ),
            ManagerPageDefinition(
                mark_translatable("Qualification"),
                MANAGER,
                "the qualification test and who passed it",
                page_values.qualification_page_values,
            ),
            ManagerPageDefinition(
                mark_translatable("Quality"),
                COORDINATOR,
                "evidence on each rater; exclusions; timing",
                page_values.quality_page_values,
                needs="judgments",
            ),
            ManagerPageDefinition(
                mark_translatable("Exclusions"),
                MANAGER,
                "exclude raters, systems, documents or tasks after a preview",
                page_values.exclusions_page_values,
            ),
            ManagerPageDefinition(
                mark_translatable("Problems"),
                MANAGER,
                "answer flags and disputes about hours",
                page_values.empty_page_values,
                needs="tasks",
            ),
        ),
    ),
    (
        mark_translatable("Design"),
        (
            ManagerPageDefinition(
                mark_translatable("Design"), MANAGER, "preview and freeze a plan", page_values.design_page_values
            ),
            ManagerPageDefinition(
                mark_translatable("Protocol"),
                MANAGER,
                "what raters are asked and how it is scored; write your own protocol",
                page_values.protocol_page_values,
            ),
            ManagerPageDefinition(
                mark_translatable("Preview"),
                MANAGER,
                "a task as raters will see it, with the campaign's texts",
                page_values.preview_page_values,
                needs="outputs",
            ),
            ManagerPageDefinition(
                mark_translatable("Study size for a difference"),
                VIEWER,
                "documents, raters and ratings needed for a difference",
                end="/reports/power",
                file="report",
                needs="judgments",
            ),
            ManagerPageDefinition(
                mark_translatable("Lock"),
                VIEWER,
                "the registered analysis and its amendments, which managers write",
                page_values.recipe_lock_page_values,
            ),
            ManagerPageDefinition(
                mark_translatable("Replan"),
                MANAGER,
                "change the plan of a running campaign: preview, then apply",
                page_values.replan_page_values,
                needs="plan",
            ),
        ),
    ),
    (
        mark_translatable("Results"),
        (
            ManagerPageDefinition(
                mark_translatable("Ranking"),
                VIEWER,
                "what can be claimed; clusters, intervals and pairs; links to all reports",
                end="",
                needs="judgments",
            ),
            ManagerPageDefinition(
                mark_translatable("Stability"),
                VIEWER,
                "whether another study would give the same ranking",
                needs="judgments",
            ),
            ManagerPageDefinition(
                mark_translatable("Recipes"),
                VIEWER,
                "recipes side by side, and the pairs on which they disagree",
                needs="judgments",
            ),
            ManagerPageDefinition(
                mark_translatable("Reports"),
                VIEWER,
                "all reports, by the question that each one answers",
                page_values.report_list_page_values,
                needs="judgments",
            ),
            ManagerPageDefinition(
                mark_translatable("Gate"), VIEWER, "test one claim about two systems", file="report", needs="judgments"
            ),
            ManagerPageDefinition(
                mark_translatable("Comparisons"),
                VIEWER,
                "this campaign compared with others",
                page_values.comparison_report_list_page_values,
            ),
            ManagerPageDefinition(mark_translatable("Series"), VIEWER, "the language pairs of a series in one table"),
            ManagerPageDefinition(
                mark_translatable("Print"),
                VIEWER,
                "ranking, data card and score distribution on one page",
                needs="judgments",
            ),
            ManagerPageDefinition(
                mark_translatable("Exports"),
                MANAGER,
                "the release bundle and all export formats",
                page_values.export_page_values,
            ),
            ManagerPageDefinition(
                mark_translatable("Jobs"),
                VIEWER,
                "progress of long reports; managers can cancel them",
                page_values.empty_page_values,
            ),
        ),
    ),
    (
        mark_translatable("Settings"),
        (
            ManagerPageDefinition(
                mark_translatable("Settings"),
                MANAGER,
                "name, series, languages, notes and deadline",
                page_values.settings_page_values,
            ),
            ManagerPageDefinition(
                mark_translatable("Wording"),
                MANAGER,
                "replace phrases on the raters' pages with your own",
                page_values.wording_page_values,
            ),
            ManagerPageDefinition(
                mark_translatable("Webhooks"),
                MANAGER,
                "signed messages to your own systems when something happens",
                page_values.webhooks_page_values,
            ),
            ManagerPageDefinition(
                mark_translatable("Clone"),
                MANAGER,
                "copy this campaign or its judgments",
                page_values.empty_page_values,
            ),
            ManagerPageDefinition(
                mark_translatable("Audit"), MANAGER, "who changed what in the campaign", page_values.audit_page_values
            ),
        ),
    ),
)
PAGES: Mapping[str, ManagerPageDefinition] = {page.name: page for _, pages in GROUPS for page in pages}
"""The pages of a campaign by name."""

CAMPAIGNS = ManagerPageDefinition(
    mark_translatable("Campaigns"),
    VIEWER | COORDINATOR,
    "search all campaigns; see the state, protocol, languages and progress of each",
    of_campaign=False,
)
NEW_CAMPAIGN = ManagerPageDefinition(
    mark_translatable("New campaign"),
    MANAGER,
    "create a campaign with its key, protocol and languages",
    file="new",
    of_campaign=False,
)
ALL_AUDIT = ManagerPageDefinition(
    mark_translatable("Audit"), MANAGER, "who changed what in all campaigns", file="all_audit", of_campaign=False
)
TOKENS = ManagerPageDefinition(
    mark_translatable("Tokens"), MANAGER, "create, list and revoke tokens", of_campaign=False
)
WHY_NOT: Mapping[Need, str] = {
    "outputs": mark_translatable("after texts are imported"),
    "plan": mark_translatable("after a plan is frozen"),
    "tasks": mark_translatable("after tasks are planned"),
    "judgments": mark_translatable("after the first judgments"),
}
"""When a page will show something, by what it needs."""

ABOVE: tuple[ManagerPageDefinition, ...] = (CAMPAIGNS, NEW_CAMPAIGN, ALL_AUDIT, TOKENS)
"""The pages that belong to no campaign."""
