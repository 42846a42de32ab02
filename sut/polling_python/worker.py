"""A polling worker that is made right. It may be killed or held anywhere; it has no clean-up of its own to rely on.

- Each attempt sends the digest_key as Idempotency-Key.
- A claim takes a fencing token. Every later write asks for it, so that a holder whose lease ran out changes nothing.
- Before the first byte is sent, the intent to send is committed (sending_at). It is taken back only by a definite no.
  A row that has it is in doubt: the downstream may have accepted an earlier attempt.
- What follows from doubt is the product's choice (--on-doubt). retry: send again with the same key, which is harmless
  where the downstream honours keys. flag: never send again; the row waits in needs_review for a person.
- Attempts are counted at the claim and limited. A row that used them up is exhausted when every answer was a definite
  no, and needs_review when it is in doubt: exhausted rows may be sent again, the others must be looked at first.

Usage: worker.py NAME DATABASE URL --on-doubt retry|flag
"""

import argparse
import collections
import http.client
import json
import os
import sqlite3
import sys
import time
import urllib.parse

LEASE_S = 60
POLL_S = 5
SEND_TIMEOUT_S = 10
RETRY_DELAY_S = 15
MAX_ATTEMPTS = 5

# sending_before: the intent of an earlier attempt whose outcome is unknown, or None.
Job = collections.namedtuple("Job", "digest_key customer_id token lease_until sending_before")

ACCEPTED, DEFINITE_NO, DOUBT = "accepted", "definite no", "doubt"

# Primary SQLite codes of troubles that pass: BUSY, LOCKED, READONLY, IOERR, FULL, CANTOPEN, PROTOCOL.
PASSING_TROUBLES = {5, 6, 8, 10, 13, 14, 15}


def log(name, text):
    print(f"{name}: {text}", file=sys.stderr, flush=True)


def passes(error):
    return error.sqlite_errorcode & 0xFF in PASSING_TROUBLES


class Ledger:
    def __init__(self, database, on_doubt):
        self.db = sqlite3.connect(database, timeout=5, isolation_level=None)
        self.db.execute("PRAGMA synchronous = FULL")
        self.on_doubt = on_doubt

    def claim(self):
        """Returns a Job, or None when nothing is due. Rows that must not be sent again are settled on the way."""
        while True:
            self.db.execute("BEGIN IMMEDIATE")
            try:
                found, job = self._take_oldest()
                self.db.execute("COMMIT")
            except BaseException:
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                raise
            if job is not None or not found:
                return job

    def _take_oldest(self):
        # The clock is read inside the transaction: waiting for the lock must not eat the lease.
        now = int(time.time())
        row = self.db.execute(
            "SELECT digest_key, customer_id, token, attempts, sending_at FROM digest_jobs WHERE due_at <= ?1"
            " AND ((state = 'pending' AND retry_at <= ?1) OR (state = 'leased' AND lease_until <= ?1))"
            " ORDER BY due_at, digest_key LIMIT 1",
            (now,),
        ).fetchone()
        if row is None:
            return False, None
        digest_key, customer_id, token, attempts, sending_at = row
        if sending_at is not None and (self.on_doubt == "flag" or attempts >= MAX_ATTEMPTS):
            self._give_up(digest_key, "needs_review", "an earlier attempt may have been accepted")
            return True, None
        if attempts >= MAX_ATTEMPTS:
            self._give_up(digest_key, "exhausted", None)
            return True, None
        self.db.execute(
            "UPDATE digest_jobs SET state = 'leased', lease_until = ?, attempts = attempts + 1, token = token + 1"
            " WHERE digest_key = ?",
            (now + LEASE_S, digest_key),
        )
        return True, Job(digest_key, customer_id, token + 1, now + LEASE_S, sending_at)

    def _give_up(self, digest_key, state, reason):
        self.db.execute(
            "UPDATE digest_jobs SET state = ?, lease_until = NULL, reason = coalesce(?, reason) WHERE digest_key = ?",
            (state, reason, digest_key),
        )

    def record_intent(self, job):
        """Commits that a send may happen. False: the job is no longer ours, or its lease may end during the send."""
        now = int(time.time())
        changed = self.db.execute(
            "UPDATE digest_jobs SET sending_at = coalesce(sending_at, ?)"
            " WHERE digest_key = ? AND token = ? AND state = 'leased' AND lease_until >= ?",
            (now, job.digest_key, job.token, now + SEND_TIMEOUT_S),
        )
        return changed.rowcount == 1

    def settle(self, job, outcome, reason):
        """Writes the outcome. False: refused, because the job is no longer ours."""
        now = int(time.time())
        if outcome == ACCEPTED:
            changes, values = "state = 'delivered', delivered_at = ?, reason = NULL", (now,)
        elif outcome == DOUBT and self.on_doubt == "flag":
            changes, values = "state = 'needs_review', reason = ?", (reason,)
        else:
            changes, values = "state = 'pending', retry_at = ?, reason = ?", (now + RETRY_DELAY_S, reason)
            if outcome == DEFINITE_NO:
                changes, values = changes + ", sending_at = ?", values + (job.sending_before,)
        changed = self.db.execute(
            f"UPDATE digest_jobs SET lease_until = NULL, {changes}"
            " WHERE digest_key = ? AND token = ? AND state = 'leased'",
            values + (job.digest_key, job.token),
        )
        return changed.rowcount == 1

    def state_of(self, job):
        row = self.db.execute("SELECT state, token FROM digest_jobs WHERE digest_key = ?", (job.digest_key,)).fetchone()
        return row or ("gone", None)


