"""From files to a ranking, as the tests of the spine drive it: through the services and through the command."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from app.domain.recipe import NAMED, Recipe, apply_query_options_to_recipe
from app.formats.base import InputFile
from app.reports.ranking import report as ranking_report
from app.services.data import exports, imports
from app.storage import embedded
from app.storage.db import APP_ROLE, Database
from tests.patience import patient

SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"
TED = "mqm_ted_ende/mqm_ted_ende.tsv.gz"
BN_HI = "da_wikipedia2021_bn-hi/ad-latest.csv.gz"
HI_BN = "da_wikipedia2021_hi-bn/ad-latest.csv.gz"
CS_EN = "da_newstest2021_cs-en/ad-good-raw-recovered.tsv.gz"
CS_EN_Z = "da_newstest2021_cs-en/ad-good-stnd-redup.csv.gz"
Files = Mapping[str, bytes] | bytes
_numbers = itertools.count(1)


def shared(path: str) -> bytes:
    """A file of the public data, unpacked."""
    data = (SHARED / "data" / path).read_bytes()
    return gzip.decompress(data) if path.endswith(".gz") else data


def expected(name: str) -> Any:
    """A file of independently computed figures."""
    return json.loads((SHARED / "expected" / name).read_text())


@dataclass(frozen=True)
class Spine:
    """One database, and what a person does with it."""

    url: str
    database: Database

    def take(self, campaign: str, format: str, files: Files, **how: Any) -> dict[str, Any]:
        """Import bytes, or named files together; how: options, dry_run, skip_bad_lines."""
        named = files if isinstance(files, Mapping) else {"file": files}
        inputs = [InputFile(name, lambda data=data: io.BytesIO(data)) for name, data in named.items()]
        kept: dict[str, Any] = {"options": {}, "dry_run": False, "skip_bad_lines": False, "actor": "test", **how}
        return imports.import_local_files(self.database, campaign, format=format, files=inputs, **kept)

    def body(self, campaign: str, recipe: str, as_of: int | None = None, **options: str) -> bytes:
        """The bytes of a ranking."""
        return ranking_report.find_or_compute_ranking(
            self.database, campaign, recipe=chosen(recipe, options), as_of=as_of
        ).body

    def rank(self, campaign: str, recipe: str, as_of: int | None = None, **options: str) -> dict[str, Any]:
        """A ranking."""
        ranking: dict[str, Any] = json.loads(self.body(campaign, recipe, as_of, **options))
        return ranking

    def export(self, campaign: str, format: str = "jsonl") -> bytes:
        """A campaign as a file."""
        return b"".join(exports.export_campaign(self.database, campaign, format))

    def counts(self) -> dict[str, int]:
        """Rows of every table."""
        return row_counts(self.url)

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of a query, as the owner."""
        with psycopg.connect(self.url) as connection:
            return connection.execute(query).fetchall()


def chosen(recipe: str, options: Mapping[str, str]) -> Recipe:
    """A named recipe with some options replaced."""
    return apply_query_options_to_recipe(NAMED[recipe], {name: [value] for name, value in options.items()})


@contextmanager
def opened(url: str, *, role: str | None = APP_ROLE) -> Iterator[Spine]:
    """The spine over a migrated database, under the serving role. It waits for a connection as long as that takes."""
    with patient():
        database = Database(url, size=3, role=role)
    try:
        yield Spine(url, database)
    finally:
        database.close()


@contextmanager
def fresh(server: embedded.EmbeddedServer, template: str) -> Iterator[Spine]:
    """The spine over a database of its own; for fixtures that outlive one test."""
    name = f"spine_{next(_numbers)}"
    create = sql.SQL("CREATE DATABASE {} OWNER plumbline TEMPLATE {} STRATEGY file_copy")
    drop = sql.SQL("DROP DATABASE {} WITH (FORCE)")
    with psycopg.connect(server.url("admin", "postgres"), autocommit=True) as connection:
        connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
    try:
        with opened(server.url("owner", name)) as spine:
            yield spine
    finally:
        with psycopg.connect(server.url("admin", "postgres"), autocommit=True) as connection:
            connection.execute(drop.format(sql.Identifier(name)))


@contextmanager
def template_of(server: embedded.EmbeddedServer, migrated: str, fill: Callable[[Spine], object]) -> Iterator[str]:
    """The name of a database that holds what `fill` put into it, for tests that each have a copy; nobody is connected.

    A copy costs less than to fill another one.
    """
    with fresh(server, migrated) as spine:
        fill(spine)
        spine.database.close()
        yield str(conninfo_to_dict(spine.url)["dbname"])


def row_counts(url: str) -> dict[str, int]:
    """Rows of every table in a database."""
    with psycopg.connect(url) as connection:
        listed = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1"
        tables = connection.execute(listed).fetchall()
        counts = {}
        for (table,) in tables:
            row = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
            counts[table] = row[0] if row else 0
        return counts


PLUMBLINE = Path(sys.executable).with_name("plumbline")


def plumbline(
    url: str, *arguments: str | Path, timeout: float = 300, **variables: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the command on a database; variables join its environment."""
    environment = {**os.environ, "PLUMBLINE_DATABASE_URL": url, "COLUMNS": "200", **variables}
    command = [str(PLUMBLINE), *map(str, arguments)]
    return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)


def without_version(body: bytes) -> bytes:
    """A ranking but for the number of its data version."""
    plain = json.loads(body)
    del plain["data_version"]
    return json.dumps(plain).encode()
