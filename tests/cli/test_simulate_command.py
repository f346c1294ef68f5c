"""`plumbline simulate`: a template, then raters who judge over HTTP; stopped and run again, it goes on."""

from __future__ import annotations

import json

import psycopg
import pytest

from app.domain.questionnaires import make_language_biography_questions
from app.simulation import CampaignForSimulation, OutputForSimulation, encode_rater_model, make_rater_model_template
from app.storage.db import Database
from tests.collecting import collect
from tests.load.server import serving

RATERS = ("r1", "r2", "r3")
TEXTS = [OutputForSimulation("sysA", "doc1", 1, "Voice 1 says of 1 1: der Hund bellte.")]

BEFORE = [one.model_dump(mode="json", exclude_defaults=True) for one in make_language_biography_questions()]
OPTIONS = [{"value": value, "label": {"en": value}} for value in ("a", "b")]
AFTER = [{"name": "said", "kind": "choices", "label": {"en": "What?"}, "required": True, "options": OPTIONS}]


@pytest.fixture
def live(database_url):
    database = Database(database_url, size=2, role="plumbline_app")
    asked = {"before": BEFORE, "after": AFTER}
    settings = {"questionnaires": asked}
    yield collect(database, raters=RATERS, documents=4, segments=3, protocol="esa", settings=settings)
    database.close()


@pytest.fixture
def remote(command, database_url, live, monkeypatch):
    """remote(*arguments): simulate the campaign on a server that runs already."""
    with serving(database_url) as served:
        monkeypatch.setenv("PLUMBLINE_TOKEN", served.secret)
        yield lambda *arguments: command(database_url, "simulate", live.key, *arguments, "--server", served.url)


def asked(url, query):
    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchall()


def test_a_campaign_is_judged_to_the_end_by_a_model_that_was_written_for_it(remote, database_url, tmp_path):
    path = tmp_path / "model.json"
    written = remote("--template", "-o", path, "--quality", "sysA=90", "--quality", "sysB=30")
    assert written.returncode == 0, written.stderr
    model = json.loads(path.read_text())
    assert model["systems"] == {"sysA": 90.0, "sysB": 30.0}
    model["raters"]["r3"]["stops_after"] = 2
    model["raters"]["r1"]["revisions"] = 1.0  # whichever tasks are theirs, some answers are changed
    path.write_text(json.dumps(model))

    first = remote("--raters", path, "--json", "--patience", "0.2")
    told = json.loads(first.stdout)
    assert first.returncode == 0, first.stderr
    assert told["raters"]["r3"] == "left"
    assert told["tasks_handed_in"] == 3
    assert asked(database_url, "SELECT count(*) FROM tasks WHERE state = 'handed_in'") == [(3,)]

    model["raters"]["r3"]["stops_after"] = None
    path.write_text(json.dumps(model))
    again = json.loads(remote("--raters", path, "--json").stdout)

    assert again["raters"] == dict.fromkeys(RATERS, "finished")
    assert asked(database_url, "SELECT DISTINCT state FROM tasks") == [("handed_in",)]
    by_system = asked(
        database_url,
        """SELECT y.key, avg(s.score)::float8, count(*) FROM scores s JOIN judgments j ON j.id = s.judgment_id
           JOIN credits c ON c.item_id = j.item_id JOIN systems y ON y.id = c.system_id
           GROUP BY y.key ORDER BY y.key""",
    )
    assert by_system[0][1] > by_system[1][1] + 20
    assert told["judgments"] + again["judgments"] == sum(n for _, _, n in by_system) > 24
    assert asked(database_url, "SELECT count(*) > 0 FROM activity") == [(True,)]
    answered = "SELECT moment, count(*), count(DISTINCT answers) FROM questionnaire_answers GROUP BY 1 ORDER BY 1"
    assert [(moment, n) for moment, n, _ in asked(database_url, answered)] == [("after", 3), ("before", 3)]
    assert asked(database_url, answered)[1][2] == 3  # nobody answers like another


def test_without_a_server_named_there_is_one_of_its_own_for_as_long_as_it_takes(command, database_url, live, tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(
        encode_rater_model(
            make_rater_model_template(CampaignForSimulation(live.key, "esa", {}, "source"), TEXTS, RATERS, seed=1)
        )
    )

    told = command(database_url, "simulate", live.key, "--raters", path)

    assert told.returncode == 0, told.stderr
    assert b", 4 tasks handed in" in told.stdout
    assert asked(database_url, "SELECT count(*) FROM tokens WHERE role = 'manager' AND revoked_at IS NULL") == [(0,)]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "--raters"),
        (("--template", "--raters", "x.json"), "--raters"),
        (("--template", "--quality", "sysA"), "--quality"),
        (("--raters", "nothing.json"), "nothing.json"),
    ],
)
def test_bad_options_are_one_clear_line(command, database_url, live, options, says):
    refused = command(database_url, "simulate", live.key, *options)

    assert refused.returncode == 2
    assert says in refused.stderr.decode()


def test_a_model_of_another_campaign_is_refused(command, database_url, live, tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(
        encode_rater_model(
            make_rater_model_template(CampaignForSimulation("other", "esa", {}, "source"), TEXTS, RATERS, seed=1)
        )
    )

    refused = command(database_url, "simulate", live.key, "--raters", path)

    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"other" in refused.stderr
