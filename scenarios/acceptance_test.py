"""What the whole program promises, asked of the built program from outside.

Usage: acceptance_test.py --halfsent PROGRAM [CLASS...] [options of unittest]
       acceptance_test.py --classes CLASS...    fails unless these are all the test classes there are

Standard library only. HALFSENT_ACCEPTANCE_FULL=1 asks the same in full: ten plans per system 50 times each, and 100 ms
for a world to be gone after we were killed.
"""

import contextlib
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
import unittest

from acceptance_base import FULL, K1, K2, ROOT, AcceptanceTest, plan_of
from process_family import Family, wait_for

OTHER_VIOLATIONS = ("lost", "stuck", "phantom", "hidden", "ghost", "misflag", "wrong key", "broken")


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
    timeout = 540

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sweep = cls.halfsent("run", f"scenarios/{cls.scenario}.toml", timeout=cls.timeout)

    def count(self, pattern):
        """A number of the totals under the matrix; 0 where it is not told."""
        found = re.search(r"\b(\d+) " + pattern, self.sweep.stdout)
        return int(found.group(1)) if found else 0

    def check_that_all_was_run(self):
        fired = re.search(r"(\d+) of (\d+) faults fired", self.sweep.stdout)
        self.assertIsNotNone(fired, self.sweep.stdout[-2000:] + self.sweep.stderr[-1000:])
        self.assertEqual(fired.group(1), fired.group(2), self.sweep.stdout[-2000:])
        self.assertGreater(int(fired.group(1)), 20)


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
            if file.name[0].isdigit() and json.loads(file.read_text().splitlines()[0])["plan"] == plan:
                return file
        self.fail(f"the sweep left no history of {plan}")

    def test_it_fails_and_every_fault_fired(self):
        self.assert_code(self.sweep, 1)
        self.check_that_all_was_run()
        for verdict in ("inconclusive", "diverged", "error", "not reached", *OTHER_VIOLATIONS):
            self.assertEqual(self.count(verdict + r"\b"), 0, verdict)

    def test_the_four_duplicates_are_found_and_each_replays_to_the_byte(self):
        for name, fault in self.faults.items():
            plan = plan_of(self.scenario, fault)
            with self.subTest(name):
                self.assertRegex(self.sweep.stdout, rf"(?m)^  DUPLICATE +{re.escape(plan)}$")
                out = self.folder / name.replace(" ", "-")
                digest = self.replay(plan, 3, 1)
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
        accepted = [event for event in events
                    if event["kind"] == "accepted" and requests[event["request"]]["job"] == K1]
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
        for verdict in ("DUPLICATE", "inconclusive", "diverged", "error", "not reached", *OTHER_VIOLATIONS):
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
    faults = [
        f"kill worker-1 at after_accept {K1}",
        f"hold worker-1 at before_mark {K1} for 61s",
        f"drop downstream at after_accept {K2}",
        f"kill worker-1 at in_claim {K1} #2",
        f"half downstream at after_accept {K2}",
        f"hold worker-1 at before_accept {K1} for 61s",
        f"status downstream 503 at before_accept {K1}",
        f"reset downstream at after_accept {K1}",
        f"term worker-1 at after_claim {K1}",
        f"kill worker-1 at after_response {K1}",
    ]
    expected = {}  # exit codes by fault; 0 where there is none
    repeats = 50 if FULL else 10

    def plans(self):
        for fault in self.faults if FULL else self.faults[:3]:
            yield plan_of(self.scenario, fault), self.expected.get(fault, 0)

    def fresh_copy(self):
        """The program, the scenario and the systems, each in a folder that has not been there before."""
        root = pathlib.Path(tempfile.mkdtemp(dir=self.folder, prefix="copy-"))
        shutil.copytree(ROOT / "sut", root / "sut")
        shutil.copytree(ROOT / "scenarios", root / "scenarios")
        shutil.copy(self.program, root / "halfsent")
        shutil.copy(self.program.with_name("polling_cpp_worker"), root / "polling_cpp_worker")
        return root

    def test_a_plan_has_one_history(self):
        foreign = {"PATH": "/nowhere:/usr/bin:/bin", "HOME": str(self.folder), "TZ": "Pacific/Kiritimati", "LANG": "C",
                   "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "7", "TMPDIR": str(self.folder)}
        copy = self.fresh_copy()
        for plan, code in self.plans():
            with self.subTest(plan):
                here = self.replay(plan, self.repeats, code)
                self.assertEqual(here, self.replay(plan, 3, code, env=foreign), "another environment, another history")
                self.assertEqual(here, self.replay(plan, 3, code, cwd=copy, program=copy / "halfsent"),
                                 "from another folder, another history")

    def test_a_plan_has_one_history_while_both_cores_are_busy(self):
        plans = [(plan, code, self.replay(plan, 2, code)) for plan, code in self.plans()]
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
    # What leaves a job in doubt is sent twice.
    expected = {fault: 1 for fault in Determinism.faults if "_claim" not in fault
                and not fault.startswith("status")}


class PythonIsDeterministic(Determinism, AcceptanceTest):
    scenario = "polling_python"


class CppIsDeterministic(Determinism, AcceptanceTest):
    scenario = "polling_cpp"


# --- what is wrong with the input, each with its exit code and its mend


class Usage(AcceptanceTest):
    naive = "scenarios/polling_python_naive.toml"

    def refused(self, code, *args, says):
        done = self.halfsent(*args)
        self.assert_code(done, code)
        for text in says:
            self.assertIn(text, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_a_boundary_that_is_not_reached_ends_with_4_and_lists_those_that_were(self):
        plan = plan_of("polling_python_naive", f"kill worker-1 at after_accept {K1} #9")
        done = self.halfsent("run", self.naive, "--plan", plan)
        self.assert_code(done, 4)
        self.assertIn(f"NOT REACHED   kill worker-1 at after_accept {K1} #9\n", done.stdout)
        reached = done.stdout.partition("The boundaries that were reached:\n")[2].splitlines()
        for boundary in ("after_claim", "before_send", "after_accept", "before_mark", "after_mark"):
            self.assertIn(f"  worker-1 {boundary} {K1}", reached)
        self.assertNotIn(f"  worker-1 after_accept {K1} #2", reached)

    def test_an_unknown_boundary_ends_with_2_and_the_nearest_name(self):
        plan = "scenario polling_python_naive; kill worker-1 at after_acept"
        self.refused(2, "run", self.naive, "--plan", plan, says=["1:49: 'after_acept'", "did you mean 'after_accept'?"])
        self.refused(2, "replay", plan, says=["1:49: 'after_acept'", "did you mean 'after_accept'?"])

    def test_an_unknown_actor_ends_with_2_and_the_nearest_name(self):
        plan = "scenario polling_python_naive; kill wrker-1 at after_accept"
        self.refused(2, "run", self.naive, "--plan", plan, says=["no actor wrker-1", "did you mean worker-1?"])
        self.refused(2, "replay", plan, says=["no actor wrker-1", "did you mean worker-1?"])

    def test_a_broken_scenario_ends_with_2_and_its_file_line_and_column(self):
        broken = self.small_scenario("broken", ["true"], downstream="[downstream]\nport = = 8080")
        line = broken.read_text().splitlines().index("port = = 8080") + 1
        self.refused(2, "run", broken, says=[f"{broken}:{line}:8: "])
        typo = self.small_scenario("typo", ["true"], horizon='horizn = "30min"')
        line = typo.read_text().splitlines().index('horizn = "30min"') + 1
        self.refused(2, "run", typo, says=[f"{typo}:{line}:1: ", "did you mean horizon?"])

    def test_a_scenario_that_is_not_there_ends_with_2(self):
        self.refused(2, "run", self.folder / "nowhere.toml", says=["nowhere.toml", "No such file or directory"])
        plan = "scenario nowhere; kill worker-1 at after_accept"
        self.refused(2, "replay", plan, says=["nowhere.toml", "--scenario"])

    def test_a_scenario_without_a_command_ends_with_2(self):
        file = self.small_scenario("no_command", [], command=None)
        line = file.read_text().splitlines().index("[[actor]]") + 1
        self.refused(2, "run", file, says=[f"{file}:{line}:", "needs the key command"])

    def test_a_program_that_is_not_there_ends_with_2_and_its_name(self):
        file = self.small_scenario("no_program", ["no-such-program"])
        self.refused(2, "run", file, says=["worker-1", '"no-such-program"'])

    def test_a_folder_that_cannot_be_written_ends_with_3_and_names_the_mend(self):
        file = self.folder / "plain file"
        file.write_text("")
        self.refused(3, "run", self.naive, "--out", file / "out", says=[f"cannot write {file}/out", "--out"])

    def test_a_worker_that_ends_unasked_with_its_job_open_is_inconclusive_and_named(self):
        done = self.halfsent("run", self.small_scenario("exits", ["sh", "-c", "exit 3"]))
        self.assertIn("INCONCLUSIVE  worker-1 exited with code 3 at ", done.stdout)
        self.assert_code(done, 7)  # and no finding: nobody knows what the worker would have done

    def test_a_worker_that_ends_unasked_with_its_job_done_is_inconclusive_and_named(self):
        code = ("import sqlite3, sys, urllib.request as r\n"
                "r.urlopen(r.Request('http://127.0.0.1:8080/', b'{}', {'Idempotency-Key': 'a'})).read()\n"
                "d = sqlite3.connect('ledger.db', isolation_level=None)\n"
                "d.execute(\"UPDATE jobs SET state = 'delivered'\")\nd.close()\nsys.exit(3)\n")
        file = self.small_scenario("exits_late", ["python3", "-c", code])
        for args in (("run", file), ("run", file, "--plan", "scenario exits_late")):
            done = self.halfsent(*args)
            self.assert_code(done, 7)
            self.assertIn("INCONCLUSIVE  worker-1 exited with code 3 at ", done.stdout)


# --- our own death


class RunningTest(AcceptanceTest):
    gone_within = 0.1 if FULL else 1.0  # seconds; the machine may be busy with other tests

    def setUp(self):
        self.out = self.folder / self._testMethodName

    def start(self, *args):
        self.log = tempfile.TemporaryFile(dir=self.folder, mode="w+")
        self.errors = tempfile.TemporaryFile(dir=self.folder, mode="w+")
        command = [self.program, "run", *map(str, args), "--out", self.out, "--jobs", "2"]
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.errors)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        process.kill()
        process.wait()
        self.log.close()
        self.errors.close()

    def family(self, process, word, count):
        """The family once `count` processes with this word in their commands are there, over two worlds."""

        def look():
            self.assertIsNone(process.poll(), "the run ended before its workers were seen")
            family = Family(process.pid)
            if family.with_word(word) >= count and len(family.worlds) == 2 and len(family.scratch) == 2:
                return family
            return None

        family = wait_for(look)
        self.assertIsNotNone(family, f"no {count} processes of two worlds have {word} in their commands")
        return family

    def assert_gone(self, family, what):
        seconds, alive = family.seconds_until_gone()
        print(f"{what}: everybody gone after {seconds * 1000:.1f} ms", file=sys.stderr)
        self.assertEqual(alive, [])
        self.assertLess(seconds, self.gone_within)


class Killed(RunningTest):
    def check(self, scenario, word, count, whom):
        process = self.start(scenario)
        family = self.family(process, word, count)
        self.assertGreaterEqual(len(family.ours), 3)  # the campaign and its two jobs
        for pid in whom(process, family):
            with contextlib.suppress(ProcessLookupError):  # a job may have followed its campaign already
                os.kill(pid, signal.SIGKILL)
        process.wait()
        self.assert_gone(family, self.id().rpartition(".")[2])
        self.assert_code(self.halfsent("run", self.small_scenario("next", ["true"]), "--plan", "scenario next"), 1)
        # This start took them away, or that of another test at the same time, which then may not be through.
        self.assertTrue(wait_for(lambda: not any(map(os.path.exists, family.scratch)), 5), family.scratch)

    grandchild = "99999999"  # told by how long it would sleep

    def endless(self):
        """A worker that never ends, and a grandchild in a session of its own whom nobody waits for."""
        script = f"(setsid sleep {self.grandchild} &); while :; do sleep 1; done"
        return self.small_scenario("endless", ["sh", "-c", script], horizon='horizon = "90000h"')

    def test_when_the_campaign_is_killed_its_worlds_end_with_setsid_grandchildren(self):
        self.check(self.endless(), self.grandchild, 2, lambda process, _: [process.pid])

    def test_when_all_of_halfsent_is_killed_its_worlds_end_with_setsid_grandchildren(self):
        self.check(self.endless(), self.grandchild, 2, lambda _, family: family.ours)

    def test_when_a_sweep_is_killed_no_worker_outlives_it(self):
        self.check("scenarios/polling_python_naive.toml", "python3", 2, lambda process, _: [process.pid])


class Interrupted(RunningTest):
    def check(self, number):
        process = self.start("scenarios/polling_python_naive.toml", "--keep-passes")
        cells = "polling_python_naive/2*/[0-9]*.history.jsonl"
        clean = "polling_python_naive/2*/clean.history.jsonl"
        # What cells there are is known when the first job has run the scenario without faults; the others may be ahead.
        ready = lambda: len(list(self.out.glob(cells))) >= 10 and any(self.out.glob(clean))
        enough = wait_for(lambda: ready() or process.poll() is not None)
        self.assertIsNone(process.poll(), "the sweep ended before it was interrupted")
        self.assertTrue(enough, "no ten cells were done in time")
        family = self.family(process, "python3", 1)
        process.send_signal(number)
        self.assertEqual(process.wait(timeout=30), 128 + number)
        self.assert_gone(family, signal.Signals(number).name)
        self.assertEqual([folder for folder in family.scratch if os.path.exists(folder)], [])
        self.errors.seek(0)
        self.log.seek(0)
        told = re.search(r"interrupted; (\d+) of (\d+) first plans are done, their results are in ([^;]+);",
                         self.errors.read())
        self.assertIsNotNone(told)
        done, total, folder = int(told.group(1)), int(told.group(2)), pathlib.Path(told.group(3))
        self.assertTrue(0 < done < total, told.group(0))
        self.assertTrue((folder / "clean.history.jsonl").is_file())
        self.assertRegex(self.log.read(), rf"(?m)\b{done} of {done} faults? fired")

    def test_sigint_ends_a_sweep_with_130_and_what_is_done(self):
        self.check(signal.SIGINT)

    def test_sigterm_ends_a_sweep_with_143_and_what_is_done(self):
        self.check(signal.SIGTERM)


class Together(AcceptanceTest):
    def test_executions_at_once_do_not_disturb_each_other(self):
        plans = [(plan_of(name, f"kill worker-1 at after_accept {K1}"), code)
                 for name, code in (("polling_python_naive", 1), ("polling_python", 0), ("polling_cpp", 0))]
        alone = [self.replay(plan, 2, code) for plan, code in plans]
        command = [self.program, "replay", "--out", self.out, "--repeat", "5"]
        twice = [(plan, code, digest) for (plan, code), digest in zip(plans, alone) for _ in range(2)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        at_once = [subprocess.Popen([*command, plan], cwd=ROOT, **pipes) for plan, _, _ in twice]
        for process in at_once:
            self.addCleanup(process.kill)
        for process, (_, code, digest) in zip(at_once, twice):
            output, _ = process.communicate(timeout=120)
            self.assertEqual(process.returncode, code, output)
            self.assertIn(f"5 executions, 1 history\n  {digest} 5 times\n", output)


def test_classes():
    return sorted(name for name, value in globals().items()
                  if isinstance(value, type) and issubclass(value, AcceptanceTest)
                  and any(member.startswith("test_") for member in dir(value)))


def main(arguments):
    if arguments[:1] == ["--classes"]:
        missing, unknown = set(test_classes()) - set(arguments[1:]), set(arguments[1:]) - set(test_classes())
        print(f"not registered: {sorted(missing)}; registered, but not there: {sorted(unknown)}")
        return 1 if missing or unknown else 0
    if arguments[:1] != ["--halfsent"] or len(arguments) < 2:
        sys.exit(__doc__)
    AcceptanceTest.program = pathlib.Path(arguments[1]).resolve()
    if not os.access(AcceptanceTest.program, os.X_OK):
        sys.exit(f"{AcceptanceTest.program} is no program")
    unittest.main(argv=[sys.argv[0], *arguments[2:]], verbosity=2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
