"""All tables. Constraints stand in the database first; composite keys keep every row inside its campaign."""

from app.storage.tables._metadata import metadata
from app.storage.tables.access import idempotency, sessions, tokens
from app.storage.tables.audit import audit_log
from app.storage.tables.campaigns import campaigns, versions
from app.storage.tables.exclusions import exclusions
from app.storage.tables.imports import import_chunks, import_files, imports
from app.storage.tables.judgments import judgments, profiles, scores, voids
from app.storage.tables.locks import locks
from app.storage.tables.raters import people, raters
from app.storage.tables.recipes import recipes
from app.storage.tables.reports import reports
from app.storage.tables.tasks import item_credits, items, tasks
from app.storage.tables.texts import documents, outputs, reference_texts, segments, systems

__all__ = [
    "audit_log",
    "campaigns",
    "documents",
    "exclusions",
    "idempotency",
    "import_chunks",
    "import_files",
    "imports",
    "item_credits",
    "items",
    "judgments",
    "locks",
    "metadata",
    "outputs",
    "people",
    "profiles",
    "raters",
    "recipes",
    "reference_texts",
    "reports",
    "scores",
    "segments",
    "sessions",
    "systems",
    "tasks",
    "tokens",
    "versions",
    "voids",
]
