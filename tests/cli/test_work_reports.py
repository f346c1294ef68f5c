"""`plumbline report` on the raters of a campaign."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import pytest

from app.storage import embedded
from tests.cli.conftest import Command
from tests.services.data.test_imports import DA
from tests.spine import Spine, fresh


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("da", "wmt-da", DA.encode())
        yield found


@pytest.mark.parametrize("kind", ["quality", "timing", "revisions"])
def test_a_report_has_a_line_for_each_rater_in_every_shape(spine: Spine, command: Command, kind: str) -> None:
    told = json.loads(command(spine.url, "report", "da", kind, "--json").stdout)
    names = [one["rater"] for one in told["raters"]]
    lines = list(csv.DictReader(io.StringIO(command(spine.url, "report", "da", kind, "--csv").stdout.decode())))
    assert [line["rater"] for line in lines] == names
    shown = command(spine.url, "report", "da", kind).stdout.decode()
    assert all(name in shown for name in names)
    assert b"<svg" in command(spine.url, "report", "da", kind, "--svg").stdout


def test_the_test_is_chosen_by_options_and_a_wrong_one_is_refused(spine: Spine, command: Command) -> None:
    asked = ("report", "da", "quality", "--test", "rank_sum", "--min-pairs", "2", "--adjust", "none", "--json")
    told = json.loads(command(spine.url, *asked).stdout)
    assert (told["choices"]["test"], told["choices"]["min_pairs"]) == ("rank_sum", 2)
    for wrong in (("quality", "--test", "sign"), ("quality", "--min-pairs", "1"), ("unknown",)):
        refused = command(spine.url, "report", "da", *wrong)
        assert (refused.returncode, refused.stdout) == (2, b"")


def test_rankings_by_several_recipes_are_still_a_report(spine: Spine, command: Command) -> None:
    told = json.loads(command(spine.url, "report", "da", "recipes", "--recipes", "wmt-da", "--json").stdout)
    assert [one["name"] for one in told["rankings"]] == ["wmt-da"]
    refused = command(spine.url, "report", "da", "recipes", "--recipe", "wmt-da")  # not all of them instead
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"recipe: there are: recipes" in refused.stderr
