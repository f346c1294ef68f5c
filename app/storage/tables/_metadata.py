"""The metadata with its naming convention, and columns that many tables share."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Identity,
    MetaData,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Json = JSONB(none_as_null=True)


def identity_column() -> Column[int]:
    """Make the bigint identity key."""
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def composite_key_id_column() -> Column[int]:
    """Make the same column for a key (campaign, id): one index then serves the key and all references to it."""
    return Column("id", BigInteger, Identity(always=True), nullable=False)


def campaign_column() -> Column[int]:
    """Make the column with the campaign of a row."""
    return Column("campaign_id", BigInteger, nullable=False)


def bigint_column(name: str, *, nullable: bool = False) -> Column[int]:
    """Make a column for a reference or a count."""
    return Column(name, BigInteger, nullable=nullable)


def text_column(name: str, *, nullable: bool = False) -> Column[str]:
    """Make a column for a short text."""
    return Column(name, Text, nullable=nullable)


def json_column(name: str, *, nullable: bool = False) -> Column[object]:
    """Make a column for a JSON object, `{}` by default unless nullable."""
    return Column(name, Json, nullable=nullable, server_default=None if nullable else text("'{}'::jsonb"))


def timestamp_column(name: str, *, nullable: bool = False, now: bool = False) -> Column[object]:
    """Make a column for a time with its zone; `now` makes the database clock the default."""
    return Column(name, DateTime(timezone=True), nullable=nullable, server_default=text("now()") if now else None)


def same_campaign_reference(column: str, table: str, *, ondelete: str | None = None) -> ForeignKeyConstraint:
    """Make a reference to a row of the same campaign."""
    return ForeignKeyConstraint(["campaign_id", column], [f"{table}.campaign_id", f"{table}.id"], ondelete=ondelete)


def key_format_check(column: str = "key") -> CheckConstraint:
    """Check that a column holds a key, as in `app.domain.keys`."""  # a count in the pattern takes 30 times as long
    pattern = f"{column} ~ '^[A-Za-z0-9._~:@+-]+$' AND char_length({column}) <= 128"
    holds = f"{pattern} AND {column} NOT IN ('.', '..')"
    return CheckConstraint(holds, name=f"{column}_is_key")
