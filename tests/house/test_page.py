#!/usr/bin/env python3
"""The page keeps its promises in its sources: it makes no element from text, asks nobody else, and stays small."""

import pathlib
import re
import subprocess
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "cli" / "ui" / "page"
MOST_BYTES = 160_000  # of all files, as a browser gets them
MOST_COLUMNS = 256  # a line that is longer was packed by a machine

sys.path.insert(0, str(ROOT / "tools"))
embed = __import__("embed-page")

# What makes code or elements out of text; each has been the door of an attack somewhere.
FORBIDDEN = {
    "elements made from text": r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|srcdoc|document\.write|DOMParser"
    r"|createContextualFragment",
    "code made from text": r"\beval\b|\bnew Function\b|\bFunction\(|set(?:Timeout|Interval)\(\s*['\"`]|javascript:",
    "a handler or a style within HTML": r"\bon[a-z]+\s*=\s*[\"']|\sstyle\s*=\s*[\"']|setAttribute\(\s*'(?:on|style)",
    "a cookie": r"document\.cookie",
    "an address elsewhere": r"(?<!['\"]xmlns=\")(?:https?:)?//[a-z0-9-]+\.[a-z]",
    "a font, style or script from elsewhere": r"@import|@font-face|url\(|importScripts|<script(?![^>]*\ssrc=)",
}
NAMES_OF_SYNTAX = {"http://www.w3.org/2000/svg"}  # says what an element is; nobody asks for it


def breaches(text):
    for name in NAMES_OF_SYNTAX:
        text = text.replace(name, "")
    return [what for what, pattern in FORBIDDEN.items() if re.search(pattern, text)]


def sources():
    return sorted(path for path in PAGE.rglob("*") if path.suffix in embed.TYPES)


class Page(unittest.TestCase):
    def test_sources_make_nothing_of_text_and_ask_nobody_else(self):
        found = {path.name: breaches(path.read_text()) for path in sources()}
        self.assertEqual({name: what for name, what in found.items() if what}, {})

    def test_each_breach_is_seen(self):
        bad = {
            "e.innerHTML = text;": "elements made from text",
            "setTimeout('run()', 1)": "code made from text",
            '<p onclick="run()">': "a handler or a style within HTML",
            '<p style="color: red">': "a handler or a style within HTML",
            "document.cookie": "a cookie",
            "fetch('https://example.com/x')": "an address elsewhere",
            "import x from '//cdn.example.com/x.js'": "an address elsewhere",
            "<script>run()</script>": "a font, style or script from elsewhere",
        }
        for text, what in bad.items():
            self.assertIn(what, breaches(text), text)

    def test_all_files_are_served(self):
        listed = re.findall(r"'page/([^']+)'", (PAGE.parent / "meson.build").read_text())
        self.assertEqual(sorted(listed), sorted(path.relative_to(PAGE).as_posix() for path in sources()))

    def test_modules_that_are_named_are_there(self):
        for path in sources():
            if path.suffix == ".js":
                for name in re.findall(r"(?:from|import\()\s*'(\.[^']+)'", path.read_text()):
                    self.assertTrue((path.parent / name).is_file(), f"{path.name} imports {name}")
        for name in re.findall(r'(?:src|href)="([^"#]+)"', (PAGE / "index.html").read_text()):
            self.assertTrue((PAGE / name).is_file(), f"index.html names {name}")

    def test_what_only_people_read_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            script, sheet = pathlib.Path(folder, "a.js"), pathlib.Path(folder, "a.css")
            script.write_text("// why\nif (a) {\n\tb('// no comment: c');\n}\n")
            self.assertEqual(embed.bare(script), b"\nif (a) {\nb('// no comment: c');\n}\n")
            sheet.write_text("/* why */\na b, a :hover { color: red; font: 1px/2 x, y; }\n")
            self.assertEqual(embed.bare(sheet), b"\na b,a :hover{color:red;font:1px/2 x,y}\n")
            script.write_text("a = `b\n\tc`;\n")
            with self.assertRaises(SystemExit):
                embed.bare(script)

    def test_it_is_small(self):
        sizes = {path.relative_to(PAGE).as_posix(): len(embed.bare(path)) for path in sources()}
        self.assertLessEqual(sum(sizes.values()), MOST_BYTES, sizes)

    def test_sources_are_for_people(self):
        long = [f"{path.name}:{number}" for path in sources() for number, line in enumerate(path.read_text().splitlines(), 1)
                if len(line.expandtabs(4)) > MOST_COLUMNS]
        self.assertEqual(long, [])

    def test_what_is_served_keeps_its_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.js"
            path.write_text("// why\nif (a) {\n\t// then\n\tb(); // now\n}\n")
            self.assertEqual(embed.bare(path), b"\nif (a) {\n\nb(); // now\n}\n")
            path = path.with_suffix(".css")
            path.write_text("/* why */\na, b:hover {\n\ty: calc(1px - 2px);\n}\n")
            self.assertEqual(embed.bare(path).count(b"\n"), 4)
            self.assertIn(b"calc(1px - 2px)", embed.bare(path))


@unittest.skipUnless(shutil.which("node"), "there is no node")
class Modules(unittest.TestCase):
    """What of the page touches no page runs in node, too."""

    def test_modules(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in sources():
                if path.suffix == ".js":
                    to = pathlib.Path(folder) / path.relative_to(PAGE)
                    to.parent.mkdir(exist_ok=True)
                    to.write_bytes(embed.bare(path))
            pathlib.Path(folder, "package.json").write_text('{"type": "module"}')
            shutil.copy(pathlib.Path(__file__).parent / "page_modules.js", folder)
            done = subprocess.run(["node", "page_modules.js"], cwd=folder, capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
