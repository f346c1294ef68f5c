"""Alembic's environment: always on a connection that `app.storage.migrate` opened."""

from alembic import context

from app.storage.citus_distribution import ADDED
from app.storage.tables import metadata


def is_of_models(_object: object, name: str | None, kind: str, reflected: bool, _compared: object) -> bool:
    """Whether a part of the schema is to be compared with the models."""
    return not (reflected and kind in {"foreign_key_constraint", "index"} and name in ADDED)


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    compare_type=True,
    compare_server_default=False,
    transaction_per_migration=True,
    include_object=is_of_models,
)
with context.begin_transaction():
    context.run_migrations()
