"""Imports, all or nothing: announce one, send its files, commit it; or do all three in one request."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from app.api.models.imports import (
    ANNOUNCED,
    FILE,
    REPORT,
    ROW,
    FileOut,
    ImportIn,
    ImportListRowOut,
    ImportOut,
    ImportReport,
)
from app.domain.errors import Invalid, Place
from app.domain.keys import KEY_PATTERN, reject_dot_segment
from app.formats.base import InputFile
from app.services.access.idempotency import IdempotentResponse
from app.services.access.tokens import Caller
from app.services.campaigns import campaigns
from app.services.data import imports
from app.storage.db import Database, Session
from app.web.access import Manager
from app.web.deps import CampaignKey, DatabaseDep, SessionDep
from app.web.examples import example_response
from app.web.idempotency import IdempotentCreation, IdempotentCreationDep, created_response
from app.web.pagination import Cursor, Limit, Page, make_page
from app.web.request_bodies import JsonBodyReader, JsonOrFileBodyReader, UploadDep, UploadedFile

router = APIRouter(prefix="/v1/campaigns/{campaign}/imports", tags=["imports"])

ImportId = Annotated[
    str, Path(alias="import", pattern="^i_[0-9a-f]{32}$", examples=["i_0f3a9c51d27e4b6f8a1c2d3e4f506172"])
]
FileName = Annotated[
    str,
    Path(pattern=KEY_PATTERN, description="Name of the file.", examples=["ratings.tsv.gz"]),
    AfterValidator(reject_dot_segment),
]
DryRun = Annotated[bool, Query(description="Read and check everything, store nothing.")]
SkipBadLines = Annotated[bool, Query(description="Skip lines that cannot be read, and list them.")]
ANNOUNCE = JsonBodyReader(
    ImportIn,
    {
        "mqm": {"value": {"format": "mqm-tsv"}},
        "standardised": {"value": {"format": "wmt-da", "options": {"scale": "z"}}},
    },
)


class SingleRequestImportQuery(BaseModel):
    """The query of an import in one request."""

    model_config = ConfigDict(extra="forbid")

    format: Annotated[str, StringConstraints(pattern="^[a-z0-9-]{1,64}$")] | None = Field(
        None, description="The body is one file of this format.", examples=["mqm-tsv"]
    )
    option: list[Annotated[str, StringConstraints(max_length=2000)]] = Field(
        [], max_length=50, description="Options of the format, each `key=value`.", examples=[["scale=z"]]
    )
    name: Annotated[str, StringConstraints(pattern=KEY_PATTERN)] = Field(
        "upload", description="Name of the file, for messages.", examples=["ratings.tsv"]
    )
    dry_run: bool = Field(default=False, description="Read and check everything, store nothing.")
    skip_bad_lines: bool = Field(default=False, description="Skip lines that cannot be read, and list them.")

    def parse_format_options(self) -> dict[str, str]:
        """Return the options by name. Raises Invalid for an option that is not `key=value`."""
        pairs = [text.partition("=") for text in self.option]
        if not all(found for _, found, _ in pairs):
            raise Invalid("the options are not valid", places=(Place(("query", "option"), "must be key=value"),))
        return {key: value for key, _, value in pairs}


@router.post(
    "",
    status_code=201,
    summary="Announce an import, or import one file",
    responses={
        **example_response(201, ANNOUNCED, "Announced; send its files, then commit it."),
        **example_response(200, REPORT, "With `format`: the file was read and stored."),
    },
)
def create_import(
    caller: Manager,
    campaign: CampaignKey,
    query: Annotated[SingleRequestImportQuery, Query()],
    body: Annotated[ImportIn | UploadedFile, Depends(JsonOrFileBodyReader(ANNOUNCE, "format"))],
    database: DatabaseDep,
    idempotent_creation: IdempotentCreationDep,
) -> Response:
    """Nothing is visible before the commit, which stores all or nothing. With `format=`, the body is the file."""
    if isinstance(body, UploadedFile):
        return _import_now(database, campaign, query, body, caller, idempotent_creation)
    with database.transaction() as session:
        announced = (body.format, body.options)
        return idempotent_creation(session, caller, lambda: _announce_import(session, campaign, *announced))


@router.get("/{import}", summary="Get an import", responses=example_response(200, ANNOUNCED))
def get_import(caller: Manager, campaign: CampaignKey, id: ImportId, session: SessionDep) -> ImportOut:  # noqa: A002, ARG001  (the contract's word; who may call)
    """Return its files so far and, once it is committed, its report."""
    return ImportOut.from_view(imports.get_import(session, campaign, id))


@router.get("", summary="List imports", responses=example_response(200, Page[ImportListRowOut](items=[ROW], next=None)))
def list_imports(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    session: SessionDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[ImportListRowOut]:
    """List imports in the order in which they were announced."""
    views = imports.list_imports(session, campaign, after=cursor, limit=limit + 1)
    return make_page([ImportListRowOut.model_validate(one) for one in views], limit, lambda one: one.public_id)


@router.get(
    "/{import}/files",
    summary="List the files of an import",
    responses=example_response(200, Page[FileOut](items=[FILE], next=None)),
)
def list_import_files(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    id: ImportId,  # noqa: A002  (the word of the contract)
    session: SessionDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[FileOut]:
    """List the files by name."""
    files = imports.list_import_files(session, campaign, id, after=cursor, limit=limit + 1)
    return make_page([FileOut.model_validate(one) for one in files], limit, lambda one: one.name)


@router.put(
    "/{import}/files/{name}", summary="Send a file of an import", responses=example_response(200, FILE, "Received.")
)
def put_import_file(
    caller: Manager,  # noqa: ARG001  (says who may call)
    campaign: CampaignKey,
    id: ImportId,  # noqa: A002  (the word of the contract)
    name: FileName,
    upload: UploadDep,
    session: SessionDep,
) -> FileOut:
    """The body is the bytes of the file. The same file again changes nothing; another one of that name is refused."""
    return FileOut.model_validate(imports.add_import_file(session, campaign, id, name, upload.pieces()))


@router.post(
    "/{import}/commit", summary="Commit an import", responses=example_response(200, REPORT, "Read and stored.")
)
def commit_import(
    caller: Manager,
    campaign: CampaignKey,
    id: ImportId,  # noqa: A002  (the word of the contract)
    database: DatabaseDep,
    dry_run: DryRun = False,
    skip_bad_lines: SkipBadLines = False,
) -> ImportReport:
    """Read all files and store their content. A second commit returns the report of the first."""
    report = imports.commit_import(
        database,
        campaign,
        id,
        dry_run=dry_run,
        skip_bad_lines=skip_bad_lines,
        actor=caller.actor,
        bound=caller.campaign is not None,
    )
    return ImportReport.model_validate(report)


def _import_now(
    database: Database,
    campaign: str,
    query: SingleRequestImportQuery,
    upload: UploadedFile,
    caller: Caller,
    idempotent_creation: IdempotentCreation,
) -> Response:
    """Read and store in one transaction with the Idempotency-Key, so that an import that fails leaves nothing."""
    options = query.parse_format_options()
    with database.transaction() as session:
        campaigns.get_campaign(session, campaign)

        def make() -> IdempotentResponse:
            report = imports.run_import_in_transaction(
                session,
                campaign,
                format=query.format or "",
                files=[InputFile(query.name, upload.open)],
                options=options,
                dry_run=query.dry_run,
                skip_bad_lines=query.skip_bad_lines,
                actor=caller.actor,
                bound=caller.campaign is not None,
                isolate_large_files=True,
            )
            return IdempotentResponse(200, ImportReport.model_validate(report).model_dump_json().encode())

        if query.dry_run:
            return Response(make().body, media_type="application/json")
        return idempotent_creation(session, caller, make)


def _announce_import(session: Session, campaign: str, format: str, options: dict[str, str]) -> IdempotentResponse:
    announced = ImportOut.from_view(imports.create_import(session, campaign, format=format, options=options))
    return created_response(announced, location=f"/v1/campaigns/{campaign}/imports/{announced.id}")
