"""The setup of a campaign from texts to publication: the steps, what each still needs, and the page for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from app.reports.inputs.campaign import CampaignInfo, find_campaign_protocol
from app.services.campaigns.setup import CampaignSetupFacts
from app.ui.messages import PageMessages, mark_translatable

StepState = Literal["done", "next", "later", "optional", "skipped"]
DRAFT = ("draft", "planned")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupStep:
    """A step of the setup.

    name: in the page's language. state: `next` is the first step that must be done; `skipped` is a step that imported
    judgments make unnecessary. status_text: what exists or is missing, in the page's language. page: the end of the
    address of the page for this step. action: the label of the link to it. post: if given, the step is a request to the
    interface instead, at this path below the campaign's address.
    """

    name: str
    state: StepState
    status_text: str
    page: str
    action: str
    post: str | None = None


@dataclass(frozen=True, slots=True)
class _Draft:
    """A step before its state is known. done: None if it is optional. of_collecting: imported judgments replace it."""

    name: str
    done: bool | None
    status_text: str
    page: str
    action: str
    post: str | None = None
    of_collecting: bool = False


def list_setup_steps(facts: CampaignSetupFacts, campaign: CampaignInfo, messages: PageMessages) -> list[SetupStep]:
    """Return the steps in order, in the language of the messages."""
    imported = facts.judgments and not facts.plan
    steps: list[SetupStep] = []
    for draft in _drafts(
        facts, campaign.state, messages.translate_service_text(find_campaign_protocol(campaign).title), messages
    ):
        state = _state(draft, skipped=imported and draft.of_collecting, before=steps)
        said = (
            messages.translate(mark_translatable("not needed: the judgments are imported"))
            if state == "skipped"
            else draft.status_text
        )
        action = messages.translate(draft.action)
        steps.append(
            SetupStep(name=draft.name, state=state, status_text=said, page=draft.page, action=action, post=draft.post)
        )
    return steps


def _state(draft: _Draft, *, skipped: bool, before: list[SetupStep]) -> StepState:
    if skipped:
        return "skipped"
    if draft.done is None:
        return "optional"
    if draft.done:
        return "done"
    return "next" if find_next_step(before) is None else "later"


def find_next_step(steps: list[SetupStep]) -> SetupStep | None:
    """Return the step that comes next; None if all are done."""
    return next((step for step in steps if step.state == "next"), None)


def _drafts(facts: CampaignSetupFacts, state: str, protocol: str, messages: PageMessages) -> Iterator[_Draft]:
    say = messages.translate
    enough = facts.outputs and facts.systems > 1
    yield _Draft(
        say(mark_translatable("Texts")), enough, _texts(facts, messages), "/texts", mark_translatable("Add texts")
    )
    chosen = True  # with the campaign
    yield _Draft(say(mark_translatable("Protocol")), chosen, protocol, "/protocol", mark_translatable("Protocol"))
    guided = (
        say(mark_translatable("There are guidelines and a consent text."))
        if facts.consent
        else say(mark_translatable("There are guidelines."))
    )
    yield _Draft(
        say(mark_translatable("Guidelines and consent")),
        True if facts.guidelines else None,
        guided if facts.guidelines else say(mark_translatable("Raters see only the protocol's own instructions.")),
        "/guidelines",
        mark_translatable("Write guidelines"),
        of_collecting=True,
    )
    yield _Draft(
        say(mark_translatable("Raters")),
        facts.raters > 0,
        messages.translate_count(
            facts.raters, mark_translatable("{n} active rater"), mark_translatable("{n} active raters")
        )
        if facts.raters
        else say(mark_translatable("Nobody is enrolled yet.")),
        "/raters",
        mark_translatable("Enrol raters"),
        of_collecting=True,
    )
    yield _Draft(
        say(mark_translatable("Design and plan")),
        facts.plan,
        say(mark_translatable("The plan is frozen."))
        if facts.plan
        else say(mark_translatable("Nothing is assigned yet. Preview a plan; it costs nothing.")),
        "/design",
        mark_translatable("Make a plan"),
        of_collecting=True,
    )
    yield _Draft(
        say(mark_translatable("Rehearsal")),
        None,
        say(mark_translatable("See what raters will see, with your own texts.")),
        "/preview",
        mark_translatable("Preview as a rater"),
        of_collecting=True,
    )
    opened = state not in DRAFT
    yield _Draft(
        say(mark_translatable("Opening")),
        opened,
        say(mark_translatable("Raters can work.")) if opened else say(mark_translatable("Raters cannot work yet.")),
        "/overview",
        mark_translatable("Open the campaign"),
        post="open" if state == "planned" else None,
        of_collecting=True,
    )
    finished = state == "closed" or (opened and facts.tasks and not facts.work_left)
    yield _Draft(
        say(mark_translatable("Watching")),
        finished,
        _watching(facts, messages, finished=finished, opened=opened),
        "/quality" if facts.judgments else "/raters" if opened else "/overview",
        mark_translatable("Check quality")
        if facts.judgments
        else mark_translatable("Make links")
        if opened
        else mark_translatable("Watch progress"),
        of_collecting=True,
    )
    yield _Draft(
        say(mark_translatable("Analysis")),
        facts.lock,
        _analysis(facts, messages),
        "" if facts.judgments else "/lock",
        mark_translatable("See the ranking") if facts.judgments else mark_translatable("Register the analysis"),
    )
    yield _Draft(
        say(mark_translatable("Publication")),
        None,
        say(mark_translatable("A release bundle holds judgments, plan, recipes and figures.")),
        "/exports",
        mark_translatable("Export"),
    )


def _texts(facts: CampaignSetupFacts, messages: PageMessages) -> str:
    if not facts.outputs:
        return messages.translate(
            mark_translatable("There are no outputs yet. Upload source texts and the outputs of your systems.")
        )
    documents = messages.translate_count(
        facts.documents, mark_translatable("{n} document"), mark_translatable("{n} documents")
    )
    if facts.systems < 2:
        return messages.translate(
            mark_translatable("{documents}, one system. A ranking needs two systems."), documents=documents
        )
    systems = messages.format_whole_number(facts.systems)
    if facts.documents == 1 and not facts.judgments:
        return messages.translate(
            mark_translatable(
                "One document, {systems} systems. Tests compare documents: with one, nothing is significant."
            ),
            systems=systems,
        )
    return messages.translate(mark_translatable("{documents}, {systems} systems"), documents=documents, systems=systems)


def _watching(facts: CampaignSetupFacts, messages: PageMessages, *, finished: bool, opened: bool) -> str:
    if finished:
        return messages.translate(mark_translatable("All tasks are handed in."))
    if opened and not facts.judgments:
        return messages.translate(mark_translatable("There are no judgments yet. Give each rater a link."))
    return messages.translate(mark_translatable("Progress, pace and quality of raters."))


def _analysis(facts: CampaignSetupFacts, messages: PageMessages) -> str:
    if facts.lock:
        return messages.translate(mark_translatable("The analysis is registered."))
    if facts.judgments:
        return messages.translate(mark_translatable("The analysis is not registered."))
    return messages.translate(
        mark_translatable("There are no judgments yet. You can register the analysis before you see any.")
    )
