#!/usr/bin/env python3
"""tools/check-prose.py names what is hard to read, and nothing else."""

import importlib.util
import pathlib
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "check-prose.py"
spec = importlib.util.spec_from_file_location("check_prose", TOOL)
prose = importlib.util.module_from_spec(spec)
spec.loader.exec_module(prose)

HEAD = "# Page\n\nFor people who test.\n\n"
LONG = " ".join(["long"] * 26) + "."


def found(text, name="docs/page.md"):
    return prose.check_text(name, HEAD + text)


class Sentences(unittest.TestCase):
    def test_26_words_are_too_many_and_25_are_not(self):
        self.assertEqual(found(" ".join(["w"] * 25) + "."), [])
        self.assertEqual(len(found("\n".join(["w"] * 26) + ".\n")), 1)

    def test_the_line_is_that_of_the_sentence(self):
        problems = found("Short one.\nAnother\none. " + "\n".join(["So"] + ["w"] * 25) + ".\n")
        self.assertEqual([line for line, _ in problems], [7])
        self.assertIn("26 words: So w w", problems[0][1])

    def test_sentences_end_at_marks_but_not_at_abbreviations_or_versions(self):
        half = " ".join(["w"] * 13)
        for end in (".", "?", "!", ".)", '."', ".**"):
            self.assertEqual(found(f"{half}{end}\n{half}.\n"), [], end)
        for middle in ("e.g.", "i.e.", "v1.36", "a.md"):
            self.assertEqual(len(found(f"{half}\n{middle} {half}.\n")), 1, middle)

    def test_a_small_letter_may_begin_a_sentence(self):
        half = " ".join(["w"] * 13)
        self.assertEqual(found(f"{half}.\nannals {half}.\n"), [])

    def test_a_span_of_code_is_one_word_and_a_link_counts_by_its_text(self):
        words = " ".join(["w"] * 23)
        self.assertEqual(found(f"{words}\n`a b c d e\nf g. h` end.\n"), [])
        self.assertEqual(found(f"{words}\n[two words](a/b.md \"five words that nobody sees\").\n"), [])
        self.assertEqual(len(found(f"{words}\n[three words here](a.md).\n")), 1)

    def test_items_of_lists_are_sentences_of_their_own(self):
        half = " ".join(["w"] * 13)
        self.assertEqual(found(f"Intro:\n\n- {half}\n- {half}\n  1. {half}\n"), [])
        self.assertEqual(len(found(f"- {half}\n  {half}\n")), 1)
        self.assertEqual(len(found(f"- {half}\n\n  {half}\n  {half}\n")), 1)

    def test_code_tables_headings_and_comments_are_no_prose(self):
        for text in (f"```sh\n{LONG[:60]}\n{LONG}\n```\n", f"Text:\n\n    {LONG[:90]}\n    {LONG[:90]}\n",
                     f"| {LONG[:50]} | {LONG[:50]} |\n| --- | --- |\n| {LONG[:50]} | {LONG[:50]} |\n",
                     f"<!-- {LONG[:90]}\n{LONG[:90]} -->\n", f"- item\n\n      {LONG[:90]}\n      {LONG[:90]}\n"):
            self.assertEqual([what for _, what in found(text) if "sentence" in what], [], text)

    def test_prose_goes_on_after_code(self):
        for code in ("    code\n\n", "```\ncode\n```\n"):
            self.assertEqual(len(found("Text:\n\n" + code + "\n".join(["w"] * 26) + ".\n")), 1, code)


class Lines(unittest.TestCase):
    def test_prose_has_100_columns_and_everything_else_120(self):
        self.assertEqual(found("x" * 100), [])
        self.assertEqual(found("x" * 101), [(5, "a line of prose of 101 columns")])
        self.assertEqual(found("```\n" + "x" * 120 + "\n```"), [])
        self.assertEqual(found("```\n" + "x" * 121 + "\n```"), [(6, "a line of 121 columns")])
        self.assertEqual(found("|" + "x" * 120), [(5, "a line of 121 columns")])

    def test_rows_may_be_long_only_where_that_is_said(self):
        self.assertEqual(found("|" + "x" * 120, prose.LONG_ROWS[0]), [])
        self.assertEqual(len(found("    " + "x" * 120, prose.LONG_ROWS[0])), 1)


