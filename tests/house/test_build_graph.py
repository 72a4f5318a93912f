#!/usr/bin/env python3
"""tools/build_graph.py reads from a build folder which tests are made of a file; tools/check-headers.sh compiles what has changed alone."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

import build_graph

NINJA = """rule c_COMPILER
 command = cc $ARGS
build a.o: c_COMPILER ../base/a.c || gen.h
 ARGS = -I..
build gen.h: CUSTOM ../proto/gen.proto
build liba.a: STATIC_LINKER a.o
build with$ blank.o: c_COMPILER ../tests/with$ blank.c
build tests/one: c_LINKER with$ blank.o | /usr/lib/libz.so liba.a
build tests/two: c_LINKER two.o
build two.o: c_COMPILER ../tests/two.c
"""


class World(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()

    def put(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)


class Graph(World):
    def graph(self):
        self.put("build/build.ninja", NINJA)
        tests = [{"name": name, "suite": ["annals:unit"], "cmd": [str(self.root / "build/tests" / name), "corpus"]} for name in ("one", "two")]
        self.put("build/meson-info/intro-tests.json", json.dumps(tests))
        return build_graph.Graph(self.root / "build", self.root)

    def test_a_test_is_made_of_the_sources_of_what_it_is_linked_with(self):
        tests_of = self.graph().tests_of
        for path, names in (("base/a.c", ["one"]), ("tests/with blank.c", ["one"]), ("tests/two.c", ["two"]), ("proto/gen.proto", ["one"]), ("base/b.c", [])):
            self.assertEqual([test.name for test in tests_of.get(path, [])], names, path)

    def test_headers_are_those_that_objects_were_compiled_with(self):
        graph = self.graph()
        graph.headers = {"two.o": ["../base/b.h"], "other.o": ["../base/c.h"]}
        self.assertEqual([test.name for test in graph.tests_of["base/b.h"]], ["two"])
        self.assertNotIn("base/c.h", graph.tests_of)


@unittest.skipUnless(shutil.which("ninja") and shutil.which("cc"), "no ninja or no compiler")
class Headers(World):
    def check(self):
        """(exit status, headers that were compiled)."""
        done = subprocess.run([self.root / "tools/check-headers.sh", "build"], capture_output=True, text=True, check=False)
        return done.returncode, {line.split("] ")[1] for line in done.stdout.splitlines() if line.startswith("[")}

    def test_headers_are_compiled_when_they_or_what_they_include_have_changed(self):
        self.put("tools/check-headers.sh", (TOOLS / "check-headers.sh").read_text())
        (self.root / "tools/check-headers.sh").chmod(0o755)
        for name, text in (("base/a.h", "struct a { int x; };\n"), ("base/b.h", '#include "base/a.h"\nstruct b { struct a a; };\n'), ("cli/c.h", "struct c;\n")):
            self.put(name, text)
        self.assertEqual(self.check(), (0, {"base/a.h", "base/b.h", "cli/c.h"}))
        self.assertEqual(self.check(), (0, set()))
        self.put("base/a.h", "struct b { int x; };\n")
        for _ in range(2):
            status, compiled = self.check()
            self.assertNotEqual(status, 0)
            self.assertIn("base/b.h", compiled)
        self.put("base/a.h", "struct a { long x; };\n")
        status, compiled = self.check()
        self.assertEqual(status, 0)
        self.assertNotIn("cli/c.h", compiled)


if __name__ == "__main__":
    unittest.main()
