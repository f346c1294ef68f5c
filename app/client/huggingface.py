"""A client for Hugging Face, limited to dataset repositories that hold one release bundle."""

from __future__ import annotations

import base64
import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

import httpx

from app.domain.errors import AppError, Conflict, Unavailable
from app.services.data.bundle import ABOUT, SUMS
from app.services.data.bundle_check import MOST_ABOUT, MOST_BYTES, MOST_FILES

TIMEOUT = httpx.Timeout(30, read=300)  # seconds
OF_THE_HUB = ".gitattributes"  # the hub creates this file by itself
SAMPLE = 512  # bytes of a file from which the hub chooses how it is sent
AT_ONCE = 250  # files per request
PIECE = 1 << 20  # bytes
LFS = {"Accept": "application/vnd.git-lfs+json", "Content-Type": "application/vnd.git-lfs+json"}


class HuggingFaceRefusal(AppError):
    """Hugging Face refuses."""


class HuggingFaceUnreachable(Unavailable):
    """Hugging Face cannot be reached."""


class NotABundlesRepository(Conflict):
    """The repository has files that are not of a release bundle; name a new one, lest they are replaced."""


@dataclass(frozen=True, slots=True)
class BundleFile:
    """A file of a bundle. path: in the repository. large: sent separately from the commit, by its SHA-256."""

    file: Path
    path: str
    size: int
    large: bool

    @property
    def sha256(self) -> str:
        with self.file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()


