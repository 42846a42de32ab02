"""A polling worker as it is often written: looks right, claims atomically, and is half safe.

What is wrong with it, on purpose: the send carries no idempotency key, marking asks for no owner or token, nothing
limits the attempts, and an unknown outcome of a send is treated like a failure.

Usage: worker.py NAME DATABASE URL
"""

import http.client
import json
import sqlite3
import sys
import time
import urllib.parse

LEASE_S = 60
POLL_S = 5
SEND_TIMEOUT_S = 10


def log(name, text):
    print(f"{name}: {text}", file=sys.stderr, flush=True)


def claim(db):
    """Leases the oldest due job for LEASE_S and returns (digest_key, customer_id), or None."""
    db.execute("BEGIN IMMEDIATE")
    try:
        now = int(time.time())
        job = db.execute(
            "SELECT digest_key, customer_id FROM digest_jobs WHERE due_at <= ?1"
            " AND (state = 'pending' OR (state = 'leased' AND lease_until <= ?1))"
            " ORDER BY due_at, digest_key LIMIT 1",
            (now,),
        ).fetchone()
        if job is not None:
            db.execute(
                "UPDATE digest_jobs SET state = 'leased', lease_until = ?, attempts = attempts + 1"
                " WHERE digest_key = ?",
                (now + LEASE_S, job[0]),
            )
        db.execute("COMMIT")
        return job
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def send(url, digest_key, customer_id):
    """Posts the digest. Raises OSError or HTTPException when the downstream did not say 2xx."""
    connection = http.client.HTTPConnection(url.hostname, url.port or 80, timeout=SEND_TIMEOUT_S)
    try:
        body = json.dumps({"digest_key": digest_key, "customer_id": customer_id})
        connection.request("POST", url.path or "/", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        if not 200 <= response.status <= 299:
            raise http.client.HTTPException(f"status {response.status}")
    finally:
        connection.close()


def mark(db, digest_key):
    db.execute(
        "UPDATE digest_jobs SET state = 'delivered', delivered_at = ? WHERE digest_key = ? AND state = 'leased'",
        (int(time.time()), digest_key),
    )


def work_once(db, name, url):
    """Does one job. Returns False when there is nothing to do now."""
    try:
        job = claim(db)
        if job is None:
            return False
        digest_key, customer_id = job
        send(url, digest_key, customer_id)
        mark(db, digest_key)
        return True
    except (OSError, http.client.HTTPException) as error:
        log(name, f"sending {digest_key!r} failed, its lease will run out: {error!r}")
        return True
    except sqlite3.OperationalError as error:
        if "lock" not in str(error):  # "database is locked", "locking protocol"
            raise
        log(name, "the ledger is locked, trying again later")
        return False


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: worker.py NAME DATABASE URL")
    name, database, url = sys.argv[1], sys.argv[2], urllib.parse.urlsplit(sys.argv[3])
    db = sqlite3.connect(database, timeout=5, isolation_level=None)
    while True:
        if not work_once(db, name, url):
            time.sleep(POLL_S)


if __name__ == "__main__":
    main()
