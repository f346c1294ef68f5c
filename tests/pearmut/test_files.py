"""Pearmut's own files: where they are found, and what is read of them."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from app.pearmut.app import create_pearmut_app
from app.pearmut.files import PearmutFilesNotFound, find_pearmut_package_files
from app.storage.db import Database
from app.web.deps import ServiceOptions
from tests.pearmut.conftest import TestClient

CONSTANTS = 'PROTOCOL_INSTRUCTIONS = {"DA": "<b>Score it.</b>"}\nraise SystemExit("nobody runs this")\n'


@pytest.fixture
def package(tmp_path: Path) -> Path:
    static = tmp_path / "pearmut" / "static"
    static.mkdir(parents=True)
    for name in ("annotate", "dashboard", "index"):
        (static / f"{name}.html").write_text(f"<script src={name}.bundle.js></script>")
    (static / "annotate.bundle.js").write_text("1")
    (static.parent / "constants.py").write_text(CONSTANTS)
    return tmp_path


def test_pages_and_instructions_are_read_and_nothing_is_run(package: Path) -> None:
    for folder in (package, package / "pearmut", package / "pearmut" / "static"):
        files = find_pearmut_package_files(folder)
        assert files.folder == package / "pearmut" / "static"
        assert files.instructions == {"DA": "<b>Score it.</b>"}


def test_a_folder_without_pages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PearmutFilesNotFound):
        find_pearmut_package_files(tmp_path)


def test_pages_are_served_and_nothing_beside_them(package: Path, database: Database) -> None:
    with TestClient(create_pearmut_app(database, ServiceOptions(), find_pearmut_package_files(package))) as client:

        def status(path: str) -> int:
            answer: httpx.Response = client.get(path)
            return answer.status_code

        pages = [status(path) for path in ("/", "/annotate", "/dashboard", "/annotate.bundle.js")]
        policy = client.get("/annotate").headers["content-security-policy"]
        beside = [status(path) for path in ("/constants.py", "/..%2fconstants.py", "/nothing.js")]
    assert "default-src 'self' 'unsafe-inline'" in policy
    assert pages == [200] * 4
    assert beside == [404] * 3