class HuggingFaceClient:
    """Hugging Face, with a token if needed. url: without a path."""

    def __init__(self, url: str, token: str | None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # A redirect to another host, which stores large files, does not get the token.
        self._http = httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT, follow_redirects=True)
        self._elsewhere = httpx.Client(timeout=TIMEOUT)

    def __enter__(self) -> HuggingFaceClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()
        self._elsewhere.close()

    def create_dataset_if_missing(self, dataset: str, *, private: bool) -> None:
        """Create a dataset repository unless it exists. dataset: like `owner/name`. private: only for a new one.

        Raises HuggingFaceRefusal, HuggingFaceUnreachable.
        """
        owner, _, name = dataset.rpartition("/")
        body = {"type": "dataset", "name": name, "organization": owner or None, "private": private}
        self._ask("POST", "/api/repos/create", json=body, may_be=(409,))

    def push_bundle(self, dataset: str, folder: Path, *, message: str, branch: str = "main") -> str:
        """Make a branch hold exactly the files of a bundle, in one commit; return the commit's id.

        Raises NotABundlesRepository if it has other files, HuggingFaceRefusal, HuggingFaceUnreachable.
        """
        sizes = self._sizes(dataset, branch)
        there = set(sizes) - {OF_THE_HUB}
        if others := there - self._released_paths(dataset, branch, sizes):
            raise NotABundlesRepository(f"{dataset} has {min(others)[:200]}")
        files = list(self._choose_ways(dataset, folder, branch))
        self._send_large(dataset, [file for file in files if file.large], branch)
        gone = there - {file.path for file in files}
        lines = b"".join(f"{json.dumps(line)}\n".encode() for line in _commit_lines(files, gone, message))
        headers = {"Content-Type": "application/x-ndjson"}
        answer = self._ask("POST", f"{_api(dataset)}/commit/{_quote_revision(branch)}", content=lines, headers=headers)
        return str(_member(answer, "commitOid"))

    def fetch_bundle(self, dataset: str, folder: Path, revision: str) -> str:
        """Download all files of a revision to an empty folder; return the id of its commit.

        Raises HuggingFaceRefusal also if a file would be written elsewhere, HuggingFaceUnreachable.
        """
        commit = str(_member(self._ask("GET", f"{_api(dataset)}/revision/{_quote_revision(revision)}"), "sha"))
        sizes = self._sizes(dataset, commit)
        if sum(sizes.values()) > MOST_BYTES:
            raise HuggingFaceRefusal(f"{dataset} is too large for a bundle")
        for path in sorted(sizes.keys() - {OF_THE_HUB}):
            file = folder / path
            if ".." in PurePosixPath(path).parts or not file.resolve().is_relative_to(folder.resolve()):
                raise HuggingFaceRefusal(f"{dataset} names a file outside itself: {path[:200]}")
            file.parent.mkdir(parents=True, exist_ok=True)
            self._fetch(f"/datasets/{dataset}/resolve/{commit}/{quote(path)}", file, sizes[path])
        return commit

    def _released_paths(self, dataset: str, branch: str, sizes: Mapping[str, int]) -> set[str]:
        """Return the files of the bundle in a branch; empty if it holds no bundle."""
        if not {ABOUT, SUMS} <= sizes.keys() or sizes[SUMS] > MOST_ABOUT:
            return set()
        with tempfile.TemporaryDirectory(prefix="plumbline-") as name:
            file = Path(name) / SUMS
            self._fetch(f"/datasets/{dataset}/resolve/{_quote_revision(branch)}/{SUMS}", file, sizes[SUMS])
            lines = file.read_text("utf-8", errors="replace").splitlines()
        return {SUMS, *(line.partition("  ")[2] for line in lines)}

    def _fetch(self, address: str, file: Path, size: int) -> None:
        with (
            _own_errors(),
            self._http.stream("GET", address, headers={"Accept-Encoding": "identity"}) as answer,
            file.open("wb") as out,
        ):
            if not answer.is_success:
                answer.read()
                raise _refusal(answer)
            for piece in answer.iter_bytes(PIECE):
                out.write(piece)
                if out.tell() > size:
                    raise HuggingFaceRefusal(f"{address} is longer than it is said to be")

    def _sizes(self, dataset: str, revision: str) -> dict[str, int]:
        """Return the sizes of a revision's files by path, page by page. A branch without a commit has no files."""
        sizes: dict[str, int] = {}
        address: str | None = f"{_api(dataset)}/tree/{_quote_revision(revision)}?recursive=true"
        while address:
            answer = self._ask("GET", address)
            try:
                sizes |= {str(row["path"]): int(row["size"]) for row in answer.json() if row["type"] == "file"}
            except (ValueError, KeyError, TypeError) as error:
                raise _not_the_hub(answer) from error
            if len(sizes) > MOST_FILES:
                raise HuggingFaceRefusal(f"{dataset} is too large for a bundle")
            following = answer.links.get("next", {}).get("url")
            address = str(self._own_address(following)) if following else None
        return sizes

    def _own_address(self, address: str) -> httpx.URL:
        """Return an address that may get the token. Raises HuggingFaceRefusal if it is on another server."""
        here, there = self._http.base_url, self._http.base_url.join(address)
        if (here.scheme, here.netloc) != (there.scheme, there.netloc):
            raise HuggingFaceRefusal(f"it goes on at {there.host}")
        return there

    def _choose_ways(self, dataset: str, folder: Path, branch: str) -> Iterator[BundleFile]:
        """Yield the files of a folder, each with the transfer method that the hub requires."""
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        for part in _parts(files):
            asked = [
                {
                    "path": file.relative_to(folder).as_posix(),
                    "size": file.stat().st_size,
                    "sample": base64.b64encode(_beginning(file)).decode(),
                }
                for file in part
            ]
            answer = self._ask("POST", f"{_api(dataset)}/preupload/{_quote_revision(branch)}", json={"files": asked})
            try:
                ways = {row["path"]: row["uploadMode"] for row in _member(answer, "files")}
            except (KeyError, TypeError) as error:
                raise _not_the_hub(answer) from error
            for file, row in zip(part, asked, strict=True):
                path = str(row["path"])
                yield BundleFile(file, path, file.stat().st_size, ways.get(path) == "lfs")

    def _send_large(self, dataset: str, files: Sequence[BundleFile], branch: str) -> None:
        for part in _parts(files):
            by_oid = {file.sha256: file for file in part}
            asked = {
                "operation": "upload",
                "transfers": ["basic", "multipart"],
                "hash_algo": "sha256",
                "ref": {"name": branch},
                "objects": [{"oid": oid, "size": file.size} for oid, file in by_oid.items()],
            }
            address = f"/datasets/{dataset}.git/info/lfs/objects/batch"
            for stored in _member(self._ask("POST", address, json=asked, headers=LFS), "objects"):
                if error := stored.get("error"):
                    raise HuggingFaceRefusal(f"{by_oid[stored['oid']].path}: {error.get('message')}")
                if actions := stored.get("actions"):  # otherwise it is already stored
                    self._send(by_oid[stored["oid"]], stored["oid"], actions)

    def _send(self, file: BundleFile, oid: str, actions: Mapping[str, Any]) -> None:
        href, headers = actions["upload"]["href"], dict(actions["upload"].get("header") or {})
        with _own_errors(), file.file.open("rb") as content:
            if size := headers.pop("chunk_size", None):
                addresses = [headers[n] for n in sorted(filter(str.isdigit, headers), key=int)]
                sent = []
                for n, address in enumerate(addresses, 1):
                    answer = _require_success(self._elsewhere.put(address, content=content.read(int(size))))
                    sent.append({"partNumber": n, "etag": answer.headers["ETag"]})
                done = self._elsewhere.post(href, json={"oid": oid, "parts": sent}, headers=LFS)
            else:
                done = self._elsewhere.put(href, content=content, headers=headers)
            _require_success(done)
        if verify := actions.get("verify"):
            address = str(self._own_address(verify["href"]))
            self._ask("POST", address, json={"oid": oid, "size": file.size}, headers=verify.get("header"))

    def _ask(self, method: str, address: str, *, may_be: Sequence[int] = (), **given: Any) -> httpx.Response:
        with _own_errors():
            answer = self._http.request(method, address, **given)
        return answer if answer.status_code in may_be else _require_success(answer)


