"""Moving a running Pearmut here: its campaigns, users, codes and notes, and all work, counted on both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.domain.errors import Invalid, NotFound
from app.domain.errors import Place as At
from app.domain.strict_json import parse_strict_json
from app.services.access.tokens import Caller
from app.services.pearmut import pages
from app.services.pearmut.answer_recording import (
    SentAnnotation,
    StoredAnnotation,
    check_and_store_annotation,
    store_judgments_and_hand_in,
)
from app.services.pearmut.campaign_file import CampaignFileUser, parse_campaign_file
from app.services.pearmut.dashboard import RESET
from app.services.pearmut.loaded_campaign import PearmutCampaign, PearmutCampaignCache
from app.services.pearmut.loading import AddedCampaign, add_pearmut_campaign
from app.services.pearmut.users import PearmutUser
from app.storage import pearmut
from app.storage.db import Session

FOLDERS = ("campaigns", "annotations", "progress")


class NoPearmutFolder(NotFound):
    """There is no Pearmut in this folder: it has no data/campaigns and data/progress."""


@dataclass(frozen=True, slots=True)
class RunningCampaignFiles:
    """A campaign as a running Pearmut stores it. log: entries with their line numbers."""

    campaign: Mapping[str, Any]
    progress: Mapping[str, Mapping[str, Any]]
    log: Sequence[tuple[int, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class ImportedUserProgress:
    """The documents that a user has done, according to Pearmut and to this store, and where the user continues."""

    user: str
    done_before: int
    done_now: int
    documents: int
    goes_on_at: int | str | None


@dataclass(frozen=True, slots=True)
class RunningCampaignImportResult:
    """What was moved. lines: log lines that count. reset: lines before a reset. again: lines sent twice."""

    added: AddedCampaign
    users: tuple[ImportedUserProgress, ...]
    lines: int
    reset: int
    again: int


def read_running_campaigns(folder: Path, campaign_id: str | None = None) -> list[RunningCampaignFiles]:
    """Read the campaigns from the folder in which Pearmut ran, or from its `data`. Raises NoPearmutFolder, Invalid."""
    data = folder / "data" if (folder / "data").is_dir() else folder
    if not (data / "campaigns").is_dir() or not (data / "progress").is_dir():
        raise NoPearmutFolder(str(folder))
    running = []
    for file in sorted((data / "campaigns").glob("*.json")):
        progress = data / "progress" / file.name
        if not progress.exists() or campaign_id not in (None, file.stem):
            continue
        log = data / "annotations" / f"{file.stem}.jsonl"
        running.append(RunningCampaignFiles(_object(file), _object(progress), _lines(log) if log.exists() else ()))
    if not running:
        raise NoPearmutFolder(f"{folder}: there is no campaign {campaign_id}" if campaign_id else str(folder))
    return running


def import_running_campaign(
    session: Session, running: RunningCampaignFiles, *, by: Caller, actor: str, old_ids: bool
) -> RunningCampaignImportResult:
    """Load a running campaign with all its work. old_ids: whether its links and its dashboard's link keep working.

    Raises Invalid naming file and line, PearmutCampaignExists.
    """
    data = running.campaign.get("data")
    names = [name for name in data if name in running.progress] if isinstance(data, dict) else list(running.progress)
    read = parse_campaign_file({**running.campaign, "info": _info(running.campaign, names)})
    users = tuple(
        CampaignFileUser(
            name, running.progress[name].get("token_correct"), running.progress[name].get("token_incorrect")
        )
        for name in names
    )
    file = replace(read, users=users)
    added = add_pearmut_campaign(session, file, by=by, actor=actor, old_ids=old_ids, shuffled=True)
    loaded = PearmutCampaignCache().load(session, added.name)
    known = {
        row.user_id: PearmutUser.from_row(loaded, row, actor, row.token_id or 0)
        for row in pearmut.load_pearmut_users(session, loaded.campaign_id)
    }
    for name in names:
        said = running.progress[name]
        if said.get("note"):
            pearmut.update_user_note(session, known[name].rater.rater_id, str(said["note"]))
    counted = _lines_after_reset(running.log)
    again = _replay(session, loaded, known, counted, actor=actor)
    reset = sum(entry.get("annotation") != RESET for _, entry in running.log) - len(counted)
    moved = tuple(_move_progress(session, known[name], running.progress[name]) for name in names)
    return RunningCampaignImportResult(added, moved, len(counted) - again, reset, again)


def _replay(
    session: Session,
    loaded: PearmutCampaign,
    known: Mapping[str, PearmutUser],
    log: Sequence[tuple[int, Mapping[str, Any]]],
    *,
    actor: str,
) -> int:
    """Record the log in its order, and return how many lines repeated an earlier one.

    A second answer of a user to a document is a revision, so its judgments are stored in a later round.
    """
    rounds: dict[int, list[StoredAnnotation]] = {}
    times = Counter[tuple[object, object]]()
    again = 0
    for number, entry in log:
        answer = _prepare_answer(session, loaded, known, number, entry)
        if answer is None:
            again += 1
            continue
        at = entry.get("user_id"), entry.get("item_i")
        times[at] += 1
        rounds.setdefault(times[at], []).append(answer)
    for _, prepared in sorted(rounds.items()):
        store_judgments_and_hand_in(session, loaded, prepared, actor=actor)
    return again


def _prepare_answer(
    session: Session, loaded: PearmutCampaign, known: Mapping[str, PearmutUser], number: int, entry: Mapping[str, Any]
) -> StoredAnnotation | None:
    place, annotation, actions = entry.get("item_i"), entry.get("annotation"), entry.get("actions") or []
    user = known.get(str(entry.get("user_id")))
    line = f"{loaded.name}.jsonl"
    if user is None or not isinstance(place, int | str) or not isinstance(annotation, list):
        raise Invalid(
            "a line of the log is none of Pearmut's", places=(At((line, number), "lacks user, item or answers"),)
        )
    timed = [one for one in actions if isinstance(one, dict) and isinstance(one.get("time"), int | float)]
    comment = entry.get("comment")
    sent = SentAnnotation(place, annotation, timed, comment if isinstance(comment, str) else None)
    try:
        return check_and_store_annotation(session, user, sent, real_names=True)
    except Invalid as error:
        detail = "; ".join(place.msg for place in error.places) or error.detail
        raise Invalid("a line of the log cannot be taken over", places=(At((line, number), detail),)) from None


def _move_progress(session: Session, user: PearmutUser, said: Mapping[str, Any]) -> ImportedUserProgress:
    progress = pages.load_user_progress(session, user)
    before = sum(state == pages.DONE for state in said.get("progress", ()))
    place = pages.find_next_place_without_lease(user, progress)
    if place is None:
        place = next((n for n, state in enumerate(progress.documents) if state is None), None)
    now = progress.documents.count(pages.DONE)
    return ImportedUserProgress(user.name, before, now, len(progress.documents), place)


def _lines_after_reset(log: Sequence[tuple[int, Mapping[str, Any]]]) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the lines after the last reset of their user."""
    resets = {entry.get("user_id"): n for n, entry in log if entry.get("annotation") == RESET}
    return [(n, entry) for n, entry in log if n > resets.get(entry.get("user_id"), 0)]


def _info(campaign: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the campaign's settings with its current users."""
    return {**campaign.get("info", {}), "users": list(names)}


def _object(file: Path) -> dict[str, Any]:
    try:
        value = parse_strict_json(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise Invalid("a file of Pearmut cannot be read", places=(At((file.name,), str(error)[:200]),)) from None
    if not isinstance(value, dict):
        raise Invalid("a file of Pearmut cannot be read", places=(At((file.name,), "must be an object"),))
    return value


def _lines(file: Path) -> list[tuple[int, Mapping[str, Any]]]:
    lines: list[tuple[int, Mapping[str, Any]]] = []
    with file.open(encoding="utf-8") as log:
        for number, line in enumerate(log, 1):
            try:
                entry = parse_strict_json(line)
            except ValueError:
                entry = None
            if not isinstance(entry, dict):
                raise Invalid("a log of Pearmut cannot be read", places=(At((file.name, number), "must be an object"),))
            lines.append((number, entry))
    return lines
