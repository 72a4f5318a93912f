"""What a build folder knows by itself: which tests there are, and which source files each of them is made of.

meson's introspection has the tests, build.ninja the way from sources to executables, and ninja's log of dependencies the headers."""

import collections
import functools
import json
import os
import pathlib
import re
import subprocess

class Test:
    def __init__(self, entry, build):
        self.name, self.suite = entry["name"], entry["suite"][0].partition(":")[2]
        self.arguments = entry["cmd"][1:]
        self.target = os.path.relpath(entry["cmd"][0], build)

    def __repr__(self):
        return f"{self.suite}/{self.name}"


def unescape(word):
    return re.sub(r"\$(.)", r"\1", word)


def words_of(text):
    """ninja's words: a blank that "$" precedes does not end one."""
    return [unescape(word) for word in re.findall(r"(?:\$.|[^\s$])+", text)]


def edges_of(text):
    """{output: inputs} of a build.ninja."""
    edges = {}
    for line in text.splitlines():
        if line.startswith("build "):
            outputs, _, rest = line[6:].partition(": ")
            inputs = [word for word in words_of(rest)[1:] if word not in ("|", "||")]
            for output in words_of(outputs):
                if output != "|":
                    edges[output] = inputs
    return edges


class Graph:
    """Paths of sources are those from the root of the sources."""

    def __init__(self, build, root):
        self.build, self.root = pathlib.Path(build).resolve(), pathlib.Path(root).resolve()
        self.edges = edges_of((self.build / "build.ninja").read_text(encoding="utf-8"))

    @functools.lru_cache(maxsize=None)
    def source(self, path):
        """An input of ninja's as a path from the root."""
        return os.path.relpath(os.path.join(self.build, path), self.root)

    @functools.cached_property
    def tests(self):
        entries = json.loads((self.build / "meson-info" / "intro-tests.json").read_text(encoding="utf-8"))
        return [Test(entry, self.build) for entry in entries]

    @functools.cached_property
    def headers(self):
        """{object: what it includes}, of objects that have been compiled."""
        done = subprocess.run(["ninja", "-C", self.build, "-t", "deps"], check=False, capture_output=True, text=True)
        found, target = {}, None
        for line in done.stdout.splitlines():
            if line.startswith("    "):
                found[target].append(line.strip())
            elif ": #deps" in line:
                target = line.partition(": #deps")[0]
                found[target] = []
        return found

    def inputs(self, target):
        """All that it is made of, however indirectly, the way of ninja."""
        found, left = set(), [target]
        while left:
            for name in self.edges.get(left.pop(), ()):
                if name not in found:
                    found.add(name)
                    left.append(name)
        return found

    def sources_of(self, target, with_headers=True):
        """Files of ours."""
        inputs = self.inputs(target)
        if with_headers:
            inputs = inputs.union(*(self.headers.get(name, ()) for name in inputs))
        return {path for path in map(self.source, inputs) if not path.startswith("..")}

    @functools.cached_property
    def tests_of(self):
        """{source file: the tests that are made of it}."""
        found = collections.defaultdict(list)
        for test in self.tests:
            for path in self.sources_of(test.target):
                found[path].append(test)
        return found
