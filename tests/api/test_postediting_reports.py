"""Post-edits over HTTP: what raters wrote, from the page to the tables and pictures."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from app.domain.errors import Invalid
from app.main import create_app
from app.reports.kit import request, store
from app.services.access import tokens
from app.services.jobs import report_requests
from app.simulation import CampaignForSimulation, OutputForSimulation, encode_rater_model, make_rater_model_template
from app.storage import embedded
from tests.api.conftest import OPTIONS
from tests.api.direct import asking
from tests.cli.conftest import Command
from tests.cli.conftest import command as command  # a fixture
from tests.collecting import TARGET, Collecting, collect
from tests.load.server import serving
from tests.spine import Spine, fresh

NAN = re.compile(r"(?i)(?<![a-z])(nan|-?inf|infinity)(?![a-z])")
SYSTEMS = ("sysA", "sysB", "sysC")


@dataclass(frozen=True)
class World:
    client: Any
    spine: Spine
    live: Collecting
    secret: str

    def get(self, path: str, **query: str) -> Any:
        return self.client.get(path, params=query, headers={"Authorization": f"Bearer {self.secret}"})

    def report(self, campaign: str = "live", kind: str = "postediting", **query: str) -> Any:
        found = report_requests.get_report_kind_by_name(kind)
        asking = request.ReportRequest(found, (campaign,), request.parse_report_options(found, query))
        return json.loads(store.find_or_compute_report(self.spine.database, asking).body)


def edited(text: str, system: str) -> str:
    """What the rater makes of an output: nothing of A's, one word of B's, two and a shorter text of C's."""
    words = text.split()
    return " ".join({"sysA": words, "sysB": [*words[:-1], "bellt."], "sysC": ["Stimme", *words[2:]]}[system])


def references(url: str, name: str = "ref") -> None:
    """Every segment gets a translation that nobody had a machine for."""
    with psycopg.connect(url) as db:
        db.execute(
            """INSERT INTO reference_texts (campaign_id, segment_id, name, text)
               SELECT campaign_id, id, %s, 'Eine ganz andere Übersetzung von ' || source FROM segments""",
            (name,),
        )
        db.execute("UPDATE systems SET lab = CASE WHEN key = 'sysC' THEN 'two' ELSE 'one' END")


def post_edit(text: str, system: str) -> dict[str, object]:
    """A post-edit, with as many critical errors as the system's place."""
    return {"protocol": "postedit", "text": edited(text, system), "critical_errors": SYSTEMS.index(system)}


def by_place(text: str, system: str) -> dict[str, object]:
    """A post-edit that replaces as many words as document and segment have numbers."""
    words, n = text.split(), sum(place(text))
    return {"protocol": "postedit", "text": " ".join([*words[:-n], *["anders"] * n]), "critical_errors": n % 2}


def place(text: str) -> tuple[int, int]:
    document, segment = (int(n.rstrip(":")) for n in text.split()[4:6])
    return document, segment


def scored(text: str, system: str) -> dict[str, object]:
    """A score that falls with the edits of the system, but that A's first document is thought bad."""
    document, segment = place(text)
    base = 10 if (system, document) == ("sysA", 1) else 90 - 20 * SYSTEMS.index(system)
    return {"protocol": "da", "score": base + document + segment}


def judge_all(
    client: Any,
    live: Collecting,
    raters: tuple[str, ...] = ("r1", "r2"),
    answer: Callable[[str, str], dict[str, object]] = post_edit,
) -> None:
    """Raters take turns until there is nothing left."""
    for n in range(100):
        rater = raters[n % len(raters)]
        task = client.post(f"/v1/campaigns/{live.key}/lease", headers=live.auth(rater)).json()["task"]
        if task is None:
            return
        for item in task["items"]:
            for one in item["segments"]:
                system = SYSTEMS[int(one["text"].split()[1]) - 1]
                said = answer(one["text"], system)
                url = f"/v1/tasks/{task['task']}/judgments/{item['item']}/{one['segment']}"
                assert client.put(url, json=said, headers=live.auth(rater)).status_code == 200
        handed = client.post(f"/v1/tasks/{task['task']}/submit", headers=live.auth(rater))
        assert handed.status_code == 200, handed.text


