#!/usr/bin/env python3
"""Reads the Markdown pages of the project and names the lines that are hard to read: FILE:LINE and the sentence.

Of source files it reads comments and texts between quotes, and of YAML and templates all lines, and looks there for words to avoid.
The rules are in docs/development/hacking.md. Without arguments it reads everything that is held to them.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["docs", "examples", "clients", "deploy", "packaging"]
FOREIGN = ["node_modules", "site-packages", "vendor"]

WORDS = 25
PROSE_COLUMNS = 100
COLUMNS = 120
FIRST_LINES = 8  # here a page says for whom it is

# Pages that a program writes are not read: they say so in their first lines.
GENERATED = re.compile(r"make docs\W+writes it anew|by `?make docs`?[.]? DO NOT EDIT", re.I)

# Not yet held to the rules. This list only gets shorter: a page of it that passes is an error.
NOT_YET = []

# Their rows name tests, or are read by tools/check-layers.py: a row of a table cannot be wrapped.
LONG_ROWS = ["docs/development/seeds.md", "docs/explanation/architecture.md"]

# Phrases that make a reader search for what is meant, and what to write instead.
BANNED = {
    r"once for ever": "say when it happens",
    r"has within": "includes, has",
    r"of its name": "with the same name",
    r"says? so (?:itself|themselves)": "name what it says",
    r"what (?:[\w/-]+ ){1,5}ha(?:s|ve) not": "the parts that ... does not have",
    r"(?:and|but) who (?:does|is|has) not": "a user who does not, another server that is not",
    r"what must hold (?:of|for)": "the rules for",
    r"without further ado": "leave it out",
    r"needs? no hands": "happens by itself",
    r"is told of": "is reported, is listed",
    r"(?:that|which|it) (?:is|are) none": "is no change, has no effect",
    r"(?:simply|obviously|of course)": "leave it out",
    r"(?:we|our|ours|us)": "annals, the name of the program",
}

# Words that native speakers stumble over here, and what to write instead: in pages, comments, messages, help and the page.
AVOIDED = {
    r"mend(?:s|ed|ing)?": "fix",
    r"told": "report, name, say, tell apart: distinguish",
    r"(?:tell|tells|telling) of": "report, list, name",
    r"play(?:s|ed|ing)?(?! with|\()": "simulate, run, replay",
    r"believ(?:e|es|ed|ing)": "trust, accept, take for true",
    r"(?:make|makes|made|making) (?:[\w'’/-]+ ){0,6}?again": "recreate, rebuild, renew",
}

# Languages of sources, by the ending of a file's name.
SOURCES = {".c": "c", ".h": "c", ".js": "c", ".go": "c", ".css": "c", ".html": "html", ".py": "python", ".sh": "shell",
           ".build": "python", ".yaml": "whole", ".yml": "whole", ".tpl": "whole"}
SOURCES_NOT_READ = (
    "tools/check-prose.py", "tests/house/test_prose.py",  # the words themselves
)

ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|No|St)|\b[A-Z])\.$")
END = re.compile(r"[.!?][\"'”’)*_\]]*(?=\s|$)")
ITEM = re.compile(r"^(\s*)(?:[-*+]|\d+[.)])\s+")
FENCE = re.compile(r"^\s*(```+|~~~+)")


class Block:
    """Lines of prose that belong together: a paragraph or an item of a list."""

    def __init__(self, number):
        self.number = number
        self.lines = []


def plain(text):
    """The words of a text: a span of code counts as one, a link by its text."""
    text = re.sub(r"(`+)(?:(?!\1).)+?\1", "CODE", text)
    text = re.sub(r"<!--.*?-->", " ", text)
    text = re.sub(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"<https?://[^>]*>|https?://\S+", "LINK", text)
    return text


def split_sentences(text):
    """The sentences of a text of one line."""
    start = 0
    for end in END.finditer(text):
        if ABBREVIATION.search(text[start:end.start() + 1]):
            continue
        yield text[start:end.end()].strip()
        start = end.end()
    if text[start:].strip():
        yield text[start:].strip()


def count_words(sentence):
    return sum(1 for word in sentence.split() if re.search(r"\w", word))


def read_blocks(lines):
    """(blocks of prose, numbers of the lines of prose, numbers of rows of tables, numbers of headings)."""
    blocks, prose, rows, headings, code = [], set(), set(), set(), set()
    block, fence, indent, is_blank, is_comment = None, None, None, True, False
    for number, line in enumerate(lines, 1):
        mark = FENCE.match(line)
        if fence:
            fence = None if mark and mark[1].startswith(fence) else fence
            block, is_blank = None, False
            continue
        if mark:
            fence, block, is_blank = mark[1], None, False
            continue
        text = line.strip()
        depth = len(line) - len(line.lstrip())
        if is_comment or text.startswith("<!--"):
            is_comment = "-->" not in line
            block = None
            continue
        if not text:
            block, is_blank = None, True
            continue
        item = ITEM.match(line)
        is_code = is_blank and block is None and depth >= 4 + (indent or 0) and not (item and indent is not None)
        if is_code or number - 1 in code:
            code.add(number)
            is_blank = False
            continue
        if text.startswith("|"):
            rows.add(number)
            block, is_blank = None, False
            continue
        if text.startswith(("#", "<")) or re.fullmatch(r"[-=*_ ]{3,}", text) or re.match(r"^\[[^\]]+\]:\s", text):
            block, is_blank = None, True
            indent = None if text.startswith("#") else indent
            headings |= {number} if text.startswith("#") else set()
            continue
        if item:
            indent, block = len(item[0]), None
            text = line[len(item[0]):].strip()
        elif is_blank and depth < (indent or 0):
            indent = None
        if block is None:
            block = Block(number)
            blocks.append(block)
        block.lines.append((number, text.lstrip("> ") if text.startswith(">") else text))
        prose.add(number)
        is_blank = False
    return blocks, prose, rows, headings


def check_words(line, words):
    """A row of a table, or a heading: nothing but its words."""
    words = plain(words)
    for phrase, instead in (BANNED | AVOIDED).items():
        match = re.search(rf"\b(?:{phrase})\b", words, re.I)
        if match:
            yield line, f'"{match[0]}": {instead}'


def check_blocks(blocks):
    for block in blocks:
        text = " ".join(" ".join(line.split()) for _, line in block.lines)
        # A span may go over the end of a line, so the whole block is made plain at once.
        words = plain(text)
        for sentence in split_sentences(words):
            found = count_words(sentence)
            if found > WORDS:
                yield line_of(block, sentence), f"a sentence of {found} words: {sentence}"
        for phrase, instead in (BANNED | AVOIDED).items():
            match = re.search(rf"\b(?:{phrase})\b", words, re.I)
            if match:
                yield line_of(block, match[0]), f'"{match[0]}": {instead}'


def line_of(block, words):
    """The line on which these words begin: the last one from which on all of them are there."""
    found = block.number
    for index, (number, _) in enumerate(block.lines):
        if words not in plain(" ".join(" ".join(line.split()) for _, line in block.lines[index:])):
            break
        found = number
    return found


def check_page(name, text):
    """(line, what is wrong) of one page."""
    lines = text.splitlines()
    blocks, prose, rows, headings = read_blocks(lines)
    if name.startswith("docs/") and not any("For people who" in line for line in lines[:FIRST_LINES]):
        yield 1, "the first lines do not say \"For people who\""
    for number, line in enumerate(lines, 1):
        if number in prose and len(line) > PROSE_COLUMNS:
            yield number, f"a line of prose of {len(line)} columns"
        elif len(line) > COLUMNS and not (number in rows and name in LONG_ROWS):
            yield number, f"a line of {len(line)} columns"
        if number in rows | headings:
            yield from check_words(number, line)
    yield from check_blocks(blocks)


# A comment, or a text between quotes, of each language: what is between them is code, whose names may be anything.
TEXTS = {
    "c": re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`""", re.S),
    "html": re.compile(r">[^<]+<|<!--.*?-->|\"[^\"]*\"", re.S),
    "python": re.compile(r'"""(?:[^\\]|\\.)*?"""|#[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.S),
    "shell": re.compile(r"(?:(?<=\s)|^)#[^\n]*|\"(?:[^\"\\]|\\.)*\"|'[^']*'", re.M),
    "whole": re.compile(r".+", re.S),
}
# A sentence of a comment that begins so makes the reader search for its noun; "It" and "Of" do so at the beginning of a comment.
OPENINGS = re.compile(r"(?:^/\*[\s*]*(?:It|Of)|(?:^/\*|[.!?])[\s*]+(?:Who|Whoever|What|Whatever|Those))\b(?![^.!?]*\?)")