class Sources(unittest.TestCase):
    """Words to avoid, in comments and texts of source files; names of the code may be anything."""

    def named(self, text, name="a.c"):
        return [(line, what.split('"')[1]) for line, what in prose.check_source(name, text)]

    def test_comments_and_texts_are_read_and_code_is_not(self):
        self.assertEqual(self.named('int told; /* what was told */\nputs("nobody is told");\nf(told, "told");\n'), [(1, "told"), (2, "told"), (3, "told")])
        self.assertEqual(self.named("told = 1  # as told before\nx = f'is {told} here'\n", "a.py"), [(1, "told")])
        self.assertEqual(self.named("// It mends that.\nconst s = `is ${told} here`;\n", "a.js"), [(1, "mends")])
        self.assertEqual(self.named("told=1 # makes it again\n", "a.sh"), [(1, "makes it again")])

    def test_yaml_and_templates_are_read_as_a_whole(self):
        self.assertEqual(self.named("# It is told\ntext: nobody believes\n{{ told }}\n", "a.yaml"), [(1, "told"), (2, "believes")])
        self.assertEqual(self.named("{{- /* It mends that. */ -}}\nplain told\n", "a.tpl"), [(1, "mends"), (2, "told")])
        self.assertEqual(self.named("told = files('told.c') # and told\n", "meson.build"), [(1, "told"), (1, "told")])

    def test_what_is_made_again_may_have_a_name(self):
        self.assertEqual(self.named("// It makes a deleted node again.\n"), [(1, "makes a deleted node again")])
        self.assertEqual(self.named("// It makes room. Then it reads again.\n"), [])

    def test_a_phrase_may_go_over_the_end_of_a_line(self):
        self.assertEqual(self.named("/* One line\n * tells\n * of it. */"), [(2, "tells\n * of")])

    def test_a_sentence_of_a_comment_begins_with_a_noun(self):
        for comment in ("/* What waits may wait long. */", "/* Waits.\n * Whoever comes\n * is asked. */", "/* It ends. */", "/* Of a pod. */", "/* Reads. Those go. */"):
            self.assertEqual(len(self.named(f"int a;\n{comment}\n")), 1, comment)
        for comment in ("/* Who asks? */", "/* The write ends. It is kept. */", "/* of a pod */", "/* Whole pods. */"):
            self.assertEqual(self.named(comment), [], comment)
        self.assertEqual(self.named("int a;\n/* Waits.\n * Who asks is\n * named. */"), [(3, "Who")])
        self.assertEqual(self.named('puts("It ends. Whoever waits goes.");\n'), [])
        self.assertEqual(self.named('puts("What is it that waits");\n# What a shell says\n', "a.py"), [])

    def test_marks_of_a_merge_are_found_in_pages_and_in_code(self):
        text = "Text.\n" + "<" * 7 + " HEAD\n" + "=" * 7 + "\n" + ">" * 7 + " main\n"
        for check, name in ((prose.check_text, "README.md"), (prose.check_source, "a.c")):
            self.assertEqual([line for line, what in check(name, text) if "merge" in what], [2, 4])
        self.assertEqual(list(prose.check_source("a.c", "x <<= 7;\n")), [])

    def test_a_word_within_another_is_none(self):
        self.assertEqual(self.named('/* We recommend to display what is unbelievable, and play(x) is code. */'), [])


class Pages(unittest.TestCase):
    def test_a_page_of_docs_says_for_whom_it_is(self):
        self.assertEqual(len(prose.check_text("docs/a.md", "# A\n\nText.\n")), 1)
        self.assertEqual(prose.check_text("CHANGELOG.md", "# A\n\nText.\n"), [])

    def test_banned_phrases_are_named_with_what_to_write(self):
        self.assertEqual({line for line, _ in found("Fine.\nWhat up has within and\nserve has not.\n")}, {6})
        self.assertEqual([line for line, _ in found("What `annals up` has and `annals\nserve` has not.\n")], [5])
        self.assertEqual(found("A service has not come up.\n"), [])

    def test_headings_and_rows_of_tables_are_read_too(self):
        self.assertEqual([line for line, _ in found("## Nobody is told\n\n| a | b |\n| --- | --- |\n| make it again | `told` |\n")], [5, 9])

    def test_pages_that_a_program_writes_are_not_read(self):
        mark = '\nThis page is made from the source: `make docs` writes it anew.\n\n'
        self.assertEqual(prose.check_text("docs/a.md", f"# A\n{mark}{LONG}\n"), [])
        self.assertNotEqual(prose.check_text("docs/a.md", f"# A\n\nIt speaks of `make docs`.\n\n{LONG}\n"), [])

    def test_pages_that_others_have_installed_are_not_read(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("examples/a/README.md", "examples/a/.venv/b/README.md", "docs/node_modules/c/README.md"):
                (root / name).parent.mkdir(parents=True)
                (root / name).write_text("x" * 101)
            self.assertEqual(prose.pages(root), ["examples/a/README.md"])

    def test_the_list_of_pages_not_yet_held_to_it_can_only_shrink(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "docs" / "bad.md").write_text(HEAD + LONG.replace(" ", "\n"))
            (root / "docs" / "good.md").write_text(HEAD)
            (root / "NEW.md").write_text("x" * 101)
            self.assertEqual([problem.split(": ")[0] for problem in prose.check_root(root, [])], ["NEW.md:1", "docs/bad.md:5"])
            (root / "NEW.md").unlink()
            self.assertEqual(prose.check_root(root, ["docs/bad.md"]), [])
            self.assertIn("take it out", prose.check_root(root, ["docs/bad.md", "docs/good.md"])[0])
            self.assertIn("does not exist", prose.check_root(root, ["docs/bad.md", "docs/gone.md"])[0])


if __name__ == "__main__":
    unittest.main()
