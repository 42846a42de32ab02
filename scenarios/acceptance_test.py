"""What the whole program promises, asked of the built program from outside.

Usage: acceptance_test.py --halfsent PROGRAM [CLASS...] [options of unittest]
       acceptance_test.py --classes CLASS...    fails unless these are all the test classes there are

Standard library only. HALFSENT_ACCEPTANCE_FULL=1 asks the same in full: ten plans per system 50 times each, and 100 ms for
a world to be gone after we were killed.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FULL = os.environ.get("HALFSENT_ACCEPTANCE_FULL") == "1"
HALFSENT = None  # set by main()
K1, K2 = "4187:2026-W33", "4188:2026-W33"


class AcceptanceTest(unittest.TestCase):
    """Each class has a folder of its own; `self.out` is where histories go."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="halfsent-acceptance-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.out = cls.folder / "out"

    @classmethod
    def halfsent(cls, *args, timeout=120, program=None, **options):
        """Runs to the end. With a folder for histories unless the arguments name one or need none."""
        command = [str(program or HALFSENT), *map(str, args)]
        if args and args[0] in ("run", "replay") and "--out" not in args:
            command += ["--out", str(cls.out)]
        options.setdefault("cwd", ROOT)
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout,
                              stdin=subprocess.DEVNULL, **options)

    def assert_code(self, done, code):
        if done.returncode != code:
            self.fail(f"exit code {done.returncode}, not {code}: {shlex.join(done.args)}\n--- stdout, its end\n"
                      f"{done.stdout[-3000:]}\n--- stderr, its end\n{done.stderr[-1500:]}")

    def replay(self, plan, repeat, code, **options):
        """Replays, demands the exit code and one history, and gives its digest."""
        done = self.halfsent("replay", plan, "--repeat", repeat, timeout=60 + 10 * repeat, **options)
        self.assert_code(done, code)
        counts = re.findall(r"^  ([0-9a-f]{16}) (\d+) times$", done.stdout, re.M)
        self.assertEqual([times for _, times in counts], [str(repeat)], f"{plan} has more than one history:\n{done.stdout}")
        self.assertIn(f"{repeat} executions, 1 history\n", done.stdout)
        return counts[0][0]

    def small_scenario(self, name, command, **replacements):
        """A scenario file whose one worker is `command`. A replacement of None takes the whole line away."""
        lines = {
            "scenario": f'[scenario]\nname = "{name}"',
            "world": "[world]",
            "horizon": 'horizon = "30min"',
            "ledger": '[ledger]\nkind = "sqlite"\npath = "ledger.db"',
            "setup": "setup_sql = \"CREATE TABLE jobs (key TEXT PRIMARY KEY, state TEXT);"
                     " INSERT INTO jobs VALUES ('a', 'pending');\"",
            "rows": 'rows = "SELECT key, state FROM jobs"',
            "states": 'states = { pending = ["pending"], leased = ["leased"], delivered = ["delivered"] }',
            "downstream": '[downstream]\nport = 8080\nkey = "header Idempotency-Key"',
            "actor": '[[actor]]\nname = "worker"',
            "command": "command = " + json.dumps(command),
            "sweep": '[sweep]\nfaults = ["kill"]',
        }
        lines.update(replacements)
        file = self.folder / f"{name}.toml"
        file.write_text("\n".join(line for line in lines.values() if line is not None) + "\n")
        return file


class Doctor(AcceptanceTest):
    def test_doctor_finds_everything_that_is_needed(self):
        done = self.halfsent("doctor")
        self.assert_code(done, 0)
        self.assertNotIn("MISSING", done.stdout)
        for check in ("architecture", "seccomp_notify", "pidfd_getfd", "ptrace", "pid_namespace", "world"):
            self.assertRegex(done.stdout, rf"(?m)^ok +{check} ")


# --- sweeps: one for each scenario, and many claims on it


class SweepTest(AcceptanceTest):
    scenario = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sweep = cls.halfsent("run", f"scenarios/{cls.scenario}.toml", timeout=540)

    def count(self, pattern):
        """A number of the totals under the matrix; 0 where it is not told."""
        found = re.search(r"\b(\d+) " + pattern, self.sweep.stdout)
        return int(found.group(1)) if found else 0

    def check_that_all_was_run(self):
        fired = re.search(r"(\d+) of (\d+) faults fired", self.sweep.stdout)
        self.assertIsNotNone(fired, self.sweep.stdout[-2000:] + self.sweep.stderr[-1000:])
        self.assertEqual(fired.group(1), fired.group(2), self.sweep.stdout[-2000:])
        self.assertGreater(int(fired.group(1)), 20)


