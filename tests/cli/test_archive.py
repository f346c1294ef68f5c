"""`plumbline archive`: pages and JSON of a closed campaign, for any web server."""

from __future__ import annotations

import json
import re

import psycopg

from tests.judged_demo import load_judged
from tests.spine import fresh


def test_a_closed_campaign_becomes_files_that_link_to_each_other(command, postgres, migrated_template, tmp_path):
    with fresh(postgres, migrated_template) as spine:
        key = load_judged(spine.database)
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
