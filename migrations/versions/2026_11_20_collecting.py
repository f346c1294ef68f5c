"""campaigns that collect: raters and their rights, plans, leases, and what comes with judging"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "2026_11_20_collecting"
down_revision = "2026_11_20_audit_log"
branch_labels = None
depends_on = None


APPEND_ONLY = (
    "activity",
    "arms",
    "consents",
    "guidelines",
    "hour_adjustments",
    "plans",
    "qualification_attempts",
    "qualifications",
    "screen_judgments",
)
ROLES_BEFORE = "role in ('admin', 'manager', 'coordinator', 'viewer', 'frontend')"
ROLES = "role in ('admin', 'manager', 'coordinator', 'viewer', 'frontend', 'rater')"
STATES_BEFORE = "state in ('free', 'leased', 'handed_in', 'imported')"
STATES = "state in ('free', 'leased', 'handed_in', 'imported', 'withdrawn')"
ADDED_CHECKS = (
    ("tokens", "rater_named", "(role = 'rater') = (rater_id is not null)"),
    ("tokens", "in_campaign", "num_nonnulls(rater_id, team_id) = 0 or campaign_id is not null"),
    ("tokens", "team_of_coordinator", "team_id is null or role in ('coordinator', 'frontend')"),
    ("tasks", "lease_whole", "state <> 'leased' or rater_id is not null and leased_until is not null"),
    ("tasks", "handed_in_whole", "state <> 'handed_in' or num_nonnulls(rater_id, handed_in_at) = 2"),
    ("tasks", "presentation_known", "presentation in ('document', 'segment', 'side_by_side')"),
    ("items", "side_order_known", "side_order in (0, 1)"),
    ("items", "propensity_is_probability", "propensity > 0 and propensity <= 1"),
)


def _protect() -> None:
    """What was said or frozen is only ever added to."""
    for table in APPEND_ONLY:
        op.execute(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION refuse_change()"
        )
        op.execute(
            f"CREATE TRIGGER {table}_never_truncated BEFORE TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )


def _check(table: str, name: str, rule: str) -> None:
    """Replace a check constraint, or add it where it is not there."""
    op.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS ck_{table}_{name}")
    op.execute(f"ALTER TABLE {table} ADD CONSTRAINT ck_{table}_{name} CHECK ({rule})")


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "calibration_sets",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("protocol", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("frozen_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("version >= 1", name=op.f("ck_calibration_sets_version_from_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calibration_sets")),
        sa.UniqueConstraint("key", "version", name=op.f("uq_calibration_sets_key_version")),
    )
    op.create_table(
        "calibration_pairs",
        sa.Column("set_id", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text1", sa.Text(), nullable=False),
        sa.Column("text2", sa.Text(), nullable=False),
        sa.Column(
            "consensus",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("stratum", sa.Text(), nullable=True),
        sa.CheckConstraint("n >= 1", name=op.f("ck_calibration_pairs_counts_from_one")),
        sa.ForeignKeyConstraint(
            ["set_id"],
            ["calibration_sets.id"],
            name=op.f("fk_calibration_pairs_set_id_calibration_sets"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("set_id", "n", name=op.f("pk_calibration_pairs")),
    )
    op.create_table(
        "guidelines",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "texts",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("kind in ('guidelines', 'consent')", name=op.f("ck_guidelines_kind_known")),
        sa.CheckConstraint("version >= 1", name=op.f("ck_guidelines_version_from_one")),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_guidelines_campaign_id_campaigns")),
        sa.PrimaryKeyConstraint("campaign_id", "kind", "version", name=op.f("pk_guidelines")),
    )
    op.create_table(
        "qualifications",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "items",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("pass_mark", sa.Float(precision=53), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("attempts >= 1", name=op.f("ck_qualifications_attempts_counted")),
        sa.CheckConstraint("pass_mark >= 0 and pass_mark <= 1", name=op.f("ck_qualifications_pass_mark_is_share")),
        sa.CheckConstraint("version >= 1", name=op.f("ck_qualifications_version_from_one")),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_qualifications_campaign_id_campaigns")
        ),
        sa.PrimaryKeyConstraint("campaign_id", "version", name=op.f("pk_qualifications")),
    )
    op.create_table(
        "teams",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "key ~ '^[A-Za-z0-9._~:@+-]+$' AND char_length(key) <= 128 AND key NOT IN ('.', '..')",
            name=op.f("ck_teams_key_is_key"),
        ),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_teams_campaign_id_campaigns")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_teams")),
        sa.UniqueConstraint("campaign_id", "id", name=op.f("uq_teams_campaign_id_id")),
        sa.UniqueConstraint("campaign_id", "key", name=op.f("uq_teams_campaign_id_key")),
    )
    op.create_table(
        "consents",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id", "rater_id"],
            ["raters.campaign_id", "raters.id"],
            name=op.f("fk_consents_campaign_id_rater_id_raters"),
        ),
        sa.PrimaryKeyConstraint("rater_id", "version", name=op.f("pk_consents")),
    )
    op.create_table(
        "contacts",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id", "rater_id"],
            ["raters.campaign_id", "raters.id"],
            name=op.f("fk_contacts_campaign_id_rater_id_raters"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("rater_id", name=op.f("pk_contacts")),
    )
    op.create_table(
        "hour_adjustments",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("answers_id", sa.BigInteger(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("kind in ('adjustment', 'dispute', 'refusal')", name=op.f("ck_hour_adjustments_kind_known")),
        sa.ForeignKeyConstraint(
            ["campaign_id", "answers_id"],
            ["hour_adjustments.campaign_id", "hour_adjustments.id"],
            name=op.f("fk_hour_adjustments_campaign_id_answers_id_hour_adjustments"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "rater_id"],
            ["raters.campaign_id", "raters.id"],
            name=op.f("fk_hour_adjustments_campaign_id_rater_id_raters"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_hour_adjustments")),
        sa.UniqueConstraint("campaign_id", "id", name=op.f("uq_hour_adjustments_campaign_id_id")),
    )
    op.create_index("ix_hour_adjustments_rater_id", "hour_adjustments", ["campaign_id", "rater_id"], unique=False)
    op.create_table(
        "invitations",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("platform", sa.Text(), nullable=True),
        sa.Column("seats", sa.Integer(), nullable=False),
        sa.Column("completion_url", sa.Text(), nullable=True),
        sa.Column("team_id", sa.BigInteger(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("octet_length(hash) = 32", name=op.f("ck_invitations_hash_length")),
        sa.CheckConstraint("seats >= 1", name=op.f("ck_invitations_seats_counted")),
        sa.ForeignKeyConstraint(
            ["campaign_id", "team_id"],
            ["teams.campaign_id", "teams.id"],
            name=op.f("fk_invitations_campaign_id_team_id_teams"),
        ),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_invitations_campaign_id_campaigns")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitations")),
        sa.UniqueConstraint("campaign_id", "id", name=op.f("uq_invitations_campaign_id_id")),
        sa.UniqueConstraint("public_id", name=op.f("uq_invitations_public_id")),
    )
    op.create_table(
        "plans",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "design",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column(
            "report",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("change", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("compiled", sa.LargeBinary(), server_default=sa.text("''::bytea"), nullable=False),
        sa.Column("method_version", sa.Text(), nullable=False),
        sa.Column("data_version", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("octet_length(hash) = 32", name=op.f("ck_plans_hash_length")),
        sa.CheckConstraint("version >= 1", name=op.f("ck_plans_version_from_one")),
        sa.ForeignKeyConstraint(
            ["campaign_id", "data_version"],
            ["versions.campaign_id", "versions.n"],
            name=op.f("fk_plans_campaign_id_data_version_versions"),
        ),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_plans_campaign_id_campaigns")),
        sa.PrimaryKeyConstraint("campaign_id", "version", name=op.f("pk_plans")),
    )
    op.create_table(
        "qualification_attempts",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column(
            "answers",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("share", sa.Float(precision=53), nullable=True),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("waived", sa.Text(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("n >= 1", name=op.f("ck_qualification_attempts_counts_from_one")),
        sa.CheckConstraint("num_nonnulls(share, waived) = 1", name=op.f("ck_qualification_attempts_tried_or_waived")),
        sa.ForeignKeyConstraint(
            ["campaign_id", "rater_id"],
            ["raters.campaign_id", "raters.id"],
            name=op.f("fk_qualification_attempts_campaign_id_rater_id_raters"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "version"],
            ["qualifications.campaign_id", "qualifications.version"],
            name=op.f("fk_qualification_attempts_campaign_id_version_qualifications"),
        ),
        sa.PrimaryKeyConstraint("rater_id", "n", name=op.f("pk_qualification_attempts")),
    )
    op.create_table(
        "arms",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("plan", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("n", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("presentation", sa.Text(), nullable=False),
        sa.Column("prefill", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "presentation in ('document', 'segment', 'side_by_side')", name=op.f("ck_arms_presentation_known")
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "plan"], ["plans.campaign_id", "plans.version"], name=op.f("fk_arms_campaign_id_plan_plans")
        ),
        sa.PrimaryKeyConstraint("campaign_id", "plan", "n", name=op.f("pk_arms")),
        sa.UniqueConstraint("campaign_id", "plan", "name", name=op.f("uq_arms_campaign_id_plan_name")),
    )
    op.create_table(
        "bucket_raters",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("plan", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("bucket", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id", "plan"],
            ["plans.campaign_id", "plans.version"],
            name=op.f("fk_bucket_raters_campaign_id_plan_plans"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "rater_id"],
            ["raters.campaign_id", "raters.id"],
            name=op.f("fk_bucket_raters_campaign_id_rater_id_raters"),
        ),
        sa.PrimaryKeyConstraint("campaign_id", "plan", "bucket", "rater_id", name=op.f("pk_bucket_raters")),
    )
    op.create_index("ix_bucket_raters_rater_id", "bucket_raters", ["campaign_id", "rater_id"], unique=False)
    op.create_table(
        "enrolments",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("team_id", sa.BigInteger(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("capacity", sa.Integer(), nullable=True),
        sa.Column("capacity_unit", sa.Text(), nullable=False),
        sa.Column("buckets", sa.ARRAY(sa.Text()), nullable=True),
        sa.Column("languages", sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=True),
        sa.Column("invitation_id", sa.BigInteger(), nullable=True),
        sa.Column("settings_version", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("capacity_unit in ('items', 'segments', 'words')", name=op.f("ck_enrolments_unit_known")),
        sa.CheckConstraint("state in ('active', 'paused', 'left', 'erased')", name=op.f("ck_enrolments_state_known")),
        sa.CheckConstraint("capacity >= 0", name=op.f("ck_enrolments_capacity_counts")),
        sa.ForeignKeyConstraint(
            ["campaign_id", "invitation_id"],
            ["invitations.campaign_id", "invitations.id"],
            name=op.f("fk_enrolments_campaign_id_invitation_id_invitations"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "rater_id"],
            ["raters.campaign_id", "raters.id"],
            name=op.f("fk_enrolments_campaign_id_rater_id_raters"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "team_id"],
            ["teams.campaign_id", "teams.id"],
            name=op.f("fk_enrolments_campaign_id_team_id_teams"),
        ),
        sa.PrimaryKeyConstraint("rater_id", name=op.f("pk_enrolments")),
    )
    op.create_index("ix_enrolments_team_id", "enrolments", ["campaign_id", "team_id"], unique=False)
    op.create_index(
        "uq_enrolments_external_id",
        "enrolments",
        ["campaign_id", "external_id"],
        unique=True,
        postgresql_where=sa.text("external_id IS NOT NULL"),
    )
    op.create_table(
        "groups",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("plan", sa.Integer(), nullable=False),
        sa.Column("bucket", sa.Integer(), nullable=False),
        sa.Column("unit", sa.Integer(), nullable=False),
        sa.Column("nth", sa.Integer(), nullable=False),
        sa.Column("document_id", sa.BigInteger(), nullable=True),
        sa.Column("first_segment", sa.Integer(), nullable=True),
        sa.Column("last_segment", sa.Integer(), nullable=True),
        sa.Column("rater_id", sa.BigInteger(), nullable=True),
        sa.Column("propensity", sa.Float(precision=53), nullable=True),
        sa.CheckConstraint("nth >= 1", name=op.f("ck_groups_nth_from_one")),
        sa.CheckConstraint("propensity > 0 and propensity <= 1", name=op.f("ck_groups_propensity_is_probability")),
        sa.ForeignKeyConstraint(
            ["campaign_id", "document_id"],
            ["documents.campaign_id", "documents.id"],
            name=op.f("fk_groups_campaign_id_document_id_documents"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "plan"],
            ["plans.campaign_id", "plans.version"],
            name=op.f("fk_groups_campaign_id_plan_plans"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "rater_id"],
            ["raters.campaign_id", "raters.id"],
            name=op.f("fk_groups_campaign_id_rater_id_raters"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_groups")),
        sa.UniqueConstraint("campaign_id", "id", name=op.f("uq_groups_campaign_id_id")),
    )
    op.create_index("ix_groups_unit", "groups", ["campaign_id", "plan", "unit"], unique=False)
    op.create_table(
        "plan_documents",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("plan", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("document_id", sa.BigInteger(), nullable=False),
        sa.Column("bucket", sa.Integer(), nullable=True),
        sa.Column("inclusion", sa.Float(precision=53), server_default=sa.text("1"), nullable=False),
        sa.CheckConstraint(
            "inclusion >= 0 and inclusion <= 1", name=op.f("ck_plan_documents_inclusion_is_probability")
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "document_id"],
            ["documents.campaign_id", "documents.id"],
            name=op.f("fk_plan_documents_campaign_id_document_id_documents"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "plan"],
            ["plans.campaign_id", "plans.version"],
            name=op.f("fk_plan_documents_campaign_id_plan_plans"),
        ),
        sa.PrimaryKeyConstraint("campaign_id", "plan", "document_id", name=op.f("pk_plan_documents")),
    )
    op.create_table(
        "activity",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("session", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("item", sa.Integer(), nullable=True),
        sa.Column("segment", sa.Integer(), nullable=True),
        sa.Column("received_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("seq >= 0", name=op.f("ck_activity_seq_counts")),
        sa.ForeignKeyConstraint(
            ["campaign_id", "rater_id"],
            ["raters.campaign_id", "raters.id"],
            name=op.f("fk_activity_campaign_id_rater_id_raters"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "task_id"],
            ["tasks.campaign_id", "tasks.id"],
            name=op.f("fk_activity_campaign_id_task_id_tasks"),
        ),
        sa.PrimaryKeyConstraint("task_id", "session", "seq", name=op.f("pk_activity")),
    )
    op.create_index("ix_activity_rater_id", "activity", ["campaign_id", "rater_id"], unique=False)
    op.create_table(
        "leases",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("leased_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_how", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "ended_how in ('handed_in', 'released', 'expired', 'reassigned', 'withdrawn')",
            name=op.f("ck_leases_end_known"),
        ),
        sa.CheckConstraint("n >= 1", name=op.f("ck_leases_counts_from_one")),
        sa.ForeignKeyConstraint(
            ["campaign_id", "rater_id"],
            ["raters.campaign_id", "raters.id"],
            name=op.f("fk_leases_campaign_id_rater_id_raters"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "task_id"],
            ["tasks.campaign_id", "tasks.id"],
            name=op.f("fk_leases_campaign_id_task_id_tasks"),
        ),
        sa.PrimaryKeyConstraint("campaign_id", "task_id", "n", name=op.f("pk_leases")),
    )
    op.create_index("ix_leases_rater_id", "leases", ["campaign_id", "rater_id"], unique=False)
    op.create_table(
        "screen_judgments",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("screen", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column(
            "payload",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("surplus", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("revision >= 1", name=op.f("ck_screen_judgments_revision_from_one")),
        sa.CheckConstraint("screen >= 1", name=op.f("ck_screen_judgments_screen_from_one")),
        sa.ForeignKeyConstraint(
            ["campaign_id", "rater_id"],
            ["raters.campaign_id", "raters.id"],
            name=op.f("fk_screen_judgments_campaign_id_rater_id_raters"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "task_id"],
            ["tasks.campaign_id", "tasks.id"],
            name=op.f("fk_screen_judgments_campaign_id_task_id_tasks"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "version"],
            ["versions.campaign_id", "versions.n"],
            name=op.f("fk_screen_judgments_campaign_id_version_versions"),
        ),
        sa.PrimaryKeyConstraint(
            "campaign_id", "task_id", "screen", "rater_id", "revision", name=op.f("pk_screen_judgments")
        ),
    )
    op.create_table(
        "variants",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("output_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("spans", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("how", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "(kind = 'prefill') = (text is null) and (kind <> 'prefill' or spans is not null)",
            name=op.f("ck_variants_whole"),
        ),
        sa.CheckConstraint("kind in ('degraded', 'prefill', 'back_translation')", name=op.f("ck_variants_kind_known")),
        sa.ForeignKeyConstraint(
            ["campaign_id", "output_id"],
            ["outputs.campaign_id", "outputs.id"],
            name=op.f("fk_variants_campaign_id_output_id_outputs"),
        ),
        sa.PrimaryKeyConstraint("campaign_id", "output_id", "kind", "name", name=op.f("pk_variants")),
    )
    op.create_table(
        "flags",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("item_id", sa.BigInteger(), nullable=True),
        sa.Column("segment", sa.Integer(), nullable=True),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("answered_by", sa.Text(), nullable=True),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "num_nulls(answer, answered_by, answered_at) in (0, 3)", name=op.f("ck_flags_answered_whole")
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "item_id"],
            ["items.campaign_id", "items.id"],
            name=op.f("fk_flags_campaign_id_item_id_items"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "rater_id"],
            ["raters.campaign_id", "raters.id"],
            name=op.f("fk_flags_campaign_id_rater_id_raters"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id", "task_id"],
            ["tasks.campaign_id", "tasks.id"],
            name=op.f("fk_flags_campaign_id_task_id_tasks"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flags")),
        sa.UniqueConstraint("public_id", name=op.f("uq_flags_public_id")),
    )
    op.create_index("ix_flags_campaign_id", "flags", ["campaign_id", "id"], unique=False)
    op.add_column("items", sa.Column("screen", sa.Integer(), nullable=True))
    op.add_column("items", sa.Column("column_", sa.SmallInteger(), nullable=True))
    op.add_column("items", sa.Column("group_id", sa.BigInteger(), nullable=True))
    op.add_column("items", sa.Column("of_item_id", sa.BigInteger(), nullable=True))
    op.add_column("items", sa.Column("variant", sa.Text(), nullable=True))
    op.add_column("items", sa.Column("prefill", sa.Text(), nullable=True))
    op.add_column("items", sa.Column("reference", sa.Text(), nullable=True))
    op.add_column("items", sa.Column("side_order", sa.SmallInteger(), nullable=True))
    op.add_column("items", sa.Column("propensity", sa.Float(precision=53), nullable=True))
    op.add_column("items", sa.Column("surplus_from", sa.BigInteger(), nullable=True))
    op.create_index(
        "ix_items_group_id",
        "items",
        ["campaign_id", "group_id"],
        unique=False,
        postgresql_where=sa.text("group_id IS NOT NULL"),
    )
    op.create_index(
        "ix_raters_person_id",
        "raters",
        ["person_id", "campaign_id"],
        unique=False,
        postgresql_where=sa.text("person_id IS NOT NULL"),
    )
    op.create_index(
        "ix_items_of_item_id",
        "items",
        ["campaign_id", "of_item_id"],
        unique=False,
        postgresql_where=sa.text("of_item_id IS NOT NULL"),
    )
    op.create_foreign_key(
        op.f("fk_items_campaign_id_of_item_id_items"),
        "items",
        "items",
        ["campaign_id", "of_item_id"],
        ["campaign_id", "id"],
    )
    op.create_foreign_key(
        op.f("fk_items_campaign_id_surplus_from_versions"),
        "items",
        "versions",
        ["campaign_id", "surplus_from"],
        ["campaign_id", "n"],
    )
    op.create_foreign_key(
        op.f("fk_items_campaign_id_group_id_groups"),
        "items",
        "groups",
        ["campaign_id", "group_id"],
        ["campaign_id", "id"],
    )
    op.add_column("judgments", sa.Column("guidelines", sa.Integer(), nullable=True))
    op.add_column("tasks", sa.Column("plan", sa.Integer(), nullable=True))
    op.add_column("tasks", sa.Column("arm", sa.Integer(), nullable=True))
    op.add_column("tasks", sa.Column("bucket", sa.Integer(), nullable=True))
    op.add_column("tasks", sa.Column("chain", sa.Integer(), nullable=True))
    op.add_column("tasks", sa.Column("queue", sa.Integer(), nullable=True))
    op.add_column("tasks", sa.Column("words", sa.Integer(), nullable=True))
    op.add_column("tasks", sa.Column("segments", sa.Integer(), nullable=True))
    op.add_column("tasks", sa.Column("presentation", sa.Text(), nullable=True))
    op.add_column("tasks", sa.Column("lease", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column("tasks", sa.Column("pooled", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.add_column("tasks", sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True))
    op.add_column("tasks", sa.Column("handed_in_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("tasks", sa.Column("completion_code", sa.Text(), nullable=True))
    op.create_index(
        "ix_tasks_free_of_bucket",
        "tasks",
        ["campaign_id", "bucket", "queue"],
        unique=False,
        postgresql_where=sa.text("state = 'free' AND rater_id IS NULL"),
    )
    op.create_index(
        "ix_tasks_free_of_rater",
        "tasks",
        ["campaign_id", "rater_id", "queue"],
        unique=False,
        postgresql_where=sa.text("state = 'free'"),
    )
    op.create_index(
        "ix_tasks_leased_until",
        "tasks",
        ["campaign_id", "leased_until"],
        unique=False,
        postgresql_where=sa.text("state = 'leased'"),
    )
    op.create_index(
        "ix_tasks_of_rater",
        "tasks",
        ["campaign_id", "rater_id", "plan"],
        unique=False,
        postgresql_where=sa.text("plan IS NOT NULL"),
    )
    op.create_index(
        "ix_tasks_chain",
        "tasks",
        ["campaign_id", "plan", "chain"],
        unique=False,
        postgresql_where=sa.text("chain IS NOT NULL"),
    )
    op.create_index(
        "uq_tasks_held", "tasks", ["campaign_id", "rater_id"], unique=True, postgresql_where=sa.text("state = 'leased'")
    )
    op.create_foreign_key(
        op.f("fk_tasks_campaign_id_plan_plans"), "tasks", "plans", ["campaign_id", "plan"], ["campaign_id", "version"]
    )
    op.add_column("tokens", sa.Column("rater_id", sa.BigInteger(), nullable=True))
    op.add_column("tokens", sa.Column("team_id", sa.BigInteger(), nullable=True))
    op.create_index(
        "ix_tokens_rater_id",
        "tokens",
        ["campaign_id", "rater_id"],
        unique=False,
        postgresql_where=sa.text("rater_id IS NOT NULL"),
    )
    op.create_foreign_key(
        op.f("fk_tokens_campaign_id_team_id_teams"),
        "tokens",
        "teams",
        ["campaign_id", "team_id"],
        ["campaign_id", "id"],
    )
    op.create_foreign_key(
        op.f("fk_tokens_campaign_id_rater_id_raters"),
        "tokens",
        "raters",
        ["campaign_id", "rater_id"],
        ["campaign_id", "id"],
    )
    _check("tokens", "role_known", ROLES)
    _check("tasks", "state_known", STATES)
    for table, name, rule in ADDED_CHECKS:
        _check(table, name, rule)
    _protect()


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    for table, name, _ in ADDED_CHECKS:
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT ck_{table}_{name}")
    op.execute("DELETE FROM tokens WHERE role = 'rater'")
    op.execute("UPDATE tasks SET state = 'free' WHERE state = 'withdrawn'")
    _check("tokens", "role_known", ROLES_BEFORE)
    _check("tasks", "state_known", STATES_BEFORE)
    op.drop_constraint(op.f("fk_tokens_campaign_id_rater_id_raters"), "tokens", type_="foreignkey")
    op.drop_constraint(op.f("fk_tokens_campaign_id_team_id_teams"), "tokens", type_="foreignkey")
    op.drop_index("ix_tokens_rater_id", table_name="tokens", postgresql_where=sa.text("rater_id IS NOT NULL"))
    op.drop_column("tokens", "team_id")
    op.drop_column("tokens", "rater_id")
    op.drop_constraint(op.f("fk_tasks_campaign_id_plan_plans"), "tasks", type_="foreignkey")
    op.drop_index("uq_tasks_held", table_name="tasks", postgresql_where=sa.text("state = 'leased'"))
    op.drop_index("ix_tasks_leased_until", table_name="tasks", postgresql_where=sa.text("state = 'leased'"))
    op.drop_index("ix_tasks_free_of_rater", table_name="tasks", postgresql_where=sa.text("state = 'free'"))
    op.drop_index(
        "ix_tasks_free_of_bucket", table_name="tasks", postgresql_where=sa.text("state = 'free' AND rater_id IS NULL")
    )
    op.drop_index("ix_tasks_chain", table_name="tasks", postgresql_where=sa.text("chain IS NOT NULL"))
    op.drop_index("ix_tasks_of_rater", table_name="tasks", postgresql_where=sa.text("plan IS NOT NULL"))
    op.drop_column("tasks", "completion_code")
    op.drop_column("tasks", "handed_in_at")
    op.drop_column("tasks", "leased_until")
    op.drop_column("tasks", "pooled")
    op.drop_column("tasks", "lease")
    op.drop_column("tasks", "presentation")
    op.drop_column("tasks", "segments")
    op.drop_column("tasks", "words")
    op.drop_column("tasks", "queue")
    op.drop_column("tasks", "chain")
    op.drop_column("tasks", "bucket")
    op.drop_column("tasks", "arm")
    op.drop_column("tasks", "plan")
    op.drop_column("judgments", "guidelines")
    op.drop_constraint(op.f("fk_items_campaign_id_group_id_groups"), "items", type_="foreignkey")
    op.drop_constraint(op.f("fk_items_campaign_id_surplus_from_versions"), "items", type_="foreignkey")
    op.drop_constraint(op.f("fk_items_campaign_id_of_item_id_items"), "items", type_="foreignkey")
    op.drop_index("ix_raters_person_id", table_name="raters", postgresql_where=sa.text("person_id IS NOT NULL"))
    op.drop_index("ix_items_of_item_id", table_name="items", postgresql_where=sa.text("of_item_id IS NOT NULL"))
    op.drop_index("ix_items_group_id", table_name="items", postgresql_where=sa.text("group_id IS NOT NULL"))
    op.drop_column("items", "surplus_from")
    op.drop_column("items", "propensity")
    op.drop_column("items", "side_order")
    op.drop_column("items", "reference")
    op.drop_column("items", "prefill")
    op.drop_column("items", "variant")
    op.drop_column("items", "of_item_id")
    op.drop_column("items", "group_id")
    op.drop_column("items", "column_")
    op.drop_column("items", "screen")
    op.drop_index("ix_flags_campaign_id", table_name="flags")
    op.drop_table("flags")
    op.drop_table("variants")
    op.drop_table("screen_judgments")
    op.drop_index("ix_leases_rater_id", table_name="leases")
    op.drop_table("leases")
    op.drop_index("ix_activity_rater_id", table_name="activity")
    op.drop_table("activity")
    op.drop_table("plan_documents")
    op.drop_index("ix_groups_unit", table_name="groups")
    op.drop_table("groups")
    op.drop_index(
        "uq_enrolments_external_id", table_name="enrolments", postgresql_where=sa.text("external_id IS NOT NULL")
    )
    op.drop_index("ix_enrolments_team_id", table_name="enrolments")
    op.drop_table("enrolments")
    op.drop_index("ix_bucket_raters_rater_id", table_name="bucket_raters")
    op.drop_table("bucket_raters")
    op.drop_table("arms")
    op.drop_table("qualification_attempts")
    op.drop_table("plans")
    op.drop_table("invitations")
    op.drop_index("ix_hour_adjustments_rater_id", table_name="hour_adjustments")
    op.drop_table("hour_adjustments")
    op.drop_table("contacts")
    op.drop_table("consents")
    op.drop_table("teams")
    op.drop_table("qualifications")
    op.drop_table("guidelines")
    op.drop_table("calibration_pairs")
    op.drop_table("calibration_sets")
