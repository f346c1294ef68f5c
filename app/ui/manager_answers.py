"""What forms of known answers start from: a worked example of the protocol, and the names of what can be compared."""

from __future__ import annotations

import json

from pydantic import TypeAdapter

from app.services.campaigns import CampaignView, options_of, protocol_of


def example(campaign: CampaignView) -> dict[str, str]:
    """A payload as JSON, and the measures of the protocol with commas between."""
    protocol = protocol_of(campaign)
    measures = [one.name for one in protocol.measures_under(options_of(campaign))]
    payload = TypeAdapter(protocol.payload).dump_python(protocol.examples[0].payload, mode="json")
    return {"payload": json.dumps(payload, ensure_ascii=False), "measures": ",".join(measures)}
