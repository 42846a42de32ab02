"""The roles of the reference system that no scenario exercises: what an operator may do, and what is no command line.

Usage: reference_test.py --halfsent PROGRAM [TEST...]
"""

import argparse
import pathlib
import sqlite3
import subprocess
import sys
import unittest

from acceptance_base import ROOT, AcceptanceTest

MONTH_S = 30 * 24 * 3600


class Operator(AcceptanceTest):
    def setUp(self):
        self.file = self.folder / f"{self.id()}.db"
        self.ledger = sqlite3.connect(self.file, isolation_level=None)
        self.addCleanup(self.ledger.close)
        self.ledger.executescript((ROOT / "sut" / "polling" / "ledger.sql").read_text())

    def job(self, key, state, attempts=5, delivered_ago_s=None):
        self.ledger.execute(
            "INSERT INTO digest_jobs (digest_key, customer_id, digest_week, due_at, state, attempts, sending_at,"
            " delivered_at) VALUES (?, 1, 'w', 0, ?, ?, 7, unixepoch() - ?)", (key, state, attempts, delivered_ago_s))

    def operate(self, *words):
        program = self.program.parent / "polling_reference"
        return subprocess.run([program, "operator", "ann", self.file, *words], capture_output=True, text=True,
                              timeout=30)

    def row(self, key):
        return self.ledger.execute(
            "SELECT state, attempts, granted, sending_at FROM digest_jobs WHERE digest_key = ?", (key,)).fetchone()

    def test_replay_sends_an_exhausted_job_again_and_grants_it_as_many_attempts(self):
        self.job("k", "exhausted")
        self.assertEqual(self.operate("replay", "k").returncode, 0)
        self.assertEqual(self.row("k"), ("pending", 5, 5, 7))

    def test_redrive_takes_the_doubt_upon_the_person(self):
        self.job("k", "needs_review")
        self.assertEqual(self.operate("redrive", "k").returncode, 0)
        self.assertEqual(self.row("k"), ("pending", 5, 5, None))

    def test_purge_removes_what_was_delivered_a_month_ago_and_nothing_else(self):
        self.job("old", "delivered", delivered_ago_s=MONTH_S + 10)
        self.job("new", "delivered", delivered_ago_s=MONTH_S - 10)
        self.job("open", "pending", delivered_ago_s=MONTH_S + 10)
        self.assertEqual([self.operate("purge", key).returncode for key in ("old", "new", "open")], [0, 1, 1])
        self.assertEqual([self.row(key) is None for key in ("old", "new", "open")], [True, False, False])

    def test_each_action_leaves_a_record_and_one_that_changes_nothing_leaves_none(self):
        self.job("k", "exhausted")
        self.operate("replay", "k")
        self.assertEqual(self.operate("replay", "k").returncode, 1)
        self.assertEqual(self.operate("redrive", "nobody").returncode, 1)
        self.assertEqual(self.ledger.execute("SELECT operator, action, digest_key FROM operator_actions").fetchall(),
                         [("ann", "replay", "k")])

    def test_a_delivered_job_is_never_sent_again(self):
        self.job("k", "delivered", delivered_ago_s=1)
        for action in ("replay", "redrive"):
            self.assertEqual(self.operate(action, "k").returncode, 1)
        self.assertEqual(self.row("k")[0], "delivered")

    def test_another_word_is_no_action(self):
        done = self.operate("forget", "k")
        self.assertEqual(done.returncode, 1)
        self.assertIn("an operator can replay, redrive or purge a job", done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--halfsent", type=pathlib.Path, required=True)
    arguments, rest = parser.parse_known_args()
    AcceptanceTest.program = arguments.halfsent.resolve()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
