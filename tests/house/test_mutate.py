#!/usr/bin/env python3
"""tools/mutate.py changes the line that is meant, and says when there is none. tools/random_mutants.py makes mutants by itself."""

import collections
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import mutate
import random_mutants

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


DECLARATIONS = b"""#include <stdbool.h>
#define NOTHING_IF(c) if (c) { return 0; }
#define assert(c) ((c) ? (void)0 : __builtin_abort())
void lock(int *m); void unlock(int *m); void map_free(void *p); int two(int a, int b); int mixed(int a, bool b); bool good(int a);
"""


@unittest.skipUnless(random_mutants.clang, "no libclang: tools/install-deps.sh mutate")
class Operators(unittest.TestCase):
    def made(self, body, frees=True):
        """{operator: the body's mutants}"""
        head = DECLARATIONS + b"int f(int a, int b)\n{\n"
        whole = head + body.encode() + b"\n}\n"
        found = random_mutants.Operators("/snippet.c", whole, ["-std=gnu17"], frees)
        self.assertEqual(found.errors, [])
        made = collections.defaultdict(list)
        for place in found.places:
            changed = place.apply(whole)
            self.assertEqual(changed.count(b"\n"), whole.count(b"\n"), "lines have moved")
            self.assertEqual((place.function, place.line > 5), ("f", True))
            made[place.operator].append(changed[len(head) : -3].decode().strip())
        return dict(made)

    def assert_made(self, body, **wanted):
        made = self.made(body)
        self.assertEqual({name.replace("-", "_"): texts for name, texts in made.items()}, wanted)

    def test_statements_are_dropped(self):
        self.assert_made("a = b; return a;", drop=["; return a;"])
        self.assert_made("two(1, 1); return a;", drop=["; return a;"])
        self.assert_made("while (a) { continue; } return a;", drop=["while (a) { ; } return a;"], negate=["while (!(a)) { continue; } return a;"])

    def test_the_last_return_stays(self):
        self.assert_made("if (a) { return 1; } return 0;", drop=["if (a) { ; } return 0;"], negate=["if (!(a)) { return 1; } return 0;"])

    def test_lines_stay_where_they_are(self):
        self.assert_made("two(1,\n 1);\n return a;", drop=[";\n return a;"])

    def test_conditions_are_negated(self):
        self.assert_made("return a && b ? 1 : 0;", negate=["return !(a && b) ? 1 : 0;"])

    def test_arguments_of_the_same_type_are_swapped(self):
        self.assert_made("return two(a, b);", swap=["return two(b, a);"])
        self.assert_made("return mixed(a, b > 0);", off_by_one=["return mixed(a, b >= 0);"])
        self.assert_made("return two(a, a);")

    def test_boundaries_move_by_one(self):
        for sign, other in (("<", "<="), ("<=", "<"), (">", ">="), (">=", ">")):
            self.assert_made(f"return a {sign} b;", off_by_one=[f"return a {other} b;"])
        self.assert_made("return a - 1;", off_by_one=["return a - 2;"])
        self.assert_made("return a * b;")

    def test_what_is_held_is_not_given_back(self):
        self.assert_made("unlock(&a); return a;", forget=["; return a;"])
        self.assert_made("map_free(&a); return a;", forget=["; return a;"])
        self.assertEqual(self.made("map_free(&a); return a;", frees=False), {})

    def test_results_are_ignored(self):
        self.assertEqual(self.made("if (!good(a)) { a = 1; } return a;")["ignore"], ["if (!((void)good(a), 1)) { a = 1; } return a;"])
        self.assertEqual(self.made("if (good(a)) { a = 1; } return a;")["ignore"], ["if (((void)good(a), 0)) { a = 1; } return a;"])
        self.assertEqual(self.made("int n = two(a, a); return n;")["ignore"], ["int n = ((void)two(a, a), 0); return n;"])

    def test_macros_and_assertions_stay(self):
        self.assert_made("NOTHING_IF(a > b) return 1;")
        self.assert_made("assert(a > b); return 1;")


