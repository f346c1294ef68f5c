"""Nobody judges the same stretch twice, by whichever account: what every way to a second rating has to ask first."""

from __future__ import annotations

# The advisory lock of a campaign, beside those of other kinds. Whoever leases a task, or takes an answer to a task that
# was lost, holds it: of two accounts of one person only one is looked at at a time.
LOCKED = 0x504C << 48

# Whether the rater's person, by any account, has or did another rating of something in a task, or in what that task
# goes on with. What is only dealt to them does not count, nor what no ranking counts.
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
