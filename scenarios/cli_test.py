"""What the command line promises beyond verdicts: help whose examples run, lists, and a matrix that fits its terminal.

Usage: cli_test.py --halfsent PROGRAM [CLASS...] [options of unittest]

Standard library only.
"""

import contextlib
import fcntl
import os
import pathlib
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

from acceptance_base import K1, ROOT, AcceptanceTest, plan_of


class Invariants(AcceptanceTest):
    def test_one_that_is_turned_off_finds_nothing_and_the_verdict_says_so(self):
        plan = plan_of("polling_python_naive", f"kill worker-1 at after_accept {K1}")
        found = self.halfsent("replay", plan)
        self.assert_code(found, 1)
        self.assertRegex(found.stdout, r"(?m)^judged +\d+ invariants; not .*pending_age \(rows show no due_at\)")
        off = self.halfsent("replay", plan, "--without-invariant", "duplicate")
        self.assert_code(off, 0)
        self.assertRegex(off.stdout, r"(?m)^judged +\d+ invariants; not duplicate \(turned off\)")

    def test_a_name_that_is_none_is_a_usage_error_that_lists_them(self):
        done = self.halfsent("run", "scenarios/canary.toml", "--without-invariant", "duplicates")
        self.assert_code(done, 2)
        self.assertIn("stale_holder", done.stderr)


