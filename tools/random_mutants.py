#!/usr/bin/env python3
"""Makes random mutants of the source, and says in which rooms tests notice them.

    tools/random_mutants.py -n 200 --seed 7             # or: make mutate N=200 SEED=7
    tools/random_mutants.py -n 20 -k server/write       # rooms and files that match: make mutate K=server/write
    tools/random_mutants.py --reach test_gc test_lists  # which lines these files of integration tests reach

A mutant is one wrong place in one function. Operators make it on the syntax tree, which libclang reads with the flags of the build:

    drop        a statement is gone: a call, an assignment, a return in the middle
    negate      a condition is the opposite
    swap        two arguments of the same type change places
    off-by-one  < is <=, or 1 that is added or taken away is 2
    forget      nothing is unlocked, freed, closed or given back
    ignore      a function is called, and what it answers does not count

The seed decides which: it takes one room after the other, an operator in it, and one of its places. A mutant that does not compile, or
that leaves the machine code as it was, is replaced by another.

Judges are, one after the other until one fails: the unit and contract tests that are linked with the file, those that name the mutated
function first; then the integration tests that reach the line. --reach finds these lines, by a build that counts (gcov), and keeps them
in build-mutants/reach. A file of tests without such a list is used where its name matches the path (tools/quick.py). A test that fails
must pass without the mutant, or it does not count.

A copy of the source, and its build folder, stay in build-mutants/random for the next run. With --sanitize=address the build notices what
is not freed. Without it nothing can, so that no mutant forgets to free.
"""

import argparse
import collections
import difflib
import fcntl
import gzip
import hashlib
import json
import os
import pathlib
import random
import re
import shlex
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import build_graph
import mutate
import quick

try:
    import clang.cindex as clang
except ImportError:  # Debian has it for its own interpreter
    if sys.executable != "/usr/bin/python3" and __name__ == "__main__":
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    clang = None

ROOT = mutate.ROOT
FOLDER = mutate.COPIES / "random"
REACH = mutate.COPIES / "reach"
NATIVE_SECONDS, INTEGRATION_SECONDS = 120, 900
COMPILE_SECONDS = 300
TRIES = 30  # so many places of a room are tried for one mutant
BATCHES = (4, 16)  # executables are linked for so many tests, for so many more, and for all the rest
FREES = re.compile(r"(^|_)(free|destroy|deinit)(_|$)")
GIVES_BACK = re.compile(r"(^|_)(unlock|release|unref|drop|close|fclose|put|leave|end|stop|cancel|pop|signal|broadcast)(_|$)")
RELATIONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


# ---- operators ----


class Place(collections.namedtuple("Place", "operator function line begin end text")):
    """Bytes begin to end of a file become text."""

    def apply(self, whole):
        return whole[: self.begin] + self.text + whole[self.end :]


