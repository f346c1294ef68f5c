"""Judgments and voids are only ever added: by privilege for the serving role, by trigger for the owner."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from app.storage import embedded
from app.storage.db import APP_ROLE
from tests.services.data.test_imports import judgment, lines, void
from tests.spine import Spine, fresh, opened

CHANGES = [
    "UPDATE {} SET version = version",
    "DELETE FROM {}",
    "TRUNCATE {} CASCADE",
]
TABLES = ["judgments", "voids", "versions"]


@pytest.fixture
def spine(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        found.take("c", "jsonl", lines(judgment(), judgment("B"), void("B")))
        yield found


@pytest.fixture(scope="module")
def standing(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    """The same for tests in which everything is refused."""
    with fresh(postgres, migrated_template) as found:
        found.take("c", "jsonl", lines(judgment(), judgment("B"), void("B")))
        yield found


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("change", CHANGES)
def test_the_serving_role_may_not_change_what_is_only_added(standing: Spine, table: str, change: str) -> None:
    with psycopg.connect(standing.url, options=f"-c role={APP_ROLE}") as connection:
        connection.execute("SET plumbline.purge = 'on'")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(change.format(table).replace("version = version", "campaign_id = campaign_id"))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_trigger_stops_the_owner_too(standing: Spine, table: str, change: str) -> None:
    before = standing.counts()
    with (
        psycopg.connect(standing.url) as connection,
        pytest.raises(psycopg.errors.RestrictViolation, match="only ever added"),
    ):
        connection.execute(change.format(table).replace("version = version", "campaign_id = campaign_id"))
    assert standing.counts() == before


def test_the_owner_can_purge_when_saying_so_in_the_transaction(spine: Spine) -> None:
    with psycopg.connect(spine.url) as connection:
        connection.execute("SET LOCAL plumbline.purge = 'on'")
        connection.execute("DELETE FROM voids")
        connection.execute("DELETE FROM scores")
        connection.execute("DELETE FROM judgments")
    assert spine.counts()["judgments"] == 0
    with psycopg.connect(spine.url) as connection, pytest.raises(psycopg.errors.RestrictViolation):
        connection.execute("DELETE FROM versions")


def test_without_the_trigger_the_owner_could_change_them(spine: Spine) -> None:
    """Negative control: it is the trigger that stops the owner, not something else."""
    with psycopg.connect(spine.url) as connection:
        connection.execute("ALTER TABLE judgments DISABLE TRIGGER judgments_append_only")
        assert connection.execute("UPDATE judgments SET payload = '{}'").rowcount == 2
        connection.rollback()


def test_an_output_and_a_source_never_become_another(spine: Spine) -> None:
    place = {"document": "d1", "position": 1}
    spine.take(
        "c",
        "jsonl",
        lines({"type": "segment", "source": "S", **place}, {"type": "output", "system": "A", "text": "T", **place}),
    )
    for change in ("UPDATE outputs SET text = 'other'", "UPDATE segments SET source = NULL"):
        with psycopg.connect(spine.url) as connection, pytest.raises(psycopg.errors.RestrictViolation, match="never"):
            connection.execute(change)


class History(RuleBasedStateMachine):
    """What is stored against a model: every answer that differs from the latest is one more revision, for ever."""

    spine: Spine

    def __init__(self) -> None:
        super().__init__()
        self.campaign = f"h{self.spine.ask('SELECT count(*) FROM campaigns')[0][0]}"
        self.model: dict[tuple[str, str], list[float]] = {}
        self.void: set[tuple[str, str]] = set()
        self.versions = 0

    @rule(answers=st.dictionaries(st.tuples(st.sampled_from("AB"), st.sampled_from(["d1", "d2"])), st.integers(0, 2)))
    def import_answers(self, answers: dict[tuple[str, str], int]) -> None:
        if not answers:
            return
        rows = [judgment(system, document, score) for (system, document), score in answers.items()]
        report = self.spine.take(self.campaign, "jsonl", lines(*rows))
        changed = False
        for address, score in answers.items():
            known = self.model.setdefault(address, [])
            if not known or known[-1] != score:
                known.append(float(score))
                changed = True
        self.versions += changed
        assert report["stored"]["data_version"] == self.versions

    @rule(pick=st.integers(0, 3))
    def set_aside(self, pick: int) -> None:
        if self.model:
            address = sorted(self.model)[pick % len(self.model)]
            self.spine.take(self.campaign, "jsonl", lines(void(*address)))
            self.versions += address not in self.void
            self.void.add(address)

    @invariant()
    def the_store_agrees(self) -> None:
        rows = self.spine.ask(
            f"""SELECT i.key, j.revision, (j.payload ->> 'score')::float8, v.judgment_id IS NOT NULL
                FROM judgments j JOIN items i ON i.id = j.item_id JOIN campaigns c ON c.id = j.campaign_id
                LEFT JOIN voids v ON v.judgment_id = j.id WHERE c.key = '{self.campaign}' ORDER BY 1, 2"""
        )
        model = [
            (f"{system}:{document}", n, score, (system, document) in self.void)
            for (system, document), scores in sorted(self.model.items())
            for n, score in enumerate(scores, 1)
        ]
        assert rows == model


@pytest.mark.parametrize("examples", [5, pytest.param(12, marks=pytest.mark.soak)])
def test_history_is_what_a_model_says(postgres: embedded.EmbeddedServer, migrated_template: str, examples: int) -> None:
    with fresh(postgres, migrated_template) as spine:
        machine = type("Machine", (History,), {"spine": spine})
        bounds = settings(
            max_examples=examples,
            stateful_step_count=8,
            deadline=None,
            phases=(Phase.generate,),
            derandomize=True,
            suppress_health_check=list(HealthCheck),
            database=None,
        )
        run_state_machine_as_test(machine, settings=bounds)
