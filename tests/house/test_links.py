#!/usr/bin/env python3
"""Who reads the documentation gets on: links lead somewhere, each page can be reached, and the answers to
what newcomers ask are at most two clicks away from README.md."""

import functools
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CLICKS_MAX = 2
QUESTIONS = ROOT / "tests" / "house" / "questions.txt"

FENCED = re.compile(r"^( *)```.*?^\1```[^\S\n]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LINK = re.compile(r"(?<!\\)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")


def in_git(root):
    """Markdown files that are committed, or are about to be."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], capture_output=True, text=True, check=True)
    return [root / name for name in listed.stdout.splitlines() if (root / name).exists()]


def prose(text):
    """Without what is code. Lines stay where they are."""
    text = FENCED.sub(lambda match: "\n" * match[0].count("\n"), text)
    return COMMENT.sub("", text)


def slug(heading):
    """The anchor that GitHub gives a heading."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


@functools.lru_cache(maxsize=None)
def anchors(path):
    found, seen = set(), {}
    text = path.read_text(encoding="utf-8")
    for heading in re.findall(r"^#{1,6} (.+?)#*$", prose(text), re.MULTILINE):
        name = slug(heading)
        found.add(f"{name}-{seen[name]}" if name in seen else name)
        seen[name] = seen.get(name, 0) + 1
    return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))


def links(path):
    """(target's path, anchor or "") of each link that stays within the project."""
    for matches in LINK.findall(CODE.sub("", prose(path.read_text(encoding="utf-8")))):
        target = "".join(matches)
        if not ELSEWHERE.match(target):
            name, _, anchor = target.partition("#")
            yield (path.parent / name).resolve() if name else path, anchor


def broken_links(pages):
    for page in pages:
        for target, anchor in links(page):
            if not target.exists():
                yield f"{page}: leads to {target}, which is not there"
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                yield f"{page}: leads to {target}#{anchor}, and there is no such heading"


def within_clicks(start, clicks):
    """Pages that so many clicks reach."""
    reached = {start}
    for _ in range(clicks):
        reached |= {target for page in reached if page.suffix == ".md" for target, _ in links(page) if target.is_file()}
    return reached


def names_of_files(page):
    """Of the project, that a page names as code: a folder of the project and a slash begin them."""
    for name in re.findall(r"(?<![\w./-])((?:deploy|examples|tests|tools|docs)/[\w./-]*\w)(?![\w*<{/-])", page.read_text(encoding="utf-8")):
        yield name


def troubles(page):
    """Messages in the tables of a page, in pieces that a program prints word for word."""
    for message in re.findall(r"^\| `([^`]+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE):
        for piece in re.split(r"\.\.\.|\b[A-Z]+\b|127\.0\.0\.1|6443|[():;/$]", message):
            if len(piece.strip()) > 6:
                yield piece.strip()


def commands_in(drawing):
    """That a terminal shows behind its prompt. Nothing is loaded from elsewhere to draw it."""
    text = drawing.read_text(encoding="utf-8")
    assert not re.search(r"(?<!xmlns=\")https?://|href|<script", text), f"{drawing} loads something"
    shown = [" ".join("".join(element.itertext()).split()) for element in xml.etree.ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
    return [after for before, after in zip(shown, shown[1:]) if before == "$"]


def questions(path):
    """(question, page, anchor)"""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            question, _, answer = line.partition("\t")
            name, _, anchor = answer.strip().partition("#")
            yield question, ROOT / name, anchor


class Links(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.pages = in_git(ROOT)
        cls.docs = [page for page in cls.pages if ROOT / "docs" in page.parents]

    def test_links_lead_somewhere(self):
        self.assertEqual(list(broken_links(self.pages)), [])

    def test_each_page_can_be_reached(self):
        reached, start = set(), {ROOT / "docs" / "README.md"}
        while start - reached:
            reached |= start
            start = {target for page in start if page.suffix == ".md" for target, _ in links(page) if target.is_file()}
        self.assertEqual([page for page in self.docs if page not in reached], [])

    def test_pictures_are_there_for_both_themes(self):
        named = {target for page in self.pages for target, _ in links(page) if target.parent == ROOT / "docs" / "images"}
        self.assertEqual(named, set((ROOT / "docs" / "images").iterdir()))
        dark = {path.name for path in named if "dark" in path.name}
        self.assertEqual({path.name.replace("light", "dark") for path in named if path.suffix == ".png"}, {name for name in dark if name.endswith(".png")})

    def test_drawings_ask_nobody_and_type_what_readme_types(self):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        for path in (ROOT / "docs" / "images").glob("*.svg"):
            typed = commands_in(path)
            self.assertGreater(len(typed), 2)
            self.assertEqual([command for command in typed if command not in readme], [], f'{path}: run "make recording"')

    def test_files_of_the_project_are_there(self):
        for page in (ROOT / "docs" / folder for folder in ("how-to", "tutorials")):
            for path in page.glob("*.md"):
                self.assertEqual([name for name in names_of_files(path) if not (ROOT / name).exists()], [], path)

    def test_messages_are_those_that_annals_prints(self):
        sources = "".join(path.read_text(encoding="utf-8") for folder in ("cli", "server", "storage") for path in (ROOT / folder).rglob("*.c"))
        plain = re.sub(r"\"\s*\n\s*\"", "", sources)
        told = list(troubles(ROOT / "docs" / "how-to" / "troubleshooting.md"))
        self.assertGreater(len(told), 5)
        self.assertEqual([piece for piece in told if piece not in plain], [])

    def test_newcomers_find_answers(self):
        asked = list(questions(QUESTIONS))
        self.assertGreaterEqual(len(asked), 20)
        near = within_clicks(ROOT / "README.md", CLICKS_MAX)
        for question, page, anchor in asked:
            with self.subTest(question):
                self.assertIn(page, near)
                self.assertIn(anchor, anchors(page))


class Checks(unittest.TestCase):
    """That what is wrong is noticed."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def page(self, text, name="page.md"):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def test_broken_links(self):
        other = self.page("# One `two`: three\n```\n# four\n```\n## Same\n## Same\n", "other.md")
        self.assertEqual(anchors(other), {"one-two-three", "same", "same-1"})
        well = self.page("[a](other.md) [b](other.md#one-two-three) [c](#here) [d](https://x/y.md)\n`[e](f)` [g](other.md#same-1)\n# Here\n```\n[h](i)\n```\n")
        self.assertEqual(list(broken_links([well])), [])
        for bad in ("[a](nowhere.md)", "[a](other.md#four)", "[a\nb](#there)", '<img src="x.png">', "[`code`](x.md)"):
            with self.subTest(bad):
                self.assertEqual(len(list(broken_links([self.page(bad)]))), 1)

    def test_clicks(self):
        last = self.page("nothing", "3.md")
        self.page("[x](3.md)", "2.md")
        self.page("[x](2.md)", "1.md")
        self.assertIn(last, within_clicks(self.folder / "1.md", 2))
        self.assertNotIn(last, within_clicks(self.folder / "1.md", 1))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
