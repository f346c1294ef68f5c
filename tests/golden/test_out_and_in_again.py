"""Every public data set in, out, in again: as jsonl the same data and ranking, in the field's formats the same means.

What a format cannot carry is counted by the writer; the counts of each are held here, so that none falls silent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from app.services.data import exports
from tests.spine import SHARED, Spine

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the public data are not beside the repository: shared/data"),
]
PLAIN = {"normalize": "none", "test": "none", "clusters": "none"}
SETS = ("bn-hi", "zhen", "ted", "hi-bn", "cs-en", "cs-en-z", "sxs")
ESA = tuple(f"esa-{name}" for name in ("ESA-1", "ESA-2", "ESA-IAA", "ESAAI-1", "ESAAI-2", "ESAAI-IAA"))
ERRORS = ("esa-MQM-1", "esa-MQM-IAA")
SQM = "cal"


LOST: dict[tuple[str, str], dict[str, int]] = {
    ("ted", "mqm-tsv"): {},
    ("sxs", "mqm-tsv"): {},
    ("zhen", "mqm-tsv"): {"spans outside a text or across each other": 6353},  # the texts are unknown
    ("bn-hi", "wmt-da"): {},
    ("hi-bn", "wmt-da"): {},
    ("cs-en", "wmt-da"): {},
    ("cs-en-z", "wmt-da"): {"options of the campaign: say again whether scores are standardised": 1},
    ("esa-ESA-1", "esa"): {
        "domains of documents": 71,
        "source texts": 207,
        "texts of outputs": 2691,
        "persons behind raters": 33,
        "what else is kept with judgments": 3087,
    },
    ("esa-MQM-1", "mqm-tsv"): {
        "options of the campaign: say its weights again": 1,
        "when judgments were begun": 2691,
        "the order in which errors were marked": 129,
        "that an error is an omission": 80,
        "judgments of the kind degraded": 396,
        "superseded revisions": 8,
    },
    ("bn-hi", "mtme"): {
        "tasks of judgments": 4461,
        "what else is kept with judgments": 4461,
        "references, without which mt-metrics-eval cannot load the files": 1,
    },
    ("ted", "mtme"): {
        "what is known of segments": 529,
        "notes on errors": 38,
        "that an error is an omission": 14,
        "references, without which mt-metrics-eval cannot load the files": 1,
    },
    ("cs-en", "mtme"): {
        "that documents are unknown": 1,
        "that systems are human, where no reference has their name": 1,
        "references, without which mt-metrics-eval cannot load the files": 1,
        "that a judgment is a repeat": 1202,
        "tasks of judgments": 10651,
        "what else is kept with judgments": 10651,
        "judgments of the kind degraded": 1216,
        "judgments of the kind reference": 1202,
    },
}


@dataclass(frozen=True)
class World(Spine):
    """The public data. fixture: gives a fixture of its name."""

    fixture: Callable[[str], object]

    def present(self, name: str) -> None:
        """Import a set unless it is there."""
        series = "esa" if name in (*ESA, *ERRORS) else name
        self.fixture(series if series in ("esa", "sxs", "zhen", SQM) else "published")


@pytest.fixture(scope="module")
def world(published: Spine, request: pytest.FixtureRequest) -> World:
    return World(published.url, published.database, request.getfixturevalue)


def ranked(world: World, name: str) -> dict[str, Any]:
    """By the weights of the campaign, which the field's formats do not carry."""
    weights = {"scoring": "spans:esa-mqm"} if name.split(".")[0] in ERRORS else {}
    return world.rank(name, "recommended", **PLAIN, **weights)


