"""`plumbline archive`: pages and JSON of a closed campaign, for any web server."""

from __future__ import annotations

import json
import re
import tarfile

import psycopg
import pytest

from tests.judged_demo import load_judged
from tests.media_files import VTT, make_wav
from tests.services.data.test_imports import MQM
from tests.spine import fresh

SOUND = '<audio src="assets/talks/1.wav" controls></audio>'
RECORDS = (
    {"type": "plumbline", "version": 1},
    {"type": "campaign", "protocol": "mqm", "source_language": "en", "target_language": "de"},
    {"type": "segment", "document": "d", "position": 1, "source": SOUND},
    {"type": "output", "system": "A", "document": "d", "position": 1, "text": "Guten Morgen."},
)


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_closed_campaign_becomes_files_that_link_to_each_other(command, postgres, migrated_template, tmp_path, whole):
    """whole: the demo, of twenty-four documents; otherwise a campaign of a few."""
    with fresh(postgres, migrated_template) as spine:
        key = load_judged(spine.database) if whole else "few"
        if not whole:
            spine.take(key, "mqm-tsv", MQM.encode())
        refused = command(spine.url, "archive", key, "-o", tmp_path / "out")
        assert refused.returncode != 0
        assert b"it is draft" in refused.stderr
        assert not (tmp_path / "out").exists()
        with psycopg.connect(spine.url) as db:
            db.execute("UPDATE campaigns SET state = 'closed' WHERE key = %s", [key])
        assert command(spine.url, "archive", key, "-o", tmp_path / "out").returncode == 0
    index = (tmp_path / "out/index.html").read_text()
    links = re.findall(r'href="(documents/\d{4}\.html)"', index)
    assert links
    for link in links:
        page = (tmp_path / "out" / link).read_text()
        assert "<script" not in page
        assert 'href="../style.css"' in page
        shown = json.loads((tmp_path / "out" / link).with_suffix(".json").read_text())
        assert shown["segments"]
    assert (tmp_path / "out/style.css").stat().st_size > 1000


def test_the_files_of_media_are_in_an_archive_a_bundle_and_a_backup(
    command, postgres, migrated_template, tmp_path, monkeypatch
):
    monkeypatch.setenv("PLUMBLINE_DATA_DIR", str(tmp_path / "data"))
    sound, folder = make_wav(2), tmp_path / "set"
    (folder / "talks").mkdir(parents=True)
    (folder / "talks/1.wav").write_bytes(sound)
    (folder / "1.vtt").write_bytes(VTT)
    (folder / "unused.wav").write_bytes(make_wav(1))
    with fresh(postgres, migrated_template) as spine:
        spine.take("talks", "jsonl", "\n".join(map(json.dumps, RECORDS)).encode())
        assert command(spine.url, "media", "add", "talks", folder).returncode == 0
        assert command(spine.url, "media", "caption", "talks", "talks:1.wav", "--captions", "1.vtt").returncode == 0
        with psycopg.connect(spine.url) as db:
            db.execute("UPDATE campaigns SET state = 'closed'")
        assert command(spine.url, "archive", "talks", "-o", tmp_path / "out").returncode == 0
        assert command(spine.url, "bundle", "talks", "-o", tmp_path / "talks.tar").returncode == 0
        assert command(spine.url, "db", "backup", tmp_path / "all.dump").returncode == 0
    with tarfile.open(tmp_path / "talks.tar") as bundle:
        assert bundle.extractfile("media/talks:1.wav").read() == sound
    with tarfile.open(tmp_path / "all.dump.media.tar") as backup:
        assert len(backup.getnames()) == 3
    out = tmp_path / "out"
    page = (out / "documents/0001.html").read_text()
    (source,) = re.findall(r'<audio [^>]*src="\.\./(media/\d{4}\.wav)"', page)
    (captions,) = re.findall(r'<track [^>]*src="\.\./(media/\d{4}\.vtt)"', page)
    assert (out / source).read_bytes() == sound
    assert (out / captions).read_bytes() == VTT
    assert len(list((out / "media").iterdir())) == 2
    described = json.loads((out / "documents/0001.json").read_text())["media"]
    assert {one["name"]: one["address"] for one in described}["talks:1.wav"] == f"../{source}"
