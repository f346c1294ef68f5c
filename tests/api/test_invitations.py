"""Invitations by count: as many as there are seats, each known by the platform's id of them."""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import httpx
import pytest

from app.services.people import invitations
from tests.working import LIMIT

SEATS, CROWD = 10, 32
INVITATIONS = "/v1/campaigns/c/invitations"


@pytest.fixture
def manager(admin: httpx.Client) -> httpx.Client:
    admin.post("/v1/campaigns", json={"key": "c", "protocol": "da"})
    admin.put("/v1/campaigns/c/teams/crowd", json={"name": "Crowd"})
    return admin


def invite(client: httpx.Client, **given: Any) -> dict[str, Any]:
    answer = client.post(INVITATIONS, json={"count": SEATS, **given})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def claim(
    client: httpx.Client, made: dict[str, Any], external_id: str, *, came_by: str = "", **given: Any
) -> httpx.Response:
    """came_by: the token that an earlier claim gave."""
    body = {"secret": made["secret"], "external_id": external_id, "want": "token", **given}
    return client.post(f"/v1/invitations/{made['invitation']}/claim", json=body, headers=bearer(came_by))


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_the_link_carries_its_secret_in_the_fragment_and_asks_the_platform_for_its_id(manager: httpx.Client) -> None:
    made = invite(manager, platform="prolific")
    before, _, fragment = made["link"].partition("#")
    assert "PROLIFIC_PID={{%PROLIFIC_PID%}}" in before
    assert fragment == f"invitation={made['invitation']}.{made['secret']}"
    assert len(made["secret"]) == 43  # 256 bits
    assert made["secret"] not in manager.get(INVITATIONS).text + manager.get(f"{INVITATIONS}/{made['invitation']}").text


def test_a_claim_enrols_a_rater_under_a_made_up_key(manager: httpx.Client) -> None:
    made = invite(manager, platform="prolific", team="crowd")
    claimed = claim(manager, made, "5f1b2c3d").json()
    assert claimed["rater"].startswith("prolific-")
    assert "5f1b2c3d" not in claimed["rater"]
    rater = manager.get(f"/v1/campaigns/c/raters/{claimed['rater']}").json()
    assert (rater["state"], rater["team"], rater["external_id"]) == ("active", "crowd", "5f1b2c3d")
    assert manager.get("/v1/me", headers=bearer(claimed["token"])).json()["rater"] == claimed["rater"]


def test_the_same_id_again_is_the_same_rater_and_ends_what_they_had(manager: httpx.Client) -> None:
    made, other = invite(manager), invite(manager)
    first = claim(manager, made, "w1").json()
    again = claim(manager, other, "w1", came_by=first["token"]).json()
    assert first["rater"] == again["rater"]
    assert manager.get("/v1/me", headers=bearer(first["token"])).status_code == 401
    assert manager.get("/v1/me", headers=bearer(again["token"])).status_code == 200
    taken = {one["invitation"]: one["taken"] for one in manager.get(INVITATIONS).json()["items"]}
    assert taken == {made["invitation"]: 1, other["invitation"]: 0}


def test_a_browser_gets_a_cookie_and_no_token(manager: httpx.Client) -> None:
    made = invite(manager)
    del manager.headers["Authorization"]
    claimed = claim(manager, made, "w1", want="session")
    assert claimed.headers["Set-Cookie"].startswith("rater=")
    assert (claimed.json()["token"], len(claimed.json()["csrf"])) == (None, 64)
    assert manager.get("/v1/me").json()["rater"] == claimed.json()["rater"]
    body = {"secret": made["secret"], "external_id": "w2"}
    url = f"/v1/invitations/{made['invitation']}/claim"
    assert manager.post(url, json=body, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_a_seat_is_not_taken_from_another_sites_page(manager: httpx.Client) -> None:
    made = invite(manager, platform="prolific")
    body = {"secret": made["secret"], "external_id": "pid-1", "want": "token"}
    for headers, status in (
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 201),
    ):
        answer = manager.post(f"/v1/invitations/{made['invitation']}/claim", json=body, headers=headers)
        assert answer.status_code == status, answer.text


def test_a_wrong_secret_an_unknown_and_an_ended_invitation_are_answered_alike(manager: httpx.Client) -> None:
    made, ended = invite(manager), invite(manager)
    assert manager.delete(f"{INVITATIONS}/{ended['invitation']}").status_code == 204
    past = invite(manager, expires_at="2020-01-01T00:00:00Z")
    tries = [{**made, "secret": "A" * 43}, {**made, "invitation": "i_" + "0" * 32}, ended, past]
    answers = [claim(manager, one, "w1") for one in tries]
    assert {answer.status_code for answer in answers} == {404}
    assert len({str({**answer.json(), "instance": ""}) for answer in answers}) == 1