# Names within a text that is filled in are code; comments of templates are not.
CODE_IN_TEXTS = re.compile(r"\$?\{[^{}\n]*\}")
CODE_IN_TEMPLATES = re.compile(r"\{\{(?!-? ?/\*)[^\n]*?\}\}")

# What a merge leaves where it did not know which side to take.
CONFLICT = re.compile(r"^(?:<{7} |>{7} )", re.M)


def check_conflicts(text):
    for mark in CONFLICT.finditer(text):
        yield text.count("\n", 0, mark.start()) + 1, "a merge was not finished here"


def check_source(name, text):
    """(line, what is wrong) of the comments and texts of a source file."""
    yield from check_conflicts(text)
    language = SOURCES[pathlib.PurePath(name).suffix]
    code = CODE_IN_TEMPLATES if language == "whole" else CODE_IN_TEXTS
    for found in TEXTS[language].finditer(text):
        is_comment = found[0].startswith("/*") and name.endswith((".c", ".h")) and not name.startswith("tests/")
        for opening in OPENINGS.finditer(found[0]) if is_comment else ():
            yield text.count("\n", 0, found.start() + opening.end()) + 1, f'"{opening[0].split()[-1]}" begins a sentence: name the thing or the person'
        words = code.sub(lambda name: " " * len(name[0]), found[0])
        for phrase, instead in AVOIDED.items():
            gap = r"[\s*#]+"
            for match in re.finditer(rf"\b(?:{phrase})\b".replace(" ", gap).replace(f"(?!{gap}", "(?! "), words, re.I):
                yield text.count("\n", 0, found.start() + match.start()) + 1, f'"{match[0]}": {instead}'


