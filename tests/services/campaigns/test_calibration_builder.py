"""A calibration set from earlier campaigns, stored and taken in."""

from __future__ import annotations

import json

import pytest

from app.domain.errors import Invalid
from app.services.campaigns import calibration_builder, calibration_sets
from app.storage import embedded
from tests.cli.conftest import Command
from tests.cli.conftest import command as command  # a fixture
from tests.spine import fresh

SCORES = {1: (1, 1), 2: (1, 2), 3: (3, 3), 4: (3, 5), 5: (5, 5), 6: (5, 5)}


def campaign(protocol: str = "xsts") -> bytes:
    lines: list[dict[str, object]] = [{"type": "plumbline", "version": 1}, {"type": "campaign", "protocol": protocol}]
    lines.append({"type": "system", "key": "A", "name": "A"})
    for n, scores in SCORES.items():  # the last two are the same texts
        lines.append({"type": "segment", "document": "d", "position": n, "source": f"Source {min(n, 5)}."})
        lines.append({"type": "output", "document": "d", "position": n, "system": "A", "text": f"Output {min(n, 5)}."})
        for r, score in enumerate(scores):
            lines.append(
                {
                    "type": "judgment",
                    "task": f"t{r}",
                    "item": "d",
                    "position": n,
                    "rater": f"r{r}",
                    "systems": ["A"],
                    "document": "d",
                    "payload": {"protocol": protocol, "score": score},
                }
            )
    return "\n".join(map(json.dumps, lines)).encode()


def test_a_set_of_what_raters_agreed_about_is_stored_by_the_command(
    postgres: embedded.EmbeddedServer, migrated_template: str, command: Command
) -> None:
    with fresh(postgres, migrated_template) as spine:
        spine.take("early", "jsonl", campaign())
        spine.take("da", "jsonl", campaign("da"))
        with spine.database.transaction() as session:
            found = calibration_builder.propose_calibration_set(session, ["early"], per_stratum=1)
            with pytest.raises(calibration_builder.CampaignScalesDiffer):
                calibration_builder.propose_calibration_set(session, ["early", "da"])
            with pytest.raises(Invalid):
                calibration_builder.propose_calibration_set(session, ["early"], per_stratum=0)
        assert [(one.name, one.taken, one.available) for one in found.strata] == [
            *(("1", 1, 1), ("2", 1, 1), ("3", 1, 1), ("4", 1, 1), ("5", 1, 2)),
        ]
        assert [(p.text1, p.text2, p.consensus, p.stratum) for p in found.pairs][2] == (
            *("Source 3.", "Output 3.", 3.0, "3"),
        )
        assert found.mean_consensus == pytest.approx((1 + 1.5 + 3 + 4 + 5) / 5)

        done = command(spine.url, "calibration", "early", "--apart", "0.1", "--put", "anchors")
        assert done.returncode == 0, done.stderr
        assert b"3: 1 of 1" in done.stdout
        assert b"stored as anchors version 1" in done.stdout
        with spine.database.transaction() as session:
            stored = calibration_sets.get_calibration_set(session, "anchors")
        assert [pair.consensus for pair in stored.pairs] == [1, 3, 5]
