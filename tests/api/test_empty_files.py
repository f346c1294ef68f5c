"""A file that holds nothing is refused, whatever it claims to be: nobody takes it for data that arrived."""

from __future__ import annotations

import gzip
import io
import tarfile

import httpx
import pytest

from app import formats
from app.services.data import exports
from tests.api.rehearsed import ok

READ = sorted(name for name, one in formats.ALL.items() if one.read)
NOTHING = {
    "empty": b"",
    "line ends": b"\n\n\r\n",
    "blanks": b" \t  ",
    "mark": b"\xef\xbb\xbf",
    "packed": gzip.compress(b""),
}
HEADERS = {"table": b"system\tdocument\tposition\trater\tscore\n"}


def sent(client: httpx.Client, format: str, files: dict[str, bytes]) -> httpx.Response:
    """Files as an import of their own."""
    made = ok(client.post("/v1/campaigns/c/imports", json={"format": format, "options": {}}))["import"]
    for name, body in files.items():
        put = client.put(f"/v1/campaigns/c/imports/{made}/files/{name}", content=body)
        if put.is_error:
            return put
    return client.post(f"/v1/campaigns/c/imports/{made}/commit")


def stored(client: httpx.Client) -> tuple[int, list[object]]:
    """What the campaign holds."""
    return ok(client.get("/v1/campaigns/c"))["data_version"], ok(client.get("/v1/campaigns/c/systems"))["items"]


@pytest.fixture
def campaign(admin: httpx.Client) -> httpx.Client:
    """An empty one."""
    ok(admin.post("/v1/campaigns", json={"key": "c", "protocol": "da"}))
    return admin


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_nothing_is_refused_by_every_reader(campaign: httpx.Client, whole: bool) -> None:
    """whole: each kind of nothing both in a request and as a file of an import; otherwise in one of them, in turn."""
    before = stored(campaign)
    for n, format in enumerate(READ):
        for m, (kind, body) in enumerate(NOTHING.items(), n):
            if whole or m % 2:
                answer = campaign.post("/v1/campaigns/c/imports", params={"format": format}, content=body)
                assert answer.status_code == 422, (format, kind, answer.text)
            if whole or not m % 2:
                answer = sent(campaign, format, {"file": body})
                assert answer.status_code == 422, (format, kind, answer.text)
    assert stored(campaign) == before


def test_a_header_alone_is_refused_by_every_reader(campaign: httpx.Client) -> None:
    """What each writer makes of a campaign that holds nothing; only our own format says what the campaign is."""
    before = stored(campaign)
    tried = 0
    for format in READ:
        written = formats.get_format(format)
        if format == "jsonl" or not (
            format in HEADERS or written.write or written.write_file_tree or written.write_book
        ):
            continue
        if format in HEADERS:
            files = {"file": HEADERS[format]}
        else:
            body = campaign.get(f"/v1/campaigns/c/exports/{format}").content
            files = {"file": body}
            if exports.get_export_file_type(format).files:
                with tarfile.open(fileobj=io.BytesIO(body)) as archive:
                    files = {one.name: part.read() for one in archive if (part := archive.extractfile(one))}
        answer = sent(campaign, format, {name.replace("/", "~"): body for name, body in files.items()})
        tried += 1
        assert answer.status_code == 422, (format, answer.text)
    assert tried >= 8
    assert stored(campaign) == before
