"""The canary: a worker that sends every digest twice. A harness that passes it is broken.

Usage: worker.py NAME DATABASE URL
"""

import http.client
import json
import sqlite3
import sys
import time
import urllib.parse


def send(url, digest_key):
    connection = http.client.HTTPConnection(url.hostname, url.port or 80, timeout=10)
    connection.request("POST", url.path or "/", json.dumps({"digest_key": digest_key}))
    connection.getresponse().read()
    connection.close()


def main():
    db = sqlite3.connect(sys.argv[2], timeout=5, isolation_level=None)
    url = urllib.parse.urlsplit(sys.argv[3])
    while True:
        claimed = db.execute(
            "UPDATE digest_jobs SET state = 'leased', attempts = attempts + 1, lease_until = ? WHERE digest_key ="
            " (SELECT digest_key FROM digest_jobs WHERE state = 'pending' ORDER BY digest_key LIMIT 1)"
            " RETURNING digest_key",
            (int(time.time()) + 60,),
        ).fetchall()
        if not claimed:
            time.sleep(5)
        for job in claimed:
            send(url, job[0])
            send(url, job[0])
            db.execute("UPDATE digest_jobs SET state = 'delivered' WHERE digest_key = ?", job)


if __name__ == "__main__":
    main()