def plan_of(scenario, fault):
    return f"scenario {scenario}; seed 1; {fault}"


class NaiveSweep(SweepTest):
    scenario = "polling_python_naive"
    faults = {
        "kill after accept": f"kill worker-1 at after_accept {K1}",
        "kill before mark": f"kill worker-1 at before_mark {K1}",
        "dropped response": f"drop downstream at after_accept {K1}",
        "stale holder": f"hold worker-1 at before_mark {K1} for 61s",
    }

    def stored(self, plan):
        """The file of the sweep that holds this plan's history."""
        for file in sorted(self.out.glob(f"{self.scenario}/2*/*.history.jsonl")):
            if file.name[0].isdigit() and json.loads(file.open().readline())["plan"] == plan:
                return file
        self.fail(f"the sweep left no history of {plan}")

    def test_it_fails_and_every_fault_fired(self):
        self.assert_code(self.sweep, 1)
        self.check_that_all_was_run()
        for verdict in ("inconclusive", "diverged", "error", "not reached", "lost", "stuck", "phantom"):
            self.assertEqual(self.count(verdict + r"\b"), 0, verdict)

    def test_the_four_duplicates_are_found_and_each_replays_to_the_byte(self):
        for name, fault in self.faults.items():
            plan = plan_of(self.scenario, fault)
            with self.subTest(name):
                self.assertRegex(self.sweep.stdout, rf"(?m)^  DUPLICATE +{re.escape(plan)}$")
                out = self.folder / name.replace(" ", "-")
                digest = self.replay(plan + "", 3, 1, env={**os.environ, "HALFSENT_TEST": name})
                again = self.halfsent("replay", plan, "--out", out)
                self.assert_code(again, 1)
                replayed = out / self.scenario / "latest" / "run.history.jsonl"
                self.assertEqual(replayed.read_bytes(), self.stored(plan).read_bytes())
                same = list(self.out.glob(f"{self.scenario}/2*/{digest}.history.jsonl"))
                self.assertTrue(same)
                self.assertEqual(same[0].read_bytes(), replayed.read_bytes())

    def test_the_held_worker_is_a_stale_holder_and_not_locked_out(self):
        file = self.stored(plan_of(self.scenario, self.faults["stale holder"]))
        events = [json.loads(line) for line in file.read_text().splitlines()[1:]]
        requests = {event["request"]: event for event in events if event["kind"] == "requested"}
        accepted = [event for event in events if event["kind"] == "accepted" and requests[event["request"]]["job"] == K1]
        self.assertEqual([event["actor"] for event in accepted], ["worker-1", "worker-2"])
        self.assertFalse(any(event["deduplicated"] for event in accepted))
        lease = next(event["lease_until"] for event in events if event["kind"] == "ledger_changed"
                     and event["key"] == K1 and event["actor"] == "worker-1" and event["to"] == "leased")
        released = [event for event in events if event["kind"] == "released"]
        self.assertEqual([event["actor"] for event in released], ["worker-1"])
        self.assertGreater(released[0]["t"], lease)
        self.assertLess(accepted[0]["t"], lease)
        self.assertLess(accepted[1]["t"], released[0]["t"])
        self.assertNotIn("locked", file.with_name(file.name.replace(".history.jsonl", ".output.txt")).read_text())

    def test_the_first_counterexample_is_told_and_its_replay_line_is_last_on_stderr(self):
        self.assertIn("First counterexample of polling_python_naive", self.sweep.stdout)
        self.assertRegex(self.sweep.stdout, r"accepted twice: from worker-\d")
        words = shlex.split(self.sweep.stderr.splitlines()[-1])
        self.assertEqual(words[:2], ["halfsent", "replay"])
        self.assertEqual(len(words), 3)
        self.assert_code(self.halfsent(*words[1:]), 1)


class HoldingSweep:
    def test_it_holds_every_fault_fired_and_the_naive_twin_fails(self):
        self.assert_code(self.sweep, 0)
        self.check_that_all_was_run()
        for verdict in ("DUPLICATE", "inconclusive", "diverged", "error", "not reached", "lost", "stuck", "phantom"):
            self.assertEqual(self.count(verdict + r"\b"), 0, verdict)
        self.assertRegex(self.sweep.stdout, r"(?m)^The naive twin polling_python_naive fails under the same campaign")


