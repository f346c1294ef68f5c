"""A campaign out in every format that there is and in again: which rows came back, and what the export counted."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app import formats
from app.domain.errors import Invalid
from app.domain.recipe import NAMED, from_options
from app.formats._base import Input
from app.formats._esa_write import PROTOCOLS
from app.services import exports, imports, reports
from app.storage.db import Database

Row = dict[str, Any]
Key = tuple[str, str, int | None, str]
READ_AGAIN = sorted(name for name in exports.writable() if name in formats.ALL and formats.get(name).read)
ASKED = {"mtme": "human={protocol}-*"}
"""Options without which a format does not read what it wrote: scores are read where they are asked for."""
APART = {"appraise"}
"""Formats whose files are imported one after the other."""
EMPTY = re.compile("no judgments|hold nothing|no tasks|holds nothing")
MISSING = ("judgments", "answers of one rater", "who judged")
"""How losses begin that count rows which do not come back."""
PLAIN = {"normalize": ["none"], "test": ["none"], "clusters": ["none"]}


@dataclass
class Trip:
    """What became of a campaign in one format: what the export counted, and rows that are missing, new or otherwise."""

    campaign: str
    format: str
    lost: Counter[str]
    before: int
    missing: int = 0
    new: int = 0
    changed: int = 0
    ranked_otherwise: bool = False

    @property
    def told_missing(self) -> int:
        """Rows that the export says it leaves out."""
        return sum(n for what, n in self.lost.items() if what.startswith(MISSING))

    @property
    def told_otherwise(self) -> int:
        """Rows that come back under another rater, as the export says."""
        return sum(n for what, n in self.lost.items() if what.startswith("raters of"))

    @property
    def faults(self) -> list[str]:
        """What nobody was told of."""
        rest = self.lost.total() - self.told_missing
        told = {
            f"{self.new} rows that were never judged": self.new > self.told_otherwise,
            f"{self.missing} rows are missing, {self.told_missing} are counted": self.missing
            > self.told_missing + self.told_otherwise,
            f"{self.changed} rows are otherwise, {rest} losses are counted": self.changed > rest,
            "ranks otherwise, and nothing is counted": self.ranked_otherwise and not self.lost,
        }
        return [f"{self.campaign} as {self.format}: {what} {dict(self.lost)}" for what, wrong in told.items() if wrong]


def written(database: Database, campaign: str, format: str) -> tuple[dict[str, bytes], Counter[str]]:
    """The files of a campaign, and what the format could not carry."""
    lost = Counter[str]()
    if exports.target(format).files:
        return {path: b"".join(part) for path, part in exports.tree(database, campaign, format, lost=lost)}, lost
    return {"file": b"".join(exports.export(database, campaign, format, lost=lost))}, lost


def rows(database: Database, campaign: str) -> Counter[tuple[Key, str]]:
    """What stands of every judgment, once for each system: its key, and what else is said as JSON."""
    lines = [json.loads(line) for line in b"".join(exports.export(database, campaign, "jsonl")).splitlines()[1:-1]]
    voided = {_address(one) for one in lines if one["type"] == "void"}
    latest = {_address(one): one for one in lines if one["type"] == "judgment"}
    return Counter(row for address, one in latest.items() if address not in voided for row in _by_system(one))


def _address(record: Row) -> tuple[object, ...]:
    return record["task"], record["item"], record.get("position"), record["rater"]


def _by_system(record: Row) -> Iterator[tuple[Key, str]]:
    said = {"role": record.get("role", "rating"), "accepted": record.get("accepted", True), **record["payload"]}
    shown = record["systems"] or [(record.get("item_meta") or {}).get("reference")]
    for system in shown:
        key = system, record["document"], record.get("position"), record["rater"]
        yield key, json.dumps(said, sort_keys=True)


def ranked(database: Database, campaign: str) -> list[tuple[str, float, int]] | str:
    """Systems with their means and numbers of ratings, in order; why not, where the recipe does not fit."""
    try:
        body = reports.ranking(database, campaign, recipe=from_options(NAMED["recommended"], PLAIN)).body
    except Invalid as why:
        return why.detail or why.title()
    return [(one["system"], one["raw"], one["n_ratings"]) for one in json.loads(body)["systems"]]


def trip(database: Database, campaign: str, format: str, again: str, about: Mapping[str, Any]) -> Trip:
    """Write a campaign, read that into a draft that is set up alike, and compare."""
    files, lost = written(database, campaign, format)
    before = rows(database, campaign)
    found = Trip(campaign, format, lost, before.total())
    again = campaign if _of_tasks(format) else again
    came = rows(database, again) if _read(database, again, format, files, about) else Counter[tuple[Key, str]]()
    keys, keys_came = (Counter(key for key, _ in some.elements()) for some in (before, came))
    found.missing, found.new = (keys - keys_came).total(), (keys_came - keys).total()
    same = (before & came).total()
    found.changed = (keys & keys_came).total() - same
    if same == before.total() == came.total():
        found.ranked_otherwise = ranked(database, campaign) != ranked(database, again)
    return found


def _of_tasks(format: str) -> bool:
    """Whether what is written is read by the campaign itself only, whose tasks it names."""
    return formats.get(format).write_book is not None


def _read(database: Database, again: str, format: str, files: Mapping[str, bytes], about: Mapping[str, Any]) -> bool:
    """Import; False where the files hold no judgments, so that the reader refuses them."""
    options = dict([ASKED[format].format(**about).split("=")]) if format in ASKED else {}
    if "protocol" in formats.get(format).options and about["protocol"] in PROTOCOLS:
        options["protocol"] = about["protocol"]
    how: dict[str, Any] = {"options": options, "dry_run": False, "skip_bad_lines": False, "actor": "test"}
    some = False
    for inputs in _at_once(format, files):
        try:
            imports.run(database, again, format=format, files=inputs, **how)
            some = True
        except Invalid as refused:
            said = f"{refused.title()} {refused.detail} {''.join(place.msg for place in refused.places)}"
            by = formats.get(format).judged_by
            if not EMPTY.search(said) and (not by or about["protocol"] in by):
                raise AssertionError(f"{again} from {format}: {said}") from refused
    return some


def _at_once(format: str, files: Mapping[str, bytes]) -> Iterator[list[Input]]:
    """The files that go together; texts and judgments one after the other where the reader says so."""
    inputs = [Input(name, lambda body=body: io.BytesIO(body)) for name, body in files.items()]
    yield from [[one] for one in inputs] if format in APART else [inputs]
