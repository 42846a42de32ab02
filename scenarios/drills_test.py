"""The drills of the delivery contract hold for each right system, and fail for the naive one where it must.

Usage: drills_test.py --halfsent PROGRAM [TEST...]
"""

import argparse
import pathlib
import re
import shutil
import sys
import unittest

from acceptance_base import K1, ROOT, AcceptanceTest

DRILLS = ROOT / "scenarios" / "drills"
RIGHT = ["polling_python", "polling_cpp", "polling_shell"]
NAIVE = "polling_python_naive"


def parts(text):
    """What was printed on each system, by the name DRILL.SYSTEM."""
    found = re.split(r"^(\S+), which must (?:hold|fail)$", text, flags=re.M)[1:]
    return dict(zip(found[::2], found[1::2]))


class Drills(AcceptanceTest):
    def drill(self, name, code=0, *args):
        done = self.halfsent("run", DRILLS / f"{name}.toml", *args, timeout=300)
        self.assert_code(done, code)
        return parts(done.stdout)

    def assert_systems(self, said, drill, systems):
        self.assertEqual(list(said), [f"{drill}.{system}" for system in systems])

    def variant(self, drill, what, instead):
        """The drill with one piece of text replaced, beside copies of nothing: its paths are made absolute."""
        text = (DRILLS / f"{drill}.toml").read_text()
        self.assertIn(what, text)
        file = self.folder / f"{drill}.toml"
        file.write_text(text.replace(what, instead).replace('"../', f'"{ROOT}/scenarios/'))
        return file

    def test_the_staging_drill_ends_with_all_delivered_and_prints_the_numbers(self):
        said = self.drill("staging_drill")
        self.assert_systems(said, "staging_drill", RIGHT + [NAIVE])
        for system, text in said.items():
            with self.subTest(system):
                self.assertIn("held: 10 jobs once, 0 flagged; 10 effects", text)
                self.assertIn("5 of 5 faults fired", text)
                self.assertIn("10 delivered, 0 flagged, 0 pending, 0 leased\n", text)
                self.assertIn("attempts    2 for 4103:2026-W33, 1 for 9 jobs\n", text)
                self.assertIn("leases      1 expired, 0 taken early\n", text)
                self.assertRegex(text, r"oldest +pending age 0\.000 s in the end, 60\.\d+ s at most\n")
                self.assertRegex(text, r"block +55\.\d+ s at most \(4103:2026-W33, of worker-3, from ")

    def test_a_number_that_is_another_one_is_a_violation_that_replays(self):
        file = self.variant("staging_drill", "delivered = 10", "delivered = 9")
        done = self.halfsent("run", file, "--system", "polling_cpp")
        self.assert_code(done, 1)
        self.assertIn("BROKEN        delivered\n  why         9 expected, 10 found\n", done.stdout)
        plan = re.search(r"^plan +(.*)$", done.stdout, re.M)[1]
        self.assert_code(self.halfsent("replay", plan, "--scenario", file), 1)
        self.assert_code(self.halfsent("replay", plan), 0)  # the drill itself expects what is right

    def test_an_objective_that_is_missed_is_a_violation_and_names_the_lease(self):
        file = self.variant("staging_drill", 'longest_block = "90s"', 'longest_block = "30s"')
        done = self.halfsent("run", file, "--system", "polling_cpp")
        self.assert_code(done, 1)
        self.assertRegex(done.stdout, r"BROKEN +longest_block, 4103:2026-W33\n +why +the lease of worker-3 on "
                                      r"4103:2026-W33 was abandoned at 5\.\d+ s"
                                      r" and blocked the job for 55\.\d+ s; the scenario allows 30s\n")

    def test_a_drill_repeats_exactly(self):
        done = self.halfsent("run", DRILLS / "staging_drill.toml", "--system", "polling_python")
        self.assert_code(done, 0)
        plan = re.search(r"^plan +(.*)$", done.stdout, re.M)[1]
        self.replay(plan, 3, 0)

    def test_jobs_that_are_inserted_twice_have_one_row_and_are_sent_once(self):
        said = self.drill("insert_twice")
        self.assert_systems(said, "insert_twice", RIGHT + [NAIVE])
        for system, text in said.items():
            with self.subTest(system):
                self.assertEqual(text.count("held: 3 jobs once, 0 flagged; 3 effects, 0 repeats recognised"), 2)
                self.assertEqual(text.count("attempts    1 for 3 jobs\n"), 2)

    def test_a_scheduler_that_writes_rows_anew_is_caught(self):
        said = self.drill("insert_replaces")
        self.assert_systems(said, "insert_replaces", [NAIVE])
        self.assertIn("DUPLICATE     4187:2026-W33\n", said[f"insert_replaces.{NAIVE}"])

    def test_a_second_region_schedules_what_a_late_one_does_not_and_nothing_is_sent_twice(self):
        said = self.drill("region_delay")
        self.assert_systems(said, "region_delay", [f"{system}_flag" for system in RIGHT])
        for system, text in said.items():
            with self.subTest(system):
                self.assertEqual(text.count("held: 3 jobs once, 0 flagged; 3 effects, 0 repeats recognised"), 4)

    def test_a_region_that_promotes_a_ledger_of_its_own_doubles_every_customer_by_name(self):
        said = self.drill("region_promoted")
        self.assert_systems(said, "region_promoted", [NAIVE])
        for customer in (4187, 4188, 4189):
            self.assertRegex(said[f"region_promoted.{NAIVE}"],
                             rf"DUPLICATE +{customer}:2026-W33\n +why +accepted twice: "
                             "from standby-1 at .* and from worker-")

    def test_a_stopped_worker_keeps_its_job_until_the_lease_has_run_out(self):
        said = self.drill("stop_after_claim")
        self.assert_systems(said, "stop_after_claim", RIGHT + [NAIVE])
        for system in RIGHT:
            with self.subTest(system):
                text = said[f"stop_after_claim.{system}"]
                self.assertEqual(text.count("leases      1 expired, 0 taken early\n"), 2)
                self.assertEqual(text.count("attempts    2 for 4187:2026-W33, 1 for 4188:2026-W33\n"), 2)
        self.assertRegex(said[f"stop_after_claim.{NAIVE}"], rf"DUPLICATE +{K1}\n(.|\n)*violated, as it must be\n")

    def test_a_repeat_after_a_lost_response_carries_the_same_key(self):
        said = self.drill("lost_response")
        self.assert_systems(said, "lost_response", RIGHT + [NAIVE])
        for system in RIGHT:
            with self.subTest(system):
                self.assertEqual(said[f"lost_response.{system}"].count("2 effects, 1 repeat recognised"), 2)
        self.assertRegex(said[f"lost_response.{NAIVE}"], rf"DUPLICATE +{K1}\n(.|\n)*violated, as it must be\n")

    def test_a_system_that_must_fail_and_holds_is_a_fault_of_the_drill(self):
        file = self.variant("lost_response", '"../polling_python_naive.toml"', '"../polling_cpp.toml"')
        done = self.halfsent("run", file, "--system", f"{ROOT}/scenarios/polling_cpp.toml")
        self.assert_code(done, 3)
        self.assertIn("lost_response.polling_cpp must fail, and held: this drill shows nothing", done.stderr)

    def test_a_drill_runs_on_a_system_that_it_does_not_name(self):
        shutil.copy(ROOT / "scenarios" / "polling_cpp.toml", self.folder / "mine.toml")
        text = (self.folder / "mine.toml").read_text()
        text = text.replace('name = "polling_cpp"', 'name = "mine"').replace('"../', f'"{ROOT}/')
        (self.folder / "mine.toml").write_text(text.replace('naive_twin = "', f'naive_twin = "{ROOT}/scenarios/'))
        done = self.halfsent("run", DRILLS / "lost_response.toml", "--system", self.folder / "mine.toml")
        self.assert_code(done, 0)
        self.assertEqual(list(parts(done.stdout)), ["lost_response.mine"])

    def test_what_cannot_be_is_told(self):
        for args, message in [
                (("run", DRILLS / "lost_response.toml", "--system", "nowhere.toml"), "cannot read the scenario"),
                (("run", "scenarios/polling_cpp.toml", "--system", "polling_cpp"),
                 "--system is for the plans of a drill"),
                (("replay", "scenario lost_response.nobody"), "is no drill on a system nobody"),
                (("replay", "scenario nothing.polling_cpp"), "no drill of that name"),
        ]:
            with self.subTest(message):
                done = self.halfsent(*args)
                self.assert_code(done, 2)
                self.assertIn(message, done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--halfsent", type=pathlib.Path, required=True)
    arguments, rest = parser.parse_known_args()
    AcceptanceTest.program = arguments.halfsent.resolve()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
