"""People who sign in at an identity provider, their sessions there, and the provider's logout tokens."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKeyConstraint, Index, LargeBinary, Table, UniqueConstraint

from app.storage.tables._metadata import bigint_column, identity_column, metadata, text_column, timestamp_column

# The identity of a person there: issuer and subject never change, names may. token_id: the person's credential here.
accounts = Table(
    "accounts",
    metadata,
    identity_column(),
    text_column("issuer"),
    text_column("subject"),
    text_column("name"),
    bigint_column("token_id"),
    timestamp_column("created_at", now=True),
    ForeignKeyConstraint(["token_id"], ["tokens.id"], ondelete="CASCADE"),
    UniqueConstraint("issuer", "subject"),
    Index("ix_accounts_token_id", "token_id"),
)

# sid: the provider's name of the session. sealed: the provider's tokens, which only the browser's cookie can open.
# checked_at: when the provider was last asked about this person. claimed_until: until then, one request may ask it.
account_sessions = Table(
    "account_sessions",
    metadata,
    Column("session_id", BigInteger, primary_key=True),
    bigint_column("account_id"),
    text_column("sid", nullable=True),
    Column("sealed", LargeBinary, nullable=False),
    timestamp_column("checked_at", now=True),
    timestamp_column("claimed_until", nullable=True),
    ForeignKeyConstraint(["session_id"], ["sessions.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(["account_id"], ["accounts.id"], ondelete="CASCADE"),
    Index("ix_account_sessions_account_id", "account_id", "sid"),
)

# Logout tokens that were used, by a hash of their ids, so that none is used twice.
logout_tokens = Table(
    "logout_tokens",
    metadata,
    Column("hash", LargeBinary, primary_key=True),
    timestamp_column("expires_at"),
)
