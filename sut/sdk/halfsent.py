"""Announces a boundary of one's own to Halfsent, from Python 3. Copy this file; it needs nothing else.

    import halfsent

    halfsent.at("rendered", digest_key)
    halfsent.at("rendered")              # of the job that this worker holds

Elsewhere it is one failed look-up. Never raises for a str.
"""

import os


def at(name, key=""):
    path = "/halfsent/at/" + name.replace("/", "_") + "/" + key
    os.access(path.encode("utf-8", "replace").partition(b"\0")[0], os.F_OK)
