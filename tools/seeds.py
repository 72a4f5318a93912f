#!/usr/bin/env python3
"""Which test shows which requirement of the seeds: writes the last column of docs/development/seeds.md.

A test carries a marker in a comment above it, `seeds: H14 U53`; so does a block of a transcript. A line without any test may say in
round brackets why there is none. With --check nothing is written: a line without a test, a marker of
no line, or a column that is not up to date is an error.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "development" / "seeds.md"
ROW = re.compile(r"^\| ([HRUD]\d+) \| (.*) \| ([^|]*)\|$")
MARKER = re.compile(r"^\s*(?:#|/\*)\s*seeds:\s*([A-Z0-9, ]+?)\s*(?:\*/)?\s*$")
PYTHON_TEST = re.compile(r"^\s*(?:async )?def (test_\w+|check_\w+)\(")
C_TEST = re.compile(r"^(?:static )?void (\w+)\(")
BLOCK = re.compile(r"^== (\w+)$")
STARTS = {".py": PYTHON_TEST, ".c": C_TEST, ".txt": BLOCK}


def tests_in(path):
    """(name, ids) of each test with markers."""
    starts = STARTS[path.suffix]
    ids = []
    for line in path.read_text(errors="replace").splitlines():
        marker, test = MARKER.match(line), starts.match(line)
        if marker:
            ids += re.findall(r"[A-Z]\d+", marker[1])
        elif test and ids:
            yield test[1], ids
            ids = []
    if ids:
        sys.exit(f"{path}: a marker without a test behind it: {' '.join(ids)}")


def find_tests(root):
    found = collections.defaultdict(list)
    for path in sorted([*(root / "tests").rglob("test_*"), *(root / "tests").rglob("transcripts/*.txt")]):
        if path.suffix in STARTS:
            for name, ids in tests_in(path):
                for one in ids:
                    found[one].append(f"{path.relative_to(root / 'tests')}::{name}")
    return found


def rewrite(text, found):
    """The page with its last column, and what is wrong."""
    lines, problems, known = [], [], set()
    for line in text.splitlines():
        row = ROW.match(line)
        if row:
            one, middle, last = row[1], row[2], row[3].strip()
            known.add(one)
            tests = ", ".join(f"`{test}`" for test in dict.fromkeys(found.get(one, [])))
            last = tests or (last if last.startswith("(") else "")
            if not last:
                problems.append(f"{one}: no test shows it, and nothing says why: {middle.split(' | ')[-1][:80]}")
            line = f"| {one} | {middle} | {last} |"
        lines.append(line)
    problems += [f"{one}: a marker of no line: {', '.join(tests)}" for one, tests in found.items() if one not in known]
    return "\n".join(lines) + "\n", problems


def main():
    text = PAGE.read_text()
    after, problems = rewrite(text, find_tests(ROOT))
    if "--check" in sys.argv:
        if after != text:
            problems.append("docs/development/seeds.md is not up to date: run tools/seeds.py")
    else:
        PAGE.write_text(after)
    print("\n".join(problems) or f"each requirement names its test ({PAGE.relative_to(ROOT)})")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
