"""The same data, recipe, seed and method version give the same bytes, wherever and however often."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.reports.inputs.data_hash import hash_report_data
from app.reports.inputs.recipe_ratings import load_recipe_ratings
from app.reports.inputs.snapshot import load_snapshot
from app.storage import embedded, rating_codes, rating_metadata, system_descriptions
from app.storage.backup import BackupDamaged, backup_database, restore_database
from tests.cli.conftest import Command
from tests.cli.conftest import command as command  # a fixture
from tests.faults.conftest import HEADER
from tests.spine import Spine, chosen, fresh, opened, plumbline, without_version
from tests.working import LIMIT

RECIPES = ("recommended", "google-mqm", "wmt-da")
OPTIONS = {"wmt-da": {"normalize": "z"}}


@pytest.fixture(scope="module")
def one(postgres: embedded.EmbeddedServer, migrated_template: str, made_up: list[str]) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as spine:
        spine.take("c", "mqm-tsv", (HEADER + "".join(made_up)).encode())
        yield spine


@pytest.fixture
def other(database_url: str) -> Iterator[Spine]:
    with opened(database_url) as found:
        yield found


def bodies(spine: Spine) -> list[bytes]:
    """Every recipe's report, computed anew."""
    spine.ask("DELETE FROM reports RETURNING 1")
    return [spine.body("c", recipe, **OPTIONS.get(recipe, {})) for recipe in RECIPES]


def store_in_parts(spine: Spine, rows: list[str], seed: int) -> None:
    """Whole judgments, in five imports, in a drawn order."""
    judged: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        cells = row.split("\t")
        judged.setdefault((cells[0], cells[1], cells[2], cells[4]), []).append(row)
    groups = list(judged.values())
    random.Random(seed).shuffle(groups)
    for n in range(5):
        part = [row for group in groups[n::5] for row in reversed(group)]
        spine.take("c", "mqm-tsv", (HEADER + "".join(part)).encode())


def test_another_insertion_order_gives_the_same_bytes_but_for_the_version(
    one: Spine, other: Spine, made_up: list[str]
) -> None:
    store_in_parts(other, made_up, seed=1)
    ours, theirs = bodies(one), bodies(other)
    assert [json.loads(body)["data_version"] for body in (*ours[:1], *theirs[:1])] == [1, 5]
    assert [without_version(body) for body in ours] == [without_version(body) for body in theirs]


