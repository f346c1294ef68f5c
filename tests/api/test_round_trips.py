"""The closed round trip: whatever is judged comes back from every format, or the export counts what does not.

Protocols, formats, kinds of control items and structures of designs are those that the program knows; that each role,
each state of a task and each end of a lease was there is asked of the tables.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, get_args

import httpx
import pytest
from sqlalchemy import CheckConstraint

from app import protocols
from app.design.design import Structure
from app.main import create_app
from app.services import tokens
from app.stats.ratings import Role
from app.storage import embedded
from app.storage.tables.tasks import tasks
from app.web.deps import Options
from tests.api.direct import asking
from tests.api.rehearsed import CONTROLS, KINDS, Rehearsed, ok
from tests.api.round_trip import READ_AGAIN, Trip, trip
from tests.spine import Spine, fresh

STRUCTURES = get_args(Structure)


def half_judged(live: Rehearsed) -> None:
    """A rater leaves in the middle of a task."""
    live.judge("r1", most=2)


def revised(live: Rehearsed) -> None:
    """Everything, with second thoughts: the next rater in turn."""
    live.judge("r2")


def judged(live: Rehearsed) -> None:
    """Two raters finish, a third is half through."""
    live.judge("r1")
    live.judge("r2")
    live.judge("r3", most=2)


def voided(live: Rehearsed) -> None:
    """Some are set aside."""
    one = next(live.judgments())
    told = {"filter": {"task": one["task"], "document": one["document"]}, "reason": "a mistake"}
    ok(live.client.post(f"{live.path}/judgments/void", json=told))


def withdrawn(live: Rehearsed) -> None:
    """A replan takes tasks away."""
    segments = [{"source": "A late source.", "references": {"refA": "A late reference."}}] * 2
    ok(live.client.put(f"{live.path}/documents/d9", json={"position": 9, "segments": segments}))
    for system in ("sysA", "sysB"):
        texts = {"segments": [f"{system} came late {n}." for n in (1, 2)]}
        ok(live.client.put(f"{live.path}/systems/{system}/outputs/d9", json=texts))
    ok(live.client.post(f"{live.path}/plan/replan", json={"reason": "late"}))
    live.judge("r3")


def excluded(live: Rehearsed) -> None:
    """A rater counts no longer."""
    ok(live.client.post(f"{live.path}/exclusions", json={"rater": "r3", "reason": "guessed"}))


def erased(live: Rehearsed) -> None:
    """A rater is forgotten."""
    ok(live.client.delete("/v1/raters/r2", params={"campaign": live.key}))


STATES = {one.__name__: one for one in (half_judged, revised, voided, withdrawn, excluded, erased)}


@dataclass
class Bench:
    """A running application on a database of its own, and all that was taken out and in there."""

    client: httpx.Client
    spine: Spine
    trips: list[Trip] = field(default_factory=list)
    cells: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def campaign(self, key: str, protocol: str, design: Mapping[str, Any], states: Mapping[str, Any]) -> Rehearsed:
        """A campaign planned and brought into the states, one after another."""
        live = Rehearsed(self.client, self.spine.database, key, protocol)
        live.set_up()
        live.open(design)
        for state in states.values():
            state(live)
        return live

    def around(self, live: Rehearsed, n_states: int) -> None:
        """Out in every format and in again."""
        about = ok(self.client.get(live.path))
        roles = self.spine.ask(
            f"SELECT count(DISTINCT role) FROM items JOIN campaigns c ON c.id = campaign_id WHERE c.key = '{live.key}'"
        )
        for format in READ_AGAIN:
            again = f"{live.key}.{format}"
            made = {
                name: about[name] for name in ("protocol", "options", "basis", "source_language", "target_language")
            }
            ok(self.client.post("/v1/campaigns", json={"key": again, "name": about["name"], **made}))
            self.trips.append(trip(self.spine.database, live.key, format, again, about))
            self.cells += n_states * roles[0][0]


@pytest.fixture(scope="module")
def bench(postgres: embedded.Server, migrated_template: str) -> Iterator[Bench]:
    with fresh(postgres, migrated_template) as spine:
        with spine.database.transaction() as session:
            secret = tokens.issue(session, role="admin").secret
        with asking(create_app(spine.database, Options())) as client:
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
        design |= {"controls": CONTROLS, "task": {"columns": 2 if protocols.get(protocol).contrastive else 1}}
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
    return [fault for one in bench.trips[before:] for fault in one.faults]


@pytest.mark.parametrize(("protocol", "structure"), [one if one in FAST else soaked(one) for one in COVER])
def test_every_protocol_comes_back_or_is_counted(bench: Bench, protocol: str, structure: str) -> None:
    live = bench.campaign(f"{protocol}-{structure}", protocol, design_for(protocol, structure), STATES)
    found = faults(bench, live, len(STATES))
    assert not found, "\n".join(found)


def test_all_that_tables_and_designs_know_was_there(bench: Bench) -> None:
    """The gate's own gate, after the trips above: a role, state or structure that nobody met would be none tried."""
    if len(bench.trips) < len(COVER) * len(READ_AGAIN):
        pytest.skip("only some of the trips were made")
    assert {structure for _, structure in COVER} == set(STRUCTURES)
    assert {role for (role,) in bench.spine.ask("SELECT DISTINCT role FROM items")} == {role.value for role in Role}
    assert {state for (state,) in bench.spine.ask("SELECT DISTINCT state FROM tasks")} == known("state_known")
    assert {state for (state,) in bench.spine.ask("SELECT DISTINCT state FROM enrolments")} >= {"active", "erased"}
    for table in ("voids", "exclusions", "screen_judgments"):
        assert bench.spine.ask(f"SELECT EXISTS (SELECT FROM {table})") == [(True,)], table
    assert {one.format for one in bench.trips} == set(READ_AGAIN)
    own = [one for one in bench.trips if one.format == "jsonl"]
    assert not any(one.missing or one.changed or one.ranked_otherwise for one in own)


def known(check: str) -> set[str]:
    """What a check of the table of tasks allows."""
    (found,) = (one for one in tasks.constraints if isinstance(one, CheckConstraint) and check in str(one.name))
    return set(re.findall(r"'(\w+)'", str(found.sqltext)))


@pytest.mark.soak
@pytest.mark.parametrize(("protocol", "structure"), sorted({*product(protocols.ALL, STRUCTURES)} - {*COVER}))
def test_every_protocol_by_every_structure(bench: Bench, protocol: str, structure: str) -> None:
    live = bench.campaign(f"{protocol}-{structure}", protocol, design_for(protocol, structure), STATES)
    found = faults(bench, live, len(STATES))
    assert not found, "\n".join(found)


@pytest.mark.soak
@pytest.mark.parametrize(("protocol", "kind", "state"), sorted(product(protocols.ALL, KINDS, STATES)))
def test_every_protocol_by_every_control_and_state_alone(bench: Bench, protocol: str, kind: str, state: str) -> None:
    """Judged by all, then brought into one state: nothing hides behind another loss."""
    design = {"controls": {kind: CONTROLS[kind]}}
    only = {"judged": judged, state: STATES[state]}
    live = bench.campaign(f"{protocol}-{kind}-{state}", protocol, design, only)
    found = faults(bench, live, 1)
    assert not found, "\n".join(found)
