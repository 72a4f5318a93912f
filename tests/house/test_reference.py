#!/usr/bin/env python3
"""The generators of "make docs" read C as a compiler would, as far as they read it, and stop where a meaning is missing."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "reference"))

import ceilings
import errors
import gotypes
import logs
import metrics
import page
import source
import states


def calls(text, names=None):
    return [(name, [source.literal(argument) for argument in arguments]) for name, arguments in source.groups(source.tokens(text), names)]


class Source(unittest.TestCase):
    def test_literals_that_stand_side_by_side_are_one(self):
        self.assertEqual(calls('f("a " /* "not this" */\n  "b", c); // g("nor this")'), [("f", ["a b", None])])

    def test_formats_between_literals_belong_to_them(self):
        self.assertEqual(source.shown(source.tokens('"object " STR_FMT " has %" PRIu64 " items: %.3f%%"')[0]), "object … has … items: …%")

    def test_escapes_are_read(self):
        self.assertEqual(source.tokens(r'"a \"b\"\n"'), ['a "b"\n'])
        self.assertEqual(len(source.tokens(r"""'"' "x" '\''""")), 3)

    def test_prefixes_of_macros_are_followed(self):
        self.assertEqual(calls('#define NAME(what) "cache_" what\nf(NAME("total"))', {"f"}), [("f", ["cache_total"])])

    def test_groups_within_groups_are_found(self):
        self.assertEqual([name for name, _ in calls('f((struct x){.a = {"b", "c"}}, g(STR("d")))')], ["f", "", "", "", "g", "STR"])


class Tables(unittest.TestCase):
    def metrics_of(self, text):
        return [found for name, arguments in source.groups(source.tokens(text)) for found in metrics.pairs_of(name, arguments)]

    def test_metrics_are_found_in_calls_and_tables(self):
        self.assertEqual(self.metrics_of('exposition_gauge(out, "a_bytes", "How many.", 1);'), [("a_bytes", "gauge", "How many.")])
        self.assertEqual(self.metrics_of('{"a_depth", "gauge", "The depth", depth}'), [("a_depth", "gauge", "The depth")])
        self.assertEqual(self.metrics_of('{"a_total", "How often", 1}'), [("a_total", "counter", "How often")])
        self.assertEqual(self.metrics_of('{"not_a_metric", "some text"}'), [])

    def test_a_reason_without_a_meaning_stops(self):
        states.compare("reasons", {"A"}, {"A"})
        for told, said in (({"A"}, {"A", "B"}), ({"A", "B"}, {"A"})):
            with self.assertRaises(SystemExit) as stopped:
                states.compare("reasons", told, said)
            self.assertIn("['B']", str(stopped.exception))

    def test_reasons_of_the_source_are_found(self):
        self.assertIn("OwnerRefInvalidNamespace", states.said_events())
        names, codes, sentences, causes = errors.said()
        self.assertEqual(codes["Conflict"], {"409"})
        self.assertIn("InUse", causes)
        self.assertLess({"cache", "start", "recorder-controller"}, set(logs.said()))


class Ceilings(unittest.TestCase):
    def test_the_comment_at_a_constant_is_its_sentence(self):
        text = "/* Above. */\n#define A_MAX 1\nenum {\n\tB_MAX = 2, /* behind */\n\t/* Over\n\t * two lines. */\n\tC_MAX = 3,\n\n\tD_MAX = 4,\n};\n"
        self.assertEqual(ceilings.definitions(text), [("A_MAX", "1", "Above."), ("B_MAX", "2", "behind"), ("C_MAX", "3", "Over two lines."), ("D_MAX", "4", "")])

    def test_the_length_of_an_array_is_no_ceiling_unless_something_is_compared_with_it(self):
        length = "enum { A_MAX = 4 };\nchar a[A_MAX + 1];\n_Static_assert(ARRAY_SIZE(rows) <= A_MAX, \"room; for all\");\n"
        self.assertTrue(ceilings.is_extent("A_MAX", [length]))
        for use in ("if (n == A_MAX) {", "f(a, A_MAX);", "enum { B = A_MAX };"):
            self.assertFalse(ceilings.is_extent("A_MAX", [length + use]), use)


class Pages(unittest.TestCase):
    def test_words_of_the_source_are_no_markdown(self):
        self.assertEqual(page.plain('"*" or f:<name>'), '"\\*" or f:\\<name>')
        self.assertEqual(page.table(["a", ""], [["x | y", ""]]), "| a | |\n| --- | --- |\n| x \\| y | |")

    def test_names_of_fields_are_those_of_go(self):
        self.assertEqual([gotypes.go_name(name) for name in ("uid", "apiVersion", "historyLimit")], ["UID", "APIVersion", "HistoryLimit"])


if __name__ == "__main__":
    unittest.main()