class Judges(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("server/write/write.c", *(f"tests/integration/test_{test}.py" for test in ("one", "two", "writers", "references"))):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(name)

    def reach(self, **known):
        reach = random_mutants.Reach(self.root / "reach")
        for test, lines in known.items():
            reach.write(f"test_{test}", lines)
        return random_mutants.Reach(self.root / "reach").tests_for(self.root, "server/write/write.c", 7)

    def test_without_coverage_names_say_which_integration_tests_judge(self):
        self.assertEqual(self.reach(), ["test_references", "test_writers"])

    def test_coverage_says_which_reach_the_line(self):
        now = random_mutants.digest(self.root / "server/write/write.c")
        lines = {"one": {"server/write/write.c": [now, [6, 7]]}, "two": {"server/write/write.c": [now, [6, 8]]}, "writers": {"base/str.c": ["", [7]]}}
        self.assertEqual(self.reach(**lines), ["test_references", "test_one"])

    def test_a_file_that_has_changed_since_is_reached_as_a_whole(self):
        self.assertIn("test_two", self.reach(two={"server/write/write.c": ["another", [6, 8]]}))

    def test_gcov_counts_lines_of_ours(self):
        text = """{"files": [{"file": "../base/str.c", "lines": [{"line_number": 3, "count": 0}, {"line_number": 4, "count": 9}]},
            {"file": "/usr/include/stdlib.h", "lines": [{"line_number": 1, "count": 1}]}]}""".replace("\n", "")
        self.assertEqual(random_mutants.lines_of_gcov(text, "/w", "/w/build"), {"base/str.c": {4}})

    def test_an_executable_names_its_files(self):
        for name, text in (("one.c", "int two(void); int main(void) { return two(); }"), ("two.c", "int two(void) { return 0; }"), ("three.c", "int three;")):
            (self.root / name).write_text(text)
        subprocess.run("cc -c one.c two.c three.c && ar rc both.a two.o three.o && cc -o main one.o both.a", shell=True, cwd=self.root, check=True)
        found = random_mutants.files_of_executable(self.root / "main")
        self.assertEqual(found & {"one.c", "two.c", "three.c"}, {"one.c", "two.c"})

    def test_tests_are_linked_few_by_few(self):
        self.assertEqual([len(batch) for batch in random_mutants.batches(list(range(30)))], [4, 16, 10])
        self.assertEqual(list(random_mutants.batches([])), [])

    def test_score_is_by_room(self):
        self.assertEqual(random_mutants.score({"b": (1, 2), "a": (3, 3)}), "a: 3 of 3 noticed\nb: 1 of 2 noticed\nall: 4 of 5 noticed")


class JudgedCopy:
    """Tests that fail while the object is the mutant's, or always; what is put is written down."""

    def __init__(self, folder, failing=(), broken=()):
        self.folder, self.failing, self.broken = folder, failing, broken
        self.object, self.mutated = folder / "x.o", folder / "mutated"
        self.object.write_bytes(b"original")

    def object_of(self, file):
        return self.object

    def put(self, file, data):
        self.mutated.write_text("x.o")
        self.object.write_bytes(data)

    def tests_of(self, file, function):
        return ["one", "two", "three"]

    def process_targets(self):
        return []

    def ninja(self, *targets, keep_going=False):
        return 0, ""

    def passes(self, test):
        return int(test in self.broken or (test in self.failing and self.object.read_bytes() == b"mutant")), ""


class Judging(unittest.TestCase):
    def judge(self, **fails):
        with tempfile.TemporaryDirectory() as folder:
            copy = JudgedCopy(pathlib.Path(folder), **fails)
            place = random_mutants.Place("drop", "f", 7, 0, 0, b"")
            judge = random_mutants.Judge(copy, random_mutants.Reach(copy.folder / "reach"), 2)
            noticed = judge.judge(random_mutants.Mutant("x", "x.c", place, b"", b"", b"mutant"))
            self.assertEqual(copy.object.read_bytes(), b"original")
            self.assertFalse(copy.mutated.exists())
            return noticed

    def test_a_test_that_fails_notices_and_without_one_the_mutant_survives(self):
        self.assertEqual(self.judge(failing=["two", "three"]), "two")
        self.assertIsNone(self.judge())

    def test_a_test_that_fails_without_the_mutant_does_not_count(self):
        self.assertEqual(self.judge(failing=["three"], broken=["one"]), "three")
        self.assertIsNone(self.judge(broken=["one"]))


@unittest.skipUnless(random_mutants.clang, "no libclang: tools/install-deps.sh mutate")
class Sample(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for room in ("a", "b"):
            (self.folder / room).mkdir()
            (self.folder / room / "x.c").write_text("int g(int);\nint f(int a)\n{\n\tg(1);\n\tg(2);\n\tif (a > 1) {\n\t\treturn g(a - 1);\n\t}\n\treturn 0;\n}\n")

    def sample(self, seed, n=6, **fixed):
        copy = FakeCopy(self.folder, **fixed)
        mutants = random_mutants.sample(copy, {"a": ["a/x.c"], "b": ["b/x.c"]}, n, random.Random(seed), False)
        return [(mutant.room, mutant.place) for mutant in mutants]

    def test_a_seed_decides_and_rooms_take_turns(self):
        self.assertEqual(self.sample(7), self.sample(7))
        self.assertNotEqual(self.sample(7), self.sample(8))
        self.assertEqual(collections.Counter(room for room, _ in self.sample(7)), {"a": 3, "b": 3})

    def test_no_place_is_taken_twice_and_the_end_is_an_end(self):
        made = self.sample(7, n=1000)
        self.assertEqual(len(made), len(set(made)))
        self.assertLess(len(made), 50)

    def test_what_does_not_compile_or_changes_nothing_is_replaced(self):
        self.assertEqual(self.sample(7, compiles=False), [])
        self.assertEqual(self.sample(7, changes=False), [])


class FakeCopy:
    """A compiler whose objects are the source."""

    def __init__(self, folder, compiles=True, changes=True):
        self.folder, self.compiles, self.changes = folder, compiles, changes

    def arguments(self, file):
        return ["-std=gnu17"]

    def object_of(self, file):
        return self.folder / file

    def compile(self, file, whole):
        return whole if self.compiles else None

    def code(self, data):
        return data if self.changes else b"the same"


if __name__ == "__main__":
    unittest.main()
