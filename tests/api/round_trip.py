"""A campaign out in every format that there is and in again: which rows came back, and what the export counted.

A row that is otherwise, or missing, has to be explained by what the export counted (`round_trip_losses`).

Rankings of what came back as it was have to be equal, whatever else was counted: so a changed ranking of all is only
ever the work of rows that the export told of. Exclusions are made again, as it says.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sqlalchemy as sa

from app import formats, protocols
from app.domain.errors import Invalid
from app.domain.recipe import NAMED, apply_query_options_to_recipe
from app.formats.base import InputFile
from app.formats.esa.writer import PROTOCOLS
from app.reports.inputs import snapshot
from app.reports.ranking.input import load_ranking_input
from app.services.campaigns import exclusions
from app.services.data import exports, imports
from app.stats.ratings import RatingRole, Ratings
from app.storage.db import Database
from tests.api.round_trip_losses import Judged, Key, Told, compare

READ_AGAIN = sorted(
    name for name in exports.list_writable_formats() if name in formats.ALL and formats.get_format(name).read
)
ASKED = {"mtme": "human={protocol}-*"}
"""Options without which a format does not read what it wrote: scores are read where they are asked for.

One that needs some and is not here brings no rows back, and fails.
"""
APART = {"appraise"}
"""Formats whose files are imported one after the other; one that needs it and is not here is refused, and fails."""
EMPTY = re.compile("no judgments|hold nothing|no tasks|holds nothing")
EXCLUSIONS = "exclusions that stand: make them again"
PLAIN = {"normalize": ["none"], "test": ["none"], "clusters": ["none"]}


@dataclass
class Trip:
    """What became of a campaign in one format: what the export counted, and what is missing, new or otherwise.

    before: rows, one for each system of a judgment. told: which losses explain what became of them, and what none does.
    """

    campaign: str
    format: str
    lost: Counter[str]
    before: int
    told: Told
    ranked_otherwise: str = ""
    excluded_otherwise: str = ""

    @property
    def faults(self) -> list[str]:
        """What nobody was told of."""
        found = list(self.told.faults)
        found += [f"what came back ranks otherwise: {self.ranked_otherwise}"] * bool(self.ranked_otherwise)
        found += [f"exclusions: {self.excluded_otherwise}"] * bool(self.excluded_otherwise)
        return [f"{self.campaign} as {self.format}: {what}" for what in found]


def written(database: Database, campaign: str, format: str) -> tuple[dict[str, bytes], Counter[str]]:
    """The files of a campaign, and what the format could not carry."""
    lost = Counter[str]()
    if exports.get_export_file_type(format).files:
        return {
            path: b"".join(part) for path, part in exports.export_campaign_files(database, campaign, format, lost=lost)
        }, lost
    return {"file": b"".join(exports.export_campaign(database, campaign, format, lost=lost))}, lost


def stands(database: Database, campaign: str) -> list[list[Judged]]:
    """What stands of every judgment, once for each system: its key, and what else is said as JSON.

    Read from the tables, not from what exports make of them.
    """
    with database.transaction() as session:
        found = session.execute(sa.text(STANDING), {"campaign": campaign}).all()
    return [list(_by_system(one)) for one in found]


STANDING = """
SELECT i.role, i.accepted, d.key AS document, g.position, r.key AS rater, j.payload,
       coalesce(i.reference, i.meta ->> 'reference') AS reference,
       (SELECT array_agg(s.key ORDER BY s.key) FROM credits c JOIN systems s ON s.id = c.system_id
        WHERE c.item_id = i.id) AS systems
