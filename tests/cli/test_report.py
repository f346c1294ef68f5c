"""`plumbline report` and `plumbline compare`: any kind, from the database or over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import MappingProxyType

import pytest

from app.reports import registry
from app.storage import embedded
from tests.api.conftest import MQM
from tests.cli.conftest import Command
from tests.reports.toy_reports import BOTH
from tests.spine import Spine, fresh


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        for campaign in ("one", "two"):
            found.take(campaign, "mqm-tsv", MQM.encode())
        yield found


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "ALL", MappingProxyType({**registry.ALL, **BOTH}))


def test_a_report_is_asked_in_either_order_with_options_in_either_way(spine: Spine, command: Command) -> None:
    ways = [
        ("one", "toy", "--parts", "2", "--json"),
        ("toy", "one", "-o", "parts=2", "--json"),
        ("one", "--parts=2", "toy", "--json"),
    ]
    bodies = {command(spine.url, "report", *way).stdout for way in ways}
    assert len(bodies) == 1
    assert len(json.loads(bodies.pop())["parts"]) == 2


@pytest.mark.parametrize(
    ("flag", "begins"), [("--csv", b"campaign,n,total"), ("--latex", b"%"), ("--markdown", b"**"), ("--svg", b"<svg")]
)
def test_a_report_comes_in_every_shape(spine: Spine, command: Command, flag: str, begins: bytes) -> None:
    assert command(spine.url, "report", "one", "toy", flag).stdout.startswith(begins)


def test_a_report_on_the_terminal_has_its_tables_its_caption_and_its_warnings(spine: Spine, command: Command) -> None:
    shown = command(spine.url, "report", "one", "toy").stdout.decode()
    assert all(text in shown for text in ("one: Sums of scores", "Campaign", "Sums of 1 campaigns.", "Warning: "))


def test_campaigns_are_compared(spine: Spine, command: Command) -> None:
    told = json.loads(command(spine.url, "compare", "toys", "one", "two", "--json").stdout)
    assert [one["campaign"] for one in told["sums"]] == ["one", "two"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("report", "one", "nothing"), b"there are: "),
        (("report", "one"), b"both are needed"),
        (("report", "one", "toy", "--parts"), b"must be --name value"),
        (("report", "one", "toy", "--unknown", "1"), b"options:unknown: unknown; there are: parts, rater, seed"),
        (("report", "one", "toy", "--parts", "51"), b"options:parts: "),
        (("report", "nowhere", "toy"), b"campaign"),
        (("compare", "toys", "one"), b"two or more"),
        (("compare", "nothing", "one", "two"), b"there are: "),
        (("report", "one", "toy", "--svg", "--picture", "x"), b"there are: default, parts"),
    ],
)
def test_what_cannot_be_asked_is_one_clear_line(
    spine: Spine, command: Command, words: tuple[str, ...], said: bytes
) -> None:
    answer = command(spine.url, *words)
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert said in answer.stderr, answer.stderr


def test_every_report_has_a_line_in_the_help(spine: Spine, command: Command) -> None:
    shown = (
        command(spine.url, "report", "--help").stdout.decode() + command(spine.url, "compare", "--help").stdout.decode()
    )
    assert all(f"{kind.name}:" in shown for kind in registry.ALL.values())
