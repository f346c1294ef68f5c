"""Every command of the guides is run, in order, as it is written, and prints what the guide says."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.guides.given import ELSEWHERE, RUN, load, put_files, put_published
from tests.guides.shell import ROOT, Run, run, script, told
from tests.load.server import Served, serving
from tests.patience import patient
from tests.spine import Spine, fresh

MEANT = re.compile(r"(https?://)?(localhost|127\.0\.0\.1):8000")
"""The server of the guides; ours has another port."""
LONG = re.compile("conformance|power")
"""Commands that take a whole sitting, or hundreds of studies."""
AS_GIVEN = """
TOKEN={secret}; SERVER={url}; B=$SERVER; H="Authorization: Bearer $TOKEN"; J="Content-Type: application/json"
EMPTY={empty}; HOME={home}; export GITHUB_STEP_SUMMARY=/dev/stdout
"""
PUBLISHED = ("README.md", "docs/how-to/rank-published-data.md")
_numbers = count(1)
Follow = Callable[..., list[Run]]


@pytest.fixture(scope="module")
def spine(postgres: Any, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        load(found)
        yield found


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server keeps media, and the commands of all guides: they share its database."""
    return tmp_path_factory.mktemp("media")


@pytest.fixture(scope="module")
def served(spine: Spine, media: Path) -> Iterator[Served]:
    with patient(), serving(spine.url, media=media) as found:
        yield found


@pytest.fixture
def follow(spine: Spine, served: Served, media: Path, data_dir: Path, request: pytest.FixtureRequest) -> Follow:
    """Run a document with what it takes as given."""

    def done(name: str, *, without: re.Pattern[str] | None = None) -> list[Run]:
        given, folder = RUN[name], data_dir.parent
        put_files(folder)
        data_dir.mkdir(mode=0o700)
        (data_dir / "media").symlink_to(media)
        empty = request.getfixturevalue("empty_database_url") if "$EMPTY" in str(given) else ""
        words = AS_GIVEN.format(secret=served.secret, url=served.url, empty=shlex.quote(empty), home=folder)
        key = f"{Path(name).stem.lower()}-{next(_numbers)}"  # each run has a campaign of its own
        named = {"try": key, "pilot": "demo", "ted-ende": f"{key}-ted", "/backup": str(folder)}
        ours = re.compile(rf"(?<![\w.-])({'|'.join(named)})(?![\w-])")

        def here(text: str) -> str:
            return ours.sub(lambda word: named[word[1]], MEANT.sub(served.url, text))

        if name in PUBLISHED:
            put_published(folder)
        runs = run(
            here((ROOT / name).read_text(encoding="utf-8")),
            folder,
            {
                "PLUMBLINE_DATABASE_URL": spine.url,
                "PLUMBLINE_PUBLIC_URL": served.url,
                "PLUMBLINE_DATA_DIR": str(data_dir),  # never the one of this machine
            },
            before=here("\n".join((words, *given.before))),
            between={here(start): here(text) for start, text in given.between.items()},
            without=without,
        )
        for one in runs:
            if "409" not in one.block.text:  # where a guide says that there may be one
                assert not re.search(r'"status": ?[45]\d\d', one.printed), (name, one.block, one.printed)
            if one.shown is not None:
                assert told(one.shown, one.printed) == [], (name, one.block, one.printed)
        printed = "".join(one.printed for one in runs)
        for part in given.printed:
            assert part in printed, (part, printed)
        return runs

    return done


@pytest.mark.parametrize("name", [name for name, given in RUN.items() if not given.long])
def test_the_commands_of_a_guide_do_what_it_says(follow: Follow, name: str) -> None:
    follow(name, without=LONG)


@pytest.mark.soak
@pytest.mark.parametrize(
    "name",
    [name for name, given in RUN.items() if given.long or LONG.search((ROOT / name).read_text(encoding="utf-8"))],
)
def test_all_commands_do_what_the_document_says_however_long_they_take(follow: Follow, name: str) -> None:
    assert follow(name)


def test_every_document_with_commands_is_run_here_or_in_a_test_that_reads_it() -> None:
    guides = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "how-to").glob("**/*.md")}
    assert {*RUN, *ELSEWHERE} == guides | {"docs/tutorial.md", "README.md"}
    assert not set(RUN) & set(ELSEWHERE)
    for name in RUN:
        assert script((ROOT / name).read_text(encoding="utf-8")), name
    for name, test in ELSEWHERE.items():
        assert Path(name).name in (ROOT / test).read_text(encoding="utf-8"), (name, test)