class Operators:
    """The places of one file."""

    def __init__(self, path, whole, arguments, frees=True):
        self.path, self.whole, self.frees = str(path), whole, frees
        unit = clang.Index.create().parse(self.path, args=arguments, unsaved_files=[(self.path, whole.decode())])
        self.errors = [d for d in unit.diagnostics if d.severity >= clang.Diagnostic.Error]
        self.places = []
        kinds = clang.CursorKind
        for cursor in unit.cursor.get_children():
            if cursor.kind == kinds.FUNCTION_DECL and cursor.is_definition() and str(cursor.location.file) == self.path:
                self.function = cursor.spelling
                body = [child for child in cursor.get_children() if child.kind == kinds.COMPOUND_STMT]
                if body:
                    self.walk(body[0], last=True)

    def span(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def text(self, cursor):
        begin, end = self.span(cursor)
        return self.whole[begin:end]

    def is_written(self, cursor):
        """As it stands in the file: neither it nor its end comes from a macro. libclang gives these the macro's place."""
        begin, end = self.span(cursor)
        if str(cursor.location.file) != self.path or begin >= end:
            return False
        tokens = list(cursor.get_tokens())
        return bool(tokens) and tokens[0].extent.start.offset == begin and tokens[-1].extent.end.offset == end and not self.is_in_macro(cursor)

    def is_in_macro(self, cursor):
        """A macro's arguments are where the macro is called, and may stand in its text more than once."""
        before = self.whole[max(0, self.span(cursor)[0] - 200) : self.span(cursor)[0]].rsplit(b"\n", 1)[-1]
        return bool(re.search(rb"\b(assert|[A-Z][A-Z0-9_]{2,})\s*\([^;]*$", before)) or before.lstrip().startswith(b"#")

    def add(self, operator, cursor, begin, end, text):
        if self.whole[begin:end] != text:
            # Lines stay where they are.
            text += b"\n" * (self.whole[begin:end].count(b"\n") - text.count(b"\n"))
            self.places.append(Place(operator, self.function, cursor.location.line, begin, end, text))

    def walk(self, cursor, last=False):
        kinds = clang.CursorKind
        children = list(cursor.get_children())
        if cursor.kind == kinds.COMPOUND_STMT:
            for child in children:
                self.statement(child, last and child == children[-1])
        elif cursor.kind in (kinds.IF_STMT, kinds.WHILE_STMT, kinds.CONDITIONAL_OPERATOR) and children:
            self.condition(children[0])
        elif cursor.kind == kinds.DO_STMT and children:
            self.condition(children[-1])
        elif cursor.kind == kinds.CALL_EXPR:
            self.swap(cursor)
        elif cursor.kind == kinds.BINARY_OPERATOR and len(children) == 2:
            self.off_by_one(cursor, *children)
        elif cursor.kind == kinds.VAR_DECL and children and children[-1].kind in (kinds.CALL_EXPR, kinds.UNEXPOSED_EXPR):
            self.ignore_of(cursor, children[-1])
        for child in children:
            if child.kind not in (kinds.VAR_DECL, kinds.DECL_STMT) or "static" not in {t.spelling for t in list(child.get_tokens())[:1]}:
                self.walk(child, last and cursor.kind == kinds.COMPOUND_STMT and child == children[-1])

    def statement(self, cursor, last):
        kinds = clang.CursorKind
        if not self.is_written(cursor):
            return
        begin, end = self.span(cursor)
        if cursor.kind == kinds.CALL_EXPR:
            if FREES.search(cursor.spelling):
                if self.frees:
                    self.add("forget", cursor, begin, end, b"")
            else:
                self.add("forget" if GIVES_BACK.search(cursor.spelling) else "drop", cursor, begin, end, b"")
        elif cursor.kind in (kinds.BINARY_OPERATOR, kinds.COMPOUND_ASSIGNMENT_OPERATOR, kinds.UNARY_OPERATOR):
            self.add("drop", cursor, begin, end, b"")
        elif cursor.kind in (kinds.RETURN_STMT, kinds.BREAK_STMT, kinds.CONTINUE_STMT) and not last:
            self.add("drop", cursor, begin, end, b"")

    def condition(self, cursor):
        if self.is_written(cursor):
            begin, end = self.span(cursor)
            self.add("negate", cursor, begin, end, b"!(" + self.text(cursor) + b")")
            call = cursor
            while call.kind in (clang.CursorKind.UNEXPOSED_EXPR, clang.CursorKind.PAREN_EXPR, clang.CursorKind.UNARY_OPERATOR):
                inner = list(call.get_children())
                if len(inner) != 1:
                    break
                call = inner[0]
            if call.kind == clang.CursorKind.CALL_EXPR and self.is_written(call):
                # As if it had answered what goes on: what stands before the call says which that is.
                answer = b"1" if self.text(cursor).startswith(b"!") else b"0"
                begin, end = self.span(call)
                self.add("ignore", call, begin, end, b"((void)" + self.text(call) + b", " + answer + b")")

    def ignore_of(self, variable, value):
        while value.kind == clang.CursorKind.UNEXPOSED_EXPR and len(list(value.get_children())) == 1:
            value = next(value.get_children())
        numeric = variable.type.get_canonical().kind in (clang.TypeKind.BOOL, clang.TypeKind.INT, clang.TypeKind.LONG, clang.TypeKind.UINT, clang.TypeKind.ULONG)
        if value.kind == clang.CursorKind.CALL_EXPR and numeric and self.is_written(value):
            begin, end = self.span(value)
            self.add("ignore", value, begin, end, b"((void)" + self.text(value) + b", 0)")

    def swap(self, cursor):
        arguments = [a for a in cursor.get_arguments() if a is not None]
        if not self.is_written(cursor) or not all(self.is_written(a) for a in arguments):
            return
        for i, one in enumerate(arguments):
            for other in arguments[i + 1 :]:
                same = one.type.get_canonical().spelling == other.type.get_canonical().spelling
                if same and self.text(one) != self.text(other):
                    (b1, e1), (b2, e2) = self.span(one), self.span(other)
                    self.add("swap", cursor, b1, e2, self.whole[b2:e2] + self.whole[e1:b2] + self.whole[b1:e1])

    def off_by_one(self, cursor, left, right):
        if not self.is_written(cursor) or not self.is_written(left) or not self.is_written(right):
            return
        begin, end = self.span(left)[1], self.span(right)[0]
        between = self.whole[begin:end].decode(errors="replace")
        sign = between.strip()
        if sign in RELATIONS:
            self.add("off-by-one", cursor, begin, end, between.replace(sign, RELATIONS[sign]).encode())
        elif sign in ("+", "-") and self.text(right) == b"1":
            self.add("off-by-one", right, *self.span(right), b"2")


# ---- a copy, and what is done in it ----


class Copy(mutate.Copy):
    """With a build folder that reaches for ninja's knowledge."""

    def __init__(self, folder, sources, options):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.build = folder, folder / "build"
        self.take(sources)
        if not (self.build / "build.ninja").exists():
            self.must(["meson", "setup", "build", *options])
        self.graph = build_graph.Graph(self.build, self.folder)
        entries = json.loads((self.build / "compile_commands.json").read_text(encoding="utf-8"))
        self.commands = {self.graph.source(entry["file"]): entry for entry in entries if not self.graph.source(entry["file"]).startswith("tests/")}
        self.linked = {}
        self.mutated = folder / "build" / "mutated"  # the object that a run has changed: one that was killed has not put it back
        if self.mutated.exists():
            (self.build / self.mutated.read_text()).unlink(missing_ok=True)
            self.mutated.unlink()

    def ninja(self, *targets, keep_going=False):
        jobs = os.environ.get("NINJA_JOBS", "2")
        options = ["-k", "0"] if keep_going else []
        return mutate.run(["ninja", "-C", str(self.build), "-j", jobs, *options, *targets], self.folder, mutate.BUILD_SECONDS)

    def arguments(self, file):
        """For libclang: without the compiler, what it writes, and the file; with the headers of gcc itself."""
        words = shlex.split(self.commands[file]["command"])
        while not words[0].startswith("-"):
            words.pop(0)
        kept = [word for word in words if word.startswith(("-I", "-D", "-std", "-f", "-pthread", "-isystem")) and not word.startswith("-fsanitize")]
        own = subprocess.run(["cc", "-print-file-name=include"], capture_output=True, text=True, check=True).stdout.strip()
        return [re.sub(r"^-I(?!/)", f"-I{self.build}/", word) for word in kept] + ["-isystem", own]

    def object_of(self, file):
        return self.build / self.commands[file]["output"]

    def compile(self, file, whole):
        """The new object as bytes, or None. The file in the copy is as it was afterwards, time and all."""
        path, entry = self.folder / file, self.commands[file]
        before, stat = path.read_bytes(), path.stat()
        words = [word for word in shlex.split(entry["command"]) if not word.startswith("-M") and word != "-Werror"]
        words = [word for i, word in enumerate(words) if not (word.endswith(".o.d") or (i and words[i - 1] == "-MF"))]
        with tempfile.TemporaryDirectory(prefix="annals-mutant-") as folder:
            target = pathlib.Path(folder) / "mutant.o"
            words[words.index("-o") + 1] = str(target)
            try:
                path.write_bytes(whole)
                status, self.said = mutate.run([*words, "-Werror=return-type", "-Werror=uninitialized"], self.build, COMPILE_SECONDS, dict(os.environ, CCACHE_DISABLE="1"))
            finally:
                path.write_bytes(before)
                os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
            return target.read_bytes() if status == 0 else None

    def code(self, data):
        """Of an object, without what only debuggers read."""
        with tempfile.TemporaryDirectory(prefix="annals-mutant-") as folder:
            path = pathlib.Path(folder) / "x.o"
            path.write_bytes(data)
            subprocess.run(["strip", "--strip-debug", path], check=True)
            return path.read_bytes()

    def put(self, file, data):
        """The object, without ninja's noticing; what was linked with it is linked anew."""
        path = self.object_of(file)
        stat = path.stat()
        self.mutated.write_text(self.commands[file]["output"])
        path.write_bytes(data)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        name = self.commands[file]["output"]
        for output, inputs in self.graph.edges.items():
            if name in inputs and output.endswith(".a"):
                (self.build / output).unlink(missing_ok=True)
            elif name in inputs and not output.endswith(".o"):
                (self.build / output).unlink(missing_ok=True)

    def tests_of(self, file, function):
        """Unit and contract tests whose executables have the file within, those first that name the function, or one of the file's."""
        words = set(quick.words_of(file))
        ranked = []
        names = set(re.findall(r"\b(\w+)\(", header_text(self.folder, file)))
        for test in self.graph.tests_of.get(file, ()):
            if test.suite not in ("unit", "contract") or not self.is_linked(test, file):
                continue
            own = [path for path in self.graph.sources_of(test.target, with_headers=False) if path.startswith(f"tests/{test.suite}/test_") or path.startswith("tests/contract/")]
            text = "".join((self.folder / path).read_text(encoding="utf-8", errors="replace") for path in own)
            called = set(re.findall(r"\b(\w+)\(", text))
            shared = len(words & set(test.name.split("_")))
            ranked.append((function not in called, not names & called, -shared, test.suite != "unit", test.name, test))
        return [entry[-1] for entry in sorted(ranked, key=lambda entry: entry[:-1])]

    def is_linked(self, test, file):
        """An archive's member that nobody calls is left out of an executable, which names the files that it has."""
        if test.target not in self.linked:
            self.linked[test.target] = files_of_executable(self.build / test.target)
        return os.path.basename(file) in self.linked[test.target]

    def passes(self, test):
        """A native test, or a file of integration tests: (status, output)."""
        env = dict(os.environ, ANNALS_BIN=str(self.build / "annals"), ANNALS_BUILD=str(self.build), ASAN_OPTIONS="hard_rss_limit_mb=8192")
        if isinstance(test, str):
            command = ["/usr/bin/python3", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"tests/integration/{test}.py"]
            return mutate.run(command, self.folder, INTEGRATION_SECONDS, env)
        return mutate.run([str(self.build / test.target), *test.arguments], self.build, NATIVE_SECONDS, env)


def header_text(folder, file):
    path = folder / pathlib.Path(file).with_suffix(".h")
    return path.read_text(encoding="utf-8") if path.exists() else ""


def files_of_executable(path):
    """Names of the source files, from the symbols of an ELF file."""
    data = path.read_bytes()
    (sections,) = struct.unpack_from("<Q", data, 0x28)
    size, n = struct.unpack_from("<HH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + i * size) for i in range(n)]
    found = set()
    for header in headers:
        if header[1] == 2:  # SHT_SYMTAB
            strings = headers[header[6]][4]
            for offset in range(header[4], header[4] + header[5], 24):
                name, info = struct.unpack_from("<IB", data, offset)
                if info & 15 == 4:  # STT_FILE
                    begin = strings + name
                    found.add(os.path.basename(data[begin : data.index(b"\0", begin)].decode()))
    return found


# ---- which lines integration tests reach ----


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


class Reach:
    """{file of integration tests: {source: [its digest, lines]}}"""

    def __init__(self, folder=REACH):
        self.folder = folder
        self.known = {path.name.removesuffix(".json.gz"): json.loads(gzip.decompress(path.read_bytes())) for path in sorted(folder.glob("*.json.gz"))}

    def write(self, test, lines):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.known[test] = lines
        (self.folder / f"{test}.json.gz").write_bytes(gzip.compress(json.dumps(lines).encode()))

    def tests_for(self, root, file, line):
        """Those that reach the line; where the file has changed since, those that reach the file; without a list, those of that name."""
        tests = sorted(path.stem for path in (root / quick.INTEGRATION).glob("test_*.py"))
        named = {f"test_{name}" for name in quick.tests_for(file, [test[5:] for test in tests])}
        found = []
        for test in tests:
            if test not in self.known:
                found += [(1, test)] if test in named else []
            elif file in self.known[test]:
                then, lines = self.known[test][file]
                if then != digest(root / file) or line in lines:
                    found.append((0 if test in named else 2, test))
        return [test for _, test in sorted(found)]


def lines_of_gcov(text, folder, build):
    """{source: lines that ran}, of gcov's JSON documents, one a line."""
    found = collections.defaultdict(set)
    for document in text.splitlines():
        for file in json.loads(document)["files"] if document.startswith("{") else ():
            name = os.path.relpath(os.path.join(build, file["file"]), folder)
            if not name.startswith(("..", "build/", "tests/")):
                found[name].update(line["line_number"] for line in file["lines"] if line["count"])
    return found


def measure_reach(tests, sources):
    copy = Copy(mutate.COPIES / "counted", sources, ["-Db_coverage=true", "-Doptimization=0", "-Ddebug=false", "-Dwerror=false", "-Dstatic_grpc=disabled"])
    status, out = copy.ninja("annals", "kubectl-annals", "kubectl_complete-annals", *copy.process_targets())
    if status != 0:
        sys.exit(out[-3000:])
    reach = Reach()
    for test in tests:
        for path in copy.build.rglob("*.gcda"):
            path.unlink()
        status, out = copy.passes(test)
        if status != 0:
            print(f"{test} fails, and says nothing about lines: {out.strip().splitlines()[-1]}", flush=True)
            continue
        counted = [str(path.relative_to(copy.build)) for path in copy.build.rglob("*.gcda")]
        done = subprocess.run(["gcov", "--json-format", "--stdout", *counted], cwd=copy.build, check=True, capture_output=True, text=True)
        lines = lines_of_gcov(done.stdout, copy.folder, copy.build)
        reach.write(test, {name: [digest(copy.folder / name), sorted(found)] for name, found in lines.items() if found})
        print(f"{test} reaches {sum(map(len, lines.values()))} lines of {len(lines)} files", flush=True)
    return 0


# ---- a run ----


Mutant = collections.namedtuple("Mutant", "room file place before after object")


def sample(copy, rooms, n, rng, frees):
    """One room after the other, so that each has its share, until there are n mutants; those that are no mutants are left out."""
    order, places, tried = sorted(rooms), {}, set()
    rng.shuffle(order)
    made = 0
    while order and made < n:
        for room in list(order):
            if made == n:
                return
            if room not in places:
                places[room] = collections.defaultdict(list)
                for file in rooms[room]:
                    for place in Operators(copy.folder / file, (copy.folder / file).read_bytes(), copy.arguments(file), frees).places:
                        places[room][place.operator].append((file, place))
            mutant = pick(copy, room, places[room], tried, rng)
            if mutant:
                made += 1
                yield mutant
            else:
                order.remove(room)


def pick(copy, room, places, tried, rng):
    for _ in range(TRIES):
        left = {operator: [p for p in found if p not in tried] for operator, found in places.items()}
        operators = sorted(operator for operator, found in left.items() if found)
        if not operators:
            return None
        file, place = rng.choice(left[rng.choice(operators)])
        tried.add((file, place))
        before = (copy.folder / file).read_bytes()
        after = place.apply(before)
        compiled = copy.compile(file, after)
        if compiled and copy.code(compiled) != copy.code(copy.object_of(file).read_bytes()):
            return Mutant(room, file, place, before, after, compiled)
    return None


def batches(tests):
    begin = 0
    for size in (*BATCHES, len(tests)):
        if tests[begin : begin + size]:
            yield tests[begin : begin + size]
        begin += size


class Judge:
    def __init__(self, copy, reach, integration):
        self.copy, self.reach, self.integration = copy, reach, integration
        self.sound = {}

    def judge(self, mutant):
        """The test that notices, or None."""
        original = self.copy.object_of(mutant.file).read_bytes()
        suspects = []
        try:
            self.copy.put(mutant.file, mutant.object)
            for test in self.failing(mutant):
                if self.sound.get(test) is True:
                    return test
                if test not in self.sound:
                    suspects.append(test)
                    self.copy.put(mutant.file, original)
                    self.sound[test] = self.is_sound(test)
                    if self.sound[test]:
                        return test
                    print(f"{test} fails without a mutant, too: it does not count", flush=True)
                    self.copy.put(mutant.file, mutant.object)
            return None
        finally:
            self.copy.put(mutant.file, original)
            self.copy.mutated.unlink()

    def targets(self, tests):
        if any(isinstance(test, str) for test in tests):
            return ["annals", "kubectl-annals", "kubectl_complete-annals", *self.copy.process_targets()]
        return [test.target for test in tests]

    def is_sound(self, test):
        self.copy.ninja(*self.targets([test]))
        return self.copy.passes(test)[0] == 0

    def failing(self, mutant):
        """Tests that fail, one after the other. An executable that does not link, or a build that fails otherwise, stops everything."""
        natives = self.copy.tests_of(mutant.file, mutant.place.function)
        reaching = self.reach.tests_for(self.copy.folder, mutant.file, mutant.place.line)[: self.integration]
        self.n_tests = len(natives) + len(reaching)
        for batch in [*batches(natives), *([reaching] if reaching else [])]:
            status, out = self.copy.ninja(*self.targets(batch), keep_going=True)
            if status != 0:
                sys.exit(f"{mutant.file} does not link:\n{out[-2000:]}")
            for test in batch:
                if self.sound.get(test) is not False and self.copy.passes(test)[0] != 0:
                    yield test
                    self.copy.ninja(*self.targets(batch), keep_going=True)


def show(mutant):
    before, after = mutant.before.decode().splitlines(), mutant.after.decode().splitlines()
    lines = difflib.unified_diff(before, after, mutant.file, mutant.file, lineterm="", n=2)
    return "\n".join("    " + line for line in lines)


def score(counts):
    noticed = sum(n for n, _ in counts.values())
    made = sum(n for _, n in counts.values())
    lines = [f"{name}: {n} of {of} noticed" for name, (n, of) in sorted(counts.items())]
    return "\n".join([*lines, f"all: {noticed} of {made} noticed"])


def rooms_of(files, pattern):
    rooms = collections.defaultdict(list)
    for file in sorted(files):
        if file.endswith(".c") and "/" in file and not file.startswith(("build/", "tests/", "tools/")) and re.search(pattern, file):
            rooms[os.path.dirname(file)].append(file)
    return rooms


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=40, help="so many mutants")
    parser.add_argument("--seed", type=int, default=None, help="which: the same seed makes the same mutants of the same source (default: another one each time)")
    parser.add_argument("-k", default="", help="only in files whose path matches this expression")
    parser.add_argument("--sanitize", default="none", choices=["none", "address"], help="address: what is not freed is noticed, too")
    parser.add_argument("--integration", type=int, default=4, metavar="N", help="at most so many files of integration tests for each mutant")
    parser.add_argument("--list", action="store_true", help="judge nothing: show the mutants")
    parser.add_argument("--reach", nargs="*", metavar="TEST", help="judge nothing: find the lines that these files of integration tests reach; none: all files")
    args = parser.parse_args()
    if not clang:
        sys.exit("libclang is missing: tools/install-deps.sh mutate")

    # What was started in the background ignores SIGINT. Either signal ends the run with the score so far.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    mutate.COPIES.mkdir(exist_ok=True)
    sources = mutate.source_files()
    if args.reach is not None:
        known = sorted(path.stem for path in (ROOT / quick.INTEGRATION).glob("test_*.py"))
        return measure_reach(args.reach or known, sources)
    lock = open(mutate.COPIES / "random.lock", "w", encoding="ascii")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"another run is under way in {FOLDER}")

    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(10**6)
    print(f"seed {seed}", flush=True)
    options = [] if args.sanitize == "none" else [f"-Db_sanitize={args.sanitize}"]
    copy = Copy(FOLDER if args.sanitize == "none" else FOLDER.with_name(f"random-{args.sanitize}"), sources, options)
    rooms = rooms_of(copy.commands, args.k)
    if not rooms:
        sys.exit("no file matches")
    tests = [test.target for test in copy.graph.tests if test.suite in ("unit", "contract")]
    status, out = copy.ninja("annals", *tests)
    if status != 0:
        sys.exit(f"does not build without a mutant:\n{out[-3000:]}")
    try:
        judge_all(args, seed, copy, rooms)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    return 0


def judge_all(args, seed, copy, rooms):
    """Ends with the score, also of a part."""
    judge = Judge(copy, Reach(), args.integration)
    by_room, by_operator = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(lambda: [0, 0])
    try:
        for mutant in sample(copy, rooms, args.n, random.Random(seed), args.sanitize == "address"):
            at = f"{mutant.file}:{mutant.place.line} {mutant.place.function}() {mutant.place.operator}"
            if args.list:
                print(f"{at}\n{show(mutant)}", flush=True)
                continue
            by = judge.judge(mutant)
            for counts in (by_room[mutant.room], by_operator[mutant.place.operator]):
                counts[0] += bool(by)
                counts[1] += 1
            print(f"{at}: noticed by {by}" if by else f"{at}: SURVIVES {judge.n_tests} tests\n{show(mutant)}", flush=True)
    finally:
        if by_room:
            print(f"\n{score(by_operator)}\n\n{score(by_room)}\nseed {seed}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
