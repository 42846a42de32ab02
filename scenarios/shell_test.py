"""What the whole program promises of a worker whose every step is a process of its own: sut/polling_shell.

Usage: shell_test.py --halfsent PROGRAM [CLASS...] [options of unittest]

Standard library only. HALFSENT_ACCEPTANCE_FULL=1 sweeps the flagging worker too, and asks each plan 50 times.
"""

import os
import pathlib
import re
import sys
import unittest

import acceptance_test as acceptance
from acceptance_base import FULL, K1, K2, AcceptanceTest, plan_of


class ShellHolds(acceptance.HonouredKeySweep, acceptance.SweepTest):
    scenario = "polling_shell"
    timeout = 1500


class ShellWindows(AcceptanceTest):
    """The windows of a clean execution as rows (process, names), by actor."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        done = cls.halfsent("windows", "scenarios/polling_shell.toml")
        found = re.findall(r"(?m)^\d+\.\d+ +(worker-\d) +(\d+) +\S.*?  +(\S.*)$", done.stdout)
        cls.code, cls.rows = done.returncode, {}
        for actor, process, names in found:
            cls.rows.setdefault(actor, []).append((int(process), names.split(", ")))

    def processes_at(self, actor, boundary):
        """Who of the actor's tree is at the boundary, in order; a first occurrence only unless it is named with #n."""
        return [process for process, names in self.rows[actor] if boundary in names]

    def test_every_boundary_between_claim_and_mark_is_there_once_for_each_job(self):
        self.assertEqual(self.code, 0)
        names = ("before_claim", "in_claim", "after_claim", "before_send", "after_send", "before_accept",
                 "after_accept", "after_response", "before_mark", "in_mark", "after_mark")
        for actor, key in (("worker-1", K1), ("worker-2", K2)):
            order = []
            for name in names:
                with self.subTest(f"{actor} {name}"):
                    self.assertEqual(len(self.processes_at(actor, f"{name} {key}")), 1)
                    order.append(next(i for i, row in enumerate(self.rows[actor]) if f"{name} {key}" in row[1]))
            self.assertEqual(order, sorted(order), "not in the order of a job's life")

    def test_claim_send_and_mark_are_done_by_different_children(self):
        claim, send, mark = (self.processes_at("worker-1", f"{name} {K1}")[0]
                             for name in ("in_claim", "before_send", "in_mark"))
        self.assertTrue(0 < claim < send < mark, (claim, send, mark))
        self.assertEqual(self.processes_at("worker-1", f"in_mark {K1} #2"), [mark])


class ShellOrphans(AcceptanceTest):
    def story(self, fault, code=0):
        done = self.halfsent("run", "scenarios/polling_shell.toml", "--plan", plan_of("polling_shell", fault))
        self.assert_code(done, code)
        self.assertIn("1 of 1 fault fired", done.stdout)
        return done.stdout

    def test_curl_goes_on_to_send_when_the_shell_is_killed_and_the_story_says_so(self):
        story = self.story(f"kill worker-1 root at before_send {K1}")
        told = re.search(rf"(?m)FAULT +kill worker-1 root at before_send {K1}\n.* worker-1 +is killed\n"
                         rf"(?:.*\n)*?.* worker-1/(\d+) +now an orphan, sends request (\d+) with key {K1}\n"
                         rf".*downstream +accepts request \2 from worker-1\n", story)
        self.assertIsNotNone(told, story)
        self.assertRegex(story, rf"recognises request \d+ from worker-\d.*: no new effect")
        self.assertEqual(story.count("now an orphan"), 1, story)

    def test_sqlite3_goes_on_to_mark_when_the_shell_is_killed_and_the_story_says_so(self):
        story = self.story(f"kill worker-1 root at in_mark {K1} #3")
        self.assertRegex(story, rf"(?m) worker-1 +is killed\n(?:.*\n)*?"
                                rf".* worker-1/\d+ +now an orphan, marks {K1} delivered$")

    def test_a_shell_that_is_terminated_leaves_orphans_too(self):
        self.assertRegex(self.story(f"term worker-1 at before_send {K1}"),
                         rf"(?m) worker-1 +is killed\n(?:.*\n)*?.* worker-1/\d+ +now an orphan, sends request")

    def test_a_tree_that_is_killed_leaves_none(self):
        self.assertNotIn("orphan", self.story(f"kill worker-1 at before_send {K1}"))

    def test_a_killed_helper_is_survived_by_the_shell(self):
        for boundary in ("in_claim", "after_claim", "before_send", "after_accept", "in_mark"):
            fault = f"kill worker-1 child at {boundary} {K1}"
            with self.subTest(fault):
                self.assertNotIn("starts again", self.story(fault))


class ShellFlags(AcceptanceTest):
    """The same before a downstream that ignores keys."""

    def check(self, fault, summary):
        done = self.halfsent("run", "scenarios/polling_shell_flag.toml", "--plan", plan_of("polling_shell_flag", fault))
        self.assert_code(done, 0)
        self.assertIn(f"held: {summary}", done.stdout)

    def test_doubt_ends_flagged(self):
        for fault in (f"kill worker-1 child at before_send {K1}", f"kill worker-1 root at before_send {K1}",
                      f"kill worker-1 at after_accept {K1}", f"half downstream at after_accept {K1}",
                      f"stall downstream at before_accept {K1} for 70s"):
            with self.subTest(fault):
                self.check(fault, "1 job once, 1 flagged")

    def test_a_definite_answer_is_no_doubt(self):
        for fault in (f"status downstream 400 at before_accept {K1}", "refuse worker-1 for 20s"):
            with self.subTest(fault):
                self.check(fault, "2 jobs once, 0 flagged")


@unittest.skipUnless(FULL, "a sweep of the flagging worker takes as long as the other one; HALFSENT_ACCEPTANCE_FULL=1")
class ShellFlagsSweep(acceptance.IgnoredKeySweep, acceptance.SweepTest):
    scenario = "polling_shell_flag"
    timeout = 1500


class ShellIsDeterministic(acceptance.Determinism, AcceptanceTest):
    scenario = "polling_shell"
    faults = [f"kill worker-1 root at before_send {K1}", *acceptance.Determinism.faults]
    repeats = 50 if FULL else 5


def main(arguments):
    if arguments[:1] != ["--halfsent"] or len(arguments) < 2:
        sys.exit(__doc__)
    AcceptanceTest.program = pathlib.Path(arguments[1]).resolve()
    if not os.access(AcceptanceTest.program, os.X_OK):
        sys.exit(f"{AcceptanceTest.program} is no program")
    unittest.main(argv=[sys.argv[0], *arguments[2:]], verbosity=2)


if __name__ == "__main__":
    main(sys.argv[1:])
