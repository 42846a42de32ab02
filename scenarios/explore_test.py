"""Campaigns: complete within their bounds and told so, the same in parallel, in shards and when cut off and resumed.

Usage: explore_test.py --halfsent PROGRAM [TEST...]
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from acceptance_base import ROOT, AcceptanceTest


def statement(done, strategy="exhaustive"):
    return done.stdout[done.stdout.index(f"{strategy}  "):].split("\n\n")[0]


def folder_of(done):
    """Where a campaign says that its histories are."""
    return pathlib.Path(re.search(r"histories: (.*)", done.stderr)[1])


def without_folder(text):
    """But for the one thing that tells when a campaign was begun."""
    return re.sub(r"/\d{8}T\d{6}Z-\d+(-\d+)?/", "/RUN/", text)


class ExploreTest(AcceptanceTest):
    def explore(self, scenario, *args, code=0, strategy="exhaustive"):
        file = scenario if isinstance(scenario, pathlib.Path) else f"scenarios/{scenario}.toml"
        done = self.halfsent("run", file, "--strategy", strategy, *args, timeout=600)
        self.assert_code(done, code)
        return done


class Exhaustive(ExploreTest):
    def test_two_faults_of_the_downstream_hold_and_the_statement_says_what_was_run(self):
        done = self.explore("polling_cpp", "--faults", "2", "--faults", "drop,status", "--no-twin")
        counts = re.search(r"run +1 with no fault, (\d+) with 1 fault, (\d+) with 2 faults; \d+ executions",
                           statement(done))
        self.assertTrue(counts, done.stdout)
        self.assertGreater(int(counts[2]), int(counts[1]))
        self.assertIn("left out    what is below 0 plans that did not hold", statement(done))
        self.assertIn("not reached none", statement(done))
        self.assertIn("not run     none", statement(done))

    def test_a_fault_comes_after_another_although_its_boundary_has_a_namesake_before(self):
        done = self.halfsent("replay", "scenario polling_cpp; kill worker-1 at in_claim 4187:2026-W33 #4; "
                                       "then kill worker-1 at before_claim 4187:2026-W33")
        self.assert_code(done, 0)
        self.assertIn("2 of 2 faults fired", done.stdout)

    def test_what_cannot_be_is_told(self):
        for args, message in [
                (("--faults", "2"), "sweep strikes once in each execution"),
                (("--strategy", "exhaustive", "--faults", "12"), "12 faults in one plan are out of reach"),
                (("--strategy", "guess"), "--strategy: guess not in"),
                (("--switches", "1"), "say --strategy exhaustive"),
        ]:
            with self.subTest(message):
                done = self.halfsent("run", "scenarios/polling_cpp.toml", *args)
                self.assert_code(done, 2)
                self.assertIn(message, done.stderr)


class Together(ExploreTest):
    """What one process finds is what several find, and what machines that know nothing of each other find."""

    def shards(self, scenario, arguments, count, code):
        folders = []
        for shard in range(1, count + 1):
            done = self.halfsent("run", scenario, "--strategy", "exhaustive", *arguments, "--no-twin", "--shard",
                                 f"{shard}/{count}", timeout=600)
            self.assertIn(done.returncode, (0, code), done.stdout + done.stderr)
            self.assertIn(f"  shard       {shard} of {count} (--shard): ", done.stdout)
            folders.append(folder_of(done))
        return folders

    def check(self, scenario, arguments, code):
        self.maxDiff = None
        one, two = (self.explore(scenario, *arguments, "--no-twin", "--jobs", jobs, code=code) for jobs in (1, 2))
        self.assertEqual(without_folder(one.stdout), without_folder(two.stdout))
        folders = self.shards(f"scenarios/{scenario}.toml", arguments, 4, code)
        merged = self.halfsent("merge", *folders)
        self.assert_code(merged, code)
        self.assertEqual(without_folder(merged.stdout), without_folder(one.stdout))
        self.assertEqual(merged.stdout, self.halfsent("merge", *reversed(folders)).stdout)
        return folders

    def test_one_job_two_jobs_and_four_shards_say_the_same_where_it_holds(self):
        folders = self.check("polling_cpp", ("--faults", "drop,status", "--faults", "2"), 0)
        missing = self.halfsent("merge", *folders[:3])
        self.assert_code(missing, 6)
        self.assertIn("shard 4 of 4 is missing: the campaign is incomplete", missing.stderr)
        self.assertRegex(missing.stdout, r"not run +\d+ first plans")
        twice = self.halfsent("merge", folders[0], *folders)
        self.assert_code(twice, 2)
        self.assertEqual(len(twice.stderr.splitlines()), 1, twice.stderr)
        other = self.explore("polling_cpp", "--faults", "drop", "--no-twin")
        foreign = self.halfsent("merge", *folders[:3], folder_of(other))
        self.assert_code(foreign, 2)
        self.assertIn("are not of one campaign", foreign.stderr)

    def test_one_job_two_jobs_and_four_shards_say_the_same_where_it_breaks(self):
        self.check("polling_python_naive", ("--faults", "drop,status"), 1)

    def test_a_shard_is_taken_from_a_batch_engine_and_told(self):
        for variables in [
                {"CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "3"},
                {"SLURM_ARRAY_TASK_ID": "5", "SLURM_ARRAY_TASK_MIN": "4", "SLURM_ARRAY_TASK_MAX": "6"},
                {"GTEST_SHARD_INDEX": "1", "GTEST_TOTAL_SHARDS": "3"},
                {"TEST_SHARD_INDEX": "1", "TEST_TOTAL_SHARDS": "3"},
                {"JOB_COMPLETION_INDEX": "1", "HALFSENT_SHARDS": "3"},
        ]:
            with self.subTest(variables):
                done = self.halfsent("run", "scenarios/polling_cpp.toml", "--faults", "drop", "--no-twin",
                                     env={**os.environ, **variables})
                self.assert_code(done, 0)
                self.assertIn(f"  shard       2 of 3 ({next(iter(variables))}", done.stdout)


class CutOff(ExploreTest):
    """A campaign that ends early says so, keeps what it has, and goes on where it was."""

    ARGUMENTS = ("--faults", "kill,drop,status", "--no-twin")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.whole = cls.halfsent("run", "scenarios/polling_cpp.toml", "--strategy", "exhaustive", *cls.ARGUMENTS)

    def resume(self, folder):
        """To the end, which is that of a campaign that was never cut off."""
        done = self.halfsent("run", "--resume", folder, "--no-twin")
        self.assert_code(done, 0)
        self.assertEqual(done.stdout, self.whole.stdout)

    def records(self, folder):
        return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]

    def test_a_cap_of_executions_is_told_with_6_and_the_rest_can_be_had(self):
        done = self.explore("polling_cpp", *self.ARGUMENTS, "--max-executions", 25, code=6)
        self.assertRegex(statement(done),
                         r"not run +\d+ first plans and what is below; the cap of 25 executions was hit")
        self.assertIn("--resume", done.stderr)
        self.resume(folder_of(done))

    def test_a_budget_that_runs_out_is_told_with_6_and_the_rest_can_be_had(self):
        done = self.explore("polling_cpp", *self.ARGUMENTS, "--budget", "100ms", code=6)
        self.assertRegex(statement(done), r"not run +\d+ first plans and what is below; the cap of 0.1 s was hit")
        self.resume(folder_of(done))

    def test_a_campaign_that_is_complete_is_not_run_again(self):
        before = self.records(folder_of(self.whole))
        self.resume(folder_of(self.whole))
        after = self.records(folder_of(self.whole))
        self.assertEqual([record for record in after if "twin" not in record],
                         [record for record in before if "twin" not in record])

    def test_twenty_interruptions_at_different_moments_keep_what_was_finished(self):
        for turn in range(20):
            with self.subTest(turn=turn):
                out = self.folder / f"interrupted-{turn}"
                run = subprocess.Popen([self.program, "run", "scenarios/polling_cpp.toml", "--strategy", "exhaustive",
                                        *self.ARGUMENTS, "--out", out], cwd=ROOT, text=True, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                # The moments are spread over the campaign; which execution they meet is chance, and must not matter.
                deadline = time.monotonic() + 60
                wanted = 1 + 5 * turn
                while time.monotonic() < deadline and run.poll() is None:
                    results = list(out.glob("polling_cpp/*-1/results.jsonl"))
                    if results and len(results[0].read_text().splitlines()) >= wanted:
                        break
                    time.sleep(0.002)
                run.send_signal(signal.SIGINT)
                stdout, stderr = run.communicate(timeout=60)
                if run.returncode == 0:  # it was faster than the signal
                    self.assertEqual(stdout, self.whole.stdout)
                    continue
                self.assertEqual(run.returncode, 130, stderr)
                folder = (out / "polling_cpp" / "latest").resolve()
                self.assertGreaterEqual(len(self.records(folder)), wanted)
                self.resume(folder)
                shutil.rmtree(out)

    def test_a_campaign_whose_last_record_was_torn_goes_on_with_what_is_whole(self):
        done = self.explore("polling_cpp", *self.ARGUMENTS, "--max-executions", 25, code=6)
        results = folder_of(done) / "results.jsonl"
        results.write_bytes(results.read_bytes()[:-30])
        self.resume(folder_of(done))

    def test_a_scenario_that_has_changed_since_is_not_resumed(self):
        file = self.folder / "changed.toml"
        text = (ROOT / "scenarios" / "polling_cpp.toml").read_text()
        text = text.replace("${BIN}", str(self.program.parent)).replace('"../', f'"{ROOT}/scenarios/../')
        text = re.sub("naive_twin = .*\n", "", text)
        file.write_text(text)
        done = self.explore(file, *self.ARGUMENTS, "--max-executions", 5, code=6)
        file.write_text(text + "# changed\n")
        again = self.halfsent("run", "--resume", folder_of(done))
        self.assert_code(again, 2)
        self.assertIn(str(file), again.stderr)
        self.assertIn("changed", again.stderr)


class Random(ExploreTest):
    def test_a_seed_repeats_its_walks_and_another_takes_others(self):
        walks = ("--plans", 15, "--no-twin", "--faults", "kill,hold,drop,status")
        one, two = (self.explore("polling_cpp", *walks, "--seed", 7, "--jobs", jobs, strategy="random")
                    for jobs in (1, 2))
        self.assertEqual(one.stdout, two.stdout)
        self.assertIn("drawn with seed 7", statement(one, "random"))
        self.assertIn("not run     none", statement(one, "random"))
        other = self.explore("polling_cpp", *walks, "--seed", 8, strategy="random")
        self.assertNotEqual(one.stdout.split("\n\n")[0], other.stdout.split("\n\n")[0])

    def test_it_finds_what_is_wrong_prints_seed_and_plan_and_the_plan_is_small(self):
        done = self.explore("polling_python_naive", "--plans", 15, strategy="random", code=1)
        self.assertIn("seed 1", done.stderr)
        line = re.search(r"halfsent replay '(.*)'", done.stderr)[1]
        self.assertLessEqual(line.count(";"), 3, line)
        self.assert_code(self.halfsent("replay", line), 1)


class Regressions(ExploreTest):
    def test_a_saved_counterexample_is_what_the_next_campaign_runs_first(self):
        name = "polling_python_naive"
        file = self.folder / f"{name}.toml"
        text = (ROOT / "scenarios" / f"{name}.toml").read_text()
        file.write_text(text.replace('"../', f'"{ROOT}/scenarios/../'))
        done = self.halfsent("run", file, "--faults", "kill,drop", "--save")
        self.assert_code(done, 1)
        saved = list((self.folder / "regressions" / name).glob("*.plan"))
        self.assertEqual(len(saved), 1)
        self.assertIn(str(saved[0]), done.stdout + done.stderr)
        plan = saved[0].read_text().strip()
        self.assertIn("scenario polling_python_naive", plan)
        # A campaign of other faults than those of the plan finds it all the same, and before anything else.
        again = self.halfsent("run", file, "--faults", "skew", "--no-twin")
        self.assert_code(again, 1)
        self.assertIn(saved[0].name, again.stdout)
        saved[0].write_text("scenario polling_python_naive; kill nobody at all\n")
        broken = self.halfsent("run", file, "--faults", "skew")
        self.assert_code(broken, 2)
        self.assertIn(str(saved[0]), broken.stderr)


class Finds(ExploreTest):
    def test_a_defect_that_needs_two_faults_is_found_by_two_and_not_by_one(self):
        table = ROOT / "sut" / "polling" / "defects.toml"
        self.assertIn('id = "M31"', table.read_text())
        # The scenario of the defect, as a file.
        text = (ROOT / "scenarios" / "polling.toml").read_text()
        text = text.replace('name = "polling"', 'name = "overwrites"').replace('"--on-doubt", "retry"]',
                            '"--on-doubt", "retry", "--defect", "late-failure-overwrites"]')
        text = text.replace("${BIN}", str(self.program.parent)).replace('"../', f'"{ROOT}/')
        text = re.sub(r",\n  \('4188.*?\);", ";", text)
        text = text.replace('naive_twin = "', f'naive_twin = "{ROOT}/scenarios/')
        file = self.folder / "overwrites.toml"
        file.write_text(text)
        base = ("run", file, "--strategy", "exhaustive", "--faults", "hold,drop")
        self.assert_code(self.halfsent(*base, "--no-twin", timeout=600), 0)
        done = self.halfsent(*base, "--faults", "2", timeout=1200)
        self.assert_code(done, 1)
        self.assertRegex(done.stdout, r"broken +scenario overwrites; seed 1; hold [^;]*; then drop downstream|"
                                      r"broken +scenario overwrites; seed 1; drop downstream [^;]*; then hold ")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--halfsent", type=pathlib.Path, required=True)
    arguments, rest = parser.parse_known_args()
    AcceptanceTest.program = arguments.halfsent.resolve()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