def test_when_every_seat_is_taken_nobody_new_comes_in(manager: httpx.Client) -> None:
    made = invite(manager, count=1)
    first = claim(manager, made, "w1")
    assert first.status_code == 201
    assert claim(manager, made, "w2").status_code == 409
    assert claim(manager, made, "w1", came_by=first.json()["token"]).status_code == 201


def test_nobody_comes_into_a_closed_campaign(manager: httpx.Client, ask: Callable[..., None]) -> None:
    made = invite(manager)
    ask("UPDATE campaigns SET state = 'closed' WHERE key = 'c'")
    assert claim(manager, made, "w1").status_code == 409


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "//x", "ftp://x/", "https://", "https://x/ y", "https://[", "x"]
)
def test_a_completion_address_leads_to_the_web(manager: httpx.Client, url: str) -> None:
    answer = manager.post(INVITATIONS, json={"count": 1, "completion_url": url})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["loc"] == ["body", "completion_url"]


def test_secrets_of_invitations_are_stored_as_hashes_only(manager: httpx.Client, dump: Callable[[], str]) -> None:
    made = invite(manager)
    claimed = claim(manager, made, "w1").json()
    stored = dump()
    assert made["invitation"] in stored
    for secret in (made["secret"], claimed["token"].split("_", 2)[2]):
        assert secret not in stored
        assert secret.encode().hex() not in stored
    log = manager.get("/v1/audit", params={"campaign": "c"}).text
    assert claimed["rater"] in log
    assert '"w1"' not in log


def test_codes_are_listed_for_paying(manager: httpx.Client, ask: Callable[..., None]) -> None:
    made = invite(manager, completion_url="https://app.example.org/done?cc={code}", platform="prolific")
    claimed = claim(manager, made, "pid-7").json()
    ask(
        "INSERT INTO tasks (campaign_id, public_id, key, rater_id, state, meta, handed_in_at, completion_code) "
        f"SELECT campaign_id, 't_' || n, 'k' || n, id, 'handed_in', '{{}}', now(), 'C' || n FROM raters, "
        f"generate_series(1, 3) n WHERE key = '{claimed['rater']}'"
    )
    url = "/v1/campaigns/c/completions"
    page = manager.get(url, params={"limit": 2}).json()
    rest = manager.get(url, params={"limit": 2, "cursor": page["next"]}).json()
    found = [(one["task"], one["code"], one["rater"], one["external_id"]) for one in page["items"] + rest["items"]]
    assert found == [(f"t_{n}", f"C{n}", claimed["rater"], "pid-7") for n in (1, 2, 3)]
    assert rest["next"] is None


def crowd(client: httpx.Client, made: dict[str, Any], ids: list[str]) -> list[httpx.Response]:
    """Everybody claims at once."""
    together = threading.Barrier(len(ids))

    def come(external_id: str) -> httpx.Response:
        together.wait(timeout=60)
        for _ in range(30):
            answer = claim(client, made, external_id)
            if answer.status_code != 503:  # more at once than there are connections: they are asked to come again
                break
        return answer

    with ThreadPoolExecutor(len(ids)) as pool:
        return list(pool.map(come, ids))


@pytest.mark.parametrize("broken", [False, True])
def test_of_a_crowd_as_many_come_in_as_there_are_seats(
    manager: httpx.Client, monkeypatch: pytest.MonkeyPatch, *, broken: bool
) -> None:
    """Broken is the negative control: looking for a seat without holding it lets more in than there are."""
    made = invite(manager, per_hour=CROWD)
    if broken:
        unheld(monkeypatch, parties=4)
    statuses = Counter(answer.status_code for answer in crowd(manager, made, [f"w{n}" for n in range(CROWD)]))
    taken = manager.get(f"{INVITATIONS}/{made['invitation']}").json()["taken"]
    assert statuses[201] == taken
    assert set(statuses) <= {201, 409}
    assert (taken == SEATS) is not broken


def unheld(monkeypatch: pytest.MonkeyPatch, *, parties: int) -> None:
    """Claims that do not wait for each other; at the last seat, the first few meet between looking and taking."""
    store = invitations.invitations
    find, arrived, together = store.find_invitation_by_id, count(1), threading.Event()

    def looks(session: Any, public_id: str) -> Any:
        row = find(session, public_id)
        if row is not None and row.taken >= SEATS - 1:
            if next(arrived) >= parties:
                together.set()
            assert together.wait(LIMIT)
        return row

    monkeypatch.setattr(store, "lock_campaign_for_seat_claim", lambda *_: "open")
    monkeypatch.setattr(store, "find_invitation_by_id", looks)


def test_one_worker_who_comes_many_times_at_once_takes_one_seat(manager: httpx.Client) -> None:
    made = invite(manager)
    answers = crowd(manager, made, ["w1"] * CROWD)
    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: CROWD - 1}
    (first,) = (answer.json()["token"] for answer in answers if answer.is_success)
    assert manager.get("/v1/me", headers=bearer(first)).is_success
    assert manager.get(f"{INVITATIONS}/{made['invitation']}").json()["taken"] == 1