def _commit_lines(files: Sequence[BundleFile], gone: set[str], message: str) -> Iterator[dict[str, object]]:
    """Yield the parts of a commit, one per line."""
    yield {"key": "header", "value": {"summary": message, "description": ""}}
    for file in files:
        if file.large:
            value = {"path": file.path, "algo": "sha256", "oid": file.sha256, "size": file.size}
            yield {"key": "lfsFile", "value": value}
        else:
            content = base64.b64encode(file.file.read_bytes()).decode()
            yield {"key": "file", "value": {"path": file.path, "encoding": "base64", "content": content}}
    for path in sorted(gone):
        yield {"key": "deletedFile", "value": {"path": path}}


def _parts(files: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (files[at : at + AT_ONCE] for at in range(0, len(files), AT_ONCE))


def _beginning(file: Path) -> bytes:
    with file.open("rb") as content:
        return content.read(SAMPLE)


def _api(dataset: str) -> str:
    return f"/api/datasets/{quote(dataset)}"


def _quote_revision(revision: str) -> str:
    return quote(revision, safe="")


@contextmanager
def _own_errors() -> Iterator[None]:
    try:
        yield
    except httpx.RequestError as error:  # also if redirects never end
        raise HuggingFaceUnreachable(str(error) or type(error).__name__) from error


def _require_success(answer: httpx.Response) -> httpx.Response:
    if not answer.is_success:
        raise _refusal(answer)
    return answer


def _refusal(answer: httpx.Response) -> HuggingFaceRefusal:
    try:
        why = str(answer.json()["error"])[:500]
    except (ValueError, KeyError, TypeError):
        why = answer.reason_phrase
    request = answer.request
    return HuggingFaceRefusal(f"{request.method} {request.url.path}: {answer.status_code} {why}")


def _member(answer: httpx.Response, name: str) -> Any:
    """Return the value of a name in an answer. Raises HuggingFaceRefusal."""
    try:
        return answer.json()[name]
    except (ValueError, KeyError, TypeError) as error:  # no JSON, no object, or the name is missing
        raise _not_the_hub(answer) from error


def _not_the_hub(answer: httpx.Response) -> HuggingFaceRefusal:
    return HuggingFaceRefusal(f"{answer.request.url.path} does not answer as Hugging Face does")