@pytest.fixture(scope="module")
def world(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[World]:
    with fresh(postgres, migrated_template) as spine:
        live = collect(spine.database, protocol="postedit", systems=SYSTEMS, documents=4)
        collect(spine.database, key="none", protocol="postedit", systems=SYSTEMS, documents=1)
        collect(spine.database, key="one", protocol="postedit", systems=SYSTEMS[:1], documents=1, segments=1)
        collect(spine.database, key="da", protocol="da")
        varied = collect(spine.database, key="varied", protocol="postedit", systems=SYSTEMS, documents=4)
        both = [
            collect(spine.database, key=f"da-{basis}", protocol="da", systems=SYSTEMS, documents=4, basis=basis)
            for basis in ("source", "reference")
        ]
        references(spine.url)
        with spine.database.transaction() as session:
            secret = tokens.issue_token(session, role="viewer").secret
        with asking(create_app(spine.database, OPTIONS)) as client:
            judge_all(client, live)
            judge_all(client, varied, answer=by_place)
            for one in both:
                judge_all(client, one, answer=scored)
            yield World(client, spine, live, secret)


def test_every_figure_is_that_of_the_texts(world: World) -> None:
    view = world.report()
    assert (view["n_segments"], view["n_post_edits"], view["n_raters"], view["warnings"]) == (8, 24, 2, [])
    assert view["reference"] == "ref"
    by_name = {one["system"]: one for one in view["systems"]}
    first, second, third = (by_name[name] for name in SYSTEMS)
    words = len(TARGET.format(1, 1, "Voice 1").split())
    assert first["hter"] == {"value": 0.0, "interval": None, "n": 8}
    assert (first["unchanged"], first["chrf"], first["critical_mean"]) == (1.0, 100.0, 0.0)
    assert second["hter"]["value"] == pytest.approx(100 / words)
    assert third["hter"]["value"] == pytest.approx(100 * 2 / (words - 1))
    assert (third["critical_mean"], third["critical_share"], third["lab"]) == (2.0, 1.0, "two")
    assert first["mter"]["value"] == 0.0
    assert first["ter_external"]["value"] > 50
    edits = {one["system"]: one for one in view["operations"]}["sysC"]
    kinds = [edits[name] for name in ("insertions", "deletions", "substitutions", "shifts")]
    assert (kinds, edits["tokens"]) == ([0, 8, 8, 0], 8 * (words - 1))


def markdown_tables(text: str) -> list[tuple[list[str], list[dict[str, str]]]]:
    """Headings and rows of each table; of headings that stand twice, a row has the last."""
    found = []
    for block in re.findall(r"(?m)(?:^\|.*\|\n)+", text):
        heads, _, *rows = (
            [cell.strip(" `") for cell in line.split(" | ")] for line in block.strip("|\n").split("|\n|")
        )
        found.append((heads, [dict(zip(heads, row, strict=True)) for row in rows]))
    return found


def test_every_figure_stands_under_its_heading(world: World) -> None:
    world.report()  # a busy machine would be told of a job
    answer = world.get("/v1/campaigns/live/reports/postediting.md")
    assert answer.status_code == 200, answer.text
    systems, edits, closest, labs, curve, enough = markdown_tables(answer.text)
    words = len(TARGET.format(1, 1, "Voice 1").split())
    assert systems[0][:6] == ["System", "Post-edits", "HTER", "95% interval", "mTER", "95% interval"]
    last = next(row for row in systems[1] if row["System"] == "sysC")
    assert (last["Post-edits"], last["HTER"]) == ("8", f"{200 / (words - 1):.2f}")
    assert (last["Unchanged"], last["Critical errors"], last["With any"]) == ("0.0 %", "2.00", "100.0 %")
    row = next(row for row in edits[1] if row["System"] == "sysC")
    figures = [row[name] for name in ("Insertions", "Deletions", "Substitutions", "Shifts", "Tokens")]
    each = f"{100 / (words - 1):.2f}"
    assert figures == ["0.00", each, each, "0.00", f"{8 * (words - 1)}"]
    assert closest[0] == ["Output of", "Post-edits of", "Segments", "Closest alone", "Tied"]
    assert {row["Segments"] for row in closest[1]} == {"8"}
    assert labs[0] == ["Output of", "Lab", "Same lab closest", "Segments", "Other labs closest", "Segments"]
    assert labs[1][2]["Segments"] == "16"
    assert curve[0] == ["References", "The last one is", "TER against this one", "mTER against all so far"]
    assert [row["The last one is"] for row in curve[1]][2:] == ["the targeted post-edit", "external"]
    assert enough[0] == ["System", "HTER", "Post-edits of others"]


def test_hter_is_what_the_campaign_scores_by(world: World) -> None:
    view = world.report(tokens="words")
    scored = dict(
        world.spine.ask(
            """SELECT y.key, avg(s.score)::float8 FROM scores s JOIN judgments j ON j.id = s.judgment_id
               JOIN credits c ON c.item_id = j.item_id JOIN systems y ON y.id = c.system_id
               JOIN profiles p ON p.id = s.profile_id AND p.name = 'score'
               JOIN campaigns k ON k.id = s.campaign_id AND k.key = 'live' GROUP BY y.key"""
        )
    )
    # All texts are of one length here, so the mean of the rates is the rate of the sums.
    assert {one["system"]: one["hter"]["value"] for one in view["systems"]} == pytest.approx(scored)


def test_whose_post_edits_are_closest_labs_and_the_curve(world: World) -> None:
    view = world.report()
    own = {one["system"]: one for one in view["closest"] if one["own"]}
    assert {name: one["unique"] + one["tied"] for name, one in own.items()} == {
        "sysA": 8,
        "sysB": 8,
        "sysC": 0,  # it needs two edits of its own, and one to the post-edits of A
    }
    external = [one for one in view["closest"] if one["origin"] is None]
    assert [(one["n"], one["unique"], one["tied"]) for one in external] == [(8, 0, 0)] * 3
    assert {one["system"]: (one["n_same_lab"], one["n_other_labs"]) for one in view["labs"]} == {
        "sysA": (8, 8),
        "sysB": (8, 8),
        "sysC": (0, 16),
    }
    assert [point["what"] for point in view["curve"]] == ["other", "other", "targeted", "external"]
    assert view["curve_segments"] == 8
    assert {one["system"] for one in view["enough_by_system"]} == set(SYSTEMS)


@pytest.mark.parametrize(
    ("what", "key", "n"), [("rater", "r2", None), ("document", "doc2", 6), ("system", "sysB", 8)], ids=str
)
def test_what_stands_excluded_counts_nowhere(world: World, what: str, key: str, n: int | None) -> None:
    with world.spine.database.transaction() as session:
        admin = tokens.issue_token(session, role="admin").secret
    before = world.report()["n_post_edits"]
    told = {"Authorization": f"Bearer {admin}"}
    made = world.client.post("/v1/campaigns/live/exclusions", json={what: key, "reason": "guessed"}, headers=told)
    assert made.status_code == 201, made.text
    after = world.report()
    left_out = next(one["n"] for one in after["dropped"] if one["reason"] == f"standing exclusion of a {what}")
    assert after["n_post_edits"] == before - left_out
    assert left_out == n if n else left_out > 0
    url = made.headers.get("Location") or f"/v1/campaigns/live/exclusions/{made.json()['exclusion']}"
    lifted = world.client.delete(url, params={"reason": "did not"}, headers=told)
    assert lifted.status_code in {200, 204}, lifted.text


@pytest.mark.parametrize("campaign", ["live", "none", "one", "da"])
def test_little_data_has_a_clear_statement_in_every_shape_and_never_nan(world: World, campaign: str) -> None:
    view = world.report(campaign)
    assert view["warnings"] or campaign == "live"
    for shape in ("", ".csv", ".md", ".tex", ".svg"):
        answer = world.get(f"/v1/campaigns/{campaign}/reports/postediting{shape}")
        assert answer.status_code == 200, answer.text
        assert not NAN.search(answer.text)
    for picture in ("closest", "curve"):
        drawn = world.get(f"/v1/campaigns/{campaign}/reports/postediting.svg", picture=picture)
        assert b"<svg" in drawn.content


def test_an_unknown_reference_is_named(world: World) -> None:
    view = world.report(reference="other")
    assert view["reference"] is None
    assert "there is no reference other; there are ref, refHuman" in view["warnings"]
    assert all(one["ter_external"]["value"] is None for one in view["systems"])


def test_a_reference_is_compared_with_the_outputs_of_its_own_segment(world: World) -> None:
    added = """INSERT INTO reference_texts (campaign_id, segment_id, name, text)
               SELECT o.campaign_id, o.segment_id, 'own', o.text FROM outputs o
               JOIN systems s ON s.id = o.system_id AND s.key = 'sysA'"""
    with psycopg.connect(world.spine.url) as db:
        db.execute(added)
    view = world.report(reference="own")
    with psycopg.connect(world.spine.url) as db:
        db.execute("DELETE FROM reference_texts WHERE name = 'own'")
    assert {one["system"]: one["ter_external"]["value"] == 0 for one in view["systems"]} == {
        "sysA": True,
        "sysB": False,
        "sysC": False,
    }


def compared(world: World, *campaigns: str, **query: str) -> Any:
    found = report_requests.get_report_kind_by_name("postediting_da", "campaigns")
    asking = request.ReportRequest(found, campaigns, request.parse_report_options(found, query))
    return json.loads(store.find_or_compute_report(world.spine.database, asking).body)


def test_scores_and_post_edits_are_joined_by_output_and_correlated_system_by_system(world: World) -> None:
    view = compared(world, "live", "da-source", "da-reference")
    assert (view["post_edits"], view["compared_with"]) == ("live", "da-source")
    assert [(one["campaign"], one["n_outputs"], one["unit"]) for one in view["scored"]] == [
        ("da-source", 24, "z"),
        ("da-reference", 24, "z"),
    ]
    # Every output of a system needs as many edits, so nothing varies with its scores within a system.
    assert [one["mter"] for one in view["correlations"]] == [None] * 6
    assert [one["n_systems"] for one in view["means"]] == [0] * 6
    assert view["bias"] == {
        "source_based": "da-source",
        "reference_based": "da-reference",
        "mter": None,
        "ter_external": None,
    }


def test_correlations_are_those_of_edits_and_scores_within_each_system(world: World) -> None:
    view = compared(world, "varied", "da-source", "da-reference")
    lines = {one["system"]: one for one in view["correlations"] if one["campaign"] == "da-source"}
    given = world.spine.ask(
        """SELECT r.key, y.key, o.text, s.score::float8 FROM scores s
           JOIN campaigns k ON k.id = s.campaign_id AND k.key = 'da-source' JOIN raters r ON r.id = s.rater_id
           JOIN credits c ON c.item_id = s.item_id JOIN systems y ON y.id = c.system_id
           JOIN outputs o ON o.system_id = y.id AND o.segment_id = s.segment_id"""
    )
    of_rater = {rater: [row[3] for row in given if row[0] == rater] for rater, *_ in given}
    for system in SYSTEMS:
        rows = [row for row in given if row[1] == system]
        z = [(row[3] - statistics.mean(of_rater[row[0]])) / statistics.stdev(of_rater[row[0]]) for row in rows]
        edits = [sum(place(row[2])) for row in rows]
        assert lines[system]["n"] == len(rows) == 8
        assert lines[system]["hter"] == pytest.approx(statistics.correlation(edits, z))
    fisher = next(one for one in view["means"] if (one["campaign"], one["measure"]) == ("da-source", "hter"))
    z = [math.atanh(lines[system]["hter"]) for system in SYSTEMS]
    assert fisher["fisher"] == pytest.approx(math.tanh(sum(z) / 3))
    assert view["bias"]["mter"] == pytest.approx(0.0, abs=0.2)


def test_conflicts_are_listed_with_their_texts_and_reasons_to_look(world: World) -> None:
    view = compared(world, "varied", "da-source", rule="tercile", most="5")

    assert view["n_few_edits"] + view["n_many_edits"] >= len(view["conflicts"]) > 0
    for one in view["conflicts"]:
        assert one["closest_of"] in SYSTEMS
        assert one["output"].startswith("Voice")
        assert one["source"].startswith("Source")
        assert "one rating" in one["tags"]
    by_size = [abs(one["residual"]) for one in view["conflicts"]]
    assert by_size == sorted(by_size, reverse=True)

    asked = {"campaigns": "varied,da-source", "rule": "tercile", "most": "5"}
    answer = world.get("/v1/comparisons/postediting_da.md", **asked)
    assert answer.status_code == 200, answer.text
    means, systems, conflicts = markdown_tables(answer.text)
    assert means[0] == ["Scores of", "Correlated with", "Systems", "Fisher mean", "Weighted"]
    assert [row["Correlated with"] for row in means[1]] == ["mTER", "HTER", "TER external"]
    assert systems[0] == ["Scores of", "System", "Segments", "mTER", "HTER", "TER external"]
    assert {row["Segments"] for row in systems[1]} == {"8"}
    assert [row["Conflict"] for row in conflicts[1]] == [one["what"] for one in view["conflicts"]]
    assert [row["As given"] for row in conflicts[1]] == [f"{one['raw']:.1f}" for one in view["conflicts"]]
    assert [row["Output"] for row in conflicts[1]] == [one["output"] for one in view["conflicts"]]


@pytest.mark.parametrize(
    ("campaigns", "says"),
    [
        (("da-source", "da-reference"), "none of these campaigns collects post-edits; name one that does"),
        (("live",), "only post-edits were named; name a campaign of direct scores too"),
        (("none", "da-source"), "there are no post-edits yet that this report counts; collect or import some"),
        (
            ("live", "da"),
            "da scores no output of a segment that was post-edited; give the same outputs the same keys and text",
        ),
    ],
)
def test_what_cannot_be_compared_is_said_in_every_shape(world: World, campaigns: tuple[str, ...], says: str) -> None:
    assert says in compared(world, *campaigns)["warnings"]
    for shape in ("", ".csv", ".md", ".tex", ".svg"):
        answer = world.get(f"/v1/comparisons/postediting_da{shape}", campaigns=",".join(campaigns))
        assert answer.status_code == 200, answer.text
        assert not NAN.search(answer.text)
    drawn = world.get("/v1/comparisons/postediting_da.svg", campaigns=",".join(campaigns), picture="scatter")
    assert b"<svg" in drawn.content


def test_two_campaigns_of_post_edits_are_refused(world: World) -> None:
    with pytest.raises(Invalid, match="does not fit the campaigns"):
        compared(world, "live", "one")


def test_a_campaign_rehearsed_with_simulated_raters_gives_its_full_report(
    world: World, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = collect(world.spine.database, key="rehearsed", protocol="postedit", systems=SYSTEMS, documents=4)
    with psycopg.connect(world.spine.url) as db:
        db.execute("UPDATE systems SET lab = 'one' WHERE campaign_id = %s AND key <> 'sysC'", (live.id,))
        db.execute("UPDATE systems SET lab = 'two' WHERE campaign_id = %s AND key = 'sysC'", (live.id,))
    texts = [
        OutputForSimulation(system, f"doc{d}", s, TARGET.format(d, s, f"Voice {n}"))
        for n, system in enumerate(SYSTEMS, 1)
        for d in range(1, 5)
        for s in (1, 2)
    ]
    qualities = dict(zip(SYSTEMS, (95.0, 70.0, 30.0), strict=True))
    path = tmp_path / "model.json"
    about = CampaignForSimulation(live.key, "postedit", {}, "source")
    path.write_bytes(
        encode_rater_model(make_rater_model_template(about, texts, ["r1", "r2"], seed=5, qualities=qualities))
    )

    with serving(world.spine.url) as served:
        monkeypatch.setenv("PLUMBLINE_TOKEN", served.secret)
        told = command(world.spine.url, "simulate", live.key, "--raters", path, "--server", served.url)

    assert told.returncode == 0, told.stderr
    view = world.report("rehearsed")
    assert (view["n_post_edits"], view["n_segments"]) == (24, 8)
    hter = {one["system"]: one["hter"]["value"] for one in view["systems"]}
    assert hter["sysA"] < hter["sysB"] < hter["sysC"]
    assert all(
        one["hter"]["interval"] and one["mter"]["value"] <= one["hter"]["value"] + 1 for one in view["systems"][1:]
    )
    assert sum(one["substitutions"] for one in view["operations"]) > 0
    assert len(view["closest"]) == 12
    assert {one["system"] for one in view["labs"]} == set(SYSTEMS)
    assert len(view["curve"]) == 4
    assert len(view["enough_by_system"]) == 3
    assert all(one["chrf"] is not None and one["critical_mean"] is not None for one in view["systems"])
