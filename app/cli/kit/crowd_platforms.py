"""What the commands for crowd platforms share: a study with its own invitation, and payment by verdicts."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console
from rich.table import Table

from app.client import remote_server as _remote
from app.client.crowd_platform import (
    CompletionCodeTemplates,
    CrowdPlatform,
    IssuedCompletionCodes,
    PlatformRefusal,
    PlatformWording,
    SubmissionDecision,
    decide_submissions,
)
from app.client.remote_server import RemoteServer, ServerRefusal
from app.domain.errors import Invalid, Place, Unavailable

Campaign = Annotated[str, typer.Argument(help="Key of the campaign.")]
Study = Annotated[str, typer.Argument(help="Id of the study, as create printed it.")]
Tasks = Annotated[int, typer.Option(min=1, help="How many tasks a participant has to hand in to be paid.")]
DryRun = Annotated[bool, typer.Option(help="Only show what would be done.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
NOTHING = "Nothing was changed."


class InvitationNotRevoked(Unavailable):
    """No study was created, and its invitation could not be ended."""

    published = "InvitationLeft"


def require_server_option(server: str | None) -> RemoteServer:
    """Return the server that participants visit. Raises Invalid if none is named."""
    remote = _remote.find_configured_remote_server(server)
    if remote is None:
        why = "is needed: participants come to a running server"
        raise Invalid("the options are not valid", places=(Place(("--server",), why),))
    return remote


def fetch_completion_code_templates(remote: RemoteServer, campaign: str) -> CompletionCodeTemplates:
    """Fetch the templates of a campaign's completion codes."""
    settings: dict[str, Any] = json.loads(remote.fetch_body(_path(campaign), accept="application/json"))["settings"]
    return CompletionCodeTemplates.from_settings(settings)


def is_campaign_open(remote: RemoteServer, campaign: str) -> bool:
    """Return whether people who come to a campaign can work now."""
    return bool(json.loads(remote.fetch_body(_path(campaign), accept="application/json"))["state"] == "open")


def create_invitation_and_study(
    remote: RemoteServer,
    campaign: str,
    invitation_body: Mapping[str, object],
    create_study: Callable[[str, str], str],
) -> str:
    """Create an invitation and a study that leads to it; return the study's id. A refusal leaves no invitation.

    invitation_body: what to send. create_study: creates it from the invitation's link and id; it may ask first.

    Raises InvitationNotRevoked if no study was created and the invitation cannot be ended.
    """
    invitation = json.loads(remote.send_change("POST", f"{_path(campaign)}/invitations", {}, invitation_body))
    try:
        return create_study(invitation["link"], invitation["invitation"])
    except (PlatformRefusal, typer.Exit, typer.Abort):
        revoke_invitation(remote, campaign, invitation["invitation"])
        raise


def revoke_invitation(remote: RemoteServer, campaign: str, invitation: str) -> None:
    """End an invitation that no study leads to. Raises InvitationNotRevoked."""
    try:
        remote.send_request("DELETE", f"{_path(campaign)}/invitations/{invitation}")
    except (ServerRefusal, Unavailable) as error:
        why = f"{invitation}: {error.detail or error.title()}; end it on the page Raters, or run create again"
        raise InvitationNotRevoked(why) from error


def list_unclaimed_invitation_ids(remote: RemoteServer, campaign: str, platform: str) -> list[str]:
    """Return the ids of a platform's invitations that still work, but that nobody has used yet."""
    rows = remote.iterate_paginated_list(f"{_path(campaign)}/invitations")
    return [str(row["invitation"]) for row in rows if row["platform"] == platform and row["live"] and not row["taken"]]


def settle_study_submissions(
    platform: CrowdPlatform, remote: RemoteServer, campaign: str, study: str, *, tasks: int, dry_run: bool, yes: bool
) -> None:
    """Decide on the submissions of a study, print the decisions, and carry them out after confirmation.

    Raises Invalid if the study does not belong to the campaign, PlatformRefusal, ServerRefusal, Unavailable.
    """
    templates = fetch_completion_code_templates(remote, campaign)
    invitation = _find_invitation(platform, remote, campaign, study)
    handed_in = _read_handed_in(remote, campaign, invitation)
    decisions = decide_submissions(platform.list_submissions(study), handed_in, templates, tasks=tasks)
    _print_decisions(decisions, platform.words)
    to_do = [decision for decision in decisions if decision.action != "leave"]
    if dry_run or not to_do:
        typer.echo(NOTHING)
        return
    if not (yes or typer.confirm(_question(to_do, platform.words))):
        typer.echo(NOTHING)
        raise typer.Exit(1)
    _carry_out(platform, to_do)


def _find_invitation(platform: CrowdPlatform, remote: RemoteServer, campaign: str, study: str) -> str:
    """Return the campaign's invitation that belongs to this study alone. Raises Invalid if there is none."""
    link, words = platform.fetch_study_link_ids(study), platform.words
    where = f"its link on {words.name}"
    if link.invitation is None:
        raise _not_of_the_campaign(f"{where} leads to no invitation; `plumbline {words.command} create` makes both")
    if link.study is None:
        why = f"{where} does not name the study; if no other study has this link, add &study={study} to it"
        raise _not_of_the_campaign(why)
    if link.study != study:
        why = f"{where} is that of the study {link.study}, so work for that one would be paid twice"
        raise _not_of_the_campaign(why)
    try:
        remote.fetch_body(f"{_path(campaign)}/invitations/{link.invitation}")
    except ServerRefusal as error:
        if error.status != 404:
            raise
        raise _not_of_the_campaign(f"{where} leads to an invitation that the campaign does not have") from error
    return link.invitation


def _not_of_the_campaign(why: str) -> Invalid:
    return Invalid("the study does not belong to the campaign", places=(Place(("STUDY",), why),))


def _read_handed_in(remote: RemoteServer, campaign: str, invitation: str) -> IssuedCompletionCodes:
    codes: dict[str, list[str]] = defaultdict(list)
    checks: dict[str, int] = defaultdict(int)
    elsewhere = set()
    for completion in remote.iterate_paginated_list(f"{_path(campaign)}/completions"):
        participant = str(completion["external_id"] or "")
        if participant and completion["invitation"] == invitation:
            codes[participant].append(str(completion["code"]))
            checks[participant] += bool(completion.get("attention_check"))
        elif participant:
            elsewhere.add(participant)
    return IssuedCompletionCodes(codes, elsewhere, checks)


def _carry_out(platform: CrowdPlatform, decisions: list[SubmissionDecision]) -> None:
    for decision in decisions:
        approves = decision.action == "approve"
        done = (platform.approve_submission if approves else platform.refuse_payment)(decision.submission.id)
        what = "paid" if approves else platform.words.refused
        typer.echo(f"{decision.submission.id}: {what if done else 'decided meanwhile, left as it is'}")


def _question(decisions: list[SubmissionDecision], words: PlatformWording) -> str:
    n_paid = sum(decision.action == "approve" for decision in decisions)
    return words.question.format(paid=n_paid, refused=len(decisions) - n_paid)


def _print_decisions(decisions: list[SubmissionDecision], words: PlatformWording) -> None:
    table = Table("submission", "participant", "to do", "because", box=None)
    for decision in decisions:
        action = words.refuse if decision.action == "refuse" else decision.action
        table.add_row(decision.submission.id, decision.submission.participant, action, decision.reason)
    Console(width=160).print(table)


def _path(campaign: str) -> str:
    return f"/v1/campaigns/{quote(campaign, safe='')}"
