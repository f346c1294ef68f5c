"""A file with several language pairs becomes one campaign for each, or none; without the option it is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from app.domain.errors import Invalid
from tests.spine import Spine, opened

HEADER = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata"
SPLIT = {"options": {"split": "language_pair"}}


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


def rows(target: str, *, documents: int = 3) -> list[str]:
    """A few documents by two systems, of which B has the more errors; the first row of each says its languages."""
    said = json.dumps({"evaluation": {"source_language": "en", "target_language": target}})
    found = []
    for d in range(documents):
        for n, (system, severity) in enumerate((("A", "Minor"), ("B", "Major" if d else "Minor"))):
            cells = (
                system,
                f"{target}{d}",
                "1",
                "1",
                f"r{d % 2}",
                f"source {target}{d}",
                f"<v>{system}</v> {target}{d}",
            )
            found.append("\t".join((*cells, "Style", severity, said if not n else "")))
    return found


def table(*found: str) -> bytes:
    return "\n".join([HEADER, *found, ""]).encode()


def interleaved() -> bytes:
    return table(*(row for pair in zip(rows("de"), rows("cs"), strict=True) for row in pair))


def test_each_language_pair_ranks_as_its_own_file_would(spine: Spine) -> None:
    report = spine.take("wmt", "mqm-tsv", interleaved(), **SPLIT)
    assert list(report["stored"]["campaigns"]) == ["wmt-en-cs", "wmt-en-de"]
    for target in ("cs", "de"):
        spine.take(f"alone-{target}", "mqm-tsv", table(*rows(target)))
        split, alone = spine.rank(f"wmt-en-{target}", "google-mqm"), spine.rank(f"alone-{target}", "google-mqm")
        assert split["systems"] == alone["systems"]
        assert split["pairs"] == alone["pairs"]
    stored = spine.ask("SELECT key, series, target_language FROM campaigns WHERE key LIKE 'wmt%' ORDER BY key")
    assert stored == [("wmt-en-cs", "wmt", "cs"), ("wmt-en-de", "wmt", "de")]


def test_without_the_option_the_values_are_named_and_nothing_is_stored(spine: Spine) -> None:
    before = spine.counts()
    with pytest.raises(Invalid, match=r"several language pairs in one import: en-cs, en-de.*split=language_pair"):
        spine.take("wmt", "mqm-tsv", interleaved())
    assert spine.counts() == before


def test_what_is_wrong_in_one_language_pair_keeps_all_of_them_out(spine: Spine) -> None:
    before = spine.counts()
    other = rows("de")[0].replace("source de0", "another source").replace("r0", "r9")
    with pytest.raises(Invalid, match="nothing was stored") as refused:
        spine.take("wmt", "mqm-tsv", table(*rows("cs"), *rows("de"), other), **SPLIT)
    assert [place.loc for place in refused.value.places] == [("file", 8), ("file", 9)], "the two that say otherwise"
    assert spine.counts() == before


def test_a_second_import_of_the_same_file_changes_nothing(spine: Spine) -> None:
    spine.take("wmt", "mqm-tsv", interleaved(), **SPLIT)
    versions = spine.ask("SELECT key, data_version FROM campaigns ORDER BY key")
    judgments = spine.counts()["judgments"]
    spine.take("wmt", "mqm-tsv", interleaved(), **SPLIT)
    assert spine.counts()["judgments"] == judgments
    assert spine.ask("SELECT key, data_version FROM campaigns ORDER BY key") == versions


def test_split_by_protocol_there_is_one_campaign(spine: Spine) -> None:
    report = spine.take("ted", "mqm-tsv", table(*rows("de")), options={"split": "protocol"})
    assert list(report["stored"]["campaigns"]) == ["ted-mqm"]
