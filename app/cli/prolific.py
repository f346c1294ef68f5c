"""`plumbline prolific`: a study on Prolific for a campaign, and paying its participants by their verdicts."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console
from rich.table import Table

from app.client import remote as _remote
from app.client.prolific import COMPLETION_URL, ProlificClient, ProlificRefusal, StudyTexts
from app.client.remote import Remote, ServerRefusal
from app.client.settlement import CODE, CodeVerdicts, Decision, HandedIn, StudyLink, decide_submissions
from app.config import Settings
from app.domain.errors import Invalid, Place

Campaign = Annotated[str, typer.Argument(help="Key of the campaign.")]
DryRun = Annotated[bool, typer.Option(help="Only show what would be done.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Create studies on Prolific, and pay participants.", no_args_is_help=True)
    group.command("create")(create_study)
    group.command("settle")(settle)
    app.add_typer(group, name="prolific")


def create_study(
    campaign: Campaign,
    name: Annotated[str, typer.Option(help="What participants see as the title.")],
    description: Annotated[str, typer.Option(help="What participants read before they take part.")],
    places: Annotated[int, typer.Option(min=1, help="Number of participants.")],
    minutes: Annotated[int, typer.Option(min=1, help="Expected duration in minutes.")],
    reward: Annotated[int, typer.Option(min=1, help="Reward per participant, in cents or pence.")],
    dry_run: DryRun = False,
    server: _remote.Server = None,
) -> None:
    """Create an invitation, and a draft of a study on Prolific that leads to it. Check the draft before you publish it.

    The campaign needs `settings.quality.code_pass` and `code_fail` without {code}: Prolific knows only fixed codes.
    """
    remote = _find_server(server)
    verdicts = CodeVerdicts.of(_settings(remote, campaign))
    fixed = (verdicts.passed, verdicts.failed)
    if None in fixed or any(CODE in str(code) for code in fixed):
        why = "Prolific knows fixed codes only; set code_pass and code_fail, both without {code}"
        raise Invalid("the campaign's completion codes do not fit", places=(Place(("settings", "quality"), why),))
    texts = StudyTexts(name, description, minutes, reward, places)
    codes = {"COMPLETED": str(verdicts.passed), "FAILED_ATTENTION_CHECK": str(verdicts.failed)}
    if dry_run:
        typer.echo(f"It would be a study of {places} places, {minutes} minutes, {reward} each. Nothing was made.")
        return
    with _prolific() as prolific:
        body = {"count": places, "platform": "prolific", "completion_url": COMPLETION_URL}
        invitation = json.loads(remote.write("POST", f"{_path(campaign)}/invitations", {}, body))
        try:
            study = prolific.create_study(texts, invitation["link"], codes)
        except ProlificRefusal:
            remote.request("DELETE", f"{_path(campaign)}/invitations/{invitation['invitation']}")
            raise
    typer.echo(f"{study}\nThe study is a draft. Look at it on Prolific, and publish it there.")


def settle(
    campaign: Campaign,
    study: Annotated[str, typer.Argument(help="Id of the study, as create printed it.")],
    tasks: Annotated[int, typer.Option(min=1, help="How many tasks a participant has to hand in to be paid.")] = 1,
    dry_run: DryRun = False,
    yes: Yes = False,
    server: _remote.Server = None,
) -> None:
    """Approve submissions whose codes pass, ask to return those whose codes fail, and list those left to a person.

    Only work handed in through the study's own invitation counts. Copies and studies of other campaigns are refused.
    It asks for confirmation first. Running it again pays nobody twice, and decisions made on Prolific are not changed.
    """
    remote = _find_server(server)
    verdicts = CodeVerdicts.of(_settings(remote, campaign))
    with _prolific() as prolific:
        invitation = _find_invitation(remote, campaign, study, prolific.study_link(study))
        handed_in = _read_handed_in(remote, campaign, invitation)
        decisions = decide_submissions(prolific.submissions(study), handed_in, verdicts, tasks=tasks)
        _print_decisions(decisions)
        to_do = [decision for decision in decisions if decision.action != "leave"]
        if dry_run or not to_do:
            typer.echo("Nothing was changed.")
            return
        if not (yes or typer.confirm(_question(to_do))):
            typer.echo("Nothing was changed.")
            raise typer.Exit(1)
        _carry_out(prolific, to_do)


def _find_invitation(remote: Remote, campaign: str, study: str, link: StudyLink) -> str:
    """The campaign's invitation that is this study's alone. Raises Invalid where there is none."""
    if link.invitation is None:
        raise _not_of_the_campaign(
            "its link on Prolific leads to no invitation; `plumbline prolific create` makes both"
        )
    if link.study is None:
        why = f"its link on Prolific does not name the study; if no other study has this link, add &study={study} to it"
        raise _not_of_the_campaign(why)
    if link.study != study:
        why = f"its link on Prolific is that of the study {link.study}, so work for that one would be paid twice"
        raise _not_of_the_campaign(why)
    try:
        remote.body(f"{_path(campaign)}/invitations/{link.invitation}")
    except ServerRefusal as error:
        if error.status != 404:
            raise
        raise _not_of_the_campaign(
            "its link on Prolific leads to an invitation that the campaign does not have"
        ) from error
    return link.invitation


def _not_of_the_campaign(why: str) -> Invalid:
    return Invalid("the study does not belong to the campaign", places=(Place(("STUDY",), why),))


def _read_handed_in(remote: Remote, campaign: str, invitation: str) -> HandedIn:
    codes: dict[str, list[str]] = defaultdict(list)
    elsewhere = set()
    for completion in remote.items(f"{_path(campaign)}/completions"):
        participant = str(completion["external_id"] or "")
        if participant and completion["invitation"] == invitation:
            codes[participant].append(str(completion["code"]))
        elif participant:
            elsewhere.add(participant)
    return HandedIn(codes, elsewhere)


def _carry_out(prolific: ProlificClient, decisions: list[Decision]) -> None:
    for decision in decisions:
        act = prolific.approve if decision.action == "approve" else prolific.ask_to_return
        done = act(decision.submission.id)
        what = "paid" if decision.action == "approve" else "asked to return it"
        typer.echo(f"{decision.submission.id}: {what if done else 'decided meanwhile, left as it is'}")


def _question(decisions: list[Decision]) -> str:
    n_paid = sum(decision.action == "approve" for decision in decisions)
    return f"Pay {n_paid}, and ask {len(decisions) - n_paid} to return their submission?"


def _print_decisions(decisions: list[Decision]) -> None:
    table = Table("submission", "participant", "to do", "because", box=None)
    for decision in decisions:
        table.add_row(decision.submission.id, decision.submission.participant, decision.action, decision.reason)
    Console(width=160).print(table)


def _prolific() -> ProlificClient:
    settings = Settings.load()
    if settings.prolific_token is None:
        why = "is needed: the API token of a researcher, best as the file /run/secrets/plumbline_prolific_token"
        raise Invalid("the settings are not valid", places=(Place(("PLUMBLINE_PROLIFIC_TOKEN",), why),))
    return ProlificClient(settings.prolific_url, settings.prolific_token.get_secret_value())


def _find_server(server: str | None) -> Remote:
    remote = _remote.find_configured_remote(server)
    if remote is None:
        why = "is needed: participants come to a running server"
        raise Invalid("the options are not valid", places=(Place(("--server",), why),))
    return remote


def _settings(remote: Remote, campaign: str) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads(remote.body(_path(campaign), accept="application/json"))["settings"]
    return settings


def _path(campaign: str) -> str:
    return f"/v1/campaigns/{quote(campaign, safe='')}"