def check_text(name, text):
    """As check_page, but in the order of lines, and nothing of a page that a program writes."""
    if GENERATED.search("\n".join(text.splitlines()[:FIRST_LINES])):
        return []
    return sorted({*check_page(name, text), *check_conflicts(text)})


def pages(root):
    """Names of the project's pages, without those of what others have installed beside it (.venv, node_modules)."""
    found = list(root.glob("*.md"))
    for folder in FOLDERS:
        found += (root / folder).rglob("*.md")
    names = sorted(path.relative_to(root) for path in found)
    return [name.as_posix() for name in names if not any(part.startswith(".") or part in FOREIGN for part in name.parts)]


def sources(root):
    """Names of the source files that git knows."""
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=False).stdout.splitlines()
    return [name for name in listed if pathlib.PurePath(name).suffix in SOURCES and not name.startswith(SOURCES_NOT_READ) and (root / name).is_file()]


def check_root(root, not_yet):
    problems = []
    for name in sources(root):
        problems += [f"{name}:{number}: {what}" for number, what in check_source(name, (root / name).read_text(encoding="utf-8"))]
    for name in pages(root):
        wrong = check_text(name, (root / name).read_text(encoding="utf-8"))
        if name in not_yet:
            if not wrong:
                problems.append(f"{name}:1: passes: take it out of NOT_YET in tools/check-prose.py")
            continue
        problems += [f"{name}:{number}: {what}" for number, what in wrong]
    problems += [f"{name}:1: is in NOT_YET, but does not exist" for name in not_yet if not (root / name).is_file()]
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", nargs="*", help="pages to read; by default all")
    options = parser.parse_args()
    if options.page:
        problems = []
        for page in options.page:
            path = pathlib.Path(page).resolve()
            name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else page
            problems += [f"{page}:{number}: {what}" for number, what in check_text(name, path.read_text(encoding="utf-8"))]
    else:
        problems = check_root(ROOT, NOT_YET)
    print("\n".join(problems) or "the pages keep the rules")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
