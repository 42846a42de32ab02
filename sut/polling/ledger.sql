-- The ledger of the reference system. Times are seconds, by the clock of the ledger (unixepoch()).
PRAGMA journal_mode = WAL;

CREATE TABLE digest_jobs (
  digest_key   TEXT PRIMARY KEY,              -- also the idempotency key: the same for every attempt and transport
  customer_id  INTEGER NOT NULL,
  digest_week  TEXT NOT NULL,
  due_at       INTEGER NOT NULL,
  state        TEXT NOT NULL DEFAULT 'pending'
               CHECK (state IN ('pending', 'leased', 'delivered', 'exhausted', 'needs_review')),
  attempts     INTEGER NOT NULL DEFAULT 0,    -- claims so far
  token        INTEGER NOT NULL DEFAULT 0,    -- fencing token: grows with each claim, a holder of an old one changes nothing
  owner        TEXT,                          -- who holds the lease, for people only: the token decides
  lease_until  INTEGER,
  sending_at   INTEGER,                       -- since when a send may have reached the downstream without a known answer
  retry_at     INTEGER NOT NULL DEFAULT 0,    -- a pending row is not claimed before
  delivered_at INTEGER,
  reason       TEXT,                          -- why the last attempt did not deliver
  granted      INTEGER NOT NULL DEFAULT 0,    -- attempts that an operator has forgiven
  cohort       TEXT,
  term         INTEGER                        -- of the scheduling authority that made it
);
-- The two questions that are asked all day.
CREATE INDEX digest_jobs_due ON digest_jobs (due_at, digest_key) WHERE state = 'pending';
CREATE INDEX digest_jobs_leased ON digest_jobs (lease_until) WHERE state = 'leased';

CREATE TABLE customers (
  customer_id INTEGER PRIMARY KEY,
  cohort      TEXT NOT NULL,
  active      INTEGER NOT NULL DEFAULT 1
);

-- When each week's digests are due. The name of the week is part of the key, so it is written once, here, and never
-- worked out from anybody's clock.
CREATE TABLE cutoffs (
  digest_week TEXT PRIMARY KEY,
  cutoff_at   INTEGER NOT NULL UNIQUE
);

-- Each cohort has one scheduling authority. A failover moves it and raises the term.
CREATE TABLE cohorts (
  cohort         TEXT PRIMARY KEY,
  authority      TEXT,
  term           INTEGER NOT NULL DEFAULT 0,
  authority_until INTEGER NOT NULL DEFAULT 0,
  scheduled_to   INTEGER NOT NULL DEFAULT 0   -- the cutoff that was scheduled last
);

-- Written in the transaction that schedules. The polling workers do not need it: it is for transports to come, and what
-- makes the change to a queue a matter of reading it.
CREATE TABLE outbox (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  digest_key   TEXT NOT NULL UNIQUE,
  written_at   INTEGER NOT NULL,
  published_at INTEGER
);

-- What operators did, and to what.
CREATE TABLE operator_actions (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  at         INTEGER NOT NULL,
  operator   TEXT NOT NULL,
  action     TEXT NOT NULL,
  digest_key TEXT NOT NULL
);
