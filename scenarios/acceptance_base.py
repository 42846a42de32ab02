"""How the acceptance tests run the program. Standard library only."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FULL = os.environ.get("HALFSENT_ACCEPTANCE_FULL") == "1"
K1, K2 = "4187:2026-W33", "4188:2026-W33"


def plan_of(scenario, fault):
    return f"scenario {scenario}; seed 1; {fault}"


class AcceptanceTest(unittest.TestCase):
    """Each class has a folder of its own; `self.out` is where histories go."""

    program = None  # the halfsent that is asked; set before any test runs

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="halfsent-acceptance-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.out = cls.folder / "out"

    @classmethod
    def halfsent(cls, *args, timeout=120, program=None, **options):
        """Runs to the end. With a folder for histories unless the arguments name one or need none."""
        command = [str(program or cls.program), *map(str, args)]
        if args and args[0] in ("run", "replay", "selfcheck") and "--out" not in args:
            command += ["--out", str(cls.out)]
        options.setdefault("cwd", ROOT)
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout,
                              stdin=subprocess.DEVNULL, **options)

    def assert_code(self, done, code):
        if done.returncode != code:
            self.fail(f"exit code {done.returncode}, not {code}: {shlex.join(done.args)}\n--- stdout, its end\n"
                      f"{done.stdout[-3000:]}\n--- stderr, its end\n{done.stderr[-1500:]}")

    def replay(self, plan, repeat, code, **options):
        """Replays (at least twice), demands the exit code and one history, and gives its digest."""
        done = self.halfsent("replay", plan, "--repeat", repeat, timeout=60 + 10 * repeat, **options)
        self.assert_code(done, code)
        counts = re.findall(r"^  ([0-9a-f]{16}) (\d+) times$", done.stdout, re.M)
        self.assertEqual([times for _, times in counts], [str(repeat)],
                         f"{plan} has more than one history:\n{done.stdout}")
        self.assertIn(f"{repeat} executions, 1 history\n", done.stdout)
        return counts[0][0]

    def small_scenario(self, name, worker, **replacements):
        """A scenario file whose one actor runs the command `worker`. A replacement of None takes the line away."""
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
            "command": "command = " + json.dumps(worker),
            "sweep": '[sweep]\nfaults = ["kill"]',
        }
        lines.update(replacements)
        file = self.folder / f"{name}.toml"
        file.write_text("\n".join(line for line in lines.values() if line is not None) + "\n")
        return file
