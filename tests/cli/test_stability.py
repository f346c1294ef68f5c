"""`plumbline stability`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.storage import embedded
from tests.cli.conftest import Command
from tests.spine import Spine, fresh
from tests.stats.stability.worlds import as_mqm, made_up

FEW = ("--documents", "6,8", "--studies", "10", "--studies-per-document-set", "10", "--seed", "4", "--workers", "1")


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("thrice", "mqm-tsv", as_mqm(made_up(1, documents=10)))
        yield found


def test_options_that_repeat_give_one_curve_each(spine: Spine, command: Command) -> None:
    asked = ("--grouping", "psxs", "--grouping", "none", "--normalize", "none", "--normalize", "z")
    told = json.loads(command(spine.url, "stability", "thrice", *FEW, *asked, "--json").stdout)
    designs = [(curve["design"]["grouping"], curve["design"]["normalize"]) for curve in told["curves"]]
    assert designs == [("psxs", "none"), ("psxs", "z"), ("none", "none"), ("none", "z")]
    assert [point["documents"] for point in told["curves"][0]["points"]] == [6, 8]
    assert told["seed"] == 4


def test_a_terminal_shows_a_table_with_power_beside_srp_and_the_warnings(spine: Spine, command: Command) -> None:
    shown = command(spine.url, "stability", "thrice", *FEW).stdout.decode()
    for text in ("SRP", "Sig. pairs", "pSxS", "System-balanced", "No grouping", "rater × system"):
        assert text in shown
    for text in ("Pearson", "SRP, both sig.", "Kendall, all", "Same claims, all"):
        assert shown.count(f" {text}") >= 3
    assert max(map(len, shown.partition("±: ")[0].splitlines())) <= 80


def test_every_shape_can_be_asked_for(spine: Spine, command: Command) -> None:
    lines = csv.DictReader(io.StringIO(command(spine.url, "stability", "thrice", *FEW, "--csv").stdout.decode()))
    assert len(list(lines)) == 6
    assert b"longtable" in command(spine.url, "stability", "thrice", *FEW, "--latex").stdout
    assert b"| SRP |" in command(spine.url, "stability", "thrice", *FEW, "--markdown").stdout
    pictures = [
        command(spine.url, "stability", "thrice", *FEW, "--svg", "--picture", kind).stdout
        for kind in ("documents", "power")
    ]
    assert all(b"<svg" in picture for picture in pictures)
    assert pictures[0] != pictures[1]


def test_a_request_from_a_file_is_that_of_the_options(spine: Spine, command: Command, tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text(
        json.dumps(
            {
                "designs": [{"grouping": "none", "balance": {"entropy": 0.9}}],
                "documents": [6],
                "studies": 10,
                "studies_per_document_set": 10,
                "seed": 9,
            }
        )
    )
    of_file = command(spine.url, "stability", "thrice", "--request", file, *FEW, "--json").stdout
    of_options = command(
        spine.url, "stability", "thrice", *FEW, "--grouping", "none", "--balance", "0.9", "--json"
    ).stdout
    assert of_file == of_options
    assert json.loads(of_file)["curves"][0]["design"]["balance"] == {"entropy": 0.9}


@pytest.mark.parametrize(
    "wrong",
    [
        ("--grouping", "documents"),
        ("--balance", "half"),
        ("--documents", "ten"),
        ("--documents", "99"),
        ("--picture", "cake", "--svg"),
        ("--normalize", "rank"),
        ("--csv", "--json"),
    ],
)
def test_what_cannot_be_is_one_clear_refusal(spine: Spine, command: Command, wrong: tuple[str, ...]) -> None:
    refused = command(spine.url, "stability", "thrice", *wrong)
    assert refused.returncode == 2
    assert refused.stderr.startswith(b"plumbline: ")
    assert b"Traceback" not in refused.stderr
