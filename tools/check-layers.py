#!/usr/bin/env python3
"""Reads the #include lines of all C files and names those that break a rule of docs/explanation/architecture.md.

Three kinds of rules: a room includes headers only of the rooms that it uses, and of those that they use; a library's header is
included only in the file that is its fence; and only storage/engine/plan.c calls the store's transaction to write objects. The linker proves the first again (tests/layers); this says it in words, and sees what
is inline. Which rooms there are and what they use is in the meson.build files; the table in docs/explanation/architecture.md says the same.
"""

import argparse
import fnmatch
import pathlib
import re
import sys

# Tests and tools may include anything: they look from outside.
OUTSIDE = ["tests", "tools"]

# Header: where it may be included.
FENCES = {
    "microhttpd.h": ["server/http/http_connection.c"],
    "nghttp2/*": ["server/http/h2_connection.c", "server/http/h2_judge.c", "server/http/h2_stream.c"],
    "grpc/*": ["storage/etcd/etcd_client.c"],
    "proto/openapi*.pb-c.h": ["server/discovery/openapi_pb.c"],
    "*.pb-c.h": ["storage/etcd/*.c", "storage/etcd/*.h"],
    "protobuf-c/*": ["storage/etcd/*.c", "storage/etcd/*.h", "server/discovery/openapi_pb.c"],
    "re2/*": ["api/schema/regexp.cc"],
    "nettle/*": ["base/sha256.h", "base/keyed_hash.h"],
    "yaml.h": ["base/yaml_*.c"],
    "jansson.h": [],
}

# Headers that one file of a folder may include, whichever it is.
SINGLE = {"curl/*": "client"}

# Names of the store's transaction, and the files that may use them: objects are written by storage/engine/plan.c alone. The other files write
# no objects: the cache writes its fence, the agreement its registration, storage the mark of compaction.
TRANSACTION = re.compile(r"\b(storage_txn|storage_txn_wait|storage_txns_wait|STEP_PUT|STEP_DELETE)\b|->txn\(")
TRANSACTION_FILES = ["storage/storage.[ch]", "storage/upkeep.c", "storage/etcd/*", "storage/memory/*", "storage/cache/*", "storage/engine/agreement*", "storage/engine/plan.*"]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def listed(text, variable):
    """The texts of a list in a meson.build file."""
    match = re.search(rf"^{variable} = \[(.*?)\]", text, re.M | re.S)
    return re.findall(r"'([^']+)'", match.group(1)) if match else []


class Rooms:
    def __init__(self, root):
        """uses: room: the rooms in its row. A room is used only by those that come after it, so there is no circle."""
        self.uses = {}
        for room in listed((root / "meson.build").read_text(), "rooms"):
            self.uses[room] = listed((root / room / "meson.build").read_text(), "uses")

    def may_use(self, room):
        found = []
        for use in self.uses[room]:
            for name in [use, *self.may_use(use)]:
                if name not in found:
                    found.append(name)
        return found

    def of(self, path):
        """The room a file or header belongs to: its folder, or None."""
        folder = str(pathlib.PurePosixPath(path).parent)
        return folder if folder in self.uses else None


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


def check_own_header(root, rooms, path, header):
    """What is wrong with a quoted include."""
    is_generated = header.endswith(".pb-c.h")
    if not is_generated and not (root / header).is_file():
        return f'"{header}" is not a path from the root of the project'
    user, used = rooms.of(path), rooms.of(header)
    if user is None or used is None or used == user or used in rooms.may_use(user):
        return None
    row = ", ".join(sorted(rooms.may_use(user))) or "nothing"
    return f'"{header}": {user} may use {row}, but not {used}'


def check_fence(path, header):
    pattern, allowed = fence_of(header)
    if pattern is None or any(fnmatch.fnmatch(path, place) for place in allowed):
        return None
    where = ", ".join(allowed) or "tests"
    return f"<{header}> may be included only in {where}"


def check_include(root, rooms, path, is_quoted, header):
    problem = None
    if is_quoted:
        problem = check_own_header(root, rooms, path, header)
    if problem is None and not is_outside(path):
        problem = check_fence(path, header)
    return problem


def check_single(rooms, users):
    for pattern, folder in SINGLE.items():
        files = sorted({path for path, header in users if fnmatch.fnmatch(header, pattern) and not is_outside(path)})
        for path in files:
            if rooms.of(path) != folder:
                yield f"{path}: <{pattern}> may be included only in {folder}"
        mine = [path for path in files if rooms.of(path) == folder]
        if len(mine) > 1:
            yield f"{folder}: <{pattern}> may be included in one file, not in {', '.join(mine)}"


def sources(root, rooms):
    for folder in [*rooms.uses, *OUTSIDE]:
        find = (root / folder).rglob if folder in OUTSIDE else (root / folder).glob
        for path in sorted(find("*.[ch]")):
            yield path.relative_to(root).as_posix()


def check_transactions(root, rooms):
    for path in sources(root, rooms):
        if is_outside(path) or any(fnmatch.fnmatch(path, place) for place in TRANSACTION_FILES):
            continue
        for number, line in enumerate((root / path).read_text(errors="replace").splitlines(), 1):
            if match := TRANSACTION.search(line):
                yield f"{path}:{number}: {match.group(0)}: objects are written by storage/engine/plan.h alone"


def check_homeless(root, rooms):
    """A file beside the rooms is built by nobody and held to no rule."""
    tops = {pathlib.PurePosixPath(room).parts[0] for room in rooms.uses}
    for top in sorted(tops):
        for path in sorted((root / top).rglob("*.[ch]")):
            name = path.relative_to(root).as_posix()
            if rooms.of(name) is None:
                yield f"{name}: its folder is no room"


def check_table(root, rooms):
    """The rows of the table in docs/explanation/architecture.md: | `room` | what it holds | what it uses |"""
    rows = {}
    for line in (root / "docs/explanation/architecture.md").read_text().splitlines():
        match = re.match(r"\| `([^`]+)` \|.*\|([^|]*)\|$", line)
        if match:
            rows[match.group(1)] = {name.strip() for name in match.group(2).split(",") if name.strip()}
    for room, uses in rooms.uses.items():
        if room not in rows:
            yield f"docs/explanation/architecture.md: the table has no row for {room}"
        elif rows[room] != set(uses):
            yield f"docs/explanation/architecture.md: {room} uses {', '.join(uses) or 'nothing'}, which is not what the table says"


def check(root):
    """All problems below root, one sentence each."""
    users = []
    rooms = Rooms(root)
    for path in sources(root, rooms):
        for number, is_quoted, header in includes_of(root, path):
            users.append((path, header))
            problem = check_include(root, rooms, path, is_quoted, header)
            if problem:
                yield f"{path}:{number}: {problem}"
    yield from check_single(rooms, users)
    yield from check_transactions(root, rooms)
    yield from check_homeless(root, rooms)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).resolve().parent.parent, type=pathlib.Path)
    root = parser.parse_args().root
    problems = [*check(root), *check_table(root, Rooms(root))]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
