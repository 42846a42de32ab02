-- The full ledger, shared by the systems that are made right. Times are seconds of the worker's clock.
PRAGMA journal_mode = WAL;

CREATE TABLE digest_jobs (
  digest_key   TEXT PRIMARY KEY,              -- also the idempotency key, the same for every attempt
  customer_id  INTEGER NOT NULL,
  digest_week  TEXT NOT NULL,
  due_at       INTEGER NOT NULL,
  state        TEXT NOT NULL DEFAULT 'pending'
               CHECK (state IN ('pending', 'leased', 'delivered', 'exhausted', 'needs_review')),
  attempts     INTEGER NOT NULL DEFAULT 0,    -- claims so far
  token        INTEGER NOT NULL DEFAULT 0,    -- fencing token: grows with each claim, a holder of an old one changes nothing
  lease_until  INTEGER,
  sending_at   INTEGER,                       -- since when a send may have reached the downstream without a known answer
  retry_at     INTEGER NOT NULL DEFAULT 0,    -- a pending row is not claimed before
  delivered_at INTEGER,
  reason       TEXT                           -- why the last attempt did not deliver
);