FROM campaigns k JOIN judgments j ON j.campaign_id = k.id JOIN items i ON i.id = j.item_id
JOIN documents d ON d.id = i.document_id JOIN raters r ON r.id = j.rater_id LEFT JOIN segments g ON g.id = j.segment_id
WHERE k.key = :campaign AND NOT j.surplus AND i.surplus_from IS NULL
  AND NOT EXISTS (SELECT FROM voids v WHERE v.judgment_id = j.id)
  AND NOT EXISTS (SELECT FROM judgments y WHERE y.item_id = j.item_id AND y.rater_id = j.rater_id
      AND y.segment_id IS NOT DISTINCT FROM j.segment_id AND y.revision > j.revision AND NOT y.surplus
      AND NOT EXISTS (SELECT FROM voids w WHERE w.judgment_id = y.id))"""


def _by_system(row: Any) -> Iterator[Judged]:
    payload = protocols.get_protocol(row.payload["protocol"]).payload.model_validate(row.payload)
    plain = payload.model_dump(mode="json", exclude_defaults=True)  # what is not said is said so in several ways
    protocol = row.payload["protocol"]
    said = {"role": RatingRole(row.role).name.lower(), "accepted": row.accepted, **plain, "protocol": protocol}
    for system in row.systems or [row.reference]:
        yield (system, row.document, row.position, row.rater), json.dumps(said, sort_keys=True)


def ranked(database: Database, campaign: str, came: Collection[Key]) -> list[tuple[str, float, int]] | str:
    """Systems with their means and numbers of ratings, in order, by the ratings at these places alone.

    Why not, where the recipe does not fit.
    """
    try:
        with database.transaction() as session:
            about = snapshot.load_snapshot(session, campaign, None)
            found = load_ranking_input(session, about, apply_query_options_to_recipe(NAMED["recommended"], PLAIN))
        rows = found.rows.where(np.array([key in came for key in _places(found.rows)], dtype=bool)).in_canonical_order()
        body = replace(found, rows=rows, errors_without_weight=None).compute_ranking_json()
    except Invalid as why:
        return why.detail or why.title()
    return [(one["system"], one["raw"], one["n_ratings"]) for one in json.loads(body)["systems"]]


def _places(rows: Ratings) -> Iterator[Key]:
    names = rows.labels
    for system, document, segment, rater in zip(rows.system, rows.document, rows.segment, rows.rater, strict=True):
        position = int(names.segment_position[segment]) if segment >= 0 else None
        yield names.systems[system], names.documents[document], position, names.raters[rater]


def exclude_again(database: Database, campaign: str, again: str, told: int) -> str:
    """Make the exclusions that stand once more, as the export says; what is wrong with how many it counted."""
    with database.transaction() as session:
        there = exclusions.list_exclusions(session, campaign, after=0, limit=100)
        standing = [one for one in there if one.lifted_version is None]
        for one in standing if again != campaign else ():
            with suppress(
                exclusions.ExclusionTargetNotFound, exclusions.AlreadyExcluded
            ):  # not all that there was came back
                exclusions.create_exclusion(session, again, one.exclusion, reason=one.reason, actor="test")
    return "" if len(standing) == told else f"{len(standing)} stand, {told} are counted"


def trip(database: Database, campaign: str, format: str, again: str, about: Mapping[str, Any]) -> Trip:
    """Write a campaign, read that into a draft that is set up alike, and compare."""
    files, lost = written(database, campaign, format)
    judgments = stands(database, campaign)
    before = Counter(row for one in judgments for row in one)
    again = campaign if _of_tasks(format) else again
    read = stands(database, again) if _read(database, again, format, files, about) else []
    came = Counter(row for one in read for row in one)
    found = Trip(campaign, format, lost, before.total(), compare(judgments, came, lost))
    found.excluded_otherwise = exclude_again(database, campaign, again, lost[EXCLUSIONS])
    otherwise = {key for key, _ in ((before - came) + (came - before)).elements()}
    if alike := {key for key, _ in before & came} - otherwise:
        was, now = (ranked(database, one, alike) for one in (campaign, again))
        found.ranked_otherwise = "" if was == now else f"{was} became {now}"
    return found


def _of_tasks(format: str) -> bool:
    """Whether what is written is read by the campaign itself only, whose tasks it names."""
    return formats.get_format(format).write_book is not None


def _read(database: Database, again: str, format: str, files: Mapping[str, bytes], about: Mapping[str, Any]) -> bool:
    """Import; False where the files hold no judgments, so that the reader refuses them."""
    options = dict([ASKED[format].format(**about).split("=")]) if format in ASKED else {}
    if "protocol" in formats.get_format(format).options and about["protocol"] in PROTOCOLS:
        options["protocol"] = about["protocol"]
    how: dict[str, Any] = {"options": options, "dry_run": False, "skip_bad_lines": False, "actor": "test"}
    some = False
    for inputs in _at_once(format, files):
        try:
            imports.import_local_files(database, again, format=format, files=inputs, **how)
            some = True
        except Invalid as refused:
            said = f"{refused.title()} {refused.detail} {''.join(place.msg for place in refused.places)}"
            by = formats.get_format(format).judged_by
            if not EMPTY.search(said) and (not by or about["protocol"] in by):
                raise AssertionError(f"{again} from {format}: {said}") from refused
    return some


def _at_once(format: str, files: Mapping[str, bytes]) -> Iterator[list[InputFile]]:
    """The files that go together; texts and judgments one after the other where the reader says so."""
    inputs = [InputFile(name, lambda body=body: io.BytesIO(body)) for name, body in files.items()]
    yield from [[one] for one in inputs] if format in APART else [inputs]
