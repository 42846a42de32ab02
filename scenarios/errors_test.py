"""What the command line says to input that is wrong, of every kind: one message, the mend, the right exit code.

Usage: errors_test.py --halfsent PROGRAM [CLASS...] [options of unittest]

Standard library only. Inputs that acceptance_test.py (class Usage) refuses already are not repeated here.
"""

import contextlib
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import unittest

from acceptance_base import AcceptanceTest

SEND = """
import glob, http.client, sqlite3, time
d = sqlite3.connect(glob.glob('*.db')[0], isolation_level=None)
for key, in d.execute("SELECT key FROM jobs WHERE state != 'delivered'").fetchall():
    d.execute("UPDATE jobs SET state = 'leased' WHERE key = ?", (key,))
    c = http.client.HTTPConnection('127.0.0.1', 8080)
    c.request('POST', '/', BODY, HEADERS)
    print(c.getresponse().status, flush=True)
    d.execute("UPDATE jobs SET state = 'delivered' WHERE key = ?", (key,))
"""


RAW = "[\x00-\x09\x0b-\x1f\x7f-\x9f]"  # bytes that a terminal acts on


def sender(body="b'{}'", headers="{'Idempotency-Key': 'a'}"):
    return ["python3", "-c", SEND.replace("BODY", body).replace("HEADERS", headers)]


def raw_sender(text):
    """A worker that sends these bytes, waits for what comes back, and marks nothing."""
    return ["python3", "-c", f"import socket\ns = socket.create_connection(('127.0.0.1', 8080))\n"
                             f"s.sendall({text})\ns.recv(1000)\n"]