def test_ratings_in_the_order_of_insertion_would_be_caught(
    one: Spine, other: Spine, made_up: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: rows as the database happens to give them have another hash, and so would their report."""
    store_in_parts(other, made_up, seed=1)
    assert data_hash_of(one) == data_hash_of(other)
    monkeypatch.setattr(rating_codes, "_order_of_addresses", lambda columns, _: np.arange(columns["segment"].size))
    assert data_hash_of(one) != data_hash_of(other)


def data_hash_of(spine: Spine) -> str:
    recipe = chosen("google-mqm", {})
    with spine.database.transaction() as session:
        asked = load_snapshot(session, "c", None)
        rows = load_recipe_ratings(session, asked, recipe)
        documents = rating_metadata.load_document_table(session, asked.campaign_id, rows.labels)
        return hash_report_data(
            rows, documents, system_descriptions.load_system_descriptions(session, asked.campaign_id)
        )


def content_hash(spine: Spine) -> str:
    """What all campaigns hold, and all reports."""
    digest = hashlib.sha256()
    for (key,) in spine.ask('SELECT key FROM campaigns ORDER BY key COLLATE "C"'):
        digest.update(spine.export(key))
    for row in spine.ask("SELECT kind, data_version, recipe_hash, body FROM reports ORDER BY 1, 2, 3"):
        digest.update(repr(row).encode())
    return digest.hexdigest()


def test_a_restored_backup_is_the_same_instance(
    one: Spine, empty_database_url: str, tmp_path: Path, command: Command
) -> None:
    before, reports, file = content_hash_after(one), bodies(one), tmp_path / "backup"
    saved = command(one.url, "db", "backup", file)
    assert saved.returncode == 0, saved.stderr
    restored = command(empty_database_url, "db", "restore", file)
    assert restored.returncode == 0, restored.stderr
    assert command(empty_database_url, "db", "check").returncode == 0
    with opened(empty_database_url) as spine:
        assert content_hash(spine) == before
        assert bodies(spine) == reports
        assert spine.counts() == one.counts()


def content_hash_after(spine: Spine) -> str:
    bodies(spine)
    return content_hash(spine)


def test_a_truncated_dump_and_one_with_a_flipped_bit_are_refused(
    one: Spine, empty_database_url: str, tmp_path: Path, command: Command
) -> None:
    """Negative control of the test above."""
    whole, bad = tmp_path / "whole", tmp_path / "bad"
    backup_database(one.url, whole)
    content = whole.read_bytes()
    for damaged in (content[: len(content) // 2], content[:999] + bytes([content[999] ^ 1]) + content[1000:]):
        bad.write_bytes(damaged)
        with pytest.raises(BackupDamaged):
            restore_database(empty_database_url, bad)
    answer = command(empty_database_url, "db", "restore", bad)
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert b"truncated or altered" in answer.stderr
    assert b"Traceback" not in answer.stderr
    with opened(empty_database_url) as spine:
        assert spine.counts() == {}


def ranked(spine: Spine, **variables: str) -> dict[str, Any]:
    """The ranking as another process computes it, under other circumstances."""
    spine.ask("DELETE FROM reports RETURNING 1")
    answer = plumbline(spine.url, "rank", "c", "--normalize", "z", "--json", **variables)
    assert answer.returncode == 0, answer.stderr
    ranking: dict[str, Any] = json.loads(answer.stdout)
    return ranking


@pytest.fixture(scope="module")
def usual(one: Spine) -> dict[str, Any]:
    """The ranking as a process computes it on this machine, with one thread."""
    return ranked(one, OPENBLAS_NUM_THREADS="1")


def test_the_number_of_threads_changes_no_byte(one: Spine, usual: dict[str, Any]) -> None:
    assert json.dumps(usual) == json.dumps(ranked(one, OPENBLAS_NUM_THREADS="2"))


PROBE = """
import hashlib, numpy as np
a = np.random.default_rng(1).standard_normal((301, 301))
print(hashlib.sha256((a @ a).tobytes()).hexdigest())
"""


def product_on(core: str) -> str:
    """A digest of a product. core: of which type the processor is said to be; empty for its own."""
    said = {"OPENBLAS_CORETYPE": core} if core else {}
    done = subprocess.run([sys.executable, "-c", PROBE], env=said, capture_output=True, timeout=LIMIT, check=True)
    return done.stdout.decode()


def test_another_kind_of_processor_gives_the_same_ranks_and_figures_to_nine_digits(
    one: Spine, usual: dict[str, Any]
) -> None:
    of_this_machine = product_on("")
    other = next((core for core in ("Prescott", "Haswell") if product_on(core) != of_this_machine), None)
    if other is None:
        pytest.skip("this BLAS takes no other core type: its products are the same bytes")
    assert any(pair["p_value"] is not None for pair in usual["pairs"])
    assert_close(usual, ranked(one, OPENBLAS_CORETYPE=other))


def assert_close(one: Any, other: Any, path: str = "") -> None:
    """Equal but for the last digits of figures; permutation p-values are counts and must be equal."""
    if isinstance(one, float) and "p_" not in path:
        assert other == pytest.approx(one, abs=1e-9), path
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), path
        for key in one:
            assert_close(one[key], other[key], f"{path}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), path
        for n, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            assert_close(mine, theirs, f"{path}[{n}]")
    else:
        assert one == other, path
