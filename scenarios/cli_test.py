"""What the command line promises beyond verdicts: help whose examples run, lists, and a matrix that fits its terminal.

Usage: cli_test.py --halfsent PROGRAM [CLASS...] [options of unittest]

Standard library only.
"""

import os
import pathlib
import re
import shlex
import shutil
import sys
import tempfile
import unittest

from acceptance_base import ROOT, AcceptanceTest


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
        return root

    def test_each_command_has_an_example_and_each_example_runs(self):
        for command in self.commands():
            examples = self.examples(command)
            self.assertTrue(examples, f"halfsent {command} --help has no example")
            for example in examples:
                with self.subTest(example):
                    words = shlex.split(example)
                    self.assertEqual(words[:2], ["halfsent", command])
                    root = self.copy_of_what_is_shipped()
                    done = self.halfsent(*words[1:], cwd=root, timeout=300)
                    # Held or violated: the example did what it is there for. All else is an example that does not run.
                    self.assertIn(done.returncode, (0, 1), f"{example}\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
                    self.assertTrue(done.stdout)


class Lists(AcceptanceTest):
    def test_list_shows_every_table_and_each_of_them_alone(self):
        everything = self.halfsent("list")
        self.assert_code(everything, 0)
        parts = []
        for topic in ("scenarios", "faults", "invariants", "strategies", "boundaries"):
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