class HonouredKeySweep(HoldingSweep):
    def test_what_was_sent_again_was_recognised_and_nothing_is_flagged(self):
        self.assertGreater(self.count(r"repeats? recognised"), 0)
        self.assertEqual(self.count("flagged"), 0)


class IgnoredKeySweep(HoldingSweep):
    def test_doubt_ends_flagged_and_nothing_is_sent_again(self):
        self.assertGreater(self.count("flagged,"), 0)
        self.assertEqual(self.count(r"repeats? recognised"), 0)
        self.assertRegex(self.sweep.stdout, rf"(?m)^before_mark {K1} +flagged +flagged ")


class PythonHolds(HonouredKeySweep, SweepTest):
    scenario = "polling_python"


class CppHolds(HonouredKeySweep, SweepTest):
    scenario = "polling_cpp"


class PythonFlags(IgnoredKeySweep, SweepTest):
    scenario = "polling_python_flag"


class CppFlags(IgnoredKeySweep, SweepTest):
    scenario = "polling_cpp_flag"


class Canary(SweepTest):
    scenario = "canary"

    def test_what_must_fail_fails_even_without_a_fault(self):
        self.assert_code(self.sweep, 1)
        self.assertTrue(self.sweep.stdout.startswith("Without any fault:\n"), self.sweep.stdout[:300])
        self.assertRegex(self.sweep.stdout, r"(?m)^DUPLICATE +4187:2026-W33$")


# --- the same plan is the same history, whatever goes on around


class Determinism:
    """Ten faults that every polling system passes; the first three are asked always, all of them in full."""
    faults = [f"kill worker-1 at after_accept {K1}", f"hold worker-1 at before_mark {K1} for 61s",
              f"drop downstream at after_accept {K2}", f"kill worker-1 at in_claim {K1} #2", f"kill all at before_send {K2}",
              f"hold worker-1 at before_accept {K1} for 61s", f"kill all at in_mark {K1} #2",
              f"reset downstream at after_accept {K1}", f"term worker-1 at after_claim {K1}", f"kill worker-1 at after_response {K1}"]
    expected = {}  # exit codes by fault; 0 where there is none
    repeats = 50 if FULL else 10

    def plans(self):
        for fault in self.faults if FULL else self.faults[:3]:
            yield plan_of(self.scenario, fault), self.expected.get(fault, 0)

    def scenario_file(self, root):
        return root / "scenarios" / f"{self.scenario}.toml"

    def fresh_copy(self):
        """The program, the scenario and the systems, each in a folder that has not been there before."""
        root = pathlib.Path(tempfile.mkdtemp(dir=self.folder, prefix="copy-"))
        shutil.copytree(ROOT / "sut", root / "sut")
        shutil.copytree(ROOT / "scenarios", root / "scenarios")
        shutil.copy(HALFSENT, root / "halfsent")
        shutil.copy(HALFSENT.with_name("polling_cpp_worker"), root / "polling_cpp_worker")
        return root

    def test_a_plan_has_one_history(self):
        foreign = {"PATH": "/nowhere:/usr/bin:/bin", "HOME": str(self.folder), "TZ": "Pacific/Kiritimati", "LANG": "C",
                   "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "7", "TMPDIR": str(self.folder)}
        copy = self.fresh_copy()
        for plan, code in self.plans():
            with self.subTest(plan):
                here = self.replay(plan, self.repeats, code)
                self.assertEqual(here, self.replay(plan, 3, code, env=foreign), "another environment, another history")
                self.assertEqual(here, self.replay(f"{plan}", 3, code, cwd=copy, program=copy / "halfsent"),
                                 "from another folder, another history")

    def test_a_plan_has_one_history_while_both_cores_are_busy(self):
        plans = [(plan, code, self.replay(plan, 1 if FULL else 2, code) if FULL is False else None) for plan, code in self.plans()]
        loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 2)]
        try:
            for plan, code, quiet in plans:
                with self.subTest(plan):
                    self.assertEqual(quiet, self.replay(plan, self.repeats if FULL else 3, code))
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()


class NaiveIsDeterministic(Determinism, AcceptanceTest):
    scenario = "polling_python_naive"


class PythonIsDeterministic(Determinism, AcceptanceTest):
    scenario = "polling_python"


class CppIsDeterministic(Determinism, AcceptanceTest):
    scenario = "polling_cpp"


