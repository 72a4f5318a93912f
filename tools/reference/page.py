"""What the generators of the reference share: a page's first lines, and tables."""

import pathlib
import re
import sys

# Whoever looks for stale pages, or for prose to judge, knows made pages by this.
MADE = '<!-- Made from {}: "make docs" writes it anew. Change the source instead. -->'


def root_of(argv):
    """The folder to write into: the one argument."""
    if len(argv) != 2:
        sys.exit(f"usage: {argv[0]} FOLDER")
    return pathlib.Path(argv[1])


def put(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write(root, name, title, made_from, text):
    put(root, name, f"# {title}\n\n{MADE.format(made_from)}\n\n{text.strip()}\n")


def plain(text):
    """Words of the source in Markdown: what looks like a tag or like emphasis is none."""
    return re.sub(r"([<*])", r"\\\1", text)


def cell(text):
    return " ".join(text.replace("|", "\\|").split())


def table(head, rows):
    lines = ["|" + "|".join(f" {name} " if name else " " for name in head) + "|", "|" + " --- |" * len(head)]
    lines += ["|" + "|".join(f" {cell(text)} " if text else " " for text in row) + "|" for row in rows]
    return "\n".join(lines)
