"""`plumbline attention`: attention checks of a campaign, and the raters' results."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from app.cli.kit import command_database
from app.cli.kit.output_formats import write_to_stdout
from app.domain.attention_checks import KIND
from app.domain.errors import Invalid, Place
from app.domain.validation_errors import list_first_validation_errors
from app.services.data.test_sets import DocumentInput, SegmentInput, put_document
from app.services.tasks.attention_checks import list_attention_check_results

MOST = 10_000


class AttentionCheckSegment(BaseModel):
    model_config = ConfigDict(extra="forbid")

    source: str | None = None
    meta: dict[str, JsonValue] = Field(default_factory=dict)


class AttentionCheckFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    segments: list[AttentionCheckSegment]


def register_commands(app: typer.Typer) -> None:
    """Add the command."""
    app.command(KIND)(store_attention_check_or_print_results)


def store_attention_check_or_print_results(
    campaign: Annotated[str, typer.Argument(help="Key of the campaign.")],
    document: Annotated[str | None, typer.Argument(help="Key of the check to store.")] = None,
    file: Annotated[
        Path | None, typer.Argument(help='The check as JSON: {"segments": [{"source": …, "meta": {"attention": …}}]}.')
    ] = None,
) -> None:
    """Store an attention check that raters meet among their tasks, or print the results, one line each."""
    with command_database.upgrade_and_open_database() as database, database.transaction() as session:
        if document is not None:
            given = _read(file)
            segments = tuple(SegmentInput(source=one.source, meta=one.meta) for one in given.segments)
            put_document(
                session, campaign, document, DocumentInput(segments, kind=KIND), actor=command_database.get_actor_name()
            )
            return
        rows = list_attention_check_results(session, campaign, after=None, limit=MOST)
    write_to_stdout([json.dumps(asdict(row), ensure_ascii=False, default=str).encode() + b"\n" for row in rows])


def _read(file: Path | None) -> AttentionCheckFile:
    if file is None:
        raise Invalid("the options are not valid", places=(Place(("FILE",), "is missing"),))
    try:
        given: Any = json.loads(file.read_bytes())
        return AttentionCheckFile.model_validate(given)
    except ValidationError as error:
        places = tuple(
            Place((str(file), *fault["loc"]), fault["msg"]) for fault in list_first_validation_errors(error, 20)
        )
    except (OSError, ValueError) as error:
        places = (Place((str(file),), str(error)[:200]),)
    raise Invalid("the attention check is not valid", places=places)
