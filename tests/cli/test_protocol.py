"""`plumbline protocol`: a protocol is printed, changed in an editor, and given to the campaign."""

from __future__ import annotations

import json

from app.services.campaigns import campaigns
from tests.spine import fresh


def test_a_built_in_protocol_is_taken_changed_and_given_to_a_campaign(command, postgres, migrated_template, tmp_path):
    with fresh(postgres, migrated_template) as spine:
        with spine.database.transaction() as session:
            campaigns.create_campaign(session, campaigns.NewCampaign(key="c", protocol="da"), actor="test")
        written = json.loads(command(spine.url, "protocol", "--like", "mqm").stdout)
        written["options"]["parts"][0]["categories"] = [{"name": "Facts"}]
        written["options"]["parts"][0]["weights"] = {}
        file = tmp_path / "own.json"
        file.write_text(json.dumps(written))
        assert command(spine.url, "protocol", "c", file).returncode == 0
        shown = json.loads(command(spine.url, "protocol", "c").stdout)
        assert shown["options"]["parts"][0]["categories"] == [{"name": "Facts"}]
        for broken in ("{", "[" * 100_000):
            file.write_text(broken)
            refused = command(spine.url, "protocol", "c", file)
            assert refused.returncode != 0
            assert b"own.json" in refused.stderr
            assert b"Traceback" not in refused.stderr
        assert command(spine.url, "protocol").returncode != 0
