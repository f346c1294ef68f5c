"""Whether a rater's page says the truth about what is saved: every state of it × everything that can happen in it."""

from __future__ import annotations

import json
import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from playwright._impl._driver import compute_driver_executable

from app.ui.assets import FOLDER

DRIVER = Path(__file__).parent / "saving.mjs"
RATER = FOLDER / "rater"
WAYS = {
    "saved": [],
    "saving": ["judged"],
    "offline": ["judged", "no server"],
    "signed-out": ["judged", "link ended"],
    "conflict": ["judged", "overtaken"],
    "refused": ["judged", "not taken"],
}
"""How a page comes into each state."""
TOLD = {
    "reached": "saved",
    "busy server": "offline",
    "no server": "offline",
    "link ended": "signed-out",
    "other session": "signed-out",
    "overtaken": "conflict",
    "not taken": "refused",
}
"""What the server's answer makes of an answer that waits."""
SERVER = tuple(TOLD)
EVENTS = (*SERVER, "judged", "judged another", "chosen", "sent by another window")
AFTER = {
    "saved": dict.fromkeys(SERVER, "saved") | {"judged": "saving", "judged another": "saving"},
    "saving": TOLD | {"judged": "saving", "judged another": "saving"},
    "offline": TOLD | {"judged": "offline", "judged another": "offline"},
    "signed-out": dict.fromkeys(EVENTS, "signed-out"),
    "conflict": dict.fromkeys(SERVER, "conflict") | {"judged": "saving", "judged another": "conflict"},
    "refused": dict.fromkeys(SERVER, "refused") | {"judged": "saving", "judged another": "refused"},
}
"""The state that follows; `chosen` and `sent by another window` leave nothing that waits, so all is saved."""


def after(state: str, event: str) -> str:
    """What the page must say."""
    return AFTER[state].get(event, "saved")


def played(cases: list[list[str]]) -> list[list[tuple[str, int]]]:
    """The state that the page was told after each event, and how many answers the browser alone has."""
    node, _ = compute_driver_executable()
    ran = subprocess.run(
        [node, str(DRIVER), RATER.as_uri(), json.dumps(cases)], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return [[(state, kept) for state, kept in told] for told in json.loads(ran.stdout)]


def test_every_state_by_every_event_says_what_is_true():
    cases = [(state, event) for state in WAYS for event in EVENTS]
    told = played([[*WAYS[state], event] for state, event in cases])
    wrong = [
        (state, event, said[-1][0], after(state, event))
        for (state, event), said in zip(cases, told, strict=True)
        if said[-1][0] != after(state, event)
    ]
    assert not wrong
    assert [told[n][-2][0] for n, (state, event) in enumerate(cases) if event == "reached" and state != "saved"] == [
        state for state in WAYS if state != "saved"
    ]


def test_nothing_is_called_saved_that_the_browser_alone_has():
    pairs = [(one, other) for one in EVENTS for other in EVENTS]
    cases = [["judged", "judged another", *WAYS[state][1:], *pair] for state in WAYS for pair in pairs]
    for case, told in zip(cases, played(cases), strict=True):
        for event, (state, kept) in zip(case, told, strict=True):
            assert state != "saved" or kept == 0, (case, event)


def test_what_was_kept_when_the_session_ended_is_all_there_for_the_next():
    """A page whose link was renewed must not put one answer after another aside and call all of them saved."""
    said = played([["judged", "judged another", "link ended", "reached", "link ended"]])[0]
    assert [kept for _, kept in said] == [1, 2, 2, 2, 2]
    assert {state for state, _ in said[2:]} == {"signed-out"}


def test_the_states_are_those_of_the_program():
    listed = re.search(r"STATES = \[(.*?)\]", (RATER / "saving.js").read_text())
    assert listed
    assert re.findall(r'"([^"]+)"', listed[1]) == list(WAYS)


@pytest.mark.parametrize("event", SERVER)
def test_an_answer_of_the_server_leaves_no_more_than_was_there(event):
    kept = [one for _, one in played([["judged", "judged another", event, event]])[0]]
    assert all(b <= a for a, b in pairwise(kept[1:]))
