"""Whether the gate of round trips lets through only what was told: that row, that member, that often."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.api.round_trip_losses import LEAVES_OUT, TAKES, Judged, compare

ERROR = {"start": 0, "end": 4, "severity": "minor", "prefill": "p1"}
PREFILLED, REPEAT = "which prefilled error an error came from", "that a judgment is a repeat"
MANY = 99


def row(rater: str = "r1", *, system: str = "A", position: int | None = 1, **said: Any) -> Judged:
    told = {"accepted": True, "role": "rating", "protocol": "esa", "score": 5.0, "errors": [ERROR], **said}
    return (system, "d", position, rater), json.dumps(told, sort_keys=True)


PLAIN = [{name: value for name, value in ERROR.items() if name != "prefill"}]


@pytest.mark.parametrize(
    ("was", "came", "lost", "fits"),
    [
        ([row()], [row()], {}, True),
        ([row()], [row(errors=PLAIN)], {PREFILLED: 1}, True),
        ([row()], [row(errors=PLAIN)], {}, False),
        ([row()], [row(errors=PLAIN)], {"tasks of judgments": MANY, REPEAT: MANY}, False),
        ([row()], [row(errors=PLAIN, score=6.0)], {PREFILLED: MANY}, False),
        ([row(), row("r2")], [row(errors=PLAIN), row("r2", errors=PLAIN)], {PREFILLED: 1}, False),
        ([row(), row("r2")], [row(errors=PLAIN), row("r2", errors=PLAIN)], {PREFILLED: 2}, True),
        ([row(role="repeat")], [row(errors=PLAIN)], {PREFILLED: 1, REPEAT: 1}, True),
        ([row(role="repeat")], [row(errors=PLAIN)], {PREFILLED: 1}, False),
        ([row(role="degraded")], [row()], {REPEAT: MANY}, False),
        ([row(role="repeat")], [], {"judgments of the kind repeat": 1}, True),
        ([row(role="repeat")], [], {"judgments of the kind degraded": MANY}, False),
        ([row(), row("r2")], [], {"judgments": 1}, False),
        ([row(), row("r2")], [], {"judgments": 2}, True),
        ([row(), row(position=None)], [row(position=None)], {"judgments of whole items": MANY}, False),
        (  # one loss fits both, the other only one of them
            [row(role="repeat", position=None), row(position=None)],
            [],
            {"judgments of whole items": 1, "judgments of the kind repeat": 1},
            True,
        ),
        ([], [row()], {"judgments": MANY}, False),
        ([row("r1")], [row("scores")], {"raters of document scores": 1}, True),
        ([row("r1")], [row("scores")], {}, False),
        ([row("r1"), row("r2")], [row("scores"), row("scores")], {"raters of document scores": 1}, False),
    ],
)
def test_a_row_is_explained_by_its_own_loss_alone(
    was: list[Judged], came: list[Judged], lost: dict[str, int], fits: bool
) -> None:
    assert (not compare([[one] for one in was], Counter(came), lost).faults) is fits


def test_systems_that_share_an_output_are_one_judgment() -> None:
    both = [row(system="A"), row(system="B")]
    assert not compare([both], Counter(), {"judgments": 1}).faults
    assert not compare([both], Counter(row(system=one, errors=PLAIN) for one in "AB"), {PREFILLED: 1}).faults
    assert compare([[one] for one in both], Counter(), {"judgments": 1}).faults


@pytest.mark.parametrize("what", TAKES)
def test_a_loss_takes_no_score(what: str) -> None:
    assert compare([[row()]], Counter([row(score=6.0)]), {what: MANY}).faults


def test_no_loss_leaves_out_by_a_part_of_its_name() -> None:
    assert all(compare([[row()]], Counter(), {f"{what} too": MANY}).faults for what in LEAVES_OUT)
