"""Plans of more than one fault: complete within their bounds, the same for any number of jobs, and told so.

Usage: explore_test.py --halfsent PROGRAM [TEST...]
"""

import argparse
import pathlib
import re
import sys
import unittest

from acceptance_base import ROOT, AcceptanceTest


def statement(done):
    return done.stdout[done.stdout.index("exhaustive  "):].split("\n\n")[0]


class Exhaustive(AcceptanceTest):
    def explore(self, scenario, *args, code=0):
        done = self.halfsent("run", f"scenarios/{scenario}.toml", "--strategy", "exhaustive", *args, timeout=600)
        self.assert_code(done, code)
        return done

    def test_two_faults_of_the_downstream_hold_and_the_statement_says_what_was_run(self):
        args = ("--faults", "2", "--faults", "drop,status", "--no-twin")
        one, two = (self.explore("polling_cpp", *args, "--jobs", jobs) for jobs in (1, 2))
        counts = re.search(r"run +1 with no fault, (\d+) with 1 fault, (\d+) with 2 faults; \d+ executions",
                           statement(one))
        self.assertTrue(counts, one.stdout)
        self.assertGreater(int(counts[2]), int(counts[1]))
        self.assertIn("left out    what is below 0 plans that did not hold", statement(one))
        self.assertIn("not run     none", statement(one))
        same = re.compile(r"; \d+ executions with parents and confirmations")
        self.assertEqual(same.sub("", statement(one)), same.sub("", statement(two)))

    def test_a_fault_comes_after_another_although_its_boundary_has_a_namesake_before(self):
        done = self.halfsent("replay", "scenario polling_cpp; kill worker-1 at in_claim 4187:2026-W33 #4; "
                                       "then kill worker-1 at before_claim 4187:2026-W33")
        self.assert_code(done, 0)
        self.assertIn("2 of 2 faults fired", done.stdout)

    def test_what_cannot_be_is_told(self):
        for args, message in [
                (("--faults", "2"), "the strategy sweep strikes once in each execution (say --strategy exhaustive)"),
                (("--strategy", "exhaustive", "--faults", "12"), "12 faults in one plan are out of reach"),
                (("--strategy", "guess"), "--strategy: guess not in"),
                (("--switches", "1"), "say --strategy exhaustive"),
        ]:
            with self.subTest(message):
                done = self.halfsent("run", "scenarios/polling_cpp.toml", *args)
                self.assert_code(done, 2)
                self.assertIn(message, done.stderr)


class Finds(AcceptanceTest):
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
