"""The files of scenarios/batch: the shards that each makes are all of a campaign, once each, and merge into it.

Usage: batch_test.py --halfsent PROGRAM [TEST...]

Nothing here needs the engines. What they would set is set, and the commands that stand in the files are run as they
stand there.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import unittest

from acceptance_base import ROOT, AcceptanceTest

BATCH = ROOT / "scenarios" / "batch"
SCENARIO = "scenarios/polling_cpp.toml"
ARGUMENTS = ("--strategy", "exhaustive", "--faults", "drop,status", "--no-twin")


class Batch(AcceptanceTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.whole = cls.halfsent("run", SCENARIO, *ARGUMENTS)

    def shell(self, command, variables):
        """One shard, with `halfsent` as this build has it and only the faults that this test has time for."""
        command = command.replace("build/halfsent", str(self.program))
        clean = {name: value for name, value in os.environ.items() if "SHARD" not in name}
        done = subprocess.run(["bash", "-c", command], cwd=ROOT, env={**clean, **variables}, text=True,
                              capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def merged(self, *folders):
        done = self.halfsent("merge", *folders)
        self.assert_code(done, 0)
        # Who joins shards knows nothing of a twin that shard 1 was told to leave out.
        self.assertEqual(done.stdout.replace("the naive twin was not run\n", ""),
                         self.whole.stdout.replace("the naive twin was not run\n", ""))

    def test_a_slurm_array_of_any_bounds_and_step_is_one_campaign(self):
        for first, last, step in [(1, 4, 1), (0, 2, 1), (10, 30, 10)]:
            with self.subTest(first=first, last=last, step=step):
                out = self.folder / f"slurm-{first}-{last}"
                for task in range(first, last + 1, step):
                    self.shell(" ".join([str(BATCH / "slurm.sh"), SCENARIO, *ARGUMENTS]), {
                        "HALFSENT": str(self.program), "OUT": str(out), "SLURM_ARRAY_JOB_ID": "77",
                        "SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_MIN": str(first),
                        "SLURM_ARRAY_TASK_MAX": str(last), "SLURM_ARRAY_TASK_STEP": str(step),
                        "SLURM_CPUS_PER_TASK": "1"})
                self.merged(*out.glob("77/*/polling_cpp/latest"))

    def test_outside_of_an_array_the_slurm_script_says_what_it_is_for(self):
        done = subprocess.run([BATCH / "slurm.sh", SCENARIO], capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("this is for sbatch --array", done.stderr)

    def test_an_indexed_job_has_as_many_pods_as_shards_and_they_are_one_campaign(self):
        text = (BATCH / "kubernetes.yaml").read_text()
        completions = int(re.search(r"^  completions: (\d+)$", text, re.M)[1])
        self.assertEqual(int(re.search(r"^  parallelism: (\d+)$", text, re.M)[1]), completions)
        self.assertEqual(re.search(r'name: HALFSENT_SHARDS\n +value: "(\d+)"', text)[1], str(completions))
        self.assertIn("completionMode: Indexed", text)
        command = re.search(r"^ +- (build/halfsent run .*)$", text, re.M)[1]
        out = self.folder / "kubernetes"
        for index in range(completions):
            self.shell(command.replace("/shards/", f"{out}/").replace("--strategy exhaustive", " ".join(ARGUMENTS)),
                       {"JOB_COMPLETION_INDEX": str(index), "HALFSENT_SHARDS": str(completions)})
        self.merged(*out.glob("*/polling_cpp/latest"))

    def test_a_matrix_has_as_many_jobs_as_shards_and_they_are_one_campaign(self):
        text = (BATCH / "github.yaml").read_text()
        shards = re.search(r"matrix: \{ shard: \[(.*)\] \}", text)[1].split(", ")
        self.assertEqual(shards, [str(number) for number in range(1, len(shards) + 1)])
        command = re.search(r"- run: (build/halfsent run .*)$", text, re.M)[1]
        out = self.folder / "github"
        for shard in shards:
            filled = command.replace("${{ matrix.shard }}", shard)
            filled = filled.replace("${{ strategy.job-total }}", str(len(shards)))
            self.assertNotIn("${{", filled)
            self.shell(filled.replace("--out shards/", f"--out {out}/shards/").replace("--strategy exhaustive",
                                                                                   " ".join(ARGUMENTS)), {})
        merge = re.search(r"- run: (build/halfsent merge .*)$", text, re.M)[1]
        self.shell(f"cd {out} && {merge}", {})
        self.merged(*out.glob("shards/*/polling_cpp/latest"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--halfsent", type=pathlib.Path, required=True)
    arguments, rest = parser.parse_known_args()
    AcceptanceTest.program = arguments.halfsent.resolve()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
