"""Where the bytes of media are: a folder, and a store that speaks S3; and what a backup has of them."""

from __future__ import annotations

import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.services.media.library import get_media_metadata, store_media
from app.services.media.media_settings import MediaSettings
from app.storage.backup import BackupDamaged
from app.storage.db import Database
from app.storage.media import media_queries
from app.storage.media.backup import MediaBackupResult, backup_media, restore_media
from app.storage.media.s3 import MediaStoreUnreachable, S3MediaStore
from app.storage.media.stores import FolderMediaStore, MediaBytesMissing, MediaStore, hash_file
from tests.collecting import collect
from tests.media_files import make_png, make_wav


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A server that speaks S3, on loopback."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MediaStore:
    if request.param == "folder":
        return FolderMediaStore(tmp_path / "media")
    import boto3

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    endpoint = request.getfixturevalue("endpoint")
    boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket=tmp_path.name.replace("_", "-"))
    return S3MediaStore.from_address(f"s3://{tmp_path.name.replace('_', '-')}/some/prefix", endpoint=endpoint)


def test_what_is_stored_is_read_from_any_place(store: MediaStore, tmp_path: Path) -> None:
    file = tmp_path / "given"
    file.write_bytes(bytes(range(256)) * 2000)
    sha256, content = hash_file(file), file.read_bytes()
    for _ in range(2):
        store.put(file, sha256)
    assert b"".join(store.read(sha256, 0, len(content))) == content
    assert b"".join(store.read(sha256, 300_000, 1000)) == content[300_000:301_000]
    assert b"".join(store.read(sha256, 0, 0)) == b""
    ((stored, at),) = store.list_hashes_with_times()
    assert stored == sha256
    assert abs(at - time.time()) < 600
    store.remove(sha256)
    store.remove(sha256)
    assert list(store.list_hashes_with_times()) == []
    with pytest.raises(MediaBytesMissing):
        b"".join(store.read(sha256, 0, 1))


def test_a_store_that_is_away_is_said_to_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(MediaStoreUnreachable):
        S3MediaStore.from_address("s3://bucket", endpoint="http://127.0.0.1:1").remove(bytes(32))


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    handle = Database(database_url, size=2, role="plumbline_app")
    yield handle
    handle.close()


def test_a_backup_has_the_media_and_restores_them(store: MediaStore, database: Database, tmp_path: Path) -> None:
    collect(database, key="live")
    policy = MediaSettings(store, tmp_path / "parts")
    for name, content in {"a.wav": make_wav(), "b.wav": make_wav(), "c.png": make_png()}.items():
        (tmp_path / name).write_bytes(content)
        store_media(database, policy, "live", name, tmp_path / name, actor="test")
    archive = tmp_path / "backup.media.tar"
    with database.transaction() as session:
        assert backup_media(media_queries.load_media_sizes_by_hash(session), store, archive) == MediaBackupResult(2, {})
        sha256 = get_media_metadata(session, "live", "a.wav").sha256
    elsewhere = FolderMediaStore(tmp_path / "elsewhere")
    assert restore_media(elsewhere, archive) == 2
    assert elsewhere.path(bytes.fromhex(sha256)).read_bytes() == make_wav()
    with tarfile.open(archive) as opened:
        assert sha256 in opened.getnames()
    changed = bytearray(archive.read_bytes())
    changed[600] ^= 1
    archive.write_bytes(changed)
    with pytest.raises(BackupDamaged):
        restore_media(FolderMediaStore(tmp_path / "third"), archive)


def test_a_backup_leaves_out_media_whose_bytes_are_not_there_and_names_them(database: Database, tmp_path: Path) -> None:
    collect(database, key="live")
    folder = FolderMediaStore(tmp_path / "store")
    policy = MediaSettings(folder, tmp_path / "parts")
    for name, content in {"a.wav": make_wav(), "b.wav": make_wav(2), "c.png": make_png()}.items():
        (tmp_path / name).write_bytes(content)
        store_media(database, policy, "live", name, tmp_path / name, actor="test")
    with database.transaction() as session:
        sizes = media_queries.load_media_sizes_by_hash(session)
        lost, short = (bytes.fromhex(get_media_metadata(session, "live", name).sha256) for name in ("a.wav", "b.wav"))
    folder.remove(lost)
    folder.path(short).write_bytes(b"RIFF")
    archive = tmp_path / "backup.media.tar"
    made = backup_media(sizes, folder, archive)
    assert made == MediaBackupResult(
        1, {lost: "it is not there", short: f"it has 4 bytes in place of {len(make_wav(2)):,}"}
    )
    assert restore_media(FolderMediaStore(tmp_path / "elsewhere"), archive) == 1
    with database.transaction() as session:
        assert [row.name for row in media_queries.load_media_by_hashes(session, list(made.missing))] == [
            "a.wav",
            "b.wav",
        ]
    # As the command advises: the same file again brings the bytes back.
    store_media(database, policy, "live", "a.wav", tmp_path / "a.wav", actor="test")
    assert set(backup_media(sizes, folder, archive, overwrite=True).missing) == {short}
