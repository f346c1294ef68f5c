"""The closed round trip: whatever is judged comes back from every format, or the export counts what does not.

Protocols, formats, kinds of control items and choices of designs are those that the program knows, so a new one is in
it without being named. That each role, each state of a task, system and rater, each end of a lease, and each kind of
fact that has a data version was there is asked of the tables: a new one fails until a state brings it about.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from itertools import product
from typing import Any, Literal, get_args, get_origin, get_type_hints

import httpx
import pytest
from sqlalchemy import CheckConstraint

from app import protocols
from app.design.design_choices import Design, Structure
from app.main import create_app
from app.services.access import tokens
from app.stats.ratings import RatingRole
from app.storage import embedded
from app.storage.exports import BESIDE
from app.storage.tables import metadata
from app.web.deps import ServiceOptions
from tests.api import round_trip
from tests.api.direct import asking
from tests.api.rehearsed import CONTROLS, KINDS, Rehearsed, ok
from tests.api.round_states import STATES, judged
from tests.api.round_trip import APART, ASKED, READ_AGAIN, Trip, trip
from tests.api.round_trip_losses import LEAVES_OUT, TAKES
from tests.spine import Spine, fresh

STRUCTURES = get_args(Structure)


@dataclass
class Bench:
    """A running application on a database of its own, and all that was taken out and in there."""

    client: httpx.Client
    spine: Spine
    trips: list[Trip] = field(default_factory=list)
    cells: int = 0
    made: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def campaign(self, key: str, protocol: str, design: Mapping[str, Any], states: Mapping[str, Any]) -> Rehearsed:
        """A campaign planned and brought into the states, one after another."""
        live = Rehearsed(self.client, self.spine.database, key, protocol)
        live.set_up()
        live.open(design)
        for state in states.values():
            state(live)
        return live

    def cover(self, protocol: str, structure: str) -> list[str]:
        """The faults of a protocol and a structure through all states, tried once."""
        if (protocol, structure) not in self.made:
            design = design_for(protocol, structure)
            live = self.campaign(f"{protocol}-{structure}", protocol, design, STATES)
            self.made[protocol, structure] = faults(self, live, len(STATES))
        return self.made[protocol, structure]

    def around(self, live: Rehearsed, n_states: int) -> None:
        """Out in every format and in again."""
        roles = self.spine.ask(
            f"SELECT count(DISTINCT role) FROM items JOIN campaigns c ON c.id = campaign_id WHERE c.key = '{live.key}'"
        )
        for format in READ_AGAIN:
            self.trips.append(self.trip(live.key, format, f"{live.key}.{format}"))
            self.cells += n_states * roles[0][0]

    def trip(self, campaign: str, format: str, again: str) -> Trip:
        """Out in a format, and into a draft that is set up alike."""
        about = ok(self.client.get(f"/v1/campaigns/{campaign}"))
        alike = ("name", "protocol", "options", "basis", "source_language", "target_language")
        ok(self.client.post("/v1/campaigns", json={"key": again, **{name: about[name] for name in alike}}))
        return trip(self.spine.database, campaign, format, again, about)


@pytest.fixture(scope="module")
def bench(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Bench]:
    with fresh(postgres, migrated_template) as spine:
        with spine.database.transaction() as session:
            secret = tokens.issue_token(session, role="admin").secret
        with asking(create_app(spine.database, ServiceOptions())) as client:
            client.headers["Authorization"] = f"Bearer {secret}"
            found = Bench(client, spine)
            yield found
            told: dict[str, Counter[str]] = {}
            for one in found.trips:
                told.setdefault(one.format, Counter()).update(one.lost)
            print(f"\n{found.cells} cells in {len(found.trips)} trips")  # noqa: T201  (what the gate shows)
            for format, lost in sorted(told.items()):
                print(format, json.dumps(dict(sorted(lost.items()))))  # noqa: T201


def design_for(protocol: str, structure: str) -> dict[str, Any]:
    """A design of a structure with every kind of control item that it takes."""
    design: dict[str, Any] = {"structure": structure, "calibration": {"common_items": 1}}
    if structure == "free":
        design |= {"controls": CONTROLS, "task": {"columns": 2 if protocols.get_protocol(protocol).contrastive else 1}}
    return design | ({"buckets": {"raters_per_bucket": 1}} if structure == "latin_square" else {})


COVER = [(name, STRUCTURES[n % len(STRUCTURES)]) for n, name in enumerate(sorted(protocols.ALL))]

FAST = COVER[:1]


def soaked(case: tuple[str, str]) -> Any:
    """In the soak only."""
    return pytest.param(*case, marks=pytest.mark.soak)


def faults(bench: Bench, live: Rehearsed, n_states: int) -> list[str]:
    """What became otherwise on the way and was counted by nobody."""
    before = len(bench.trips)
    bench.around(live, n_states)
    return [f"{fault[:400]} {dict(one.lost)}" for one in bench.trips[before:] for fault in one.faults[:3]]


@pytest.mark.parametrize(("protocol", "structure"), [one if one in FAST else soaked(one) for one in COVER])
def test_every_protocol_comes_back_or_is_counted(bench: Bench, protocol: str, structure: str) -> None:
    found = bench.cover(protocol, structure)
    assert not found, "\n".join(found)


KNOWN = (("tasks", "state"), ("leases", "ended_how"), ("enrolments", "state"), ("systems", "state"))
"""Columns of what judgments depend on whose values the tables themselves know."""


@pytest.mark.soak
def test_all_that_tables_and_designs_know_was_there(bench: Bench) -> None:
    """The gate's own gate: a role, state or structure that nobody met would be none tried."""
    for protocol, structure in COVER:
        bench.cover(protocol, structure)
    assert {structure for _, structure in COVER} == set(STRUCTURES)
    assert {role for (role,) in bench.spine.ask("SELECT DISTINCT role FROM items")} == {
        role.value for role in RatingRole
    }
    for table, column in KNOWN:
        met = bench.spine.ask(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL")
        assert {value for (value,) in met} == known(table, column), f"{table}.{column}"
    for table in FACTS:
        assert bench.spine.ask(f"SELECT EXISTS (SELECT FROM {table})") == [(True,)], table
    assert {one.format for one in bench.trips} == set(READ_AGAIN)
    explaining = {what for one in bench.trips for what in one.told.by}
    unused = [one for one in (*TAKES, *LEAVES_OUT) if not any(re.fullmatch(one, what) for what in explaining)]
    assert not unused, "losses that explained nothing"
    own = [one for one in bench.trips if one.format == "jsonl"]
    assert not any(one.told.missing or one.told.changed or one.told.new for one in own)
    assert any(one.before for one in own)


def known(table: str, column: str) -> set[str]:
    """What the check of a column allows."""
    checks = [str(one.sqltext) for one in metadata.tables[table].constraints if isinstance(one, CheckConstraint)]
    (found,) = (check for check in checks if check.startswith(f"{column} in ("))
    return set(re.findall(r"'(\w+)'", found))


@pytest.mark.soak
@pytest.mark.parametrize(("kept", "format"), [("ASKED", one) for one in ASKED] + [("APART", one) for one in APART])
def test_what_is_kept_by_hand_is_needed(bench: Bench, monkeypatch: pytest.MonkeyPatch, kept: str, format: str) -> None:
    """Without its entry a format brings back less than it told of, or is refused; so would a new one without any."""
    (case,) = (one for one in COVER if one[0] == "esa")
    bench.cover(*case)
    monkeypatch.setattr(round_trip, kept, {})
    try:
        found = bench.trip("-".join(case), format, f"without-{format}").faults
    except AssertionError as refused:
        found = [str(refused)]
    assert found


CARRIED = {
    *("campaigns", "systems", "documents", "segments", "reference_texts", "outputs", "variants", "raters", "people"),
    *("tasks", "items", "credits", "judgments", "voids", "metric_scores", "screen_judgments", "questionnaire_answers"),
}
"""Tables that are in `jsonl`."""
ELSEWHERE = {
    "derived from the rest": {"profiles", "scores", "reports", "chunk_results", "versions", "seals"},
    "parts of a plan": {"plan_documents", "arms", "groups", "bucket_raters"},
    "parts of a lock or a guideline that are counted with it": {"consents", "qualification_attempts"},
    "people at work: in a backup alone": {
        *("activity", "hour_adjustments", "contacts", "enrolments", "invitations", "leases", "teams"),
        *("tokens", "sessions", "tutorial_answers", "audit_log", "rater_messages"),
    },
    "work under way": {"idempotency", "imports", "import_files", "import_chunks", "jobs", "media_uploads"},
    "files beside the texts that name them: in a backup and a bundle": {"media_files", "signing_keys"},
    "links and bridges: in a backup alone": {"archive_links", "pearmut_answers", "pearmut_campaigns", "pearmut_users"},
    "whom a campaign tells, and what it told: in a backup alone": {
        *("webhooks", "webhook_events", "webhook_streams", "webhook_deliveries"),
    },
    "who signed in with an organization's account: in a backup alone": {
        *("accounts", "account_sessions", "logout_tokens"),
    },
    "shared by campaigns": {"calibration_sets", "calibration_pairs"},
}
"""Tables that no export has or counts, by the reason."""


def test_every_table_is_carried_or_counted_or_no_part_of_the_data() -> None:
    counted = {*re.findall(r"(?<!DISTINCT )\bFROM (\w+)", BESIDE)}
    elsewhere = [name for names in ELSEWHERE.values() for name in names]
    assert sorted({*CARRIED, *counted, *elsewhere}) == sorted(metadata.tables)
    assert len(elsewhere) == len({*elsewhere} - CARRIED)


FACTS = sorted(
    table.name
    for table in metadata.tables.values()
    if any(key.target_fullname.startswith("versions.") for key in table.foreign_keys)
)
"""Tables of what has a data version, beside judgments themselves."""


def test_states_and_tables_of_this_gate_are_those_of_the_program() -> None:
    """Where a list is kept by hand, nothing in it is of yesterday, and what it is held against is not empty."""
    assert {*ASKED, *APART} <= set(READ_AGAIN)
    assert {"voids", "exclusions", "screen_judgments", "metric_scores"} <= set(FACTS)
    assert all(len(known(*one)) > 1 for one in KNOWN)
    assert len(CHOICES) > 20
    assert {state for _, _, state in ALONE} == {*STATES}
    assert set(READ_AGAIN) >= {"jsonl", "mqm-tsv", "wmt-da"}


@pytest.mark.soak
@pytest.mark.parametrize(("protocol", "structure"), sorted({*product(protocols.ALL, STRUCTURES)} - {*COVER}))
def test_every_protocol_by_every_structure(bench: Bench, protocol: str, structure: str) -> None:
    found = bench.cover(protocol, structure)
    assert not found, "\n".join(found)


def choices(kind: type[Any], *, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Every word and every yes or no that a design can hold, by its place."""
    for name, hint in get_type_hints(kind).items():
        for one in (hint, *get_args(hint)):
            if get_origin(one) is Literal:
                yield from (((*place, name), value) for value in get_args(one))
            elif one is bool:
                yield from (((*place, name), value) for value in (False, True))
            elif is_dataclass(one) and isinstance(one, type):
                yield from choices(one, place=(*place, name))


CHOICES = list(choices(Design))


def with_choice(place: tuple[str, ...], value: object) -> dict[str, Any]:
    """A design of its defaults with one choice made otherwise, and what that choice needs beside it."""
    match place:
        case ("balance", "kind"):
            return {
                "balance": {"full": "full", "entropy": {"entropy": 1.0}, "capacity": {"capacity": True}}[str(value)]
            }
        case ("buckets", "kind"):
            named = [{"name": "one", "raters": ["r1", "r2", "r3"]}]
            return {
                "buckets": {"auto": {"auto": True}, "sized": {"raters_per_bucket": 2}}.get(
                    str(value), {"explicit": named}
                )
            }
        case ("arms", name):
            return {"arms": [{"name": "first", name: value}, {"name": "second"}]}
        case ("structure",):
            return design_for("da", str(value))
        case ("controls", name):
            return {"controls": {"bad_reference": {"rate": 0.15, name: value}}}
        case ("documents", "by_domain"):
            return {"documents": {"sample": 2, **({"by": "domain"} if value else {})}}
        case ("calibration", name):
            return {"calibration": {"common_items": 1, name: value}}
        case (part, name):
            return {part: {name: value}}
    return {place[0]: value}


@pytest.mark.soak
@pytest.mark.parametrize(
    ("protocol", "place", "value"),
    [(sorted(protocols.ALL)[n % len(protocols.ALL)], *choice) for n, choice in enumerate(CHOICES)],
    ids=str,
)
def test_every_choice_of_a_design(bench: Bench, protocol: str, place: tuple[str, ...], value: object) -> None:
    """Each with another protocol, judged by all."""
    key = f"choice-{CHOICES.index((place, value))}"
    live = bench.campaign(key, protocol, with_choice(place, value), {"judged": judged})
    found = faults(bench, live, 1)
    assert not found, "\n".join(found)


ALONE = [
    (sorted(protocols.ALL)[s % len(protocols.ALL)], KINDS[s % len(KINDS)], state) for s, state in enumerate(STATES)
]
"""Every state by itself, with protocols and kinds of control items in turn.

Every protocol goes through every state with every structure above, and with every kind in one of them. Since each row
that is otherwise has to be explained by itself, a fault of one state hides behind no other; here it needs no other.
"""


@pytest.mark.soak
@pytest.mark.parametrize(("protocol", "kind", "state"), ALONE)
def test_every_state_alone(bench: Bench, protocol: str, kind: str, state: str) -> None:
    """Judged by all, then brought into one state: nothing hides behind another loss."""
    design = {"controls": {kind: CONTROLS[kind]}}
    only = {"judged": judged, state: STATES[state]}
    live = bench.campaign(f"{protocol}-{kind}-{state}", protocol, design, only)
    found = faults(bench, live, 1)
    assert not found, "\n".join(found)