class ErrorsTest(AcceptanceTest):
    def refused(self, code, *args, says):
        """Nothing on stdout, one line on stderr that says all of this."""
        done = self.halfsent(*args)
        self.assert_code(done, code)
        for text in says:
            self.assertIn(text, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def run_plan(self, file, faults=""):
        return self.halfsent("run", file, "--plan", f"scenario {pathlib.Path(file).stem}; {faults}".rstrip("; "))


class Programs(ErrorsTest):
    """Workers that cannot be started, or that do not behave."""

    def inconclusive(self, name, command, says):
        done = self.run_plan(self.small_scenario(name, command))
        self.assert_code(done, 7)
        for text in says:
            self.assertIn(text, done.stdout)
        return done

    def test_a_program_that_is_not_executable_ends_with_2_and_the_mend(self):
        (self.folder / "plain.py").write_text("print()\n")
        file = self.small_scenario("plain", ["./plain.py"], world='[world]\nfiles = ["plain.py"]')
        self.refused(2, "run", file, says=[str(file), 'cannot start "./plain.py": Permission denied', "chmod +x"])

    def test_one_that_exits_at_once_is_inconclusive_and_its_last_words_are_shown(self):
        done = self.inconclusive("exits", ["python3", "-c", "import nothing_like_that"],
                                 ["INCONCLUSIVE  worker-1 exited with code 1 at ", "the plan did not ask for"])
        self.assertIn("No module named 'nothing_like_that'", done.stdout)

    def test_one_that_hangs_is_inconclusive_and_what_it_waits_for_is_named(self):
        self.inconclusive("hangs", ["python3", "-c", "import os; r, w = os.pipe(); os.read(r, 1)"],
                          ["deadlock: worker-1 waits in read for pipe"])

    def test_one_that_spins_is_inconclusive_and_named(self):
        self.inconclusive("spins", ["python3", "-c", "while True: pass"], ["spins: worker-1"])

    def test_one_that_floods_its_output_is_inconclusive_and_named(self):
        self.inconclusive("floods", ["sh", "-c", "exec yes"], ["output: worker-1 has written more than 64 MiB"])

    def test_one_that_forks_without_end_is_inconclusive_and_named(self):
        self.inconclusive("forks", ["python3", "-c", "import os\nwhile True: os.fork()"], ["worker-1", "processes"])


class Ledgers(ErrorsTest):
    def test_a_rows_query_that_fails_ends_with_2_and_sqlites_words(self):
        file = self.small_scenario("fails", ["true"], rows='rows = "SELECT no_column AS key, state FROM jobs"')
        self.refused(2, "run", file, says=[str(file), "no such column: no_column", "correct rows of [ledger]"])

    def test_a_rows_query_that_returns_no_key_ends_with_2_and_the_mend(self):
        file = self.small_scenario("keyless", ["true"], rows='rows = "SELECT key AS ky, state FROM jobs"')
        self.refused(2, "run", file, says=[str(file), "no column named key", "SELECT ... AS key"])
        file = self.small_scenario("null", ["true"], rows='rows = "SELECT NULL AS key, state FROM jobs"')
        self.refused(2, "run", file, says=[str(file), "gives a NULL key", "IS NOT NULL"])

    def test_a_ledger_that_the_worker_makes_no_database_ends_with_2_and_its_name(self):
        code = "open('ledger.db', 'wb').write(b'this is no database, and it is long enough to be looked at' * 100)"
        file = self.small_scenario("no_database", ["python3", "-c", code])
        self.refused(2, "run", file, says=[str(file), '"ledger.db" is no SQLite database', "path of [ledger]"])

    def test_a_ledger_that_is_no_database_is_refused_by_init(self):
        (self.folder / "text.db").write_text("this is no database, and it is long enough to be looked at" * 100)
        done = self.halfsent("init", "--command", "true", "--ledger", self.folder / "text.db", cwd=self.folder)
        self.assert_code(done, 2)
        self.assertIn("text.db", done.stderr)
        self.assertIn("is no SQLite database", done.stderr)

    def test_a_ledger_that_a_stranger_keeps_locked_makes_the_worker_give_up_and_both_are_told(self):
        stranger = ('[[actor]]\nname = "stranger"\ncommand = ["python3", "-c", "import sqlite3, time; '
                    "d = sqlite3.connect('ledger.db', isolation_level=None); d.execute('BEGIN EXCLUSIVE'); "
                    'time.sleep(86400)"]')
        worker = sender()
        worker[2] = "import time; time.sleep(1)\n" + worker[2]
        file = self.small_scenario("locked", worker, sweep=stranger)
        done = self.run_plan(file)
        self.assert_code(done, 7)
        self.assertIn("INCONCLUSIVE  worker-1 exited with code 1 at ", done.stdout)
        self.assertIn("database is locked", done.stdout)

    def test_init_copies_a_ledger_that_a_stranger_keeps_locked(self):
        with contextlib.closing(sqlite3.connect(self.folder / "app.db", isolation_level=None)) as ledger:
            ledger.execute("CREATE TABLE jobs (key TEXT PRIMARY KEY, state TEXT)")
            ledger.execute("INSERT INTO jobs VALUES ('a', 'pending')")
            (self.folder / "worker.py").write_text(sender()[2])
            ledger.execute("BEGIN EXCLUSIVE")
            done = self.halfsent("init", "--command", "python3 worker.py", "--ledger", "app.db", cwd=self.folder)
            ledger.execute("ROLLBACK")
        self.assert_code(done, 0)
        self.assertIn("worker.toml is written", done.stdout)


class Folders(ErrorsTest):
    def test_an_output_folder_that_is_read_only_ends_with_3_and_the_mend(self):
        out = self.folder / "out"
        out.mkdir()
        if os.geteuid() == 0:
            # Root may write anywhere but to a file system that is mounted read-only.
            with mounted(out, "tmpfs", "ro"):
                self.refused(3, "run", self.small_scenario("shut", ["true"]), "--out", out, says=[str(out), "--out"])
        else:
            out.chmod(0o500)
            self.refused(3, "run", self.small_scenario("shut", ["true"]), "--out", out, says=[str(out), "--out"])

    @unittest.skipUnless(os.geteuid() == 0, "only root can make a small file system to fill")
    def test_an_output_folder_that_is_full_ends_with_3_and_what_is_written_stays(self):
        out = self.folder / "full"
        out.mkdir()
        with mounted(out, "tmpfs", "size=128k"):
            done = self.halfsent("run", "scenarios/polling_cpp.toml", "--faults", "kill", "--out", out)
            self.assert_code(done, 3)
            self.assertRegex(done.stdout + done.stderr,
                             r"No space left on device \(.*choose another folder with --out\)\n")
            self.assertTrue(list(out.rglob("*.history.jsonl")), "what was finished is gone")


@contextlib.contextmanager
def mounted(folder, kind, options):
    subprocess.run(["mount", "-t", kind, "-o", options, kind, folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


class Requests(ErrorsTest):
    """What a worker may send: it is answered, noted where it is no request, and never reaches a terminal raw."""

    def answered(self, name, text, status, note):
        done = self.run_plan(self.small_scenario(name, raw_sender(text)))
        self.assertIn(f"the downstream answered {status} to input that is no request: {note}", done.stdout)
        self.assert_code(done, 1)  # the job stays as it was: stuck
        self.assertNotRegex(done.stdout + done.stderr, RAW)

    def test_malformed_http_is_answered_with_400_and_noted(self):
        self.answered("malformed", r"b'G\x1b[31mT / HTTP/1.1\r\n\r\n'", 400, "")

    def test_an_http_0_9_line_is_answered_with_400_and_noted(self):
        self.answered("old", r"b'GET /\r\n'", 400, "")

    def test_a_header_bomb_is_answered_with_431_and_noted(self):
        self.answered("bomb", r"b'GET / HTTP/1.1\r\n' + b'X-Bomb: ' + b'x' * 10_000_000 + b'\r\n\r\n'", 431, "")

    def test_a_body_of_10_mb_is_a_request_like_any_other(self):
        done = self.run_plan(self.small_scenario("large", sender(body="b'x' * 10_000_000")))
        self.assert_code(done, 0)
        self.assertIn("1 effect", done.stdout)


class Keys(ErrorsTest):
    """Keys of any bytes: each is swept, is never raw on a terminal, and the plan that names it replays."""

    def holds(self, name, key):
        """A worker that loops, sends the key in the body, and loses nothing but what it sends twice."""
        loop = sender(body="__import__('json').dumps({'k': key})", headers="{}")
        loop[2] = loop[2].replace("for key,", "while True:\n  time.sleep(5)\n  for key,")
        loop[2] = loop[2].replace("\n    ", "\n        ")
        file = self.small_scenario(
            name, loop, horizon='horizon = "3min"\nlease = "20s"\nquiet = "10s"',
            setup=("setup_sql = \"CREATE TABLE jobs (key TEXT PRIMARY KEY, state TEXT); INSERT INTO jobs VALUES"
                   f" (CAST(x'{key.encode().hex()}' AS TEXT), 'pending');\""),
            downstream='[downstream]\nport = 8080\nkey = "json k"')
        plan = json.dumps(key) if len(key) < 100 else ""
        done = self.halfsent("run", file, "--plan", f"scenario {name}; kill worker-1 at after_accept {plan}")
        self.assert_code(done, 0)
        self.assertNotRegex(done.stdout + done.stderr, RAW)
        line = re.search(r"(?m)^replay +(halfsent replay .*)$", done.stdout).group(1)
        again = subprocess.run(["bash", "-c", f"{line} --scenario {file} --repeat 2 --out {self.out}"],
                               env={**os.environ, "PATH": f"{self.program.parent}:{os.environ['PATH']}"},
                               capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        self.assertEqual(again.returncode, 0, line[:500] + again.stdout[-1500:] + again.stderr[-1500:])
        self.assertIn("2 executions, 1 history", again.stdout)

    def test_a_key_of_10_kb(self):
        self.holds("long", "k" * 10_000)

    def test_a_key_with_quotes(self):
        self.holds("quotes", "a\"b'c;# $(x)")

    def test_a_key_with_newlines(self):
        self.holds("newline", "a\nb\r")

    def test_a_key_with_escape_codes(self):
        self.holds("escape", "a\x1b[31mb\x9b")

    def test_a_key_with_a_nul(self):
        self.holds("nul", "a\0b")


def main(arguments):
    if arguments[:1] != ["--halfsent"] or len(arguments) < 2:
        sys.exit(__doc__)
    AcceptanceTest.program = pathlib.Path(arguments[1]).resolve()
    return unittest.main(argv=[sys.argv[0], *arguments[2:]], verbosity=2)


if __name__ == "__main__":
    main(sys.argv[1:])
