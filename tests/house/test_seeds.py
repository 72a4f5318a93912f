#!/usr/bin/env python3
"""tools/seeds.py says which requirement no test shows, and writes down which tests show the others."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))

import seeds

PAGE = """\
| # | section | requirement | shown by |
| --- | --- | --- | --- |
| H1 | "A" | one | |
| H2 | | two | (nobody asks for it) |
| D1 | | three | `gone` |
"""


class Seeds(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        (self.root / "tests" / "unit").mkdir(parents=True)

    def put(self, name, text):
        (self.root / "tests" / name).write_text(text)

    def test_markers_above_tests_are_found_in_both_languages(self):
        self.put("test_a.py", "# seeds: H1, D1\n@mark\ndef test_one(x):\n    pass\n\ndef test_two():\n    pass\n")
        self.put("unit/test_b.c", "/* seeds: H1 */\nstatic void test_three(void **state)\n{\n}\n")
        found = seeds.find_tests(self.root)
        self.assertEqual(found, {"H1": ["test_a.py::test_one", "unit/test_b.c::test_three"], "D1": ["test_a.py::test_one"]})

    def test_a_marker_without_a_test_is_an_error(self):
        self.put("test_a.py", "# seeds: H1\n")
        with self.assertRaises(SystemExit):
            seeds.find_tests(self.root)

    def test_lines_without_tests_and_markers_without_lines_are_told(self):
        page, problems = seeds.rewrite(PAGE, {"H1": ["test_a.py::test_one"], "R9": ["test_a.py::test_two"]})
        self.assertIn('| H1 | "A" | one | `test_a.py::test_one` |', page)
        self.assertIn("| H2 | | two | (nobody asks for it) |", page)
        self.assertEqual([problem.partition(":")[0] for problem in problems], ["D1", "R9"])


if __name__ == "__main__":
    unittest.main()
