"""Write a migration for what changed in the tables: compare the models with a fresh database at the newest revision.

Run by `make migration m="what changed"`. The result is a draft: read it, and mind the version that still runs.
"""

import re
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa
from alembic import command

from app.storage import embedded, migrate
from app.storage.db import make_sqlalchemy_url


def name(message: str, today: datetime) -> str:
    """The revision and file name: date and slug."""
    slug = re.sub(r"[^a-z0-9]+", "_", message.lower()).strip("_")[:60]
    return f"{today:%Y_%m_%d}_{slug}"


def write(message: str) -> None:
    """Write the draft into migrations/versions."""
    with tempfile.TemporaryDirectory() as scratch, embedded.start_server(Path(scratch)) as server:
        migrate.upgrade_schema(server.url("owner"))
        engine = sa.create_engine(make_sqlalchemy_url(server.url("owner")), poolclass=sa.NullPool)
        with engine.connect() as connection:
            settings = migrate.make_alembic_config(connection)
            settings.set_main_option("file_template", "%%(rev)s")
            command.revision(settings, message, autogenerate=True, rev_id=name(message, datetime.now(UTC)))
        server.stop()


if __name__ == "__main__":
    if len(sys.argv) != 2 or not re.search("[a-zA-Z0-9]", sys.argv[1]):
        sys.exit('usage: make migration m="what changed"')
    write(sys.argv[1])
