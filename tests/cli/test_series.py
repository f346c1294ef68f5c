"""`plumbline series`: a manifest becomes campaigns, plans, links and a table, however often it is run."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import Invalid
from app.services.access import tokens
from app.services.series.manifest import parse_manifest
from tests.cli.conftest import Answer, Command
from tests.load.server import serving
from tests.spine import opened

DESIGN = {"grouping": "psxs", "ratings_per_item": 1, "overlap": None}
RATERS = [{"key": "r1", "team": "bonn"}, {"key": "r2", "contact": {"name": "Ada"}}]


def manifest() -> dict[str, Any]:
    def campaign(target: str) -> dict[str, Any]:
        files = [
            {"format": "text", "paths": ["source.txt", "set.docs", f"{target}/*.txt"]},
            {"format": "mtme", "paths": [f"late/system-outputs/en-{target}/C.txt"]},
        ]
        return {"key": f"s-{target}", "source_language": "en", "target_language": target, "files": files}

    defaults = {"protocol": "esa", "raters": RATERS, "design": DESIGN}
    return {"series": "s", "defaults": defaults, "campaigns": [campaign("de"), campaign("cs")]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "source.txt").write_text("One.\nTwo.\nThree.\nFour.\n")
    (tmp_path / "set.docs").write_text("d1\nd1\nd2\nd2\n")
    for target in ("de", "cs"):
        (tmp_path / target).mkdir()
        late = tmp_path / "late" / "system-outputs" / f"en-{target}"
        late.mkdir(parents=True)
        for system in "AB":
            (tmp_path / target / f"{system}.txt").write_text("".join(f"{target} {system} {n}\n" for n in range(4)))
        (late / "C.txt").write_text("".join(f"{target} C {n}\n" for n in range(4)))
    (tmp_path / "s.json").write_text(json.dumps(manifest()))
    return tmp_path


def lines(answer: Answer) -> list[str]:
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.decode().splitlines()


def test_a_manifest_becomes_open_campaigns_and_running_again_goes_on(
    command: Command, database_url: str, folder: Path
) -> None:
    first = lines(command(database_url, "series", folder / "s.json", "create", "plan", "open"))
    again = lines(command(database_url, "series", folder / "s.json", "create", "plan", "open"))

    assert "s-de: created" in first
    assert any(line.startswith("s-cs: plan 1, seed") for line in first)
    assert "s-cs: opened" in first
    assert all(line.endswith("(as it was)") for line in again), again
    with opened(database_url) as spine:
        assert spine.ask("SELECT key, series, state, target_language FROM campaigns ORDER BY key") == [
            ("s-cs", "s", "open", "cs"),
            ("s-de", "s", "open", "de"),
        ]
        assert spine.ask("SELECT count(*) FROM outputs") == [(24,)]
        assert spine.ask("SELECT max(version) FROM plans") == [(1,)]


def test_a_plan_is_made_anew_only_where_something_changed(command: Command, database_url: str, folder: Path) -> None:
    lines(command(database_url, "series", folder / "s.json", "create", "plan"))
    stands = lines(command(database_url, "series", folder / "s.json", "plan"))
    changed = manifest()
    changed["campaigns"][0]["raters"] = [*RATERS, {"key": "r3"}]
    (folder / "s.json").write_text(json.dumps(changed))

    again = lines(command(database_url, "series", folder / "s.json", "create", "plan"))

    assert stands == ["s-de: plan 1 stands (as it was)", "s-cs: plan 1 stands (as it was)"]
    assert any(line.startswith("s-de: plan 2, seed") for line in again)
    assert "s-cs: plan 1 stands (as it was)" in again


def test_links_are_given_once_and_anew_only_where_that_is_asked(
    command: Command, database_url: str, folder: Path
) -> None:
    lines(command(database_url, "series", folder / "s.json", "create"))
    out = folder / "links.csv"

    lines(command(database_url, "series", folder / "s.json", "links", "-o", out))
    first = list(csv.DictReader(io.StringIO(out.read_text())))
    lines(command(database_url, "series", folder / "s.json", "links", "-o", out))
    kept = list(csv.DictReader(io.StringIO(out.read_text())))
    lines(command(database_url, "series", folder / "s.json", "links", "-o", out, "--renew"))
    anew = list(csv.DictReader(io.StringIO(out.read_text())))

    assert [(one["campaign"], one["rater"]) for one in first] == [
        (campaign, rater) for campaign in ("s-de", "s-cs") for rater in ("r1", "r2")
    ]
    assert kept == first
    assert len(anew) == 4
    assert {one["link"] for one in anew}.isdisjoint(one["link"] for one in first)
    assert out.stat().st_mode & 0o077 == 0
    with opened(database_url) as spine, spine.database.transaction() as session:
        caller = tokens.authenticate_secret(session, anew[0]["link"].partition("#token=")[2])
        assert (caller.campaign, caller.rater) == ("s-de", "r1")


def test_progress_tells_each_campaign_even_before_it_is_created(
    command: Command, database_url: str, folder: Path
) -> None:
    before = json.loads(command(database_url, "series", folder / "s.json", "--json").stdout)
    lines(command(database_url, "series", folder / "s.json", "create", "plan", "open"))
    after = json.loads(command(database_url, "series", folder / "s.json", "progress", "--json").stdout)

    assert [one["progress"] for one in before["campaigns"]] == [None, None]
    assert [one["progress"]["state"] for one in after["campaigns"]] == ["open", "open"]
    assert "s-de" in "".join(lines(command(database_url, "series", folder / "s.json")))


def missing(path: str) -> dict[str, Any]:
    return {"format": "text", "paths": [path]}


WRONG: dict[str, tuple[Any, str, str]] = {
    "no file": (
        lambda m: m["campaigns"][1].update(files=[missing("no.txt")]),
        "create",
        "campaigns:1:files:0:paths:0: there is no file no.txt",
    ),
    "no protocol": (
        lambda m: m["campaigns"][0].update(protocol="nothing"),
        "create",
        "campaigns:0:protocol: must be one of",
    ),
    "one key twice": (lambda m: m["campaigns"][1].update(key="s-de"), "create", "the key s-de stands twice"),
    "no such field": (lambda m: m["campaigns"][0].update(colour=1), "create", "s.json:campaigns:0:colour"),
    "no such default": (lambda m: m["defaults"].update(key="x"), "create", "s.json:defaults"),
    "no such option": (
        lambda m: m["campaigns"][0]["files"].append({**missing("source.txt"), "options": {"x": "1"}}),
        "create",
        "campaigns:0:files:2",
    ),
    "not created": (lambda m: m, "plan", "run the step create first"),
    "no such step": (lambda m: m, "dance", "there are: create, plan, open"),
}


@pytest.mark.parametrize(("change", "step", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_names_its_place_in_the_manifest(
    command: Command, database_url: str, folder: Path, change: Any, step: str, said: str
) -> None:
    wrong = manifest()
    change(wrong)
    (folder / "s.json").write_text(json.dumps(wrong))

    answer = command(database_url, "series", folder / "s.json", step)

    assert answer.returncode == 2
    assert said in answer.stderr.decode()
    assert b"Traceback" not in answer.stderr


def test_a_campaign_that_is_otherwise_there_is_not_touched(command: Command, database_url: str, folder: Path) -> None:
    lines(command(database_url, "series", folder / "s.json", "create"))
    wrong = manifest()
    wrong["campaigns"][0]["target_language"] = "nl"
    (folder / "s.json").write_text(json.dumps(wrong))

    answer = command(database_url, "series", folder / "s.json", "create")

    assert answer.returncode == 2
    assert "campaigns:0:target_language: is de, the manifest says nl" in answer.stderr.decode()


def test_over_http_it_is_the_same(
    command: Command, database_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(database_url) as served:
        monkeypatch.setenv("PLUMBLINE_TOKEN", served.secret)

        def run(*arguments: str | Path) -> Answer:
            return command(database_url, "series", folder / "s.json", *arguments, "--server", served.url)

        first = lines(run("create", "plan", "open"))
        again = lines(run("create", "plan", "open"))
        lines(run("links", "-o", folder / "links.csv"))
        lines(run("links", "-o", folder / "links.csv"))
        progress = json.loads(run("progress", "--json").stdout)
        wrong = manifest()
        wrong["campaigns"][0]["raters"] = [{"key": "r1", "capacity": 3}]
        (folder / "s.json").write_text(json.dumps(wrong))
        refused = run("create")

    assert "s-cs: opened" in first
    assert all(line.endswith("(as it was)") for line in again), again
    assert len(list(csv.DictReader(io.StringIO((folder / "links.csv").read_text())))) == 4
    assert [one["progress"]["state"] for one in progress["campaigns"]] == ["open", "open"]
    assert refused.returncode == 2
    assert "campaigns:0:raters:0" in refused.stderr.decode()


SETTING = '{"series": "s", "campaigns": [{"key": "k", "protocol": "da", "settings": {"x": %s}}]}'


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", '{"series": "s", "campaigns": []}', "[" * 100_000),
        *(SETTING % value for value in ("NaN", "-Infinity", "1e999", "1" * 5000, '1, "x": 2')),
    ],
)
def test_what_is_no_manifest_is_one_clear_error(text: str) -> None:
    with pytest.raises(Invalid) as raised:
        parse_manifest(text, "s.json")

    assert raised.value.places[0].loc[0] == "s.json"
