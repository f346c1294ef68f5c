"""Where files of ratings lie on this machine, for which campaigns, and when they go."""

from __future__ import annotations

import shutil
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain.errors import Invalid


class RatingsFolderUnusable(Invalid):
    """No file of ratings can be written here; give this process a data folder of its own (PLUMBLINE_DATA_DIR)."""


FORMAT = 1
"""Raised whenever the layout or what is derived for it changes, so that older files are written anew."""
HEAD = "head.json"
"""The file of a folder that says what is in the others; last used when it was last touched."""
SUPERSEDED_AFTER = 3600.0
"""Seconds without use after which the file of a former data version goes."""
UNUSED_AFTER = 7 * 86_400.0
"""The same for any file: who asks again has it written again."""
_PART = "part-"
_IDS = "SELECT min(id), max(id) FROM judgments WHERE campaign_id = :campaign"
_COUNT = "SELECT count(*) FROM (SELECT FROM judgments WHERE campaign_id = :campaign LIMIT :most) j"
# The seal tells this version from one of the same number in a database that was restored and went on otherwise.
_SEAL = "SELECT encode(hash, 'hex') FROM seals WHERE campaign_id = :campaign AND version = :version"


@dataclass(frozen=True, slots=True)
class RatingsFileKey:
    """Whose ratings: a campaign's under a weight profile, as they stood at a data version. seal: of the version."""

    campaign_id: int
    profile_id: int
    version: int
    seal: str

    @property
    def folder_name(self) -> str:
        """The name of the folder: what all data versions share, `.v`, and the version.

        >>> RatingsFileKey(3, 7, 41, "0a1b").folder_name
        '3-7.v41-0a1b-1'
        """
        return f"{self.campaign_id}-{self.profile_id}.v{self.version}-{self.seal}-{FORMAT}"


@dataclass(frozen=True, slots=True)
class RatingsFolder:
    """The folder of all files, and how many judgments of a campaign are still loaded into memory.

    large: campaigns that are known to have more; judgments are only ever added.
    """

    path: Path
    most_in_memory: int
    large: set[int] = field(default_factory=set)

    def is_campaign_large(self, session: Session, campaign_id: int) -> bool:
        """Whether a campaign has more judgments, revisions included, than are loaded into memory."""
        if campaign_id in self.large:
            return True
        first, last = session.execute(text(_IDS), {"campaign": campaign_id}).one()
        if first is None or last - first < self.most_in_memory:
            return False
        query = {"campaign": campaign_id, "most": self.most_in_memory + 1}
        if session.execute(text(_COUNT), query).scalar_one() <= self.most_in_memory:
            return False
        self.large.add(campaign_id)
        return True

    def find_file_and_mark_used(self, key: RatingsFileKey) -> Path | None:
        """The file, used from now on; None where it is to be written."""
        head = self.path / key.folder_name / HEAD
        if not head.exists():
            return None
        head.touch()
        return head.parent

    @contextmanager
    def create_file_atomically(self, key: RatingsFileKey) -> Iterator[Path]:
        """A folder to write a file in, which is there under its name only when it is complete."""
        part = self.path / f"{_PART}{uuid4().hex}"
        try:
            part.mkdir(parents=True)
        except OSError as error:
            raise RatingsFolderUnusable(f"{self.path}: {error.strerror}") from error
        try:
            yield part
            target = self.path / key.folder_name
            try:
                part.rename(target)
            except OSError:
                if not (target / HEAD).exists():  # another process has written the same meanwhile
                    raise
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def delete_stale_files(self, now: float | None = None) -> int:
        """Delete files of former data versions, those that nobody uses, and what was left half written; how many."""
        now = time.time() if now is None else now
        families: dict[str, list[tuple[int, Path]]] = defaultdict(list)
        swept = 0
        for folder in self.path.iterdir() if self.path.is_dir() else ():
            family, _, rest = folder.name.rpartition(".v")
            version = rest.partition("-")[0]
            if folder.name.startswith(_PART) or not version.isdigit():
                swept += _delete(folder, folder, now - UNUSED_AFTER)
            else:
                families[family].append((int(version), folder))
        for files in families.values():
            newest = max(files)[0]
            for number, folder in files:
                current = number == newest and folder.name.endswith(f"-{FORMAT}")
                swept += _delete(folder, folder / HEAD, now - (UNUSED_AFTER if current else SUPERSEDED_AFTER))
        return swept


def _delete(folder: Path, used: Path, before: float) -> int:
    """Delete a folder whose file `used` was last touched before a time; how many went."""
    try:
        if used.stat().st_mtime > before:
            return 0
    except FileNotFoundError:
        pass
    shutil.rmtree(folder, ignore_errors=True)
    return 1


def find_ratings_folder(session: Session) -> RatingsFolder | None:
    """The folder of the database of a transaction; None where everything is loaded into memory."""
    folder: RatingsFolder | None = session.info.get("ratings_folder")
    return folder


def make_ratings_file_key(session: Session, *, campaign_id: int, profile_id: int, version: int) -> RatingsFileKey:
    """Whose ratings a file holds, as this database has them."""
    seal = session.execute(text(_SEAL), {"campaign": campaign_id, "version": version}).scalar()
    return RatingsFileKey(campaign_id, profile_id, version, str(seal or "unsealed")[:16])
