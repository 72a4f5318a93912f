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
ABOVE = re.compile(r"(?:^|\n)[ \t]*/\*\s*((?:(?!\*/).)*?)\s*\*/\s*$", re.S)


def words(comment):
    """A comment as one line."""
    return " ".join(re.sub(r"\n[ \t]*\*", "\n", comment or "").split())


def above(text, at):
    """The comment that ends where the line at `at` begins; one behind another line's code is not its."""
    found = ABOVE.search(text, 0, text.rfind("\n", 0, at) + 1)
    return words(found[1]) if found and not found[1].startswith("----") else ""


def ceilings():
    """{room: [(name, value, why)]}, of both sources and headers."""
    found = collections.defaultdict(dict)
    for name in source.files("*.c") + source.files("*.h"):
        text = source.read(name)
        room = name.rpartition("/")[0]
        for one in DEFINE.finditer(text):
            found[room].setdefault(one["name"], (one["value"], words(one["why"]) or above(text, one.start("name"))))
        for enum in ENUM.finditer(text):
            for one in MEMBER.finditer(text, enum.start(), enum.end()):
                found[room].setdefault(one["name"], (one["value"], words(one["why"]) or above(text, one.start("name"))))
    return found


TEXT = """
For people who meet a limit of annals, and for people who change one. These constants of the source
bound something: bytes, numbers, depths, times. The sentence at each is the comment that stands at it.
Limits that flags set are on the [pages of commands](commands/annals-serve.md).

{rooms}
"""


def main(root):
    parts = []
    for room, rows in sorted(ceilings().items()):
        explained = [[f"`{name}`", f"`{value}`", page.plain(why)] for name, (value, why) in sorted(rows.items()) if why]
        silent = sorted(f"`{name}`" for name, (_, why) in rows.items() if not why)
        parts += [f"## {room}", ""]
        parts += [page.table(["ceiling", "value", "why, or of what"], explained), ""] if explained else []
        parts += ["Without a sentence yet: " + ", ".join(silent) + ".", ""] if silent else []
    page.write(root, "docs/reference/ceilings.md", "Ceilings in the source", "the constants and their comments", TEXT.format(rooms="\n".join(parts)))


if __name__ == "__main__":
    main(page.root_of(sys.argv))
