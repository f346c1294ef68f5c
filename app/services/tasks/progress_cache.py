"""Counts of judged work, kept from one look at a campaign to the next, so that only new judgments are counted.

The database takes seconds to count a million judgments, and a manager who watches a campaign looks every few seconds.
After raters' answers and tasks that change hands, the earlier counts are updated. After any other change, everything is
counted again. Posting answers does not become slower, because nothing is written. Each process keeps its own counts.
Counting many millions takes minutes. A worker does it once, and stores the counts; each process then starts from these.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache

from pydantic import TypeAdapter

from app.domain.languages import has_word_spaces
from app.services.campaigns.campaigns import get_campaign
from app.services.plans.plan_input import CHARACTERS_A_WORD
from app.services.tasks.progress_view import ProgressFingerprint
from app.storage import idle_raters, progress, progress_counts
from app.storage.db import Session

DAY = timedelta(days=1)
DONE = frozenset({"handed_in", "imported"})
MOST_TASKS = 60_000
"""Tasks whose counts a process keeps, about 900 bytes each. It keeps all tasks of the campaign that was used last."""


@dataclass(frozen=True, slots=True)
class ProgressTally:
    """Counts for a task, a system or a group. rated: items with judgments."""

    items: int
    done: int
    rated: int
    judgments: int
    first: datetime | None = None
    last: datetime | None = None

    def with_added_judgments(self, row: progress_counts.Row, *, rated: bool) -> ProgressTally:
        """Return the tally with further judgments. rated: whether these are the first ones of an item that counts."""
        first = row.first if self.first is None else min(self.first, row.first)
        last = row.last if self.last is None else max(self.last, row.last)
        judgments = self.judgments + row.n
        return replace(self, rated=self.rated + rated, judgments=judgments, first=first, last=last)


@dataclass(frozen=True, slots=True)
class ImportedTaskSize:
    """How much was judged in a task that was imported with its answers. words: of the sources."""

    segments: int
    words: int


@dataclass(slots=True)
class CampaignProgressTallies:
    """The counts of a campaign. recent: judgments of the last day, by task.

    imported: segments and words of tasks that were imported with their answers, by task. as_of: the data version of the
    counts, if they are older than what is looked at.
    """

    tasks: dict[int, ProgressTally] = field(default_factory=dict)
    systems: dict[int, ProgressTally] = field(default_factory=dict)
    groups: dict[int, ProgressTally] = field(default_factory=dict)
    recent: Counter[int] = field(default_factory=Counter)
    imported: Mapping[int, ImportedTaskSize] = field(default_factory=dict)
    as_of: int | None = None

    def copy(self) -> CampaignProgressTallies:
        """Return a copy that can be read while counting continues."""
        recent = Counter(self.recent)
        return CampaignProgressTallies(dict(self.tasks), dict(self.systems), dict(self.groups), recent, self.imported)


@dataclass(slots=True)
class _StoredTallies:
    """The counts as of a data version, kept by a process or stored by a worker.

    newest: the last judgment counted. done: the tasks counted as done.
    """

    version: int
    plan: int | None
    at: datetime
    known: frozenset[int]
    newest: int = 0
    counts: CampaignProgressTallies = field(default_factory=CampaignProgressTallies)
    done: set[int] = field(default_factory=set)
    minutes: defaultdict[datetime, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))


@dataclass(slots=True)
class _Campaign:
    """What is cached for a campaign. One request counts, and others at the same time wait for it.

    tasks: by part, each with the digest it was read at. began: first leases, by rater. idle: raters without tasks, with
    the raters and the minute that this was computed for.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    kept: _StoredTallies | None = None
    tasks: Mapping[int, tuple[str, Sequence[progress.Row]]] | None = None
    began: Mapping[int, datetime] = field(default_factory=dict)
    idle: tuple[tuple[object, ...], Sequence[str]] | None = None


FindStored = Callable[[Session, ProgressFingerprint], bytes | None]
"""Returns the counts that a worker stored; None for campaigns that a process counts itself. May raise an error."""


