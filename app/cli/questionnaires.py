"""`plumbline questionnaires`: questions to raters before and after their work, and their answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from app.cli.kit import command_database
from app.cli.kit.output_formats import write_to_stdout
from app.domain.errors import Invalid, Place
from app.domain.questionnaires import Questionnaires, make_language_biography_questions
from app.domain.validation_errors import list_first_validation_errors
from app.services.people import questionnaires as service

MOST = 10_000


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command("questionnaires")(print_or_replace_questionnaires)


def print_or_replace_questionnaires(
    campaign: Annotated[str | None, typer.Argument(help="Key of the campaign.")] = None,
    file: Annotated[
        Path | None, typer.Argument(help='The new questions as JSON, {"before": […], "after": […]}.')
    ] = None,
    biography: Annotated[
        bool, typer.Option("--language-biography", help="Print questions about languages to start from.")
    ] = False,
    answers: Annotated[bool, typer.Option("--answers", help="Print the raters' answers, one line each.")] = False,
) -> None:
    """Print or replace the questions for raters before and after their work, or print the answers."""
    if biography:
        _print(Questionnaires(before=make_language_biography_questions()))
        return
    if campaign is None:
        where = Place(("CAMPAIGN",), "is missing; or give --language-biography")
        raise Invalid("the options are not valid", places=(where,))
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        if answers:
            rows = service.list_questionnaire_answers(session, campaign, after=None, limit=MOST)
            lines = ({"rater": row.rater, "before": row.before, "after": row.after} for row in rows)
            write_to_stdout([json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines])
            return
        if file is not None:
            service.put_questionnaires(
                session, campaign, _read(file), has_seen_version=lambda _: True, actor=command_database.get_actor_name()
            )
        asked = service.get_campaign_and_questionnaires(session, campaign)[1]
    _print(asked)


def _read(file: Path) -> Questionnaires:
    try:
        given: Any = json.loads(file.read_bytes())
        return Questionnaires.model_validate(given)
    except ValidationError as error:
        places = tuple(
            Place((str(file), *fault["loc"]), fault["msg"]) for fault in list_first_validation_errors(error, 20)
        )
    except (OSError, ValueError) as error:
        places = (Place((str(file),), str(error)[:200]),)
    raise Invalid("the questionnaires are not valid", places=places)


def _print(asked: Questionnaires) -> None:
    shown = asked.model_dump(mode="json", exclude_defaults=True)
    write_to_stdout([json.dumps(shown, ensure_ascii=False, indent=2).encode() + b"\n"])
