#!/usr/bin/env python3
"""Kubernetes' types are data: what the compiler of api/upstream makes of facts and words, and that the facts are those of Kubernetes."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FACTS = """# core/v1 of Kubernetes v1.36.3.

Thing
	TypeMeta
	metadata meta/v1.ObjectMeta 1 omitempty
	spec ThingSpec 2 omitempty

ThingSpec atomic
	embedded Base 2
	name string 2.7 required
	size *int32 3 omitempty default=1
	mode Mode(string) 4 omitempty
	parts []Part 5 omitempty list=map:name,port patch=merge,retainKeys:name
	at meta/v1.Time 6 omitempty
	labels map[string]string 8 omitempty map=atomic

Part
	name string 1 required
	port int32 2 omitempty

Unused
	name string 1 required
"""
WORDS = """# Ours.
ThingSpec: What it is to be.
	size: How large.
	mode = "Fast": How it runs.

ThingSpec as type_long_spec in dev.annals.v1: A longer one.
	+ extra *int64 - omitempty: More.
"""


class Compiler(unittest.TestCase):
    def compile(self, words=WORDS, names="type_thing"):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "core-v1.facts").write_text(FACTS)
            (folder / "core-v1.words").write_text(words)
            (folder / "x.h").write_text(f"extern const struct type {names};")
            done = subprocess.run([ROOT / "tools/compile-schemas.py", folder / "x.c", folder / "x.h", folder / "core-v1.facts", folder / "core-v1.words"],
                capture_output=True, text=True, check=False)
            return done.stderr or (folder / "x.c").read_text()

    def test_a_field_has_its_flags_and_words(self):
        text = self.compile()
        self.assertIn('{"name", &type_string, FIELD_ALWAYS | FIELD_MANDATORY | FIELD_NUMBER_IN(2, 7), "See https://', text)
        self.assertIn('{"size", &type_int32, FIELD_KEEP_EMPTY | FIELD_NUMBER(3), "How large.", NULL, "1"}', text)
        self.assertIn('{"at", &type_time, FIELD_ALWAYS | FIELD_NUMBER(6),', text)
        self.assertIn("#thingspec-v1-core", text)

    def test_a_default_of_ours_is_silent(self):
        self.assertIn(r'{"mode", &type_mode, FIELD_SILENT_DEFAULT | FIELD_NUMBER(4), "How it runs.", NULL, "\"Fast\""}', self.compile())

    def test_lists_have_keys_and_patch_strategies(self):
        text = self.compile()
        self.assertIn('.list_keys = (const char *const[]){"name", "port", NULL}', text)
        self.assertRegex(text, r'"parts", &list_part_by_name_port, FIELD_PATCH_MERGE \| FIELD_RETAIN_KEYS \| FIELD_NUMBER\(5\), "[^"]*", "name", NULL')

    def test_objects_and_maps_are_atomic_where_the_facts_say_so(self):
        text = self.compile()
        self.assertIn("&atomic_string_map", text)
        self.assertRegex(text, r"type_thing_spec = \{[^}]*\.is_atomic = true,\n\t\.embedded = \"Base\"")

    def test_only_what_the_header_reaches_is_made(self):
        text = self.compile()
        self.assertNotIn("Unused", text)
        self.assertIn("\nconst struct type type_thing = ", text)
        self.assertIn("\nstatic const struct type type_thing_spec = ", text)

    def test_another_form_has_more_fields_and_its_own_name(self):
        text = self.compile(names="type_thing, type_long_spec")
        self.assertIn('.definition = "dev.annals.v1.ThingSpec"', text)
        self.assertEqual(text.count('{"extra", &type_int64, FIELD_KEEP_EMPTY, "More.", NULL, NULL}'), 1)

    def test_a_whole_object_within_another_owns_nothing(self):
        text = self.compile(names="type_embedded_thing")
        self.assertIn('{"kind", &type_string, 0,', text)
        self.assertIn('{"metadata", &type_embedded_meta, FIELD_ALWAYS | FIELD_NUMBER(1),', text)

    def test_words_without_a_fact_and_unknown_names_stop_it(self):
        self.assertIn("the facts have no Nothing", self.compile("Nothing: A thing.\n"))
        self.assertIn("the facts have no Part.colour", self.compile("Part: A part.\n\tcolour: Its colour.\n"))
        self.assertIn("what is this?", self.compile("Part: A part.\n\t!\n"))
        self.assertIn("type_nothing", self.compile(names="type_nothing"))


class Facts(unittest.TestCase):
    def test_committed_facts_are_what_the_modules_say(self):
        version = re.search(r"v1\.\d+\.\d+", (ROOT / "api/upstream/core-v1.facts").read_text())[0]
        if not shutil.which("go"):
            self.skipTest("there is no Go")
        for module in ("api", "apimachinery"):
            known = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip()
            if not pathlib.Path(known, f"k8s.io/{module}@v0{version[2:]}").is_dir():
                self.skipTest(f"k8s.io/{module} is not on this machine")
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "api/upstream").mkdir(parents=True)
            (pathlib.Path(folder) / "tools").mkdir()
            tool = shutil.copy(ROOT / "tools/upstream.py", pathlib.Path(folder) / "tools")
            subprocess.run([tool, version], check=True)
            for made in sorted(pathlib.Path(folder).glob("api/upstream/*.facts")):
                self.assertEqual((ROOT / "api/upstream" / made.name).read_text(), made.read_text(), made.name)


if __name__ == "__main__":
    unittest.main()
