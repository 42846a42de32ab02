-- The plain ledger: no token, no limit of attempts, no trace of a send.
PRAGMA journal_mode = WAL;

CREATE TABLE digest_jobs (
  digest_key   TEXT PRIMARY KEY,
  customer_id  INTEGER NOT NULL,
  digest_week  TEXT NOT NULL,
  due_at       INTEGER NOT NULL,
  state        TEXT NOT NULL DEFAULT 'pending',
  attempts     INTEGER NOT NULL DEFAULT 0,
  lease_until  INTEGER,
  delivered_at INTEGER
);
