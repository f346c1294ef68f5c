"""Find how much more memory this process can get, and refuse work that would not fit."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain.errors import Invalid
from app.storage.ratings_folder import find_ratings_folder

BYTES_PER_JUDGMENT = 400
"""Memory for each judgment whose ratings are loaded and used in computations; measured in docs/scaling.md."""
_MEMORY, _GROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")
_COUNT = "SELECT count(*) FROM judgments WHERE campaign_id = :campaign"


class MemoryTooSmall(Invalid):
    """This needs all ratings of a large campaign in memory, and there is too little; a ranking by `recommended`, SRP
    and robustness need only sums."""


def require_memory_for_ratings(session: Session, campaign_id: int) -> None:
    """Raise MemoryTooSmall if the ratings of a large campaign do not fit into memory."""
    folder = find_ratings_folder(session)
    if folder is None or not folder.is_campaign_large(session, campaign_id):
        return
    free = read_free_memory()
    n = int(session.execute(text(_COUNT), {"campaign": campaign_id}).scalar_one())
    if free is not None and n * BYTES_PER_JUDGMENT > free:
        needed, there = (f"{size / 1e9:,.1f} GB" for size in (n * BYTES_PER_JUDGMENT, free))
        raise MemoryTooSmall(f"{n:,} judgments need about {needed}, and {there} are free")


def read_free_memory() -> int | None:
    """Return the bytes that the machine and the control group still allow this process; None if unknown."""
    free = [size for size in (_read_machine(), _read_group()) if size is not None]
    return min(free, default=None)


def _read_machine() -> int | None:
    try:
        lines = _MEMORY.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _read_group() -> int | None:
    try:
        most, used = (int((_GROUP / name).read_text(encoding="ascii")) for name in ("memory.max", "memory.current"))
    except (OSError, ValueError):  # there is no control group, or it has no limit
        return None
    return max(most - used, 0)
