"""The processes below a halfsent process, seen from outside: who they are, and whether they still live.

Reads /proc only. For acceptance_test.py; standard library only.
"""

import os
import pathlib
import time

PF_EXITING = 4  # of the kernel: in its own exit, never again to run an instruction of its program


def stat_of(pid):
    """(lives, parent, start time) of a process, or None. A zombie does not live, nor does who is in its own exit."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0] not in "ZX" and not int(fields[6]) & PF_EXITING, int(fields[1]), fields[19]


def everybody():
    found = {int(name): stat_of(name) for name in os.listdir("/proc") if name.isdigit()}
    return {pid: stat for pid, stat in found.items() if stat is not None and stat[0]}


def namespace_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


class Family:
    """The descendants of a halfsent process at one moment: jobs beside it, worlds in PID namespaces of their own."""

    def __init__(self, root):
        everyone = everybody()
        self.members = {}
        parents = {root}
        while parents:
            self.members.update({pid: everyone[pid] for pid in parents if pid in everyone})
            parents = {pid for pid, stat in everyone.items() if stat[1] in parents}
        own = namespace_of("self")
        spaces = {pid: namespace_of(pid) for pid in self.members}
        self.worlds = {space for space in spaces.values() if space not in (None, own)}
        self.ours = [pid for pid, space in spaces.items() if space == own]
        self.commands = [command_of(pid) for pid, space in spaces.items() if space in self.worlds]
        links = [link for pid in self.ours for link in self.links(pid)]
        self.scratch = {link for link in links if link.startswith("/dev/shm/halfsent-scratch-")}

    @staticmethod
    def links(pid):
        try:
            return [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            return []

    def with_word(self, word):
        """How many processes of the worlds have this as a whole word of their commands."""
        return sum(word in command for command in self.commands)

    def alive(self):
        """Who of them is still there, and whoever joined one of their worlds since."""
        return [pid for pid, stat in everybody().items()
                if namespace_of(pid) in self.worlds or (pid in self.members and self.members[pid][2] == stat[2])]

    def seconds_until_gone(self, limit=20.0):
        start = time.monotonic()
        while alive := self.alive():
            if time.monotonic() - start > limit:
                return limit, [command_of(pid) for pid in alive]
            time.sleep(0.002)
        return time.monotonic() - start, []


def wait_for(what, limit=60.0):
    """Calls `what` until it gives something; None after `limit` seconds."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.01)
    return None