class Help(AcceptanceTest):
    """Every command's --help has examples, and each of them runs as it stands there."""

    def commands(self):
        done = self.halfsent("--help")
        self.assert_code(done, 0)
        found = re.findall(r"^  (\w+) +\w", done.stdout.partition("\nSubcommands:\n")[2], re.M)
        self.assertIn("run", found)
        return found

    def examples(self, command):
        done = self.halfsent(command, "--help")
        self.assert_code(done, 0)
        return re.findall(r"^  (halfsent .+)$", done.stdout, re.M)

    def copy_of_what_is_shipped(self):
        root = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        for folder in ("sut", "scenarios"):
            shutil.copytree(ROOT / folder, root / folder)
        # A worker of one's own, as the README makes one in an empty folder.
        section = (ROOT / "README.md").read_text().partition("\n## Your own worker\n")[2]
        block = re.search(r"(?ms)^```sh\n(.*?)^halfsent init", section).group(1).replace("mailer.py", "worker.py")
        subprocess.run(["bash", "-e", "-c", block], cwd=root, check=True, capture_output=True)
        return root

    # Takes minutes, and is what selfcheck_test.py runs (Reference, Caught: label slow).
    ELSEWHERE = {"halfsent selfcheck"}

    def prepare(self, words, root):
        """The campaigns that an example goes on from."""
        first = ("run", "scenarios/polling_cpp.toml", "--faults", "drop", "--no-twin")
        if "--resume" in words:
            self.assert_code(self.halfsent(*first, "--max-executions", 3, "--out", "halfsent-runs", cwd=root), 6)
        if words[1] == "merge":
            for shard in range(1, len(words) - 1):
                self.assert_code(self.halfsent(*first, "--shard", f"{shard}/{len(words) - 2}", "--out",
                                               f"shard-{shard}", cwd=root), 0)

    def test_each_command_has_an_example_and_each_example_runs(self):
        for command in self.commands():
            examples = self.examples(command)
            self.assertTrue(examples, f"halfsent {command} --help has no example")
            for example in sorted(set(examples) - self.ELSEWHERE):
                with self.subTest(example):
                    words = shlex.split(example, comments=True)
                    self.assertEqual(words[:2], ["halfsent", command])
                    root = self.copy_of_what_is_shipped()
                    self.prepare(words, root)
                    done = self.halfsent(*words[1:], cwd=root, timeout=300)
                    # Held or violated: the example did what it is there for.
                    self.assertIn(done.returncode, (0, 1), f"{example}\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
                    self.assertTrue(done.stdout)


class Faults(AcceptanceTest):
    """Which faults a sweep has, and what all of them say about a right system and a wrong one."""

    every_column = ("kill", "hold", "term", "kill all", "kill, late back", "kill, never back", "kill all, one back",
                    "switch", "busy", "EIO", "ENOSPC", "read only", "failover", "step +", "step -", "hold, skew -",
                    "refuse", "drop", "reset", "stall", "status 503", "status 301",
                    "half", "late", "skew +", "skew -")

    def columns(self, done):
        """The heads of a matrix in one part; each may stand in several lines, right above its cells."""
        heads = done.stdout.partition("\n\n")[0].splitlines()
        lines = heads[:1 + next(i for i, line in enumerate(heads) if line.startswith("window "))]
        starts = [found.start() for found in re.finditer(r"(?<!\S)\S+(?: \S+)*", lines[-1])][1:]
        ends = starts[1:] + [None]
        return [" ".join(line[start:end].strip() for line in lines if line[start:end].strip())
                for start, end in zip(starts, ends)]

    def test_a_right_system_holds_under_every_fault_there_is_and_its_twin_does_not(self):
        done = self.halfsent("run", "scenarios/polling_cpp.toml", "--faults", "all", timeout=540)
        self.assert_code(done, 0)
        self.assertEqual(self.columns(done), list(self.every_column))
        self.assertIn("nothing here to strike at: kill process; kill child\n", done.stdout)
        for kind in ("not reached", "inconclusive", "stuck", "lost", "DUPLICATE", "flagged"):
            self.assertNotRegex(done.stdout, rf" \d+ {kind},")
        self.assertRegex(done.stdout, r"(?m)^from the start .* ok x2 +ok x2$")
        self.assertIn("The naive twin polling_python_naive fails under the same campaign", done.stdout)

    def test_a_slow_holder_whose_clock_is_behind_is_enough_for_a_wrong_system_to_send_twice(self):
        done = self.halfsent("run", "scenarios/polling_python_naive.toml", "--faults", "skew")
        self.assert_code(done, 1)
        self.assertEqual(self.columns(done), ["hold, skew -", "skew +", "skew -"])
        plan = plan_of("polling_python_naive", f"skew worker-1 -30s; hold worker-1 at before_send {K1} for 45s")
        self.assertRegex(done.stdout, rf"(?m)^  DUPLICATE +{re.escape(plan)}$")

    def test_a_scenario_that_lists_no_faults_is_swept_with_all(self):
        nothing = ["python3", "-c", "import time; time.sleep(3600)"]
        file = self.small_scenario("all", nothing, sweep=None, horizon='horizon = "3min"')
        done = self.halfsent("run", file)
        self.assert_code(done, 1)
        self.assertIn("nothing here to strike at: kill; hold; term;", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^from the start +stuck +stuck$")

    def test_faults_that_are_not_there_end_with_2_and_the_nearest_name(self):
        done = self.halfsent("run", "scenarios/canary.toml", "--faults", "kill,hodl")
        self.assert_code(done, 2)
        self.assertIn("'hodl' is not a fault (did you mean 'hold'? write `all`, or some of kill, hold,", done.stderr)
        plan = plan_of("canary", f"kill worker-1 at after_accept {K1}")
        self.assert_code(self.halfsent("run", "scenarios/canary.toml", "--faults", "kill", "--plan", plan), 2)


class Terminal(AcceptanceTest):
    """What is shown follows the terminal: its width, its colours, and whether it is one."""

    def on_terminal(self, width, *args, stream="stdout", **environment):
        """What the program writes to one of its streams, when that is a terminal of this width."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: theirs}
        env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CLICOLOR_FORCE")}
        with subprocess.Popen([self.program, *args, "--out", self.out], cwd=ROOT, stdin=subprocess.DEVNULL,
                              env={**env, "TERM": "xterm", **environment}, **streams) as process:
            os.close(theirs)
            shown = b""
            with contextlib.suppress(OSError):  # EIO: the other side is closed
                while chunk := os.read(ours, 65536):
                    shown += chunk
            os.close(ours)
        return shown.decode(errors="replace").replace("\r\n", "\n")

    def test_the_matrix_fits_and_is_coloured_unless_no_color_says_otherwise(self):
        sweep = ("run", "scenarios/canary.toml", "--faults", "drop,reset,half,status")
        shown = self.on_terminal(60, *sweep)
        self.assertIn("\x1b[1;31mDUPLICATE", shown)
        plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
        matrix = plain[plain.index("\nwindow "):plain.index(" windows, ")]
        self.assertGreater(matrix.count("\nwindow "), 1)
        for line in matrix.splitlines():
            self.assertLessEqual(len(line), 60, line)
        self.assertNotIn("\x1b", self.on_terminal(60, *sweep, NO_COLOR="1"))
        self.assertNotIn("\x1b", self.halfsent(*sweep).stdout)

    def test_progress_rewrites_one_line_of_a_terminal_and_nothing_rewrites_elsewhere(self):
        shown = self.on_terminal(40, "run", "scenarios/canary.toml", "--faults", "drop,reset", stream="stderr")
        drawn = [line for line in shown.split("\r\x1b[K") if line.startswith("canary: ")]
        self.assertTrue(drawn, shown)
        for line in drawn:
            self.assertLess(len(line), 40)
        self.assertNotIn("\r", self.halfsent("run", "scenarios/canary.toml", "--faults", "drop,reset").stderr)


class Windows(AcceptanceTest):
    def test_each_step_has_its_request_line_its_change_of_a_row_its_file_and_its_name(self):
        done = self.halfsent("windows", "scenarios/polling_cpp.toml")
        self.assert_code(done, 0)
        worker = r"(?m)^\d+\.\d{6} +worker-1 +0 +"
        self.assertRegex(done.stdout, rf"{worker}{K1} pending -> leased \(attempt 1, lease until 60\.\d+ s\)$")
        self.assertRegex(done.stdout, rf"{worker}request 1: POST /send \(key {K1}\) +before_accept {K1}$")
        self.assertRegex(done.stdout, rf"{worker}accept of request 1 +after_accept {K1}$")
        self.assertRegex(done.stdout, rf"{worker}answer to request 1: 200$")
        self.assertRegex(done.stdout, rf"{worker}pwrite64 ledger.db-wal \(.*\), \d+ bytes, locked +in_claim {K1}")
        self.assertRegex(done.stdout, rf"{worker}{K1} leased -> delivered$")


class Lists(AcceptanceTest):
    def test_list_shows_every_table_and_each_of_them_alone(self):
        everything = self.halfsent("list")
        self.assert_code(everything, 0)
        parts = []
        for topic in ("scenarios", "faults", "invariants", "defects", "strategies", "boundaries"):
            one = self.halfsent("list", topic)
            self.assert_code(one, 0)
            self.assertTrue(one.stdout.startswith(topic))
            parts.append(one.stdout)
        self.assertEqual(everything.stdout, "\n".join(parts))

    def test_every_scenario_of_a_folder_is_listed_and_one_that_cannot_be_read_with_its_error(self):
        shipped = self.halfsent("list", "scenarios")
        for file in (ROOT / "scenarios").glob("*.toml"):
            self.assertRegex(shipped.stdout, rf"(?m)^  {file.stem} +(held|violated)  ")
        self.small_scenario("fine", ["true"])
        self.small_scenario("broken", ["true"], horizon='horizn = "30min"')
        done = self.halfsent("list", "scenarios", self.folder)
        self.assert_code(done, 2)
        self.assertRegex(done.stdout, r"(?m)^  fine +held +")
        self.assertRegex(done.stdout, r"(?m)^  broken.toml +cannot be read +.*did you mean horizon\?")

    def test_a_folder_without_scenarios_is_an_error_where_they_were_asked_for(self):
        empty = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        done = self.halfsent("list", "scenarios", empty)
        self.assert_code(done, 2)
        self.assertIn("there is no scenario (*.toml) in", done.stderr)
        self.assert_code(self.halfsent("list", cwd=empty), 0)

    def test_what_cannot_be_listed_ends_with_2(self):
        done = self.halfsent("list", "falts")
        self.assert_code(done, 2)
        self.assertIn("faults", done.stderr)


def main(arguments):
    if arguments[:1] != ["--halfsent"] or len(arguments) < 2:
        sys.exit(__doc__)
    AcceptanceTest.program = pathlib.Path(arguments[1]).resolve()
    if not os.access(AcceptanceTest.program, os.X_OK):
        sys.exit(f"{AcceptanceTest.program} is no program")
    unittest.main(argv=[sys.argv[0], *arguments[2:]], verbosity=2)


if __name__ == "__main__":
    main(sys.argv[1:])
