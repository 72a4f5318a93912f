#!/usr/bin/env python3
"""What "make docs" writes is what is committed: each page and file that is made from the source says what the source says now."""

import difflib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = os.environ.get("ANNALS_BUILD", str(ROOT / "build"))
# Folders with made files, and what says in its first lines that a file is one.
FOLDERS = ["docs", "man", "clients"]
MARKS = ('"make docs" writes it', "by make docs. DO NOT EDIT")
# "make docs" writes it, and nobody commits it: 85,000 lines that the server answers anyway.
NOT_COMMITTED = "openapi/"
LINES = 30


def is_made(path):
    with path.open("rb") as file:
        start = file.read(2000).decode(errors="replace")
    return any(mark in start for mark in MARKS)


def files_in(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def difference(name, committed, made):
    lines = difflib.unified_diff(committed.splitlines(), made.splitlines(), f"{name}, committed", f"{name}, as it should be", lineterm="", n=0)
    return "\n".join([line for line, _ in zip(lines, range(LINES))])


class Docs(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="annals-docs-")
        cls.addClassCleanup(folder.cleanup)
        cls.made = pathlib.Path(folder.name)
        done = subprocess.run([ROOT / "tools" / "make-docs.sh", BUILD, cls.made], capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr

    def test_what_is_made_is_committed(self):
        names = sorted(name for name in files_in(self.made) if not name.startswith(NOT_COMMITTED))
        self.assertGreater(len(names), 0)
        for name in names:
            with self.subTest(name):
                self.assertTrue((ROOT / name).exists(), f'{name} is not there: run "make docs"')
                found = difference(name, (ROOT / name).read_text(), (self.made / name).read_text())
                self.assertEqual(found, "", f'{name} is stale: run "make docs"\n{found}')

    def test_what_claims_to_be_made_is_made(self):
        claiming = {path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file() and is_made(path)}
        self.assertEqual(sorted(claiming - files_in(self.made)), [], 'nothing makes these any more: remove them')
        silent = {name for name in files_in(self.made) - claiming if not name.startswith(NOT_COMMITTED)}
        self.assertEqual(sorted(silent), [], 'these do not say that they are made')


if __name__ == "__main__":
    unittest.main()
