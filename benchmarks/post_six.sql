-- What `post.sql` does in one statement, written out as the transaction that a plain program makes of it. Each statement
-- says why a judgment cannot do without it. :versioned: take the campaign's next data version as well, as the service
-- must, so that a ranking can be asked for as of any answer; then clients wait for each other's commits.
\set item random(1, :items)
\set segment random(1, :segments)
\set score random(0, 100)
BEGIN;
-- 1. Whose token is it, and does it still hold? A revoked token writes nothing from that moment on.
SELECT k.rater_id, k.campaign_id FROM tokens k
WHERE k.prefix = 'bench' || CAST(:client_id AS text) AND k.revoked_at IS NULL
  AND coalesce(k.expires_at > statement_timestamp(), true) \gset
-- 2. Does this rater hold the task? Else somebody else's work would be overwritten.
SELECT t.id AS task_id FROM tasks t
WHERE t.campaign_id = :campaign_id AND t.rater_id = :rater_id AND t.state = 'leased'
  AND t.leased_until > clock_timestamp() \gset
-- 3. Which segment stands at this address, and is it part of the task?
SELECT i.id AS item_id, g.id AS segment_id FROM items i
JOIN segments g ON g.campaign_id = i.campaign_id AND g.document_id = i.document_id AND g.position = CAST(:segment AS int)
WHERE i.campaign_id = :campaign_id AND i.task_id = :task_id AND i.position = CAST(:item AS int) \gset
-- 4. What was answered here before, and under which version does the campaign stand? No answer is ever overwritten.
SELECT c.data_version, 1 + coalesce((
           SELECT max(j.revision) FROM judgments j
           WHERE j.item_id = :item_id AND j.segment_id = :segment_id AND j.rater_id = :rater_id), 0) AS revision
FROM campaigns c WHERE c.id = :campaign_id \gset
\if :versioned
UPDATE campaigns SET data_version = data_version + 1 WHERE id = :campaign_id RETURNING data_version \gset
INSERT INTO versions (campaign_id, n, actor, what) VALUES (:campaign_id, :data_version, 'bound', 'judgments');
\endif
-- 5. The answer itself, as it was given.
INSERT INTO judgments (campaign_id, item_id, segment_id, rater_id, revision, payload, submitted_at, version)
VALUES (:campaign_id, :item_id, :segment_id, :rater_id, :revision,
        jsonb_build_object('protocol', 'da', 'score', CAST(:score AS int)), clock_timestamp(), :data_version)
RETURNING id AS judgment_id \gset
-- 6. Its score, so that a ranking reads numbers instead of answers.
INSERT INTO scores (campaign_id, profile_id, judgment_id, item_id, segment_id, rater_id, revision, n_errors, version,
                    at_us, score, surplus)
SELECT :campaign_id, p.id, :judgment_id, :item_id, :segment_id, :rater_id, :revision, -1, :data_version, 0,
       CAST(:score AS float8), false
FROM profiles p WHERE p.campaign_id = :campaign_id;
END;