def test_who_holds_the_invitation_and_anothers_id_does_not_get_their_account(
    manager: httpx.Client, ask: Callable[..., None]
) -> None:
    """Refused without the first token, with another's, and with one that was revoked or has expired."""
    made, other = invite(manager, team="crowd"), invite(manager)
    first, stranger = claim(manager, made, "w1").json(), claim(manager, made, "w2").json()
    for one in (made, other):
        for came_by in ("", stranger["token"], "plb_000000000000_" + "A" * 43):
            refused = claim(manager, one, "w1", came_by=came_by)
            assert (refused.status_code, refused.json()["type"].rpartition(":")[2]) == (409, "seat-taken")
            assert claim(manager, one, "w1", came_by=came_by, signature="0" * 64).status_code == 409
    assert manager.get("/v1/me", headers=bearer(first["token"])).json()["rater"] == first["rater"]
    again = claim(manager, made, "w1", came_by=first["token"])
    assert claim(manager, made, "w1", came_by=first["token"]).status_code == 409  # it ended with the claim after it
    ask(f"UPDATE tokens SET expires_at = now() - interval '1 s' WHERE prefix = '{again.json()['token'].split('_')[1]}'")
    assert claim(manager, made, "w1", came_by=again.json()["token"]).status_code == 409
    link = manager.post(f"/v1/campaigns/c/raters/{first['rater']}/link").json()["link"].partition("#token=")[2]
    assert claim(manager, made, "w1", came_by=link).json()["rater"] == first["rater"]  # the way back: a link of theirs
    assert manager.get(f"{INVITATIONS}/{made['invitation']}").json()["taken"] == 2


def test_a_browser_that_comes_again_is_known_by_its_cookie_for_as_long_as_the_seat_lasts(manager: httpx.Client) -> None:
    made = invite(manager)
    del manager.headers["Authorization"]
    url, body = f"/v1/invitations/{made['invitation']}/claim", {"secret": made["secret"], "external_id": "w1"}
    first = manager.post(url, json=body)
    assert "Max-Age=7776000" in first.headers["Set-Cookie"]  # 90 days: nothing else lets them in again
    assert manager.post(url, json=body).json()["rater"] == first.json()["rater"]
    manager.cookies.clear()
    assert manager.post(url, json=body).status_code == 409


def test_a_signed_id_is_believed_and_no_other_gets_in(manager: httpx.Client) -> None:
    made = invite(manager, signed=True, count=300)
    assert made["per_hour"] is None
    assert made["signing_key"] not in manager.get(INVITATIONS).text
    key = bytes.fromhex(made["signing_key"])
    good = hmac.new(key, b"w1", hashlib.sha256).hexdigest()
    of_another = hmac.new(key, b"w2", hashlib.sha256).hexdigest()
    by_another_key = hmac.new(b"k" * 32, b"w1", hashlib.sha256).hexdigest()
    for signature in (None, of_another, by_another_key):
        refused = claim(manager, made, "w1", signature=signature)
        assert (refused.status_code, refused.json()["type"].rpartition(":")[2]) == (403, "not-signed")
    assert claim(manager, made, "w1", signature=good[:-1]).status_code == 422
    first, elsewhere = (claim(manager, made, "w1", signature=good).json() for _ in range(2))
    assert first["rater"] == elsewhere["rater"]  # on another device, without the first token
    assert claim(manager, made, "w1", came_by=elsewhere["token"]).status_code == 403
    assert manager.get(f"{INVITATIONS}/{made['invitation']}").json()["taken"] == 1


@pytest.mark.parametrize(
    ("given", "bound"), [({"count": 40}, 20), ({"count": 40, "per_hour": 3}, 3), ({"count": 3}, 3)]
)
def test_made_up_ids_take_so_many_seats_an_hour(
    manager: httpx.Client, ask: Callable[..., None], given: dict[str, int], bound: int
) -> None:
    made = invite(manager, **given)
    first, *rest = [claim(manager, made, f"w{n}") for n in range(bound + 1)]
    assert [one.status_code for one in rest] == [201] * (bound - 1) + [429 if bound < made["count"] else 409]
    assert claim(manager, made, "w0", came_by=first.json()["token"]).status_code == 201  # who is known may come
    if bound == made["count"]:
        return
    assert 3000 < int(rest[-1].headers["Retry-After"]) <= 3600
    assert claim(manager, invite(manager, **given), "else").status_code == 201  # another invitation counts its own
    ask("UPDATE enrolments SET created_at = now() - interval '40 minutes'")
    assert 600 < int(claim(manager, made, "late").headers["Retry-After"]) <= 1200
    ask("UPDATE enrolments SET created_at = now() - interval '61 minutes'")
    assert claim(manager, made, "late").status_code == 201
