"""Files of ratings on this machine: their place, the campaigns that have them, and when they are deleted."""

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
"""Increased whenever the layout or its derived data change, so that older files are written again."""
HEAD = "head.json"
"""The file of a folder that describes the others; its last touch is the last use of the folder."""
SUPERSEDED_AFTER = 3600.0
"""Seconds without use after which the file of a former data version is deleted."""
UNUSED_AFTER = 7 * 86_400.0
"""Seconds without use after which any file is deleted; the next request writes it again."""
_PART = "part-"
_IDS = "SELECT min(id), max(id) FROM judgments WHERE campaign_id = :campaign"
_COUNT = "SELECT count(*) FROM (SELECT FROM judgments WHERE campaign_id = :campaign LIMIT :most) j"
# The seal distinguishes this version from one with the same number in a database restored to another state.
_SEAL = "SELECT encode(hash, 'hex') FROM seals WHERE campaign_id = :campaign AND version = :version"


@dataclass(frozen=True, slots=True)
class RatingsFileKey:
    """The ratings in a file: of a campaign under a weight profile, as of a data version. seal: of the version."""

    campaign_id: int
    profile_id: int
    version: int
    seal: str

    @property
    def folder_name(self) -> str:
        """The name of the folder: a prefix shared by all data versions, `.v`, and the version.

        >>> RatingsFileKey(3, 7, 41, "0a1b").folder_name
        '3-7.v41-0a1b-1'
        """
        return f"{self.campaign_id}-{self.profile_id}.v{self.version}-{self.seal}-{FORMAT}"


@dataclass(frozen=True, slots=True)
class RatingsFolder:
    """The folder of all files, and the number of a campaign's judgments up to which they are loaded into memory.

    large: campaigns known to have more; judgments are only ever added.
    """

    path: Path
    most_in_memory: int
    large: set[int] = field(default_factory=set)

    def is_campaign_large(self, session: Session, campaign_id: int) -> bool:
        """Tell whether a campaign has more judgments, revisions included, than are loaded into memory."""
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
        """Return the file and mark it as used now; None if it must be written."""
        head = self.path / key.folder_name / HEAD
        if not head.exists():
            return None
        head.touch()
        return head.parent

    @contextmanager
    def create_file_folder_atomically(self, key: RatingsFileKey) -> Iterator[Path]:
        """Yield a folder to write a file in; the folder gets its final name only once it is complete."""
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
                if not (target / HEAD).exists():  # another process has meanwhile written the same file
                    raise
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def delete_stale_files(self, now: float | None = None) -> int:
        """Delete the files of former data versions, unused files, and incomplete ones; return the number of files."""
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
    """Delete a folder whose file `used` was last touched before a time; return the number deleted."""
    try:
        if used.stat().st_mtime > before:
            return 0
    except FileNotFoundError:
        pass
    shutil.rmtree(folder, ignore_errors=True)
    return 1


def find_ratings_folder(session: Session) -> RatingsFolder | None:
    """Return the ratings folder of a session's database; None if all ratings are loaded into memory."""
    folder: RatingsFolder | None = session.info.get("ratings_folder")
    return folder


def make_ratings_file_key(session: Session, *, campaign_id: int, profile_id: int, version: int) -> RatingsFileKey:
    """Return the key of a file of ratings, with the seal in this database."""
    seal = session.execute(text(_SEAL), {"campaign": campaign_id, "version": version}).scalar()
    return RatingsFileKey(campaign_id, profile_id, version, str(seal or "unsealed")[:16])
