"""`plumbline bundle`, `release`, `rescore` and `export` into folders."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.domain.errors import Invalid
from app.domain.recipe import Recipe
from app.services.data import bundle, bundle_check, metrics
from app.stats.ranking.result import METHOD_VERSION
from app.storage import embedded
from app.storage.db import Database
from tests.cli.conftest import Command
from tests.services.data.test_imports import DA
from tests.spine import Spine, fresh


@pytest.fixture(scope="module")
def spine(postgres: embedded.EmbeddedServer, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("da", "wmt-da", DA.encode())
        given = metrics.MetricScoreSet(systems={"A": 0.5}, outputs=[metrics.MetricOutputScore("B", "doc1_1", 1, 0.25)])
        with found.database.transaction() as session:
            metrics.put_metric_scores(session, "da", "comet", given, actor="test")
        yield found


@pytest.fixture(scope="module")
def archive(spine: Spine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("bundle") / "da.tar"
    file.write_bytes(b"".join(bundle.stream_bundle_archive(spine.database, "da")))
    return file


@dataclass(frozen=True)
class Reproduced:
    """An unpacked bundle, a database into which its data were imported, and what was found."""

    folder: Path
    database: Database
    found: bundle_check.BundleVerification


@pytest.fixture(scope="module")
def reproduced(
    archive: Path,
    postgres: embedded.EmbeddedServer,
    migrated_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Reproduced]:
    """For tests that change neither."""
    folder = tmp_path_factory.mktemp("reproduced")
    bundle_check.unpack_bundle(archive, folder)
    with fresh(postgres, migrated_template) as empty:
        yield Reproduced(folder, empty.database, bundle_check.reproduce_bundle(folder, empty.database))


def test_a_bundle_imports_into_an_empty_database_and_ranks_to_identical_numbers(reproduced: Reproduced) -> None:
    with reproduced.database.transaction() as session:
        (scored,) = metrics.list_metrics(session, "da")
    found = reproduced.found
    assert found.campaign == "da"
    assert {"recommended", "wmt-da"} <= set(found.rankings)
    assert found.judgments == (reproduced.folder / "data.jsonl").read_text().count('"type":"judgment"')
    assert found.beside == ()
    assert (scored.metric, scored.n_outputs, scored.n_of_systems) == ("comet", 1, 1)


def test_a_bundle_of_another_method_version_is_refused_with_both_and_not_called_altered(
    archive: Path, spine: Spine, tmp_path: Path
) -> None:
    bundle_check.unpack_bundle(archive, tmp_path)
    about = json.loads((tmp_path / bundle.ABOUT).read_text())
    assert about["method_version"] == METHOD_VERSION
    (tmp_path / bundle.ABOUT).write_text(json.dumps({**about, "method_version": "1"}))

    with pytest.raises(Invalid, match="another version of the program") as refused:
        bundle_check.reproduce_bundle(tmp_path, spine.database)

    assert not isinstance(refused.value, bundle_check.BundleAltered)
    (place,) = refused.value.places
    assert place.loc == (bundle.ABOUT,)
    assert f"of method version 1; this program makes {bundle.VERSION} of {METHOD_VERSION}" in place.msg


def test_a_bundle_is_the_same_bytes_again_and_its_sums_are_those_of_sha256sum(spine: Spine, archive: Path) -> None:
    assert b"".join(bundle.stream_bundle_archive(spine.database, "da")) == archive.read_bytes()
    with tarfile.open(archive) as found:
        contents = {name: found.extractfile(name).read() for name in found.getnames()}
    sums = dict(reversed(line.split("  ")) for line in contents.pop("SHA256SUMS").decode().splitlines())
    assert sums == {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    assert {
        "data.jsonl",
        "bundle.json",
        "wmt-da.tsv",
        "appraise/batches.json",
        "figures/recommended.svg",
    } <= sums.keys()
    assert "mqm-tsv.tsv" not in sums
    assert any(name.startswith("mtme/human-scores/") for name in sums)
    assert {"mtme/metric-scores/cs-en/comet.seg.score", "mtme/metric-scores/cs-en/comet.sys.score"} <= sums.keys()


def test_what_raters_are_called_stays_out(spine: Spine, archive: Path) -> None:
    _, *records, _ = spine.export("da").decode().splitlines()
    rater = next(json.loads(line)["rater"] for line in records if '"type":"judgment"' in line)
    person = {"type": "rater", "key": rater, "name": "Ada L.", "person": "p-17", "attributes": {"age": 41}}
    told = [json.dumps({"type": "plumbline", "version": 1}), json.dumps(person)]
    told += [line for line in records if '"type":"rater"' not in line]
    spine.take("named", "jsonl", "".join(f"{line}\n" for line in told).encode())
    assert b"Ada L." in spine.export("named")

    released = b"".join(bundle.stream_bundle_archive(spine.database, "named"))

    assert not [name for name in (b"Ada L.", b"p-17", b'"age"') if name in released]
    assert rater.encode() in released


def by_folder(file: Path) -> object:
    """Of what stands at the top each file, of a folder one."""
    return file.parts[0]


def by_name(file: Path) -> object:
    """Every file."""
    return file


@pytest.mark.parametrize("kind", [by_folder, pytest.param(by_name, marks=pytest.mark.soak)])
def test_one_changed_byte_anywhere_is_refused_by_name(
    archive: Path, tmp_path: Path, kind: Callable[[Path], object]
) -> None:
    original = archive.read_bytes()
    with tarfile.open(archive) as found:
        members = list(found)
    kinds = {kind(Path(one.name)): one for one in members if one.size}  # the last of each
    places = [(one.offset_data + one.size // 2, one.name) for one in kinds.values()]
    assert len(places) >= 7
    places += [(members[1].offset + 300, ""), (members[0].offset_data + members[0].size + 1, members[0].name)]
    places.append((len(original) - 3, ""))
    for n, (at, name) in enumerate(places):
        changed = bytearray(original)
        changed[at] ^= 1
        file, folder = tmp_path / f"{n}.tar", tmp_path / str(n)
        file.write_bytes(changed)
        folder.mkdir()
        with pytest.raises(Invalid) as refused:
            bundle_check.unpack_bundle(file, folder)
        if name != "SHA256SUMS":
            assert name in str(refused.value.detail), f"byte {at}"


def test_an_archive_that_would_write_elsewhere_is_refused(tmp_path: Path) -> None:
    file, folder = tmp_path / "evil.tar", tmp_path / "in"
    folder.mkdir()
    with tarfile.open(file, "w") as out:
        out.addfile(tarfile.TarInfo("../outside"))
    with pytest.raises(bundle_check.BundleAltered, match="outside"):
        bundle_check.unpack_bundle(file, folder)
    assert not (tmp_path / "outside").exists()


def a_digit(body: bytes) -> bytes | None:
    """The same with its last digit changed; None where there is none, or no text."""
    at = max((n for n, byte in enumerate(body) if 48 <= byte <= 57), default=None)
    return None if at is None else body[:at] + bytes([48 + (body[at] - 47) % 10]) + body[at + 1 :]


def mended(folder: Path) -> None:
    """Write the sums anew, as whoever changes a file would."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != bundle.SUMS)
    sums = {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    (folder / bundle.SUMS).write_text("".join(f"{digest}  {path}\n" for path, digest in sorted(sums.items())))


def by_kind(file: Path) -> object:
    """Of every folder one of each format."""
    return file.parent, file.suffix


def make_files_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the same data make, and what is drawn from the same report, is made once for all comparisons.

    Each of them would take seconds over it.
    """
    made: dict[str, list[tuple[str, tuple[bytes, ...]]]] = {}
    make = bundle.reproduce_bundle_files

    def remake(
        database: Database, campaign: str, recipes: Sequence[Recipe], version: int
    ) -> Generator[tuple[str, tuple[bytes, ...]], None, None]:
        asked = repr((campaign, recipes, version))
        if asked not in made:
            made[asked] = [(path, tuple(chunks)) for path, chunks in make(database, campaign, recipes, version)]
        yield from made[asked]

    drawn: dict[tuple[str, bytes], list[tuple[str, tuple[bytes, ...]]]] = {}
    draw = bundle.render_bundled_report_files

    def redraw(path: str, body: bytes) -> Iterator[tuple[str, tuple[bytes, ...]]]:
        if (path, body) not in drawn:
            drawn[path, body] = [(other, tuple(chunks)) for other, chunks in draw(path, body)]
        yield from drawn[path, body]

    monkeypatch.setattr(bundle, "reproduce_bundle_files", remake)
    monkeypatch.setattr(bundle, "render_bundled_report_files", redraw)


@pytest.mark.parametrize(("kind", "least"), [(by_folder, 7), pytest.param(by_kind, 11, marks=pytest.mark.soak)])
def test_one_digit_in_any_file_is_refused_by_name_though_the_sums_were_mended(
    reproduced: Reproduced,
    tmp_path: Path,
    kind: Callable[[Path], object],
    least: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(reproduced.folder, tmp_path, dirs_exist_ok=True)
    database = reproduced.database
    make_files_once(monkeypatch)
    tried, folders = 0, set()
    every = sorted(path for path in tmp_path.rglob("*") if path.is_file() and path.name != bundle.SUMS)
    kinds = {kind(file.relative_to(tmp_path)): file for file in every}  # the last of each
    for file in kinds.values():
        body, path = file.read_bytes(), file.relative_to(tmp_path).as_posix()
        changed = a_digit(body)
        if changed is None:
            continue
        file.write_bytes(changed)
        mended(tmp_path)
        bundle_check.check_bundle_checksums(tmp_path)
        with pytest.raises(Invalid) as refused:
            bundle_check.reproduce_and_compare_files(tmp_path, database)
        named = str(refused.value.places or refused.value.detail)
        assert path in named or (path == bundle.ABOUT and "rankings/" in named), path
        file.write_bytes(body)
        tried += 1
        folders.add(path.partition("/")[0])
    mended(tmp_path)
    (tmp_path / "rankings" / "more.csv").write_bytes(b"")
    with pytest.raises(bundle_check.BundleAltered, match=r"rankings/more\.csv"):
        bundle_check.reproduce_and_compare_files(tmp_path, database)
    assert tried >= least
    assert {"rankings", "figures", "papers", "mtme", "data.jsonl", "wmt-da.tsv", "bundle.json"} <= folders


@pytest.mark.soak
def test_the_commands_release_and_verify(spine: Spine, command: Command, archive: Path, tmp_path: Path) -> None:
    released = command(spine.url, "release", "da", "-o", tmp_path / "out")
    assert b"rank to identical numbers" in released.stdout, released.stderr
    assert command(spine.url, "bundle", "verify", archive).returncode == 0
    data = tmp_path / "out" / "data.jsonl"
    data.write_bytes(data.read_bytes() + b"\n")
    refused = command(spine.url, "bundle", "verify", tmp_path / "out")
    assert refused.returncode == 2
    assert b"data.jsonl" in refused.stderr


def test_formats_of_several_files_fill_a_folder_once(spine: Spine, command: Command, tmp_path: Path) -> None:
    done = command(spine.url, "export", "da", "--format", "mtme", "-o", tmp_path / "tree")
    assert done.returncode == 0, done.stderr
    assert b"left out by mtme" in done.stderr
    assert list((tmp_path / "tree" / "documents").iterdir())
    again = command(spine.url, "export", "da", "--format", "mtme", "-o", tmp_path / "tree")
    assert again.returncode == 2
    assert b"not empty" in again.stderr


def test_the_command_rescore_says_what_it_checked(spine: Spine, command: Command) -> None:
    done = command(spine.url, "rescore", "da", "--check", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["holds"] is True
