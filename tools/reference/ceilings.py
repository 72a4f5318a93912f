#!/usr/bin/env python3
"""Writes docs/reference/ceilings.md: the constants of the source that bound something, and the sentence that stands at each."""

import collections
import re
import sys

import page
import source

NAME = r"[A-Z][A-Z0-9_]*_(?:MAX|LIMIT|CEILING|BUDGET)|MAX_[A-Z0-9_]+"
DEFINE = re.compile(rf"^#define\s+(?P<name>{NAME})\s+(?P<value>\S[^\n]*?)\s*(?:/\*\s*(?P<why>.*?)\s*\*/)?$", re.M)
MEMBER = re.compile(rf"(?:(?<=[{{,])|^)\s*(?P<name>{NAME})\s*=\s*(?P<value>[^,}}\n]+?)\s*(?:,|(?=\}})|(?=/\*)|$)[ \t]*(?:\}};?[ \t]*)?(?:/\*\s*(?P<why>.*?)\s*\*/)?", re.M)
ENUM = re.compile(r"^[ \t]*enum(?:\s+\w+)?\s*\{.*?\}\s*;[^\n]*", re.M | re.S)
COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|/\*.*?\*/', re.S)  # and texts, which may have the marks of one
EXTENTS = re.compile(r"\[[^\[\]{};'\"]*\]|_?[Ss]tatic_assert\([^;]*;")
ABOVE = re.compile(r"(?:^|\n)[ \t]*/\*\s*((?:(?!\*/).)*?)\s*\*/\s*$", re.S)


def words(comment):
    """A comment as one line."""
    return " ".join(re.sub(r"\n[ \t]*\*", "\n", comment or "").split())


def above(text, at):
    """The comment that ends where the line at `at` begins; one behind another line's code is not its."""
    found = ABOVE.search(text, 0, text.rfind("\n", 0, at) + 1)
    return words(found[1]) if found and not found[1].startswith("----") else ""


def definitions(text):
    """(name, value, the comment at it) of each constant of a file that bounds something."""
    found = list(DEFINE.finditer(text))
    for enum in ENUM.finditer(text):
        found += MEMBER.finditer(text, enum.start(), enum.end())
    return [(one["name"], one["value"], words(one["why"]) or above(text, one.start("name"))) for one in found]


def is_extent(name, texts):
    """Whether the constant only says how long an array is: nothing is compared with it, but by the compiler."""
    definition = re.compile(rf"#define\s+{name}\b|(?:(?<=[{{,])|^)\s*{name}\s*=(?!=)", re.M)
    return not any(re.search(rf"\b{name}\b", definition.sub("", EXTENTS.sub("", text))) for text in texts if name in text)


def ceilings():
    """{room: {(name, file): (value, why)}}, of both sources and headers, without the lengths of arrays that no sentence calls a limit."""
    found = collections.defaultdict(dict)
    texts = {name: source.read(name) for name in source.files("*.c") + source.files("*.h")}
    bare = {name: COMMENT.sub("", text) for name, text in texts.items()}
    for file, text in texts.items():
        for name, value, why in definitions(text):
            if why or not is_extent(name, bare.values() if file.endswith(".h") else [bare[file]]):
                found[file.rpartition("/")[0]].setdefault((name, file), (value, why))
    return found


TEXT = """
For people who meet a limit of annals, and for people who change one. These constants of the source
bound something: bytes, numbers, depths, times. The sentence at each is the comment that stands at it.
Limits that flags set are on the [pages of commands](commands/annals-serve.md).

{rooms}
"""


def main(root):
    parts, silent = [], []
    for room, rows in sorted(ceilings().items()):
        times = collections.Counter(name for name, _ in rows)
        shown = []
        for (name, file), (value, why) in sorted(rows.items()):
            shown.append([f"`{name}`" + (f" in {file.rpartition('/')[2]}" if times[name] > 1 else ""), f"`{value}`", page.plain(why)])
            silent += [] if why else [f"{file}: {name}: a ceiling needs a comment: why this number, and what happens beyond it"]
        parts += [f"## {room}", "", page.table(["ceiling", "value", "why, or of what"], shown), ""]
    if silent:
        sys.exit("\n".join(silent))
    page.write(root, "docs/reference/ceilings.md", "Ceilings in the source", "the constants and their comments", TEXT.format(rooms="\n".join(parts)))


if __name__ == "__main__":
    main(page.root_of(sys.argv))
