"""The credited systems of all items of a campaign in one query; one query per item would dominate the cost."""

from __future__ import annotations

# The primary key finds this range; the items of a campaign have adjacent ids.
_ITS_ITEMS = "(SELECT {}(id) FROM items WHERE campaign_id = :campaign)"
ITS_CREDITS = f"""
    c.campaign_id = :campaign AND c.item_id BETWEEN {_ITS_ITEMS.format("min")} AND {_ITS_ITEMS.format("max")}"""
CREDITED = f"""(
    SELECT c.item_id, array_agg(s.key ORDER BY s.key COLLATE "C") AS systems
    FROM credits c JOIN systems s ON s.campaign_id = :campaign AND s.id = c.system_id
    WHERE {ITS_CREDITS}
    GROUP BY c.item_id)"""
