"""`plumbline huggingface` against a stand-in on loopback, which keeps what is pushed as the hub does."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from app.client.huggingface import HuggingFaceClient, HuggingFaceRefusal
from app.services.data import bundle
from app.services.data.bundle_check import check_bundle_checksums
from app.storage.db import APP_ROLE, Database
from tests.cli.conftest import Command
from tests.services.data.test_imports import DA
from tests.spine import Spine, fresh

GUIDE = (Path(__file__).parents[2] / "docs" / "how-to" / "publish-on-hugging-face.md").read_text(encoding="utf-8")
LARGE = 2_000  # bytes; from here on the stand-in wants a file beside the commit
TOKEN = "hf_secret"
PAGE = 7  # files


class Hub(BaseHTTPRequestHandler):
    """Answers as its interface is described; `state` is what it holds: commits by dataset, large files by SHA-256."""

    state: dict[str, Any]

    def log_message(self, *_: object) -> None:
        """Nothing to say."""

    def _answer(self, body: object, status: int = 200, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", "0")))

    def _knows(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _files(self, dataset: str, revision: str) -> dict[str, bytes] | None:
        commits = self.state["datasets"].get(dataset, [])
        known = {str(n): files for n, files in enumerate(commits)}
        return commits[-1] if revision == "main" and commits else known.get(revision)

    def do_GET(self) -> None:
        """Files, and what is said of them."""
        path, _, query = unquote(self.path).partition("?")
        if stored := re.fullmatch("/store/(.+)", path):
            assert not self.headers.get("Authorization"), "the token went elsewhere"
            self._answer(self.state["store"][stored[1]])
            return
        assert self._knows()
        asked = re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/(revision|tree)/(\w+)", path)
        read = re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/(\w+)/(.+)", path)
        matched = asked or read
        assert matched is not None, path
        files = self._files(matched[1], matched[3] if asked else matched[2])
        if files is None:
            self._answer({"error": "Repository not found"}, 404)
        elif asked and asked[2] == "revision":
            newest = len(self.state["datasets"][asked[1]]) - 1
            self._answer({"sha": str(newest) if asked[3] == "main" else asked[3]})
        elif asked:
            at = int((re.search(r"cursor=(\d+)", query) or ["", "0"])[1])
            rows = [{"type": "directory", "path": "rankings", "size": 0}] if at == 0 else []
            rows += [{"type": "file", "path": name, "size": len(files[name])} for name in sorted(files)[at : at + PAGE]]
            link = f'<{self.state["url"]}{path}?recursive=true&cursor={at + PAGE}>; rel="next"'
            self._answer(rows, **({"Link": link} if at + PAGE < len(files) else {}))
        elif read and len(files[read[3]]) >= LARGE:
            oid = hashlib.sha256(files[read[3]]).hexdigest()
            self._answer(b"", 302, Location=f"{self.state['elsewhere']}/store/{oid}")
        elif read:
            self._answer(files[read[3]])

    def do_PUT(self) -> None:
        """A large file, or a part of one, in the store."""
        assert not self.headers.get("Authorization"), "the token went elsewhere"
        oid, _, part = self.path.removeprefix("/store/").partition("/")
        self.state["parts"].setdefault(oid, {})[int(part or 0)] = content = self._body()
        self.state["store"][oid] = b"".join(self.state["parts"][oid][n] for n in sorted(self.state["parts"][oid]))
        self._answer({}, ETag=hashlib.md5(content).hexdigest())  # noqa: S324  (as S3 does)

    def do_POST(self) -> None:
        """A repository, a question about files, the end of a large one, or a commit."""
        body = self._body()
        if self.path.startswith("/store/"):
            oid = self.path.removeprefix("/store/")
            assert [row["partNumber"] for row in json.loads(body)["parts"]] == sorted(self.state["parts"][oid])
            self._answer({})
        elif not self._knows():
            self._answer({"error": "Invalid credentials"}, 401)
        elif self.path == "/api/repos/create":
            given = json.loads(body)
            name = f"{given['organization']}/{given['name']}"
            known = name in self.state["datasets"]
            self.state["datasets"].setdefault(name, [{".gitattributes": b"*.bin filter=lfs"}])
            self.state["private"].setdefault(name, given["private"])
            self._answer({"error": "You already created this dataset repo"} if known else {}, 409 if known else 200)
        elif "/preupload/" in self.path:
            rows = json.loads(body)["files"]
            modes = ["lfs" if row["size"] >= LARGE else "regular" for row in rows]
            both = zip(rows, modes, strict=True)
            self._answer({"files": [{"path": row["path"], "uploadMode": mode} for row, mode in both]})
        elif self.path.endswith("/info/lfs/objects/batch"):
            self._answer({"objects": [self._way(row) for row in json.loads(body)["objects"]]})
        elif self.path == "/verified":
            assert json.loads(body)["oid"] in self.state["store"]
            self._answer({})
        else:
            self._commit(body)

    def _way(self, row: dict[str, Any]) -> dict[str, Any]:
        """How to send a file: at once, or in two parts; nothing where it is there."""
        oid, size = row["oid"], row["size"]
        if oid in self.state["store"]:
            return row
        href, header = f"{self.state['elsewhere']}/store/{oid}", {}
        if size >= 2 * LARGE:
            header = {"chunk_size": str(-(-size // 2)), "00001": f"{href}/1", "00002": f"{href}/2"}
        verify = {"href": f"{self.state['url']}/verified"}
        return {**row, "actions": {"upload": {"href": href, "header": header}, "verify": verify}}

    def _commit(self, body: bytes) -> None:
        matched = re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/commit/main", self.path)
        assert matched is not None, self.path
        commits = self.state["datasets"][matched[1]]
        files = dict(commits[-1])
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.state["store"][value["oid"]]
                assert len(files[value["path"]]) == value["size"]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        commits.append(files)
        self._answer({"commitOid": str(len(commits) - 1)})


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What the stand-in holds; the settings lead to it. Large files are at another of its addresses."""
    with ThreadingHTTPServer(("", 0), Hub) as server:
        port = server.server_address[1]
        urls = {"url": f"http://127.0.0.1:{port}", "elsewhere": f"http://127.0.0.2:{port}"}
        state: dict[str, Any] = {**urls, "datasets": {}, "private": {}, "store": {}, "parts": {}}
        monkeypatch.setattr(Hub, "state", state, raising=False)
        monkeypatch.setenv("PLUMBLINE_HUGGINGFACE_URL", state["url"])
        monkeypatch.setenv("PLUMBLINE_HUGGINGFACE_TOKEN", TOKEN)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield state
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def spine(postgres: Any, migrated_template: str) -> Iterator[Spine]:
    with fresh(postgres, migrated_template) as found:
        found.take("demo", "wmt-da", DA.encode())
        yield found


