#!/usr/bin/env python3
"""Reads the #include lines of all C files and names those that break a rule of docs/architecture.md.

Two kinds of rules: a folder includes headers only of the folders in its row, and a library's header is included only in the file
that is its fence. The linker proves the first again (tests/layers); this says it in words, and sees what is inline.
"""

import argparse
import fnmatch
import pathlib
import re
import sys

# Folder: what it may include besides itself.
LAYERS = {
    "base": [],
    "proto": ["base"],
    "api": ["base"],
    "api/kinds": ["base", "api"],
    "storage": ["base", "proto", "api"],
    "migration": ["base", "api", "storage"],
    "admission": ["base", "api"],
    "server": ["base", "proto", "api", "storage", "admission"],
    "client": ["base", "api"],
    "controllers": ["base", "api", "client"],
    "delegation": ["base", "api", "client"],
    "cli": ["base", "proto", "api", "api/kinds", "storage", "migration", "admission", "server", "client", "controllers", "delegation"],
}

# Tests and tools may include anything: they look from outside.
OUTSIDE = ["tests", "tools"]

# Header: where it may be included.
FENCES = {
    "microhttpd.h": ["server/http_worker.c", "server/http_connection.c", "server/http_answer.c"],
    "grpc/*": ["storage/etcd_client.c"],
    "proto/openapi*.pb-c.h": ["server/openapi_pb.c"],
    "*.pb-c.h": ["storage/etcd_*.c", "storage/etcd_*.h"],
    "protobuf-c/*": ["storage/etcd_*.c", "storage/etcd_*.h", "server/openapi_pb.c"],
    "yaml.h": ["base/yaml_*.c"],
    "jansson.h": [],
}

# Headers that one file of a folder may include, whichever it is.
SINGLE = {"curl/*": "client"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of(path):
    """The layer a file or header belongs to: the longest folder that is one, or None."""
    folder = str(pathlib.PurePosixPath(path).parent)
    while folder not in (".", ""):
        if folder in LAYERS:
            return folder
        folder = str(pathlib.PurePosixPath(folder).parent)
    return None


def is_outside(path):
    return pathlib.PurePosixPath(path).parts[0] in OUTSIDE


def includes_of(root, path):
    with open(root / path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match.group(1) == '"', match.group(2)


def fence_of(header):
    for pattern, allowed in FENCES.items():
        if fnmatch.fnmatch(header, pattern):
            return pattern, allowed
    return None, None


def check_own_header(root, path, header):
    """What is wrong with a quoted include."""
    is_generated = header.endswith(".pb-c.h")
    if not is_generated and not (root / header).is_file():
        return f'"{header}" is not a path from the root of the project'
    user, used = layer_of(path), layer_of(header)
    if user is None or used is None or used == user or used in LAYERS[user]:
        return None
    row = ", ".join(LAYERS[user]) or "nothing"
    return f'"{header}": {user} may use {row}, but not {used}'


def check_fence(path, header):
    pattern, allowed = fence_of(header)
    if pattern is None or any(fnmatch.fnmatch(path, place) for place in allowed):
        return None
    where = ", ".join(allowed) or "tests"
    return f"<{header}> may be included only in {where}"


def check_include(root, path, is_quoted, header):
    problem = None
    if is_quoted:
        problem = check_own_header(root, path, header)
    if problem is None and not is_outside(path):
        problem = check_fence(path, header)
    return problem


def check_single(users):
    for pattern, folder in SINGLE.items():
        files = sorted({path for path, header in users if fnmatch.fnmatch(header, pattern) and not is_outside(path)})
        for path in files:
            if layer_of(path) != folder:
                yield f"{path}: <{pattern}> may be included only in {folder}"
        mine = [path for path in files if layer_of(path) == folder]
        if len(mine) > 1:
            yield f"{folder}: <{pattern}> may be included in one file, not in {', '.join(mine)}"


def sources(root):
    for folder in [*(name for name in LAYERS if "/" not in name), *OUTSIDE]:
        for path in sorted((root / folder).rglob("*.[ch]")):
            yield path.relative_to(root).as_posix()


def check(root):
    """All problems below root, one sentence each."""
    users = []
    for path in sources(root):
        for number, is_quoted, header in includes_of(root, path):
            users.append((path, header))
            problem = check_include(root, path, is_quoted, header)
            if problem:
                yield f"{path}:{number}: {problem}"
    yield from check_single(users)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).resolve().parent.parent, type=pathlib.Path)
    problems = list(check(parser.parse_args().root))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
