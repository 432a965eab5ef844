#!/usr/bin/env python3
"""Revokes grants that nobody has in a database of SQLite whose server is stopped: markers.py FILE COUNT"""

import sqlite3
import sys
import time
import uuid

DAY = 86_400_000


def main(file: str, count: int) -> None:
    now = int(time.time() * 1000)
    origin = uuid.uuid4().bytes
    rows = ((origin, counter, str(uuid.uuid4()), now, now + DAY) for counter in range(1, count + 1))
    with sqlite3.connect(file) as database:
        database.executemany(
            "INSERT INTO revocation (origin, counter, kind, key, at, expires_at, swept) VALUES (?, ?, 1, ?, ?, ?, 1)",
            rows,
        )


main(sys.argv[1], int(sys.argv[2]))
