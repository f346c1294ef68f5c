"""`plumbline conformance`: our own server keeps the contract; one that breaks it is found out."""

from __future__ import annotations

import json

import pytest

from app import protocols
from app.services.tasks import judging, tasks
from tests.load.server import serving


@pytest.fixture
def conformance(command, database_url, monkeypatch):
    """conformance(*options): ask a server that runs."""
    with serving(database_url) as served:
        monkeypatch.setenv("PLUMBLINE_TOKEN", served.secret)
        yield lambda *options: command(database_url, "conformance", served.url, *options)


def failures(answer):
    return [one["name"] for one in json.loads(answer.stdout)["checks"] if not one["ok"]]


def holds(told, names):
    found = json.loads(told.stdout)
    assert failures(told) == []
    assert (told.returncode, found["ok"]) == (0, True)
    checks = [one["name"] for one in found["checks"]]
    assert len(checks) == len(set(checks)) > 30
    for name in names:
        examples = protocols.get_protocol(name).examples
        assert sum(check.startswith(f"{name}: example") for check in checks) == len(examples)


@pytest.mark.parametrize("name", [pytest.param("mqm", marks=pytest.mark.soak), "mqm_reannotation"])
def test_our_own_server_keeps_the_contract(conformance, name):
    """That it does with `mqm` is also seen where the demo is judged."""
    holds(conformance("--json", "--protocol", name), [name])


@pytest.mark.soak
def test_our_own_server_keeps_the_contract_with_every_example_of_every_protocol(conformance):
    holds(conformance("--json"), protocols.ALL)


def test_the_table_says_how_many_checks_hold(conformance):
    told = conformance("--protocol", "da")

    assert told.returncode == 0
    assert b"checks hold" in told.stdout


def test_a_server_that_scores_otherwise_is_found_out(conformance, monkeypatch):
    class Dishonest(judging.RaterAnswer):
        def __init__(self, **said):
            super().__init__(**{**said, "score": said["score"] + 1})

    monkeypatch.setattr(judging, "RaterAnswer", Dishonest)

    told = conformance("--protocol", "da", "--json")

    assert told.returncode == 1
    assert [name for name in failures(told) if "example" in name] == [
        f"da: example {n} scores {one.score:g}" for n, one in enumerate(protocols.get_protocol("da").examples, 1)
    ]


@pytest.mark.soak
def test_a_server_that_names_only_the_first_missing_judgment_is_found_out(conformance, monkeypatch):
    whole = tasks.find_missing_judgments
    monkeypatch.setattr(tasks, "find_missing_judgments", lambda sheet, answers: whole(sheet, answers)[:1])

    told = conformance("--protocol", "da", "--json")

    assert told.returncode == 1
    assert any("missing" in name for name in failures(told))


def test_without_a_credential_that_is_good_for_it_there_is_one_clear_line(command, database_url, monkeypatch):
    with serving(database_url) as served:
        monkeypatch.setenv("PLUMBLINE_TOKEN", "plb_000000000000_none")
        refused = command(database_url, "conformance", served.url, "--protocol", "da")

    assert (refused.returncode, refused.stdout) == (2, b"")
