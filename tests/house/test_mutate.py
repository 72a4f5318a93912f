#!/usr/bin/env python3
"""tools/mutate.py changes the line that is meant, and says when there is none."""

import importlib.util
import pathlib
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "mutate.py"
spec = importlib.util.spec_from_file_location("mutate", TOOL)
mutate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mutate)

SOURCE = """static int one(int a);

static int one(int a)
{
	return a;
}

int two(const char *name,
	int a)
{
	if (a > one(0)) {
		return a;
	}
	return 0;
}
"""


def mutant(*lines):
    return mutate.read_paragraph("here", ["x.c", *lines, "by x"])


class Mutate(unittest.TestCase):
    def assert_changes(self, m, before, after):
        self.assertEqual(mutate.apply(m, SOURCE), SOURCE.replace(before, after))

    def test_line_keeps_its_indentation(self):
        self.assert_changes(mutant("-\tif (a > one(0)) {", "+\tif (true) {"), "\tif (a > one(0)) {", "\tif (true) {")

    def test_line_goes(self):
        self.assert_changes(mutant("-\treturn 0;", "+"), "\treturn 0;", "")

    def test_function_tells_lines_apart(self):
        lines = ["-\treturn a;", "+\treturn 7;"]
        with self.assertRaises(mutate.Stale):
            mutate.apply(mutant(*lines), SOURCE)
        m = mutate.read_paragraph("here", ["x.c one", *lines, "by x"])
        self.assertEqual(mutate.apply(m, SOURCE).count("\treturn 7;"), 1)
        self.assertLess(mutate.apply(m, SOURCE).index("return 7;"), SOURCE.index("int two("))
        m = mutate.read_paragraph("here", ["x.c two", *lines, "by x"])
        self.assertGreater(mutate.apply(m, SOURCE).index("return 7;"), SOURCE.index("int two("))

    def test_what_is_not_there_is_stale(self):
        for first, line in (("x.c", "return 1;"), ("x.c three", "return a;"), ("x.c one", "return 0;")):
            with self.assertRaises(mutate.Stale):
                mutate.apply(mutate.read_paragraph("here", [first, f"-\t{line}", "+", "by x"]), SOURCE)

    def test_files_are_found_wherever_they_have_moved(self):
        sources = ["server/write/write.c", "server/access/tokens.c", "delegation/tokens.c", "tests/unit/write.c"]
        for name, found in (("write.c", sources[0]), ("server/tokens.c", sources[1]), ("delegation/tokens.c", sources[2])):
            m = mutate.read_paragraph("here", [name, "-\ta", "+", "by x"])
            self.assertEqual(mutate.find_file(m, sources), found)
        for name in ("tokens.c", "absent.c"):
            with self.assertRaises(mutate.Stale):
                mutate.find_file(mutate.read_paragraph("here", [name, "-\ta", "+", "by x"]), sources)

    def test_paragraphs_must_be_whole(self):
        for lines in (["-\ta", "+\ta", "by x"], ["+\ta", "by x"], ["-\ta", "+\tb"], ["-\ta", "-\tb", "+", "by x"], ["?", "-\ta", "+", "by x"]):
            with self.assertRaises(SystemExit):
                mutate.read_paragraph("here", ["x.c", *lines])


if __name__ == "__main__":
    unittest.main()
