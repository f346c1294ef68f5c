"""Every command of the guides is run, in order, as it is written, and prints what the guide says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.guides.shell import ROOT, Run, blocks, run, script, told
from tests.judged_demo import load_judged
from tests.load.server import Served, serving
from tests.patience import patient
from tests.spine import BN_HI, TED, Spine, fresh, shared

GUIDES = ROOT / "docs" / "how-to"
MEANT = re.compile(r"(https?://)?(localhost|127\.0\.0\.1):8000")
"""The server of the guides; ours has another port."""
MAKE = (
    """curl -sH "$H" -H "$J" $B/v1/campaigns -d '{"key": "try", "protocol": "esa", "target_language": "de"}' > made"""
)
FILL = "plumbline import try --format text set.docs source.txt alpha.txt beta.txt gamma.txt > imported"
ENROL = "plumbline raters add try anna; plumbline raters add try ben"
# Guides that are run here, with what each takes as given, in the words of the shell.
GIVEN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "run-a-campaign.md": (),
        "invite-raters.md": (MAKE,),
        "preregister.md": (MAKE,),
        "exclude-a-rater.md": (),
        "own-front-end.md": (MAKE, FILL, ENROL),
        "design-a-campaign.md": (MAKE, FILL, ENROL),
    }
)
# Guides about published data: what stands for fetching them, and the files that come by it.
HERE = "git() { :; }; cd() { :; }; make() { :; }"
PUBLISHED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"../../README.md": (HERE,), "rank-published-data.md": (HERE,)}
)
# Guides whose commands are about another machine, published data, or hours of work; each with its test.
ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "back-up-and-move.md": "tests/faults and tests/storage restore backups",
        "compare-languages.md": "tests/guides/test_guides.py sends its requests",
        "extend.md": "tests/guides/test_guides.py runs its modules",
        "gate-a-release.md": "the workflow of somebody else's repository; tests/cli/test_gate_command.py",
        "release.md": "its commands are patterns; tests/cli/test_bundle.py",
        "series.md": "tests/cli/test_series.py runs a manifest",
    }
)
LONG = re.compile("conformance|power")
"""Commands that take a whole sitting, or hundreds of studies; tests/cli has them."""
PRINTED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "run-a-campaign.md": ('"revision":1', '"state":"closed"', "alpha"),
        "invite-raters.md": ("#token=", "invitation="),
        "preregister.md": ("the demo is judged already",),
        "exclude-a-rater.md": ("Nothing was stored.", "failed the controls", "the controls were wrong"),
        "own-front-end.md": ('"judgments":1',),
        "design-a-campaign.md": ("looked at, not stored", "version 1", '"state":"open"', "version 2"),
    }
)
AS_GIVEN = """
TOKEN={secret}; SERVER={url}; B=$SERVER; H="Authorization: Bearer $TOKEN"; J="Content-Type: application/json"
"""


@pytest.fixture(scope="module")
def spine(postgres: Any, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        load_judged(found.database)
        yield found


@pytest.fixture(scope="module")
def served(spine: Spine) -> Iterator[Served]:
    with patient(), serving(spine.url) as found:
        yield found


@pytest.fixture(scope="module")
def guide(spine: Spine, served: Served, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Run a guide, or a part of it, with what it takes as given."""

    def follow(name: str) -> list[Run]:
        folder = tmp_path_factory.mktemp("guide")
        put_files(folder)
        if name in PUBLISHED:
            for data, file in ((TED, "mqm_ted_ende.tsv"), (BN_HI, "ad-latest.csv")):
                (folder / file).write_bytes(shared(data))
        found = MEANT.sub(served.url, (GUIDES / name).read_text(encoding="utf-8"))
        environment = {"PLUMBLINE_DATABASE_URL": spine.url, "PLUMBLINE_PUBLIC_URL": served.url}
        before = "\n".join((AS_GIVEN.format(secret=served.secret, url=served.url), *{**GIVEN, **PUBLISHED}[name]))
        key = re.sub(r"[^a-z-]", "", name.lower())  # each guide has a campaign of its own
        named = {"try": key, "pilot": "demo", "ted-ende": f"{key}-ted"}
        words = re.compile(rf"(?<![\w.-])({'|'.join(named)})(?![\w-])")
        found, before = (words.sub(lambda word: named[word[1]], text) for text in (found, before))
        runs = run(found, folder, environment, before=before, without=LONG)
        for one in runs:
            assert one.code == 0, (name, one.block, one.printed)
            if "409" not in one.block.text:  # where a guide says that there may be one
                assert not re.search(r'"status": ?[45]\d\d', one.printed), (name, one.block, one.printed)
            if one.shown is not None and not one.shown.lstrip().startswith("{"):
                assert told(one.shown, one.printed) == [], (name, one.block, one.printed)
        return runs

    return follow


def put_files(folder: Path) -> None:
    """The test set that the guides speak of, and a design."""
    (folder / "set.docs").write_text("".join(f"doc-{n}\tnews\n" for n in (1, 1, 2, 2)))
    for name in ("source", "alpha", "beta", "gamma"):
        (folder / f"{name}.txt").write_text("".join(f"A line of {name}, number {n}.\n" for n in range(4)))
    designs = [block.text for block in blocks((GUIDES / "design-a-campaign.md").read_text()) if block.text[0] == "{"]
    (folder / "design.json").write_text(designs[0])


@pytest.mark.parametrize("name", GIVEN)
def test_the_commands_of_a_guide_do_what_it_says(guide: Any, name: str) -> None:
    printed = "".join(one.printed for one in guide(name))
    for part in PRINTED.get(name, ()):
        assert part in printed, (part, printed)


@pytest.mark.soak
@pytest.mark.parametrize("name", PUBLISHED)
def test_the_commands_about_published_data_print_what_is_shown(guide: Any, name: str) -> None:
    runs = guide(name)
    assert sum(one.shown is not None for one in runs) >= 1


def test_every_guide_is_run_or_has_a_test_that_says_why_not() -> None:
    there = {path.name for path in GUIDES.glob("*.md")}
    assert set(GIVEN) | set(ELSEWHERE) | {one for one in PUBLISHED if "/" not in one} == there
    assert not set(GIVEN) & set(ELSEWHERE)
    for name in GIVEN:
        assert script((GUIDES / name).read_text(encoding="utf-8")), name
