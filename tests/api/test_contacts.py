"""Who a rater is: every address that can be read × every role × every field that says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from fastapi import FastAPI

from app.services.access.tokens import ROLES, Role
from tests.api.access_rows import EXPECTED, ROLE_SETS
from tests.api.test_access_matrix import Address, Credential, Matrix, addresses, few_reports
from tests.api.test_access_matrix import credential as credential  # a fixture
from tests.api.test_access_matrix import made as made  # a fixture
from tests.api.test_access_matrix import matrix as matrix  # a fixture
from tests.api.test_access_matrix import template as template  # a fixture

FIELDS = {
    "name": "Ada Lovelace of Marker",
    "email": "ada.marker@example.org",
    "note": "pays late, says marker",
    "person": "person-marker-17",
    "external_id": "external-marker-5f1b",
}
CONTACT = frozenset({"name", "email", "note"})
# A front-end acts for a pseudonym; of the rest, whoever pays and writes to raters sees who they are.
MAY_SEE: dict[str, frozenset[str]] = {
    "admin": frozenset(FIELDS),
    "manager": frozenset(FIELDS),
    "coordinator": CONTACT | {"external_id"},
    "rater": frozenset(FIELDS),
    "viewer": frozenset(),
    "frontend": frozenset(),
}


@pytest.fixture
def known(matrix: Matrix, credential: Credential, ask: Callable[..., None]) -> Matrix:
    """The campaign of the matrix, in which the rater r1 of team bonn is known by every field."""
    contact = {name: FIELDS[name] for name in sorted(CONTACT)}
    body = {"team": "bonn", "person": FIELDS["person"], "contact": contact}
    put = matrix.client.put("/v1/campaigns/demo/raters/r1", json=body, headers={**credential(), "If-Match": "*"})
    assert put.status_code == 200, put.text
    ask(
        f"UPDATE enrolments SET external_id = '{FIELDS['external_id']}' FROM raters r JOIN campaigns c "
        "ON c.id = r.campaign_id WHERE r.id = enrolments.rater_id AND r.key = 'r1' AND c.key = 'demo'"
    )
    return matrix


def read(matrix: Matrix) -> list[Address]:
    return [address for address in addresses(matrix.app) if address.method == "GET"]


def read_in_turn(matrix: Matrix, role: Role | None, turn: int, of: int) -> list[Address]:
    """What lets a role in, and every so many-th address of the rest; reports only where they may not say all."""
    asked = list(few_reports(read(matrix), 0)) if role and MAY_SEE[role] == FIELDS.keys() else read(matrix)
    let_in = [address for address in asked if role in ROLE_SETS[EXPECTED[address.name]]]
    return let_in + [address for address in asked if address not in let_in][turn::of]


def shown(matrix: Matrix, caller: dict[str, str], asked: list[Address]) -> Iterator[tuple[str, str]]:
    """Each address and field that a caller is shown."""
    for address in asked:
        text = matrix.send(address, caller, rater="r1").text
        yield from ((address.name, field) for field, value in FIELDS.items() if value in text)


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
@pytest.mark.parametrize("role", ROLES)
def test_who_a_rater_is_is_told_to_those_who_need_it(
    known: Matrix, credential: Credential, role: Role, whole: bool
) -> None:
    """whole: every address; otherwise what lets the role in, and all else by one role, in turn."""
    asked = read(known) if whole else read_in_turn(known, role, ROLES.index(role), len(ROLES))
    found = set(shown(known, credential(role, campaign="demo"), asked))
    assert {field for _, field in found} == MAY_SEE[role], found


OTHERS: dict[str, Role | None] = {
    "nobody": None,
    "another rater": "rater",
    "a coordinator of another team": "coordinator",
    "an import's front-end": "frontend",
}


@pytest.mark.parametrize("who", OTHERS)
def test_nobody_else_is_told_who_a_rater_is(known: Matrix, credential: Credential, who: str) -> None:
    """Each of them asks what lets their role in; all else is asked by one of them, in turn."""
    asked = read_in_turn(known, OTHERS[who], list(OTHERS).index(who), len(OTHERS))
    assert set(shown(known, other(who, credential), asked)) == set()


@pytest.mark.soak
@pytest.mark.parametrize("who", OTHERS)
def test_nobody_else_is_told_anywhere_who_a_rater_is(known: Matrix, credential: Credential, who: str) -> None:
    assert set(shown(known, other(who, credential), read(known))) == set()


def other(who: str, credential: Credential) -> dict[str, str]:
    callers: dict[str, Callable[[], dict[str, str]]] = {
        "nobody": dict,
        "another rater": lambda: credential("rater", campaign="demo", rater="r2"),
        "a coordinator of another team": lambda: credential("coordinator", campaign="demo", team="ulm"),
        "an import's front-end": lambda: {**credential("frontend", campaign="demo"), "Plumbline-Rater": "r2"},
    }
    return callers[who]()


def test_what_a_front_end_takes_away_for_a_rater_is_all_else_that_the_rater_gets(
    known: Matrix, credential: Credential, app: FastAPI
) -> None:
    def export(role: Role) -> dict[str, object]:
        answer = known.client.get("/v1/me/export", headers=credential(role, campaign="demo"))
        assert answer.status_code == 200, answer.text
        told: dict[str, object] = answer.json()
        return told

    own, through = export("rater"), export("frontend")
    assert set(own) - set(through) == {"credentials"}
    about, pseudonym = own["rater"], through["rater"]
    assert isinstance(about, dict)
    assert isinstance(pseudonym, dict)
    assert set(about) - set(pseudonym) == {"person", "external_id", *(f"contact_{name}" for name in CONTACT)}
    assert pseudonym.items() <= about.items()


@pytest.mark.soak
def test_the_matrix_finds_a_field_that_a_route_should_not_show(
    known: Matrix, credential: Credential, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: the export as it was, with everything whoever asks."""
    from app.storage import rater_data

    about = rater_data.load_account_and_enrolment
    monkeypatch.setattr(rater_data, "load_account_and_enrolment", lambda *args, **_: about(*args, identity=True))
    found = set(shown(known, credential("frontend", campaign="demo"), read(known)))
    assert found == {("GET /v1/me/export", field) for field in FIELDS}
