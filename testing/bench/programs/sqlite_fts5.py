"""FTS5 of SQLite on the documents of a file: a line each, title and text with a tab between.

Prints lines of a name, seconds, processor time in seconds, and the answer: of the build, then of each query that is read from
standard input as its name, a tab and the statement.
"""

import os
import sqlite3
import sys
import time


def documents(path):
    with open(path, encoding="utf-8", newline="\n") as lines:
        for line in lines:
            title, text = line.rstrip("\n").replace("\\\\", "\\").split("\t", 1)
            yield title, text


def timed(name, work):
    began, cpu = time.perf_counter(), time.process_time()
    answer = work()
    print(name, time.perf_counter() - began, time.process_time() - cpu, answer, sep="\t", flush=True)


def main():
    source, place, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    db = sqlite3.connect(place, isolation_level=None)
    db.execute("create table si (id integer primary key, si_title text, si_text text)")
    db.execute("begin")
    db.executemany("insert into si (si_title, si_text) values (?, ?)", documents(source))
    db.execute("commit")
    before = os.path.getsize(place)
    db.execute("create virtual table ft using fts5(si_title, si_text, content='si', content_rowid='id')")

    def build():
        db.execute("insert into ft(ft) values('rebuild')")
        return os.path.getsize(place) - before

    timed("build", build)
    for line in sys.stdin:
        name, statement = line.rstrip("\n").split("\t")
        for _ in range(rounds):
            timed(name, lambda: db.execute(statement).fetchall()[:1])


main()
