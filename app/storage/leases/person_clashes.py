"""Checks that no person rates the same stretch twice, under any account; every path to a rating uses them."""

from __future__ import annotations

# The campaign's advisory lock; its number differs from those of other locks. Code that leases a task, or accepts an
# answer to a lost task, holds it, so two accounts of one person are never checked at the same time.
LOCKED = 0x504C << 48

# Whether the rater's person, under any account, has or did another rating of something in a task or in the rest of its
# chain. Tasks that are only dealt to them do not count, and neither do ratings that no ranking counts.
HAS_ANOTHER = """EXISTS (
    SELECT FROM tasks own JOIN tasks part ON part.campaign_id = {campaign}
         AND (part.id = own.id OR part.plan = own.plan AND part.chain = own.chain)
    JOIN items i ON i.campaign_id = {campaign} AND i.task_id = part.id
    JOIN groups g ON g.campaign_id = {campaign} AND g.id = i.group_id
    JOIN groups other ON other.campaign_id = {campaign} AND other.plan = g.plan AND other.unit = g.unit
    JOIN items x ON x.campaign_id = {campaign} AND x.group_id = other.id AND x.surplus_from IS NULL
    JOIN tasks t2 ON t2.campaign_id = {campaign} AND t2.id = x.task_id AND t2.id <> part.id
    JOIN (SELECT r.id FROM raters me JOIN raters r ON r.campaign_id = {campaign}
               AND (r.id = me.id OR r.person_id = me.person_id)
          WHERE me.campaign_id = {campaign} AND me.id = {rater}) account
      ON t2.state IN ('leased', 'handed_in') AND t2.rater_id = account.id
         OR EXISTS (SELECT FROM judgments j WHERE j.item_id = x.id AND j.rater_id = account.id AND NOT j.surplus)
    WHERE own.campaign_id = {campaign} AND own.id = {task} AND (t2.chain = own.chain) IS NOT TRUE)"""
