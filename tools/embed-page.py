#!/usr/bin/env python3
"""Writes the page's files as a table in C (cli/ui/files.h): embed-page.py OUTPUT FOLDER FILE...

The program needs no files beside it then. What is the same is written the same: gzip's header has no time.
Browsers need neither indentation, nor lines that are comments alone, nor blanks between the signs of a style sheet.
The lines stay, so a browser's messages name those of the sources.
"""

import gzip
import hashlib
import pathlib
import re
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
}
BYTES_IN_LINE = 24


def array(name, data):
    rows = (data[at : at + BYTES_IN_LINE] for at in range(0, len(data), BYTES_IN_LINE))
    lines = "".join("\t" + ",".join(str(byte) for byte in row) + ",\n" for row in rows)
    return f"static const unsigned char {name}[] = {{\n{lines}}};\n"


def slice_of(name):
    return f"{{(const char *){name}, sizeof({name})}}"


def bare(path):
    """The text without what only people read. A text of several lines would lose its indentation, so there is none."""
    text = path.read_text(encoding="utf-8")
    comment = {".js": re.compile(r"//.*"), ".css": re.compile(r"/\*[^*]*\*/")}.get(path.suffix)
    if not comment:
        return text.encode()
    lines = []
    for number, line in enumerate(text.splitlines(keepends=False), 1):
        line = line.strip("\t ")
        if comment.fullmatch(line):
            line = ""
        if path.suffix == ".css":
            line = re.sub(r";? ?([{};,]) ?|(?<=[a-z-]): ", lambda it: it[1] or ":", line)
        if path.suffix == ".js" and line.count("`") % 2:
            sys.exit(f"{path}:{number}: a template literal goes on in another line")
        lines.append(line)
    return ("\n".join(lines) + "\n").encode()


def main():
    output, folder, *paths = sys.argv[1:]
    folder = pathlib.Path(folder).resolve()
    arrays, rows = [], []
    for number, path in enumerate(sorted(pathlib.Path(path).resolve() for path in paths)):
        plain = bare(path)
        if not plain:
            sys.exit(f"{path} is empty")
        if path.suffix not in TYPES:
            sys.exit(f"{path}: no media type is known for {path.suffix}")
        packed = gzip.compress(plain, 9, mtime=0)
        etag = hashlib.sha256(plain).hexdigest()[:32]
        arrays += [array(f"plain_{number}", plain), array(f"packed_{number}", packed)]
        name = path.relative_to(folder).as_posix()
        rows.append(
            f'\t{{"{name}", "{TYPES[path.suffix]}", "\\"{etag}\\"", "\\"{etag}-gzip\\"", '
            f"{slice_of(f'plain_{number}')}, {slice_of(f'packed_{number}')}}},\n"
        )
    text = '#include "cli/ui/files.h"\n\n' + "".join(arrays)
    text += "const struct page_file page_files[] = {\n" + "".join(rows) + "};\n"
    text += f"const size_t n_page_files = {len(rows)};\n"
    pathlib.Path(output).write_text(text)


if __name__ == "__main__":
    main()