class ProgressCountCache:
    """The counts that a process keeps of the campaigns used last. counted_anew: number of complete counts.

    find_stored: without it, every campaign is counted here.
    """

    def __init__(self, most_tasks: int = MOST_TASKS, *, find_stored: FindStored | None = None) -> None:
        self.counted_anew = 0
        self._most_tasks = most_tasks
        self._find_stored = find_stored
        self._campaigns: OrderedDict[int, _Campaign] = OrderedDict()
        self._lock = threading.Lock()

    def load_cached_tasks_not_withdrawn(
        self, session: Session, fingerprint: ProgressFingerprint
    ) -> Sequence[progress.Row]:
        """Return the campaign's tasks that are not withdrawn. Parts that have changed are read again."""
        campaign = self._campaign(fingerprint)
        with campaign.lock:
            known = campaign.tasks or {}
            changed = [
                part for part, digest in fingerprint.tasks.items() if part not in known or known[part][0] != digest
            ]
            if changed or known.keys() != fingerprint.tasks.keys():
                campaign.tasks = known = _read_again(session, fingerprint, known, changed)
            rows = [row for part in sorted(known) for row in known[part][1]]
        leased = {row.id: row for row in progress.load_leased_tasks(session, fingerprint.campaign_id)}
        return [leased.get(row.id, row) for row in rows] if leased else rows

    def load_first_lease_time_by_rater(
        self, session: Session, fingerprint: ProgressFingerprint, raters: Iterable[progress.Row]
    ) -> Mapping[int, datetime]:
        """Return when raters leased their first task, by rater; read once for each rater who has begun."""
        campaign = self._campaign(fingerprint)
        with campaign.lock:
            if missing := [one.id for one in raters if one.id not in campaign.began]:
                campaign.began = {
                    **campaign.began,
                    **progress.load_first_lease_time_by_rater(session, fingerprint.campaign_id, missing),
                }
            return campaign.began

    def load_raters_without_tasks(
        self,
        session: Session,
        fingerprint: ProgressFingerprint,
        raters: Iterable[progress.Row],
        began: Mapping[int, datetime],
        tasks: Iterable[progress.Row],
    ) -> Sequence[str]:
        """Return the keys of raters to whom the plan in force gives no task; at most a minute old, as are all rates.

        A rater who has begun or holds a task is never one of them, so only the others are looked up in the plan.
        """
        busy = {row.rater_id for row in tasks} | set(began)
        asked = (
            fingerprint.at,
            fingerprint.plan,
            *(one.key for one in raters if one.state == "active" and one.id not in busy),
        )
        campaign = self._campaign(fingerprint)
        with campaign.lock:
            if len(asked) == 2:
                return []
            if campaign.idle is None or campaign.idle[0] != asked:
                keys = [str(key) for key in asked[2:]]
                campaign.idle = asked, idle_raters.load_unassigned_rater_keys(session, fingerprint.campaign_id, keys)
            return campaign.idle[1]

    def tally_judgments(
        self, session: Session, fingerprint: ProgressFingerprint, tasks: Sequence[progress.Row]
    ) -> CampaignProgressTallies:
        """Return the counts of what is judged now. tasks: those of the campaign that are not withdrawn."""
        campaign, known = self._campaign(fingerprint), frozenset(row.id for row in tasks)
        with campaign.lock:
            before = campaign.kept
            if before is not None and _goes_on(session, before, fingerprint, known):
                # The counts are not cached while they change, so that after an error everything is counted again.
                campaign.kept = None
                kept, is_old = _update(session, before, fingerprint, tasks), False
            else:
                kept, is_old = self._start(session, before, fingerprint, tasks)
            is_late = before is not None and before.version > kept.version
            campaign.kept = before if is_late else kept
            counts = kept.counts.copy()
        self._forget_others()
        return replace(counts, as_of=kept.version) if is_old else counts

    def _campaign(self, fingerprint: ProgressFingerprint) -> _Campaign:
        """Return the cache entry of a campaign, and mark it as the one used last."""
        with self._lock:
            campaign = self._campaigns.setdefault(fingerprint.campaign_id, _Campaign())
            self._campaigns.move_to_end(fingerprint.campaign_id)
        return campaign

    def _start(
        self,
        session: Session,
        before: _StoredTallies | None,
        fingerprint: ProgressFingerprint,
        tasks: Sequence[progress.Row],
    ) -> tuple[_StoredTallies, bool]:
        """Return counts from those that a worker stored, or count everything; and whether the counts are old.

        They are if more than answers were added since: then they are those of the worker or of the look before.
        """
        body = None if self._find_stored is None else self._find_stored(session, fingerprint)
        if body is None:
            self.counted_anew += 1
            return _count_anew(session, fingerprint, tasks), False
        stored = _stored_form().validate_json(body)
        if _goes_on(session, stored, fingerprint, frozenset(row.id for row in tasks)):
            return _update(session, stored, fingerprint, tasks), False
        return (before if before is not None and before.version > stored.version else stored), True

    def _forget_others(self) -> None:
        """Drop the least recently used campaigns until the process keeps no more tasks than it may."""
        with self._lock:
            sizes = {key: len(one.kept.known) for key, one in self._campaigns.items() if one.kept is not None}
            held = sum(sizes.values())
            while held > self._most_tasks and len(self._campaigns) > 1:
                held -= sizes.get(self._campaigns.popitem(last=False)[0], 0)


