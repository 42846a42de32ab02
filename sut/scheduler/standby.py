"""The scheduler of a second region: when the first one is late with a week, it schedules that week and ends.

It writes into the same ledger, so it does not matter whether the first was dead or only slow: there is one row per
customer. With --promote REPLICA it believes the first region lost, and makes a ledger of its own out of a copy, for its
own workers: two ledgers, each with its own uniqueness. Then a first region that was only slow sends everything again.

Usage: standby.py DATABASE WEEK CUSTOMER... [--promote REPLICA -- WORKER ARGUMENT...]
"""

import argparse
import os
import sqlite3
import sys
import time

from schedule import schedule

PATIENCE_S = 60


def is_scheduled(database, week, customers):
    """Whether each of them has a job: a first region that was cut short has left some out."""
    ledger = sqlite3.connect(database, timeout=30, isolation_level=None)
    try:
        (jobs,) = ledger.execute("SELECT count(*) FROM digest_jobs WHERE digest_week = ?", (week,)).fetchone()
        return jobs >= len(customers)
    finally:
        ledger.close()


def promote(database, replica):
    source, target = sqlite3.connect(database, timeout=30), sqlite3.connect(replica)
    source.backup(target)
    target.execute("PRAGMA journal_mode = WAL")
    source.close()
    target.close()


def main():
    parser = argparse.ArgumentParser(description="Schedules the digests of a week when nobody else does.")
    parser.add_argument("database")
    parser.add_argument("week")
    parser.add_argument("customers", nargs="+", type=int)
    parser.add_argument("--promote", metavar="REPLICA")
    words, worker = sys.argv[1:], []
    if "--" in words:
        at = words.index("--")
        words, worker = words[:at], words[at + 1 :]
    given = parser.parse_args(words)
    time.sleep(PATIENCE_S)
    if is_scheduled(given.database, given.week, given.customers):
        return
    if not given.promote:
        schedule(given.database, given.week, given.customers)
        return
    promote(given.database, given.promote)
    schedule(given.promote, given.week, given.customers)
    os.execvp(worker[0], worker)


if __name__ == "__main__":
    main()