@pytest.fixture(scope="module")
def archive(spine: Spine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("bundle") / "demo.tar"
    file.write_bytes(b"".join(bundle.stream_bundle_archive(spine.database, "demo")))
    return file


@pytest.mark.parametrize("verifying", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_the_commands_of_the_guide_push_a_bundle_and_verify_it_from_there(
    command: Command,
    spine: Spine,
    archive: Path,
    hub: dict[str, Any],
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    verifying: bool,
) -> None:
    """verifying: what was pushed is ranked again, as `test_bundle.py` does with the file itself."""
    # An empty database that is here anyway: to start a server takes most of the time.
    database = Database(database_url, size=2, role=APP_ROLE)
    monkeypatch.setattr("app.cli.kit.bundles._empty", lambda _: closing(database))
    monkeypatch.chdir(archive.parent)
    push, verify = re.findall(r"^    plumbline (.*)$", GUIDE, re.MULTILINE)
    pushed = command(spine.url, *shlex.split(push))
    assert (pushed.returncode, pushed.stdout.decode().splitlines()[0]) == (0, "1"), pushed
    assert hub["private"] == {"example/demo-judgments": True}
    assert {len(parts) for parts in hub["parts"].values()} == {1, 2}, "files of both kinds"
    if not verifying:
        return
    verified = command(spine.url, *shlex.split(verify))
    assert verified.returncode == 0, verified
    assert "example/demo-judgments at 1" in verified.stdout.decode()
    assert "rank to identical numbers" in verified.stdout.decode()


def test_a_later_bundle_replaces_all_files_and_one_that_was_changed_is_refused(
    command: Command, spine: Spine, archive: Path, hub: dict[str, Any], tmp_path: Path
) -> None:
    assert command(spine.url, "huggingface", "push", archive, "a/b", "--public").returncode == 0
    files = hub["datasets"]["a/b"][-1]
    before = b"of a version before"
    sums = files["SHA256SUMS"] + f"{hashlib.sha256(before).hexdigest()}  left.txt\n".encode()
    hub["store"][hashlib.sha256(sums).hexdigest()] = sums
    hub["datasets"]["a/b"].append({**files, "SHA256SUMS": sums, "left.txt": before})
    assert command(spine.url, "huggingface", "push", archive, "a/b").returncode == 0
    assert hub["datasets"]["a/b"][-1] == files
    assert hub["private"] == {"a/b": False}
    hub["datasets"]["a/b"].append({**files, "figures/ours.png": b"1"})
    refused = command(spine.url, "huggingface", "push", archive, "a/b")
    assert (refused.returncode, "figures/ours.png" in refused.stderr.decode()) == (2, True), refused
    hub["datasets"]["a/b"].append(files)
    changed = files["data.jsonl"].replace(b"1", b"2", 1)
    hub["store"][hashlib.sha256(changed).hexdigest()] = changed
    hub["datasets"]["a/b"].append({**files, "data.jsonl": changed})
    altered = command(spine.url, "huggingface", "verify", "a/b")
    assert (altered.returncode, "data.jsonl" in altered.stderr.decode()) == (2, True), altered
    with HuggingFaceClient(hub["url"], TOKEN) as client:
        assert client.fetch_bundle("a/b", tmp_path, "5") == "5"
    check_bundle_checksums(tmp_path)


def test_what_is_no_bundle_and_what_would_be_written_elsewhere_is_refused(
    command: Command, spine: Spine, archive: Path, hub: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub["datasets"]["a/models"] = [{"model.bin": b"1"}]
    refused = command(spine.url, "huggingface", "push", archive, "a/models")
    assert (refused.returncode, "not of a release bundle" in refused.stderr.decode()) == (2, True), refused
    assert hub["datasets"]["a/models"] == [{"model.bin": b"1"}]
    hub["datasets"]["a/evil"] = [{"../outside": b"1"}]
    (tmp_path / "in").mkdir()
    with HuggingFaceClient(hub["url"], TOKEN) as client, pytest.raises(HuggingFaceRefusal, match="outside itself"):
        client.fetch_bundle("a/evil", tmp_path / "in", "main")
    assert not (tmp_path / "outside").exists()
    unknown = command(spine.url, "huggingface", "verify", "a/unknown")
    assert (unknown.returncode, "Repository not found" in unknown.stderr.decode()) == (2, True), unknown
    assert command(spine.url, "huggingface", "push", archive, "../c").returncode == 2
    monkeypatch.setenv("PLUMBLINE_HUGGINGFACE_TOKEN", "wrong")
    wrong = command(spine.url, "huggingface", "push", archive, "a/c")
    assert (wrong.returncode, "Invalid credentials" in wrong.stderr.decode()) == (2, True), wrong
    monkeypatch.delenv("PLUMBLINE_HUGGINGFACE_TOKEN")
    without = command(spine.url, "huggingface", "push", archive, "a/c")
    assert (without.returncode, "PLUMBLINE_HUGGINGFACE_TOKEN" in without.stderr.decode()) == (2, True), without


def test_answers_that_are_not_the_hubs_are_errors_in_one_line(
    command: Command, spine: Spine, hub: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def answering(body: object, status: int = 200, **headers: str) -> None:
        def answer(self: Hub) -> None:
            path = self.path.partition("?")[0]
            self._answer(revisions[-1] if "/revision/" in path else body, status, **headers)

        monkeypatch.setattr(Hub, "do_GET", answer)

    revisions: list[object] = [{"sha": "0"}]
    row = {"type": "file", "path": "a", "size": 1}
    for body, status, headers, why in (
        (b"<html>", 200, {}, "does not answer as Hugging Face does"),
        ([{"type": "file"}], 200, {}, "does not answer as Hugging Face does"),
        (b"", 302, {"Location": "/api/datasets/a/b/tree/0"}, "redirects"),
        ([{**row, "size": 1 << 40}], 200, {}, "too large"),
        ([row], 200, {"Link": '<http://127.0.0.2/>; rel="next"'}, "goes on at 127.0.0.2"),
    ):
        answering(body, status, **headers)
        said = command(spine.url, "huggingface", "verify", "a/b")
        assert (said.returncode, why in said.stderr.decode()) == (2, True), said
    answering([row])
    for revision in ({"id": "0"}, ["sha"]):
        revisions.append(revision)
        said = command(spine.url, "huggingface", "verify", "a/b")
        told = "does not answer as Hugging Face does" in said.stderr.decode()
        assert (said.returncode, told) == (2, True), said