def _read_again(
    session: Session,
    fingerprint: ProgressFingerprint,
    known: Mapping[int, tuple[str, Sequence[progress.Row]]],
    changed: Sequence[int],
) -> Mapping[int, tuple[str, Sequence[progress.Row]]]:
    """Return the tasks of every part, after reading the changed parts again."""
    read: dict[int, list[progress.Row]] = {part: [] for part in changed}
    asked = changed if known else None
    for row in progress.load_tasks_not_withdrawn(session, fingerprint.campaign_id, asked) if changed else ():
        read[row.id >> progress.BITS].append(row)
    return {
        part: (digest, read[part] if part in read else known[part][1]) for part, digest in fingerprint.tasks.items()
    }


def _goes_on(session: Session, kept: _StoredTallies, fingerprint: ProgressFingerprint, known: frozenset[int]) -> bool:
    """Return whether only answers have been added since, and the set of tasks is the same."""
    if (
        (kept.plan, kept.known) != (fingerprint.plan, known)
        or kept.version > fingerprint.data_version
        or kept.at > fingerprint.at
    ):
        return False
    versions = {"after": kept.version, "version": fingerprint.data_version}
    return kept.version == fingerprint.data_version or progress_counts.have_only_answers_changed_data(
        session, fingerprint.campaign_id, **versions
    )


def _update(
    session: Session, kept: _StoredTallies, fingerprint: ProgressFingerprint, tasks: Sequence[progress.Row]
) -> _StoredTallies:
    """Add to counts what raters have done since, and return them."""
    _add_answers(session, kept, fingerprint)
    _move_tasks(session, kept, fingerprint.campaign_id, tasks)
    _forget_minutes(kept, fingerprint.at)
    return kept


def tally_and_encode_judgments(session: Session, fingerprint: ProgressFingerprint) -> bytes:
    """Count everything in a campaign, and return the counts in the form that `FindStored` returns.

    The time depends on the number of judgments: some four seconds for a million.
    """
    tasks = progress.load_tasks_not_withdrawn(session, fingerprint.campaign_id)
    return _stored_form().dump_json(_count_anew(session, fingerprint, tasks))


@cache
def _stored_form() -> TypeAdapter[_StoredTallies]:
    return TypeAdapter(_StoredTallies)


