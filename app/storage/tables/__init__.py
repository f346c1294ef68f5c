"""All tables. Constraints are in the database first; composite keys keep every row within its campaign."""

from app.storage.tables._metadata import metadata
from app.storage.tables.accounts import account_sessions, accounts, logout_tokens
from app.storage.tables.activity_and_screen_answers import (
    activity,
    calibration_pairs,
    calibration_sets,
    flags,
    hour_adjustments,
    screen_judgments,
    variants,
)
from app.storage.tables.analysis_lock_tables import locks
from app.storage.tables.audit import audit_log
from app.storage.tables.campaigns import campaigns, seals, versions
from app.storage.tables.comments import comments
from app.storage.tables.credentials import archive_links, idempotency, sessions, tokens
from app.storage.tables.exclusions import exclusions
from app.storage.tables.imports import import_chunks, import_files, imports
from app.storage.tables.jobs import chunk_results, jobs
from app.storage.tables.judgments import judgments, profiles, scores, voids
from app.storage.tables.media import media_files, media_uploads, signing_keys
from app.storage.tables.metrics import metric_scores
from app.storage.tables.pearmut import pearmut_answers, pearmut_campaigns, pearmut_users
from app.storage.tables.plans import arms, bucket_raters, groups, plan_documents, plans
from app.storage.tables.questionnaires import questionnaire_answers
from app.storage.tables.raters import (
    consents,
    contacts,
    enrolments,
    guidelines,
    invitations,
    people,
    qualification_attempts,
    qualifications,
    rater_messages,
    raters,
    teams,
)
from app.storage.tables.recipes import recipes
from app.storage.tables.reports import reports
from app.storage.tables.tasks import item_credits, items, leases, tasks
from app.storage.tables.texts import documents, outputs, reference_texts, segments, systems
from app.storage.tables.tutorials import tutorial_answers
from app.storage.tables.webhooks import webhook_deliveries, webhook_events, webhook_streams, webhooks

__all__ = [
    "account_sessions",
    "accounts",
    "activity",
    "archive_links",
    "arms",
    "audit_log",
    "bucket_raters",
    "calibration_pairs",
    "calibration_sets",
    "campaigns",
    "chunk_results",
    "comments",
    "consents",
    "contacts",
    "documents",
    "enrolments",
    "exclusions",
    "flags",
    "groups",
    "guidelines",
    "hour_adjustments",
    "idempotency",
    "import_chunks",
    "import_files",
    "imports",
    "invitations",
    "item_credits",
    "items",
    "jobs",
    "judgments",
    "leases",
    "locks",
    "logout_tokens",
    "media_files",
    "media_uploads",
    "metadata",
    "metric_scores",
    "outputs",
    "pearmut_answers",
    "pearmut_campaigns",
    "pearmut_users",
    "people",
    "plan_documents",
    "plans",
    "profiles",
    "qualification_attempts",
    "qualifications",
    "questionnaire_answers",
    "rater_messages",
    "raters",
    "recipes",
    "reference_texts",
    "reports",
    "scores",
    "screen_judgments",
    "seals",
    "segments",
    "sessions",
    "signing_keys",
    "systems",
    "tasks",
    "teams",
    "tokens",
    "tutorial_answers",
    "variants",
    "versions",
    "voids",
    "webhook_deliveries",
    "webhook_events",
    "webhook_streams",
    "webhooks",
]
