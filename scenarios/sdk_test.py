"""The boundary helpers of sut/sdk, one language at a time: harmless alone, a named boundary under Halfsent.

Usage: sdk_test.py --halfsent PROGRAM LANGUAGE [options of unittest]

Exit code 77 where the language's tools are not installed. Standard library only.
"""

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from acceptance_base import ROOT, AcceptanceTest

KEY = "4187:2026-W33"

C_FLAGS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
CPP_FLAGS = ("-std=c++17", *C_FLAGS[1:])


@dataclasses.dataclass
class Language:
    tools: tuple  # all must be there
    helper: str  # in sut/sdk
    program: str  # its file name, and
    text: str  # its text: announces here, a/b, alone and, where a text may hold a zero byte, cut
    run: tuple  # the command
    build: tuple = ()  # what makes it, before
    holds_zero_bytes: bool = True
    repeats: bool = True  # comes to each stop at the same time: not where threads of a run-time decide that


LANGUAGES = {
    "c": Language(
        ("gcc",), "halfsent.h", "program.c", f"""#include "halfsent.h"
int main(void) {{
  errno = 7;
  halfsent_at("here", "{KEY}");
  halfsent_at("a/b", "x/y z");
  halfsent_at("alone", NULL);
  return errno == 7 ? 0 : 1;
}}
""", ("./program",), ("gcc", *C_FLAGS, "program.c", "-o", "program"), holds_zero_bytes=False),
    "cpp": Language(
        ("g++",), "halfsent.hpp", "program.cc", f"""#include "halfsent.hpp"
int main() {{
  errno = 7;
  halfsent::at("here", "{KEY}");
  halfsent::at("a/b", "x/y z");
  halfsent::at("alone");
  halfsent::at("cut", std::string_view("k\\0rest", 6));
  return errno == 7 ? 0 : 1;
}}
""", ("./program",), ("g++", *CPP_FLAGS, "program.cc", "-o", "program")),
    "python": Language(
        ("python3",), "halfsent.py", "program.py", f"""import halfsent
halfsent.at("here", "{KEY}")
halfsent.at("a/b", "x/y z")
halfsent.at("alone")
halfsent.at("cut", "k\\0rest")
""", ("python3", "-B", "program.py")),
    "node": Language(
        ("node",), "halfsent.js", "program.js", f"""const halfsent = require("./halfsent.js");
halfsent.at("here", "{KEY}");
halfsent.at("a/b", "x/y z");
halfsent.at("alone");
halfsent.at("cut", "k\\0rest");
""", ("node", "program.js"), repeats=False),
    "go": Language(
        ("go",), "halfsent.go", "main.go", f"""package main
import "example/halfsent"
func main() {{
  halfsent.At("here", "{KEY}")
  halfsent.At("a/b", "x/y z")
  halfsent.At("alone", "")
  halfsent.At("cut", "k\\x00rest")
}}
""", ("./program",), ("sh", "-c", "mkdir halfsent && mv halfsent.go halfsent/ && go mod init example && "
                      "GOFLAGS=-mod=mod GOPROXY=off go build -o program ."), repeats=False),
    "java": Language(
        ("javac", "java"), "Halfsent.java", "Program.java", f"""public class Program {{
  public static void main(String[] arguments) {{
    Halfsent.at("here", "{KEY}");
    Halfsent.at("a/b", "x/y z");
    Halfsent.at("alone", "");
    Halfsent.at("cut", "k\\0rest");
  }}
}}
""", ("java", "Program"), ("javac", "Halfsent.java", "Program.java"), repeats=False),
    "shell": Language(
        ("sh",), "halfsent.sh", "program.sh", f"""set -eu
. ./halfsent.sh
halfsent_at here '{KEY}'
halfsent_at a/b 'x/y z'
halfsent_at alone
""", ("sh", "program.sh"), holds_zero_bytes=False),
    "bash": Language(
        ("bash",), "halfsent.sh", "program.sh", f"""set -euo pipefail
source ./halfsent.sh
halfsent_at here '{KEY}'
halfsent_at a/b 'x/y z'
halfsent_at alone
""", ("bash", "program.sh"), holds_zero_bytes=False),
}


class Helper(AcceptanceTest):
    language = None  # the one that is asked

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.home = cls.folder / "program"
        cls.home.mkdir()
        shutil.copy(ROOT / "sut" / "sdk" / cls.language.helper, cls.home)
        (cls.home / cls.language.program).write_text(cls.language.text)
        if cls.language.build:
            subprocess.run(cls.language.build, cwd=cls.home, check=True, timeout=120)

    def scenario(self):
        """A worker that claims, runs the program, sends and marks."""
        (self.home / "worker.sh").write_text(
            "set -e\n"
            "ledger() { sqlite3 -batch ledger.db \"UPDATE jobs SET state = '$1'\"; }\n"
            f"ledger leased\n{' '.join(self.language.run)}\n"
            "curl -sS -H 'Idempotency-Key: a' -d '{}' http://127.0.0.1:8080/\n"
            "ledger delivered\nexec sleep 1d\n")
        return self.small_scenario("sdk", ["sh", "worker.sh"],
                                   world=f"[world]\nfiles = [\"{self.home}\"]\nquiet = \"1s\"")

    def test_it_is_silent_and_harmless_without_halfsent(self):
        done = subprocess.run(self.language.run, cwd=self.home, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_each_announcement_is_a_boundary_with_its_key(self):
        done = self.halfsent("windows", self.scenario())
        self.assert_code(done, 0)
        names = [line.partition("  at:")[2] for line in done.stdout.splitlines() if "  at:" in line]
        expected = [f"here {KEY}", 'a_b "x/y z"', "alone a"] + ["cut k"] * self.language.holds_zero_bytes
        self.assertEqual(names, expected, done.stdout)

    def test_a_kill_strikes_there(self):
        if not self.language.repeats:
            self.skipTest("threads of its run-time make the time of a stop the kernel's choice: a plan may diverge")
        scenario = self.scenario()
        done = self.halfsent("run", scenario, "--plan", f"scenario sdk; kill worker-1 at at:here {KEY}")
        self.assertIn("1 of 1 fault fired", done.stdout, done.stderr)
        self.assert_code(done, 0)


def main(arguments):
    if len(arguments) < 3 or arguments[0] != "--halfsent" or arguments[2] not in LANGUAGES:
        sys.exit(f"{__doc__}\nLanguages: {' '.join(LANGUAGES)}")
    AcceptanceTest.program = pathlib.Path(arguments[1]).resolve()
    if not os.access(AcceptanceTest.program, os.X_OK):
        sys.exit(f"{AcceptanceTest.program} is no program")
    Helper.language = LANGUAGES[arguments[2]]
    missing = [tool for tool in Helper.language.tools if shutil.which(tool) is None]
    if missing:
        print(f"SKIPPED: {' and '.join(missing)} not installed, so the helper of {arguments[2]} was not tried")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *arguments[3:]], verbosity=2)


if __name__ == "__main__":
    main(sys.argv[1:])