def _count_anew(session: Session, fingerprint: ProgressFingerprint, tasks: Sequence[progress.Row]) -> _StoredTallies:
    known = frozenset(row.id for row in tasks)
    kept = _StoredTallies(fingerprint.data_version, fingerprint.plan, fingerprint.at, known)
    by_kind: Mapping[str, dict[int, ProgressTally]] = {
        "task": kept.counts.tasks,
        "system": kept.counts.systems,
        "group": kept.counts.groups,
    }
    rows = progress_counts.count_items_and_judgments(
        session, fingerprint.campaign_id, version=fingerprint.data_version, since=fingerprint.at - DAY
    )
    for row in rows:
        if row.what == "minute":
            _count_minute(kept, row.id, row.first, row.judgments)
            continue
        by_kind[row.what][row.id] = ProgressTally(row.items, row.done, row.rated, row.judgments, row.first, row.last)
        kept.newest = max(kept.newest, row.newest or 0)
        if row.what == "task" and row.done:
            kept.done.add(row.id)
    if any(row.state == "imported" for row in tasks):
        kept.counts.imported = _count_imported(session, fingerprint)
    return kept


def _count_imported(session: Session, fingerprint: ProgressFingerprint) -> Mapping[int, ImportedTaskSize]:
    """Return the size of tasks that were imported with their answers, by task. No rater's answer changes it."""
    characters = None if has_word_spaces(get_campaign(session, fingerprint.key).source_language) else CHARACTERS_A_WORD
    rows = progress.load_imported_task_sizes(session, fingerprint.campaign_id, characters_per_word=characters)
    return {row.id: ImportedTaskSize(row.segments, row.words) for row in rows}


def _add_answers(session: Session, kept: _StoredTallies, fingerprint: ProgressFingerprint) -> None:
    """Count the judgments between the stored data version and this one."""
    after, counts = kept.newest, kept.counts
    begun: set[int] = set()
    if kept.version < fingerprint.data_version:
        for row in progress_counts.count_new_judgments_by_item(
            session, fingerprint.campaign_id, after=after, version=fingerprint.data_version
        ):
            first = not row.begun and row.item not in begun
            begun.add(row.item)
            counts.tasks[row.task_id] = counts.tasks[row.task_id].with_added_judgments(
                row, rated=first and row.role == 0
            )
            if row.group_id is not None:
                counts.groups[row.group_id] = counts.groups[row.group_id].with_added_judgments(row, rated=first)
            for system in row.systems if row.role == 0 else ():
                counts.systems[system] = counts.systems[system].with_added_judgments(row, rated=first)
            kept.newest = max(kept.newest, row.newest)
            if row.minute > fingerprint.at - DAY:
                _count_minute(kept, row.task_id, row.minute, row.n)
    kept.version, kept.at = fingerprint.data_version, fingerprint.at


def _move_tasks(session: Session, kept: _StoredTallies, campaign_id: int, tasks: Sequence[progress.Row]) -> None:
    """Count the items of tasks that were handed in as done, and those of reopened tasks as not done."""
    done = {row.id for row in tasks if row.state in DONE and row.id in kept.counts.tasks}
    moved = done ^ kept.done
    if not moved:
        return
    for task in moved:
        tally = kept.counts.tasks[task]
        kept.counts.tasks[task] = replace(tally, done=tally.items if task in done else 0)
    for row in progress_counts.count_task_items_by_system_and_group(session, campaign_id, moved):
        tallies = kept.counts.systems if row.what == "system" else kept.counts.groups
        items = row.items if row.task_id in done else -row.items
        tallies[row.id] = replace(tallies[row.id], done=tallies[row.id].done + items)
    kept.done = done


def _count_minute(kept: _StoredTallies, task: int, minute: datetime, n: int) -> None:
    kept.minutes[minute][task] += n
    kept.counts.recent[task] += n


def _forget_minutes(kept: _StoredTallies, at: datetime) -> None:
    """Subtract judgments that are more than a day old from those of the last day."""
    for minute in [one for one in kept.minutes if one <= at - DAY]:
        kept.counts.recent.subtract(kept.minutes.pop(minute))
