"""Halfsent notices every seeded defect of the reference system, and each invariant is needed for that.

Usage: selfcheck_test.py --halfsent PROGRAM [TEST...]
"""

import argparse
import pathlib
import re
import sys
import tomllib
import unittest

from acceptance_base import ROOT, AcceptanceTest

TABLE = ROOT / "sut" / "polling" / "defects.toml"


def rows():
    return tomllib.loads(TABLE.read_text())["defect"]


class Caught(AcceptanceTest):
    def check(self, *args):
        done = self.halfsent("selfcheck", *args, timeout=900)
        self.assert_code(done, 0)
        controls = [row for row in rows() if row["verdicts"] == ["flagged"]]
        planned = [row for row in rows() if "plan" in row]
        self.assertRegex(done.stdout, rf"{len(rows())} defects: {len(rows()) - len(controls) - len(planned)} caught, "
                                      rf"{len(planned)} by their plan only, {len(controls)} allowed, 0 missed, "
                                      "0 wrong, 0 crashed; median ")
        median = int(re.search(r"median (\d+) execution", done.stdout)[1])
        self.assertLess(median, 200)
        return done

    def test_every_defect_is_caught(self):
        self.check("--no-reference")


class Reference(Caught):
    def test_every_defect_is_caught(self):
        self.assertIn("the right system accused in 0 of ", self.check().stdout)


class Needed(AcceptanceTest):
    def test_without_any_one_invariant_a_defect_is_missed(self):
        listed = self.halfsent("list", "invariants")
        self.assert_code(listed, 0)
        invariants = re.findall(r"^  (\w+)  ", listed.stdout, re.M)
        self.assertGreater(len(invariants), 15)
        for invariant in invariants:
            with self.subTest(invariant):
                needing = [row["id"] for row in rows() if row.get("needs") == invariant]
                self.assertTrue(needing, "no seeded defect needs it")
                done = self.halfsent("selfcheck", "--no-reference", "--defect", needing[0], "--without-invariant",
                                     invariant, timeout=300)
                self.assert_code(done, 1)
                self.assertIn("1 defects: 0 caught, 0 by their plan only, 0 allowed", done.stdout)


class Asked(AcceptanceTest):
    def test_one_defect_is_caught_by_a_plan_that_replays(self):
        done = self.halfsent("selfcheck", "--defect", "mark-before-send")
        self.assert_code(done, 0)
        caught = re.search(r"^M38 +mark-before-send +caught +phantom +\d+ executions +[\d.]+ s +(.*)$", done.stdout,
                           re.M)
        self.assertTrue(caught, done.stdout)
        again = self.halfsent("replay", f"scenario selfcheck.M38; seed 1; {caught[1]}")
        self.assert_code(again, 1)
        self.assertIn("PHANTOM", again.stdout)

    def test_what_cannot_be_is_told(self):
        table = self.folder / "defects.toml"
        table.write_text("nonsense = 1\n")
        for args, message in [
                (("--defect", "M3"), "there is no seeded defect M3"),
                (("--table", "nowhere.toml"), "nowhere.toml: cannot read the table of defects"),
                (("--table", table), "defects.toml:1:12: the table of defects has no"),
                (("--without-invariant", "phantoms"), "--without-invariant: phantoms not in"),
        ]:
            with self.subTest(message):
                done = self.halfsent("selfcheck", *args)
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