def outcome_of(status):
    """2xx is the only yes. A 4xx says that nothing happened, but for 409: the same key is at work right now."""
    if 200 <= status <= 299:
        return ACCEPTED
    if 400 <= status <= 499 and status != 409:
        return DEFINITE_NO
    return DOUBT


def send(url, job):
    """Returns (outcome, reason)."""
    if not job.digest_key or not all("!" <= c <= "~" for c in job.digest_key):
        return DEFINITE_NO, "the digest_key cannot be sent as a header"
    connection = http.client.HTTPConnection(url.hostname, url.port or 80, timeout=SEND_TIMEOUT_S)
    try:
        try:
            connection.connect()
        except OSError as error:
            return DEFINITE_NO, f"no connection: {error!r}"
        try:
            body = json.dumps({"digest_key": job.digest_key, "customer_id": job.customer_id})
            headers = {"Content-Type": "application/json", "Idempotency-Key": job.digest_key}
            connection.request("POST", url.path or "/", body, headers)
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException) as error:
            return DOUBT, f"no answer: {error!r}"
        return outcome_of(response.status), f"status {response.status}"
    finally:
        connection.close()


def settle_surely(ledger, name, job, outcome, reason):
    """Settles, again and again while the ledger is in trouble, until the lease is over and others decide."""
    while True:
        try:
            if not ledger.settle(job, outcome, reason):
                state, token = ledger.state_of(job)
                now = f"its state is {state}, token {token} of {job.token}"
                log(name, f"{outcome} of {job.digest_key!r} not written: {now}")
            return
        except sqlite3.OperationalError as error:
            if not passes(error):
                raise
            log(name, f"{outcome} of {job.digest_key!r} not written yet: {error}")
            if time.time() >= job.lease_until:
                return
            time.sleep(1)


def work_once(ledger, name, url):
    """Does one job. Returns False when there is nothing to do now."""
    try:
        job = ledger.claim()
        if job is None:
            return False
        if not ledger.record_intent(job):
            log(name, f"{job.digest_key!r} is not sent: the lease has run out")
            return True
    except sqlite3.OperationalError as error:
        if not passes(error):
            raise
        log(name, f"the ledger is in trouble, trying again later: {error}")
        return False
    outcome, reason = send(url, job)
    if outcome != ACCEPTED:
        log(name, f"{outcome} about {job.digest_key!r}: {reason}")
    settle_surely(ledger, name, job, outcome, reason)
    return True


def main():
    parser = argparse.ArgumentParser(description="Delivers due digests once.")
    parser.add_argument("name")
    parser.add_argument("database")
    parser.add_argument("url")
    parser.add_argument("--on-doubt", choices=["retry", "flag"], required=True)
    arguments = parser.parse_args()
    if not os.path.exists(arguments.database):
        parser.error(f"there is no ledger {arguments.database!r}")
    ledger = Ledger(arguments.database, arguments.on_doubt)
    url = urllib.parse.urlsplit(arguments.url)
    while True:
        if not work_once(ledger, arguments.name, url):
            time.sleep(POLL_S)


if __name__ == "__main__":
    main()
