"""Writes the due jobs of one week into the ledger and ends: one row per customer, whoever else does the same.

INSERT OR IGNORE leaves a row alone that is there, whatever has become of it. --replace writes it anew, as is easily
done when the job is to be corrected: then a job that was delivered is pending again.

Usage: schedule.py DATABASE WEEK CUSTOMER... [--replace]
"""

import argparse
import sqlite3


def schedule(database, week, customers, insert="INSERT OR IGNORE"):
    ledger = sqlite3.connect(database, timeout=30, isolation_level=None)
    for customer in customers:
        ledger.execute(
            f"{insert} INTO digest_jobs (digest_key, customer_id, digest_week, due_at) VALUES (?, ?, ?, 0)",
            (f"{customer}:{week}", customer, week),
        )
    ledger.close()


def main():
    parser = argparse.ArgumentParser(description="Schedules the digests of a week.")
    parser.add_argument("database")
    parser.add_argument("week")
    parser.add_argument("customers", nargs="+", type=int)
    parser.add_argument("--replace", action="store_true")
    arguments = parser.parse_args()
    insert = "INSERT OR REPLACE" if arguments.replace else "INSERT OR IGNORE"
    schedule(arguments.database, arguments.week, arguments.customers, insert)


if __name__ == "__main__":
    main()