def again(
    world: World, name: str, format: str, **options: str
) -> tuple[dict[str, float], dict[str, float], Counter[str]]:
    """Means by system before and after, and what the format could not carry."""
    world.present(name)
    copy, lost = f"{name}.{format}", Counter[str]()
    if exports.get_export_file_type(format).files:
        files = {
            path: b"".join(c) for path, c in exports.export_campaign_files(world.database, name, format, lost=lost)
        }
        world.take(copy, format, files, options=options)
    else:
        world.take(
            copy, format, b"".join(exports.export_campaign(world.database, name, format, lost=lost)), options=options
        )
    if (name, format) in LOST:
        assert lost == LOST[name, format]
    means = [{row["system"]: row["raw"] for row in ranked(world, key)["systems"]} for key in (name, copy)]
    return means[0], means[1], lost


# In every run tests/golden/test_round_trips.py takes three of them as jsonl, byte by byte.
@pytest.mark.soak
@pytest.mark.parametrize("name", [*SETS, *ESA, *ERRORS])
def test_jsonl_out_and_in_again_is_the_same_data_and_the_same_ranking(world: World, name: str) -> None:
    world.present(name)
    world.take(f"{name}.jsonl", "jsonl", world.export(name))
    ours, theirs = ranked(world, f"{name}.jsonl"), ranked(world, name)
    assert ours["data_hash"] == theirs["data_hash"]
    for what in ("systems", "pairs", "n_ratings", "warnings"):
        assert ours[what] == theirs[what]


@pytest.mark.soak
def test_each_language_of_the_calibration_out_and_in_again_is_the_same(world: World) -> None:
    world.present(SQM)
    for (name,) in world.ask(f"SELECT key FROM campaigns WHERE series = '{SQM}' AND key NOT LIKE '%.%' ORDER BY key"):
        world.take(f"{name}.jsonl", "jsonl", world.export(name))
        assert ranked(world, f"{name}.jsonl")["data_hash"] == ranked(world, name)["data_hash"]
        assert ranked(world, f"{name}.jsonl")["systems"] == ranked(world, name)["systems"]


# In every run tests/golden/test_round_trips.py takes ted as mqm-tsv and bn-hi as wmt-da.
@pytest.mark.soak
@pytest.mark.parametrize("name", ["zhen", "ted", "sxs", *ERRORS])
def test_mqm_tsv_out_and_in_again_is_the_same_means(world: World, name: str) -> None:
    before, after, lost = again(world, name, "mqm-tsv")
    assert after == pytest.approx(before, abs=1e-12)
    assert not lost["tasks of judgments"]


@pytest.mark.soak
@pytest.mark.parametrize("name", ["bn-hi", "hi-bn", "cs-en"])
def test_wmt_da_out_and_in_again_is_the_same_means(world: World, name: str) -> None:
    before, after, lost = again(world, name, "wmt-da")
    assert after == pytest.approx(before, abs=1e-12)
    assert not lost


@pytest.mark.soak
def test_standardised_scores_out_and_in_again_are_the_same_means(world: World) -> None:
    before, after, _ = again(world, "cs-en-z", "wmt-da", scale="z")
    assert after == pytest.approx(before, abs=1e-12)


@pytest.mark.soak
@pytest.mark.parametrize("name", ESA)
def test_esa_out_and_in_again_is_the_same_means(world: World, name: str) -> None:
    before, after, lost = again(world, name, "esa")
    assert after == pytest.approx(before, abs=1e-12)
    assert lost["texts of outputs"] > 0


# Marked errors out as mtme and in again in every run: `formats/mtme/test_written_trees.py`.
@pytest.mark.parametrize(
    "name",
    ["bn-hi", *(pytest.param(name, marks=pytest.mark.soak) for name in (*SETS[1:5], "sxs", *ESA, *ERRORS))],
)
def test_mtme_out_and_in_again_is_the_same_means(world: World, name: str) -> None:
    world.present(name)
    ((protocol,),) = world.ask(f"SELECT protocol FROM campaigns WHERE key = '{name}'")
    before, after, lost = again(world, name, "mtme", protocol=protocol, human=f"{protocol}-*")
    assert after == pytest.approx(before, abs=1e-12)
    assert lost
