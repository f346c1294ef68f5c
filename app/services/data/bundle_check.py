"""Verification of a release bundle: every file is made again from its data, and must be identical byte for byte."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.domain.errors import Invalid, Place
from app.domain.recipe import NAMED, parse_recipe_json
from app.formats.base import InputFile
from app.services.data import bundle, imports
from app.services.data.bundle import ABOUT, DATA, SUMS, VERSION
from app.services.data.tar_stream import BLOCK, stream_tar
from app.stats.ranking.result import METHOD_VERSION
from app.storage.db import Database

MOST_FILES, MOST_BYTES, MOST_ABOUT = 100_000, 1 << 37, 64 << 20
OF_THE_DATABASE = ("locked",)  # member of a ranking: whether it follows the lock, which is not part of the data
REPORTS = ("rankings", "papers")
BESIDE = {"papers/datasheet.json": frozenset({"answered", "checklist", "heds", "methods"})}
"""Members of papers that also report what is not part of the data: the plan, the lock, the guidelines."""


class BundleAltered(Invalid):
    """This bundle has changed since it was released."""

    published = "Altered"


@dataclass(frozen=True, slots=True)
class BundleVerification:
    """The result. rankings: names of those that were identical. beside: members that data alone cannot reproduce."""

    campaign: str
    files: int
    judgments: int
    rankings: tuple[str, ...]
    beside: tuple[str, ...]


def unpack_bundle(archive: Path, folder: Path) -> None:
    """Unpack an archive into an empty folder.

    Raises BundleAltered, which names the file in which a byte has changed.
    """
    paths = list(_members(archive, folder))
    _check_sums(folder, paths)
    with archive.open("rb") as file:
        at = 0
        for expected in stream_tar((path, _chunks(folder / path)) for path in paths):
            if file.read(len(expected)) != expected:
                raise _altered_error(
                    _file_at_offset(archive, at + len(expected)), "the bytes of the archive around it differ"
                )
            at += len(expected)
        if file.read(1):
            raise _altered_error(archive.name, "there is something after the end")


def check_bundle_checksums(folder: Path) -> None:
    """Check the files of an unpacked bundle by their checksums. Raises BundleAltered, which names the file."""
    paths = (Path(at) / name for at, _, names in os.walk(folder) for name in names)
    _check_sums(folder, [path.relative_to(folder).as_posix() for path in paths])


def reproduce_bundle(folder: Path, database: Database) -> BundleVerification:
    """Import the data into an empty database, and make every file of the bundle again.

    Raises BundleAltered, which names the file that differs, Invalid if another version of the program or of its
    statistics made the bundle, and the errors of imports.
    """
    about = _read_description(folder)
    campaign = str(about["campaign"])
    data = InputFile(DATA, lambda: (folder / DATA).open("rb"))
    told = imports.import_local_files(
        database,
        campaign,
        format="jsonl",
        files=[data],
        options={},
        dry_run=False,
        skip_bad_lines=False,
        actor="bundle",
    )
    beside = reproduce_and_compare_files(folder, database)
    stored = told["stored"]
    n = stored.get("judgments", 0) if isinstance(stored, Mapping) else 0
    names = tuple(str(one["recipe"]["name"]) for one in about["rankings"])
    n_files = len((folder / SUMS).read_text("utf-8").splitlines()) + 1
    return BundleVerification(campaign, n_files, n if isinstance(n, int) else 0, names, beside)


def reproduce_and_compare_files(folder: Path, database: Database) -> tuple[str, ...]:
    """Make every file of a bundle again from the imported data, and compare the files byte for byte.

    A ranking or a paper is compared with the one made again, and its figures and tables are then rendered from the
    released one. The result lists the members that data alone cannot reproduce (the plan, the lock); these are taken as
    released.

    Raises BundleAltered, which names the file that differs, and the errors of rankings.
    """
    about, beside = _read_description(folder), list[str]()
    recipes = [parse_recipe_json(one["recipe"], {}) for one in about["rankings"]]
    left = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {SUMS}
    drawn: set[str] = set()
    with closing(
        bundle.reproduce_bundle_files(database, str(about["campaign"]), recipes, about["data_version"])
    ) as again:
        for path, chunks in again:
            left.discard(path)
            if path in drawn:
                continue
            if path == ABOUT:
                _check_about(about, json.loads(b"".join(chunks)))
                _require_same_bytes(folder, path, (bundle.encode_bundle_manifest(about),))
            elif path.partition("/")[0] in REPORTS:
                released = _report(folder, path, b"".join(chunks), about, beside)
                for other, shape in bundle.render_bundled_report_files(path, released):
                    drawn.add(other)
                    _require_same_bytes(folder, other, shape)
            else:
                _require_same_bytes(folder, path, chunks)
    for path in sorted(path for path in left if not path.startswith(f"{bundle.MEDIA}/")):  # not made from the data
        raise _altered_error(path, "is not a file of this bundle")
    return tuple(beside)


def _require_same_bytes(folder: Path, path: str, chunks: Iterable[bytes]) -> None:
    """Raise BundleAltered if a file has other bytes."""
    if not (folder / path).is_file():
        raise _altered_error(path, "is missing")
    with (folder / path).open("rb") as file:
        for chunk in chunks:
            if file.read(len(chunk)) != chunk:
                raise _altered_error(path, "came out otherwise")
        if file.read(1):
            raise _altered_error(path, "differs: it contains more")


def _report(folder: Path, path: str, made: bytes, about: Mapping[str, Any], beside: list[str]) -> bytes:
    """Return the released report at a path. Raises BundleAltered if what follows from the data differs."""
    if not (folder / path).is_file():
        raise _altered_error(path, "is missing")
    body, version = (folder / path).read_bytes(), about["data_version"]
    released, again = _object(path, body), json.loads(made)
    expected = {**again, **{name: released[name] for name in OF_THE_DATABASE if name in released}}
    if "data_version" in again:
        expected["data_version"] = version
    if "campaigns" in again:
        (stored,) = again["campaigns"].values()
        expected["campaigns"] = dict.fromkeys(again["campaigns"], version)
        if "methods" in again:
            told = f"Data version {version},"
            expected["methods"] = again["methods"].replace(f"Data version {stored},", told)
    for name in sorted(released.keys() | expected.keys()):
        if _text(released.get(name)) != _text(expected.get(name)):
            if name not in BESIDE.get(path, ()):
                raise _altered_error(path, f"{name} came out otherwise")
            beside.append(f"{path}: {name}")
            expected[name] = released[name]
    if _substitute_members(made, again, expected) != body:
        raise _altered_error(path, "is not in the form that this program writes")
    return body


def _substitute_members(made: bytes, again: Mapping[str, Any], expected: Mapping[str, Any]) -> bytes:
    """Return the report made again, with some members replaced; numbers keep their notation."""
    text = made.decode()
    for name, value in expected.items():
        if name in again and _text(value) != _text(again[name]):
            text = text.replace(_text({name: again[name]})[1:-1], _text({name: value})[1:-1], 1)
    return text.encode()


def _check_about(about: Mapping[str, Any], again: Mapping[str, Any]) -> None:
    """Raise BundleAltered if the bundle describes itself differently.

    The campaign's own recipes that did not fit are not in the data, so they are not compared.
    """
    for name in sorted(about.keys() | again.keys()):
        ours, theirs = again.get(name), about.get(name)
        if name == "not_ranked_by" and isinstance(ours, dict) and isinstance(theirs, dict):
            theirs = {recipe: why for recipe, why in theirs.items() if recipe in ours or recipe in NAMED}
        if _text(ours) != _text(theirs):
            raise _altered_error(ABOUT, f"{name} came out otherwise")


def _object(path: str, body: bytes) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(body)
        content.items()
    except (ValueError, AttributeError):
        raise _altered_error(path, "cannot be read") from None
    return content


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _read_description(folder: Path) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads((folder / ABOUT).read_bytes())
        made_by = about["bundle"], about["method_version"]
    except (OSError, ValueError, KeyError, TypeError):
        raise _altered_error(ABOUT, "cannot be read") from None
    if made_by != (VERSION, METHOD_VERSION):
        what = (
            f"is bundle {made_by[0]} of method version {made_by[1]}; this program makes {VERSION} of {METHOD_VERSION}, "
            "so its figures may differ without anything having been altered"
        )
        told = "this bundle comes from another version of the program: verify its rankings with that version"
        raise Invalid(told, places=(Place((ABOUT,), what),))
    return about


def _members(archive: Path, folder: Path) -> Iterator[str]:
    """Yield the files of an archive, after writing each into the folder."""
    total = 0
    try:
        with tarfile.open(archive, "r:") as opened:
            for n, member in enumerate(opened):
                path = folder / member.name
                if not member.isreg() or not path.resolve().is_relative_to(folder.resolve()) or path.exists():
                    raise _altered_error(member.name[:200], "is not a regular file in the bundle, or is there twice")
                total += member.size
                if n >= MOST_FILES or total > MOST_BYTES:
                    raise _altered_error(member.name[:200], "the bundle is too large")
                path.parent.mkdir(parents=True, exist_ok=True)
                content = opened.extractfile(member)
                with path.open("wb") as out:
                    while content is not None and (block := content.read(BLOCK)):
                        out.write(block)
                yield member.name
    except (tarfile.TarError, EOFError, OSError, ValueError) as fault:
        raise _altered_error(archive.name, f"cannot be read as an archive ({type(fault).__name__})") from fault


def _check_sums(folder: Path, paths: Iterable[str]) -> None:
    """Check that every file is listed with its SHA-256, and that every listed file exists."""
    there = set(paths) - {SUMS}
    try:
        lines = (folder / SUMS).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise _altered_error(SUMS, "is missing, or cannot be read") from None
    told = {path: digest for digest, _, path in (line.partition("  ") for line in lines)}
    for path in sorted(there ^ told.keys()):
        raise _altered_error(path, "is missing" if path in told else f"is not named in {SUMS}")
    for path in sorted(there):
        with (folder / path).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != told[path]:
                raise _altered_error(path, f"is not what {SUMS} says it is")


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


def _file_at_offset(archive: Path, offset: int) -> str:
    """Return the file of an archive that contains a byte."""
    with tarfile.open(archive, "r:") as opened:
        names = [member.name for member in opened if member.offset < offset]
    return names[-1] if names else archive.name


def _altered_error(path: str, what: str) -> BundleAltered:
    return BundleAltered(f"{path}: {what}", places=(Place((path,), what),))
